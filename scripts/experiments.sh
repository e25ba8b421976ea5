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

page() {
    { printf '# %s: all numbers\n\nWritten by `scripts/experiments.sh`; what they say: [the experiments](README.md).\n\n' "$2"
      minipinet results "$store" --experiment "$1" --format markdown | sed "s/^### /## /"; } >"docs/results/$1.md.new"
    mv "docs/results/$1.md.new" "docs/results/$1.md"
}
page comparison "The comparison"
page message-passing "Message passing"
page isomorphism "The isomorphism test"
minipinet results "$store" --figures docs/results/figures >/dev/null
echo "$(date -u +%FT%TZ) done"
