"""``minipinet data``: which data sets there are, what is in one, and fetching one."""

from __future__ import annotations

import argparse
import os
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from minipinet._words import counted
from minipinet.cli import common
from minipinet.cli.tables import pairs, table
from minipinet.errors import notify

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

    from minipinet.datasets.tu import TUContent

CITATION = (
    "Morris, Kriege, Bause, Kersting, Mutzel, Neumann: TUDataset: A collection of benchmark datasets for learning "
    "with graphs. ICML 2020 Workshop on Graph Representation Learning and Beyond"
)

DESCRIPTION = """\
Data sets of graphs in the TU format. One that is named is looked for in --data-dir, and nowhere else if that is given;
without it, in the folder that the environment variable MINIPINET_DATA names, then among those that come with the
package (MUTAG), then in the cache (a folder that MINIPINET_CACHE can name), and else it is fetched from the
collection's site (another address: MINIPINET_DATA_URL)."""


def add_parser(commands: Any) -> None:
    """Add ``data`` and its own commands."""
    parser: argparse.ArgumentParser = commands.add_parser(
        "data", help="list, describe and fetch data sets", description=DESCRIPTION
    )
    actions = parser.add_subparsers(title="commands", dest="action", metavar="COMMAND", required=True)
    listing = actions.add_parser("list", help="show the names that are known")
    listing.set_defaults(run=run_list)
    info = actions.add_parser("info", help="show what is in a data set")
    info.set_defaults(run=run_info)
    fetch = actions.add_parser("fetch", help="bring a data set into the cache, and show what is in it")
    fetch.add_argument("--base-url", metavar="URL", help="address to fetch NAME.zip from")
    fetch.set_defaults(run=run_fetch)
    info.add_argument("dataset", metavar="NAME|PATH", help="a known name, or a folder or zip in the TU format")
    common.add_data_dir_option(info)
    fetch.add_argument("dataset", metavar="NAME", help="a name that `minipinet data list` shows")
    for action in (listing, info, fetch):
        common.add_json_option(action)


def run_list(args: argparse.Namespace, _: list[str]) -> None:
    """Print the known names, whether their content is checked, and where they are at hand."""
    from minipinet.datasets import available
    from minipinet.datasets.catalogue import DIGESTS

    rows = [{"name": name, "checked": name in DIGESTS, "at_hand": _at_hand(name)} for name in available()]
    if args.json:
        common.print_json({"datasets": rows})
        return
    cells = [[row["name"], "yes" if row["checked"] else "no", row["at_hand"] or "to be fetched"] for row in rows]
    print(table(["name", "checked", "at hand"], cells, left=[0, 1, 2]))


def run_info(args: argparse.Namespace, _: list[str]) -> None:
    """Print what is in a data set."""
    from minipinet.datasets.load import read_tu

    _print_info(describe(read_tu(args.dataset, data_dir=args.data_dir, progress=not args.json)), args.json)


def run_fetch(args: argparse.Namespace, _: list[str]) -> None:
    """Bring a data set into the cache, unless it is at hand, and print what is in it."""
    from minipinet.datasets import available
    from minipinet.datasets.catalogue import find_name, unknown_name
    from minipinet.datasets.load import read_tu

    name = find_name(args.dataset, available())
    if name is None:
        raise unknown_name(args.dataset, available(), "known (`minipinet data list` shows what is)")
    info = describe(read_tu(name, base_url=args.base_url, progress=not args.json), args.base_url)
    _print_info({**info, "at_hand": _at_hand(name)}, args.json)


def describe(content: TUContent, base_url: str | None = None) -> dict[str, Any]:
    """Return counts, digest and origin of a data set, as JSON values; its notices are issued."""
    import numpy as np

    from minipinet.datasets import available
    from minipinet.datasets.assemble import assemble, assemble_graphs
    from minipinet.datasets.catalogue import DIGESTS
    from minipinet.datasets.download import download_url
    from minipinet.splits import class_counts

    plain: dict[str, Any] = {"keep_repeats": False, "directed": False, "encoder": None}
    classes = digest = None
    if content.values is None:
        graphs, encoder, notices = assemble_graphs(content, "labels", **plain)
    else:
        dataset = assemble(content, "labels", **plain)
        graphs, encoder, notices = dataset.graphs, dataset.encoder, dataset.notices
        classes, digest = class_counts(dataset.labels), dataset.digest
    for text in notices:
        notify(text)
    A, X, ptr = graphs
    sizes, deg = np.diff(ptr), np.diff(A.indptr)
    loops = int(np.count_nonzero(A.diagonal()))
    biggest = int(sizes.argmax())
    labels = [] if content.node_labels is None else [len(np.unique(column)) for column in content.node_labels.T]
    known = DIGESTS.get(content.name)
    about = _about(content.name)
    return {
        "name": content.name,
        "graphs": len(sizes),
        "classes": classes,
        "features": X.shape[1],
        "features_from": encoder.kind,
        "node_label_values": labels,
        "node_attributes": 0 if content.attributes is None else content.attributes.shape[1],
        "nodes": int(ptr[-1]),
        "nodes_per_graph": float(sizes.mean()),
        "edges": (A.nnz - loops) // 2 + loops,
        "loops": loops,
        "isolated_nodes": int(np.count_nonzero(deg == 0)),
        "biggest_graph": {"graph": biggest, "nodes": int(sizes[biggest])},
        "digest": digest,
        "checked": None if known is None or digest is None else known == digest,
        "address": download_url(content.name, base_url) if content.name in available() else None,
        "citation": CITATION,
        "about": None if about is None else str(about),
        "notices": notices,
    }


def _print_info(info: dict[str, Any], as_json: bool) -> None:
    if as_json:
        common.print_json(info)
        return
    verdict = {None: "no other is known under this name", True: "as expected for this name", False: "NOT the known one"}
    rows = [
        ("graphs", info["graphs"]),
        ("classes", ", ".join(f"{name}: {n}" for name, n in (info["classes"] or {}).items()) or "no graph labels"),
        ("features", f"{counted(info['features'], 'feature')} a node, from {info['features_from']}"),
        ("node label values", ", ".join(map(str, info["node_label_values"])) or "no node labels"),
        ("node attributes", info["node_attributes"] or "none"),
        ("nodes", f"{info['nodes']}, {info['nodes_per_graph']:.2f} a graph"),
        ("edges", f"{info['edges']}, {info['loops']} of them loops"),
        ("isolated nodes", info["isolated_nodes"]),
        (
            "biggest graph",
            f"number {info['biggest_graph']['graph']}, {counted(info['biggest_graph']['nodes'], 'node')}",
        ),
        ("digest", f"{info['digest']} ({verdict[info['checked']]})" if info["digest"] else "none without graph labels"),
        ("address", info["address"] or "none known"),
        ("citation", info["citation"]),
        ("source, licence", info["about"] or "none known"),
    ]
    if "at_hand" in info:
        rows.append(("now in", info["at_hand"]))
    print(f"{info['name']}\n{pairs(rows)}")


def _about(name: str) -> Traversable | None:
    """Return the file on source and licence that comes with an embedded data set."""
    file = resources.files("minipinet.datasets") / "data" / f"{name}.txt"
    return file if file.is_file() else None


def _at_hand(name: str) -> str | None:
    """Return where a name is found without the network, in the order of `load_dataset`; None if nowhere."""
    from minipinet.datasets.archive import is_zip
    from minipinet.datasets.catalogue import normalise
    from minipinet.datasets.download import cache_dir

    folder = os.environ.get("MINIPINET_DATA")
    if folder:
        places = [place for place in Path(folder).glob("*") if place.is_dir() or is_zip(place)]
        if any(normalise(place.name.removesuffix(".zip")) == normalise(name) for place in places):
            return folder
    if name == "MUTAG":
        return "the package"
    return str(cache_dir()) if (cache_dir() / f"{name}.zip").exists() else None
