"""The floor of an epoch: its count of the products is what training does, and its table adds up."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from minipinet._array import Array
from minipinet.datasets import isomorphism_dataset, load_dataset
from minipinet.fast import pooled, products, readout
from minipinet.fast.batch import make_fast_batches
from minipinet.fast.model import loss_backward, loss_forward
from minipinet.fast.readout import TwoClassCache
from minipinet.params import init_params
from minipinet.quotient import refine

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    return importlib.import_module("floor")


class Counting:
    """NumPy, but for a `matmul` that adds up the operations of the products."""

    def __init__(self) -> None:
        self.flops = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(np, name)

    def matmul(self, x: Array, y: Array, out: Array) -> Array:
        self.flops += 2 * out.size * x.shape[-1]
        return np.matmul(np.asarray(x), np.asarray(y), out=out)


class Counted(np.ndarray[Any, Any]):
    """An array that adds up the operations of the matrix products that it is in."""

    counting: Counting

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, out: Any = (), **kwargs: Any) -> Any:
        plain = [x.view(np.ndarray) if isinstance(x, Counted) else x for x in inputs]
        if out:
            kwargs["out"] = tuple(map(np.asarray, out))
        result = getattr(ufunc, method)(*plain, **kwargs)
        if ufunc is np.matmul:
            Counted.counting.flops += 2 * result.size * plain[0].shape[-1]
        return result.view(Counted) if isinstance(result, np.ndarray) else result


@pytest.mark.parametrize("name", ["MUTAG", "isomorphism"])
@pytest.mark.parametrize(("hidden", "out"), [(100, 64), (5, 4)])
def test_the_count_of_products_is_what_training_does(
    script: Any, name: str, hidden: int, out: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With 5 hidden columns the first layer of MUTAG is A~ (X W): its 7 features are more."""
    Counted.counting = counting = Counting()
    for module in (products, readout, pooled):
        monkeypatch.setattr(module, "np", counting)
    dataset = load_dataset("MUTAG") if name == "MUTAG" else isomorphism_dataset(0)
    params = init_params(np.random.default_rng(0), dataset.num_features, dataset.num_classes, hidden=hidden, out=out)
    batch = next(make_fast_batches(refine(dataset.graphs), range(0, len(dataset), 7), 50))
    # What is written with @ is known by one of its factors.
    _, cache = loss_forward(params._replace(W_D=params.W_D.view(Counted)), batch, dataset.y[::7][:50])
    found = cache.pinet.readout
    found = found._replace(
        **({"Z_X": found.Z_X.view(Counted)} if isinstance(found, TwoClassCache) else {"P": found.P.view(Counted)})
    )
    loss_backward(1.0, cache._replace(pinet=cache.pinet._replace(readout=found)))
    assert script.work(batch, params).flops == counting.flops
    assert counting.flops > 10_000


def test_the_table_adds_up(tmp_path: Path) -> None:
    words = ["--datasets", "MUTAG", "isomorphism", "--rounds", "1", "--markdown", str(tmp_path / "floor.md")]
    done = subprocess.run(
        [sys.executable, str(ROOT / "scripts" / "floor.py"), *words],
        capture_output=True, text=True, check=True, env={**os.environ, "PYTHONPATH": str(ROOT)}, cwd=tmp_path,
    )  # fmt: skip
    assert done.stdout == (tmp_path / "floor.md").read_text(encoding="utf-8")
    rows = [line.split("|")[1:-1] for line in done.stdout.splitlines() if line.startswith("| ")][1:]
    assert [row[0].strip() for row in rows] == ["MUTAG", "isomorphism"]
    for _, *cells in rows:
        products, exps, traffic, floor, epoch, ratio, shaped = map(float, cells[:7])
        assert products + exps + traffic == pytest.approx(floor, abs=0.02)
        assert epoch / floor == pytest.approx(ratio, rel=0.06)
        assert min(products, traffic, shaped) > 0
        assert sum(float(cell.strip(" %")) for cell in cells[7:]) == pytest.approx(100, abs=2)
