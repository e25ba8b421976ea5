#!/usr/bin/env python3
"""Write the rows of a results store as packed CSV files, one for each experiment, protocol and data set.

    python scripts/export_rows.py results.sqlite docs/results/rows

The store may be in use. The same rows give the same bytes, so that a folder under version control grows by what is new.
The rows go back into a store with

    minipinet results results.sqlite --import docs/results/rows/*.csv.xz
"""

from __future__ import annotations

import argparse
from pathlib import Path

from minipinet.experiments.exchange import export_csv
from minipinet.experiments.store import cells_in, open_store


def main() -> None:
    """Export every part."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("store")
    parser.add_argument("folder", type=Path)
    args = parser.parse_args()
    args.folder.mkdir(parents=True, exist_ok=True)
    with open_store(args.store, read_only=True) as store:
        # One transaction, so that what is added meanwhile is in all files or in none.
        store.execute("BEGIN")
        names = ("experiment", "protocol", "dataset", "features", "shuffled")
        for part in sorted({tuple(getattr(cell, name) for name in names) for cell in cells_in(store)}):
            experiment, protocol, dataset, features, shuffled = part
            words = [experiment, protocol] + ([dataset] if dataset != experiment else [])
            words += ([features] if features != "labels" else []) + (["shuffled"] if shuffled else [])
            path = args.folder / f"{'-'.join(words)}.csv.xz"
            print(path, export_csv(store, path, **dict(zip(names, part, strict=True))))


if __name__ == "__main__":
    main()
