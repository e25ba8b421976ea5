#!/usr/bin/env bash
# Run every experiment behind docs/results, going on from the rows that are there, and write its tables and figures; hours.
#
#     scripts/experiments.sh DATA_DIR [STORE]
#
# After each command the rows are written back to docs/results/rows. It may be stopped at any time and started again, here or,
# from the rows, elsewhere. Needs the extras kernels and figures.
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
run isomorphism
run comparison --datasets MUTAG PTC --shuffle-nodes --models pinet gcn-sum gcn-dense wl patchy-san
run comparison --datasets MUTAG PTC --repeats 5
run comparison --protocol fair --datasets MUTAG PTC

for experiment in comparison message-passing isomorphism; do
    minipinet results "$store" --experiment "$experiment" --format markdown --output "docs/results/$experiment.md" >/dev/null
done
minipinet results "$store" --figures docs/results/figures >/dev/null
echo "$(date -u +%FT%TZ) done"
