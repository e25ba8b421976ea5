#!/usr/bin/env bash
# Run every experiment behind docs/results, going on from the rows that are there; hours.
#
#     scripts/experiments.sh DATA_DIR [STORE]
#
# After each command the rows are written back to docs/results/rows. It may be stopped at any time and started again, here or,
# from the rows, elsewhere. Needs the extra kernels.
set -euo pipefail
data=$(cd "${1:?usage: scripts/experiments.sh DATA_DIR [STORE]}" && pwd)
store=$(realpath "${2:-results.sqlite}")
cd "$(dirname "$0")/.."
# One thread a process: the number of BLAS threads decides the last bits.
export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
rows=docs/results/rows

minipinet results "$store" --import "$rows"/*.csv.xz >/dev/null

run() {
    echo "$(date -u +%FT%TZ) minipinet experiment $*"
    minipinet experiment "$@" --data-dir "$data" --store "$store"
    python scripts/export_rows.py "$store" "$rows"
}

run comparison
run message-passing
run comparison --protocol released --models pinet pinet-manual
run comparison --datasets MUTAG PTC --repeats 5
run comparison --datasets MUTAG PTC --shuffle-nodes --models pinet gcn-sum gcn-dense wl patchy-san
run isomorphism
run comparison --protocol fair --datasets MUTAG PTC
echo "$(date -u +%FT%TZ) done"
