"""docs/notation.md against the code: every name exists, every shape is right in a run, and no symbol is missing."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
import scipy.sparse

from minipinet.attention_shares import attention_shares
from minipinet.baselines.gcn_layers import kipf_quotient
from minipinet.baselines.gcn_network import gcn_loss_backward, gcn_loss_forward, init_gcn
from minipinet.batch import make_batch
from minipinet.graphs import Graph, as_graph, permute_nodes
from minipinet.model import loss_backward, loss_forward
from minipinet.optim import adam_init
from minipinet.params import init_params
from minipinet.quotient import refine
from minipinet.union import disjoint_union

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "minipinet"
MATHS = (
    [
        PACKAGE / f"{name}.py"
        for name in ("propagation", "attention", "readout", "attention_readout", "model", "params", "quotient", "batch")
    ]
    + [
        PACKAGE / "fast" / f"{name}.py"
        for name in (
            "propagation",
            "products",
            "readout",
            "pooled",
            "batch",
            "model",
            "compiled/propagation",
            "compiled/readout",
            "compiled/pooled",
            "compiled/loss",
            "compiled/model",
        )
    ]
    + [PACKAGE / "cuda" / f"{name}.py" for name in ("buffers", "step")]
    + [
        PACKAGE / "baselines" / f"{name}.py"
        for name in ("convolution", "patchy_san_network", "gcn_layers", "gcn_network")
    ]
)

#: What counts as a symbol of the mathematics: one capital, or p, q, s, b, y, deg; perhaps with an index.
SYMBOL = r"(?:[A-Z]|[pqsby]|deg)(?:_[A-Za-z0-9]+)*"
# Of the batch in `one_step`: no two alike except where one setting gives both, nor like n_0 = 3, n_1 = 4, n_2 = 5.
SIZES = {"B": 6, "G": 7, "d": 12, "F_A0": 11, "F_X0": 11, "F_A": 9, "F_X": 9}


class Row(NamedTuple):
    """One name of the table at one of its places."""

    code: str
    where: str
    shape: str
    interval: str


def read_rows(text: str) -> list[Row]:
    """Return the rows of all tables, one for each name and place."""
    rows = []
    for line in text.splitlines():
        if line.startswith("| ") and not line.startswith("| Symbol"):
            _, _, code, where, shape, interval, *_ = re.split(r" *\| *", line)
            for name in re.findall(r"`([^`]+)`", code):
                rows += [Row(name, place, shape.strip("`"), interval) for place in re.findall(r"`([^`]+)`", where)]
    return rows


# The letters of formulas, before the sizes, are test_letters.py's.
ROWS = read_rows((ROOT / "docs" / "notation.md").read_text(encoding="utf-8").partition("\n## Sizes\n")[2])
CODES = {row.code for row in ROWS}


def names_in(tree: ast.AST) -> Iterator[str]:
    """Yield every name that `tree` gives to something: arguments, variables, fields, functions and classes."""
    for node in ast.walk(tree):
        if isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name


def definitions() -> dict[str, set[str]]:
    """Return the names inside every function and class of the package, and inside every file."""
    found: dict[str, set[str]] = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        found.setdefault(path.name, set()).update(names_in(tree))
        for node in tree.body:
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                found.setdefault(node.name, set()).update(names_in(node))
    return found


def records(paths: list[Path]) -> dict[str, list[str]]:
    """Return the fields of the NamedTuples and dataclasses of some files."""
    return {
        node.name: [ast.unparse(line.target) for line in node.body if isinstance(line, ast.AnnAssign)]
        for path in paths
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    }


def without_index(name: str) -> str:
    """Return the name of the table that a loop takes a part of: H of H_i."""
    return re.sub("_[cghijkt]$", "", name)


DEFINITIONS = definitions()
# What a buffer on a card holds is called as in the pair that it belongs to.
RECORDS = records(
    [path for path in MATHS if path.name != "buffers.py"]
    + [PACKAGE / name for name in ("pool.py", "optim.py", "graphs.py", "union.py")]
)


def test_the_table_is_read() -> None:
    assert len(ROWS) > 80
    assert len(ROWS) == len(set(ROWS)), "a name stands twice at one place"


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.where}.{row.code}")
def test_every_name_of_the_table_is_in_the_code(row: Row) -> None:
    assert row.where in DEFINITIONS, f"there is no {row.where}"
    assert row.code in DEFINITIONS[row.where], f"{row.where} has no {row.code}"


@pytest.mark.parametrize("record", [name for name in RECORDS if not name.endswith(("Cache", "Grads"))])
def test_every_field_of_a_record_is_in_the_table(record: str) -> None:
    listed = {row.code for row in ROWS if row.where == record}
    assert set(RECORDS[record]) <= listed, f"docs/notation.md lacks {set(RECORDS[record]) - listed} of {record}"


@pytest.mark.parametrize("path", MATHS, ids=lambda path: path.name)
def test_every_symbol_in_the_mathematics_is_in_the_table(path: Path) -> None:
    symbols = {without_index(name) for name in DEFINITIONS[path.name] if re.fullmatch(SYMBOL, name)}
    assert symbols
    assert symbols <= CODES, f"docs/notation.md lacks {sorted(symbols - CODES)}"


@pytest.mark.parametrize("path", sorted(PACKAGE.rglob("*.py")), ids=lambda path: path.name)
def test_only_gradients_start_with_a_bare_d(path: Path) -> None:
    names = set(map(without_index, names_in(ast.parse(path.read_text(encoding="utf-8")))))
    starts = {name for name in names if re.fullmatch(f"d(?:[A-Z]+|{SYMBOL})(?:_[A-Za-z0-9]+)*", name)} - {"deg"}
    strange = {name for name in starts - CODES if not (name[1:] in CODES and path in MATHS)}
    assert not strange, f"{path.name}: {sorted(strange)} look like gradients of something that docs/notation.md lacks"


def one_step() -> list[Any]:
    """Take the model once each way through everything the tables name; return the records made."""
    path = as_graph(np.eye(8, k=1) + np.eye(8, k=-1), np.ones((8, SIZES["d"])))
    empty = Graph(scipy.sparse.csr_array((0, 0)), np.zeros((0, SIZES["d"])))
    mirrored = permute_nodes(path, np.arange(8)[::-1])
    union = disjoint_union([path, as_graph([[0]], np.ones((1, SIZES["d"]))), empty, mirrored, path, path, path])
    quotient = refine(union)
    batch = make_batch(quotient, [3, 2, 1, 0, 0, 1], "float64")
    seen = [path, union, quotient, *quotient.levels, batch, *batch.steps, batch.pool]
    # Two classes take the fused readout, ten the pooled matrices.
    for C, learned in ((2, True), (10, False)):
        params = init_params(
            np.random.default_rng(0), SIZES["d"], C, hidden=SIZES["F_A0"], out=SIZES["F_A"],
            bias=True, learned_pq=learned, dtype="float64",
        )  # fmt: skip
        y = np.array([0, 1, 0, C - 1, 0, 1])
        cache = loss_forward(params, batch, y, None if learned else np.full((4, 2), 0.25))[-1]
        loss_backward(1.0, cache)
        seen += [params, cache.pinet, adam_init(params)]
    # Both readouts of the GCN; nine places are more than any graph has nodes.
    for places in (None, 9):
        batch = make_batch(kipf_quotient(union, merge=places is None), [3, 2, 1, 0, 0, 1], "float64")
        gcn = init_gcn(np.random.default_rng(0), SIZES["d"], 2, places=places, hidden=11, out=9, bias=True)
        gcn_loss_backward(1.0, gcn_loss_forward(gcn, batch, np.array([0, 1, 0, 1, 0, 1]), places)[-1])
        seen += [gcn]
    return seen


@pytest.fixture(scope="module")
def places() -> list[tuple[str, dict[str, Any]]]:
    """Return every function called in `one_step` with its variables at the end, and every record with its fields."""
    found = []

    def note(frame: Any, event: str, _: Any) -> None:
        if event == "return" and frame.f_code.co_filename.startswith(str(PACKAGE)):
            found.append((frame.f_code.co_name, dict(frame.f_locals)))

    sys.setprofile(note)
    try:
        seen = one_step()
    finally:
        sys.setprofile(None)
    # Of one graph alone, so that its functions are not those of a batch of B.
    params = init_params(np.random.default_rng(0), SIZES["d"], 10, hidden=SIZES["F_A0"], out=SIZES["F_A"], bias=True)
    seen.append(attention_shares(params, None, disjoint_union([seen[0]]), tuple(range(10))))
    for record in seen:
        name = type(record).__name__
        found.append((name, {row.code: getattr(record, row.code) for row in ROWS if row.where == name}))
    return found


def dimensions(row: Row, value: Any) -> list[tuple[str, int]]:
    """Pair each dimension in the shape of a row, such as "B + 1", with that of the value."""
    expected = [] if row.shape == "scalar" else ast.parse(row.shape, mode="eval").body.elts  # type: ignore[attr-defined]
    actual = value.shape if scipy.sparse.issparse(value) else np.shape(value)
    assert len(actual) == len(expected), f"{row.where}.{row.code} has the shape {actual}, not {row.shape}"
    return list(zip(map(ast.unparse, expected), actual, strict=True))


def check_interval(row: Row, value: Any) -> None:
    """Check that all numbers in `value` are where the row says."""
    numbers = value.data if scipy.sparse.issparse(value) else np.asarray(value)
    low = re.match(r"≥ (\d)|\[(\d), 1\]", row.interval)
    high = 1 + 1e-12 if row.interval.endswith("1]") else np.inf
    assert row.interval in ("–", "finite") or low, f"an unknown range: {row.interval}"
    if row.interval != "–":
        assert np.isfinite(numbers).all(), f"{row.where}.{row.code} is not finite"
    if low:
        assert (numbers >= int(low[1] or low[2])).all(), f"{row.where}.{row.code} is not {row.interval}"
        assert (numbers <= high).all(), f"{row.where}.{row.code} is not {row.interval}"


def test_every_shape_and_range_of_the_table_holds_in_a_run(places: list[tuple[str, dict[str, Any]]]) -> None:
    checked = set()
    for place, variables in places:
        values = {row: variables.get(row.code) for row in ROWS if row.where == place and row.shape != "–"}
        found = [(row, dimensions(row, value)) for row, value in values.items() if value is not None]
        sizes = SIZES | {"B": SIZES["G"]} if place == "DisjointUnion" else dict(SIZES)
        for name, size in [pair for _, pairs in found for pair in pairs]:
            if name.isidentifier():
                sizes.setdefault(name, size)
        for row, pairs in found:
            for text, size in pairs:
                assert size == eval(text, sizes.copy()), f"{text} of {place}.{row.code}"
            check_interval(row, values[row])
            checked.add(row)
    assert {row for row in ROWS if row.shape != "–"} - checked == set()


def test_a_gradient_has_the_shape_of_its_symbol(places: list[tuple[str, dict[str, Any]]]) -> None:
    pairs = set()
    for place, variables in places:
        for name in variables:
            stem = variables.get(name[1:]) if name.startswith("d") else None
            if stem is not None and variables[name] is not None:
                given, expected = np.shape(variables[name]), np.shape(stem)
                # Flat for a matrix product is allowed.
                assert given == expected or (len(given) != len(expected) and np.prod(given) == np.prod(expected)), (
                    f"{name} in {place} has the shape {given}, {name[1:]} has {expected}"
                )
                pairs.add((place, name))
    assert {("propagate_backward", "dM"), ("pool_backward", "dZ_A"), ("scaling_backward", "ds")} <= pairs
