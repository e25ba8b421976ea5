#!/usr/bin/env python3
"""Write the rows of a results store as packed CSV files, one for each experiment, protocol and data set.

    python scripts/export_rows.py results.sqlite docs/results/rows

The store may be in use. The same rows give the same bytes, so that a folder under version control grows by what is new.
The rows go back into a store with

    minipinet results results.sqlite --import docs/results/rows/*.csv.xz
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from minipinet.errors import DataError, MinipinetError
from minipinet.experiments.exchange import export_csv
from minipinet.experiments.records import Cell
from minipinet.experiments.store import cells_in, open_store

#: What the rows of one file have in common.
FIELDS = ("experiment", "protocol", "dataset", "features", "shuffled")


def name_files(cells: list[Cell]) -> dict[str, dict[str, Any]]:
    """Return for each file, by its name, what its rows have in common.

    Raises
    ------
    DataError
        For what would be a file of another folder, and for two files of one name.
    """
    names: dict[str, dict[str, Any]] = {}
    for part in sorted({tuple(getattr(cell, field) for field in FIELDS) for cell in cells}):
        experiment, protocol, dataset, features, shuffled = part
        words = [experiment, protocol] + ([dataset] if dataset != experiment else [])
        words += ([features] if features != "labels" else []) + (["shuffled"] if shuffled else [])
        name = f"{'-'.join(words)}.csv.xz"
        if {"/", "\\", "\0"} & {*name}:
            raise DataError(f"{name!r}: is not the name of a file in this folder")
        if name in names:
            raise DataError(f"{name}: would be the file of {[*names[name].values()]} and of {list(part)}")
        names[name] = dict(zip(FIELDS, part, strict=True))
    return names


def main() -> None:
    """Export every part."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("store")
    parser.add_argument("folder", type=Path)
    args = parser.parse_args()
    with open_store(args.store, read_only=True) as store:
        # One transaction, so that what is added meanwhile is in all files or in none.
        store.execute("BEGIN")
        files = name_files(cells_in(store))
        args.folder.mkdir(parents=True, exist_ok=True)
        for name, part in files.items():
            print(args.folder / name, export_csv(store, args.folder / name, **part))


if __name__ == "__main__":
    try:
        main()
    except MinipinetError as error:
        sys.exit(f"export_rows: {error}")
