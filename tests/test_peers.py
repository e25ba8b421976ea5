"""The benchmark beside other frameworks: what it hands them, how it compares their times, and each of them once."""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from minipinet.datasets import load_dataset
from minipinet.reference import loss as oracle_loss
from minipinet.union import graph_at
from tests.tolerances import ORACLE_FLOAT32

ROOT = Path(__file__).resolve().parent.parent
ENVS = Path.home() / ".cache" / "minipinet" / "peers"
PEERS = ("pyg", "plain_torch", "jax_sparse", "jax_padded", "keras_padded")


@pytest.fixture(autouse=True)
def peers_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "scripts" / "peers"))


def module(name: str) -> Any:
    return importlib.import_module(name)


@pytest.fixture
def mutag(tmp_path: Path) -> Path:
    """The problem of MUTAG, as a file."""
    module("problem").write_problem(tmp_path / "problem.npz", module("problem").load("MUTAG", None))
    return tmp_path / "problem.npz"


def results(**seconds: Any) -> dict[str, Any]:
    return {
        "machine": {"processor": "Some CPU", "processors": 2, "system": "Linux", "python": "3.11.7"},
        "commit": "1234567", "date": "2026-11-28", "rounds": 3, "batch_size": 50,
        "versions": {"ours": {"minipinet": "0.1.0", "numpy": "2.4.6"}, "pyg": {"torch": "2.13.0", "numpy": "2.4.6"}},
        "datasets": {"MUTAG": {"seconds": seconds}},
    }  # fmt: skip


#: minipinet is better with one thread, PyG with two; Keras was stopped after the first round.
SECONDS = {
    "keras_padded": {"1": [0.5]},
    "pyg": {"1": [0.2, 0.3, 0.3], "2": [0.08, 0.05, 0.2]},
    "ours": {"1": [0.01, 0.005, 0.04], "2": [0.02, 0.02, 0.02]},
    "ours_numpy": {"1": [0.02, 0.02, 0.02]},
}


def test_ratios_are_taken_round_by_round_with_the_better_threads_of_each_side() -> None:
    own, numpy, pyg, keras = module("summary").rows(results(**SECONDS), "MUTAG")
    assert (own.peer, own.threads, own.ms, own.ratio, own.once) == ("ours", 1, pytest.approx(10), 1, False)
    # 0.08 / 0.01, 0.05 / 0.005, 0.2 / 0.04: the median is 8, and not that of the medians, 80 / 10.
    assert (numpy.peer, numpy.ratio) == ("ours_numpy", 2)
    assert (pyg.peer, pyg.threads, pyg.ms, pyg.once) == ("pyg", 2, pytest.approx(80), False)
    assert pyg.ratio == pytest.approx(8)
    assert (keras.peer, keras.threads, keras.once) == ("keras_padded", 1, True)
    assert keras.ratio == pytest.approx(50)


def test_a_ratio_is_of_one_round_and_not_of_medians() -> None:
    """A machine that slows down in the middle slows both sides of the same rounds."""
    own, pyg = module("summary").rows(results(ours={"1": [1, 9, 2]}, pyg={"1": [3, 27, 8]}), "MUTAG")
    assert (own.ms, pyg.ms) == (2000, 8000)
    assert pyg.ratio == 3


def test_the_table_comes_from_the_results() -> None:
    """The best of the others, which minipinet without Numba is not, is bold."""
    head, rule, row = module("summary").table(results(**SECONDS)).splitlines()
    assert head == "| data set | minipinet | minipinet, NumPy alone | PyTorch + PyG | Keras/TensorFlow, padded |"
    assert rule == "|---|---|---|---|---|"
    assert row == "| MUTAG | 10 (1) | 2×, 20 (1) | **8×**, 80 (2) | 50×, 500 (1, once) |"


def test_a_table_is_made_again_from_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "earlier.json").write_text(json.dumps(results(**SECONDS)), encoding="utf-8")
    words = ["bench_peers", "--show", str(tmp_path / "earlier.json"), "--output", str(tmp_path / "shown")]
    monkeypatch.setattr(sys, "argv", words)
    module("bench").main()
    text = (tmp_path / "shown" / "table.md").read_text(encoding="utf-8")
    assert text.startswith(module("summary").table(results(**SECONDS)))
    assert "Some CPU, 2 processors, Linux, Python 3.11.7; numpy 2.4.6, torch 2.13.0; minipinet at 1234567." in text


def test_another_loss_is_an_error() -> None:
    bench = module("bench")
    bench.check_losses({"ours": (1.0, 0.5), "pyg": (1.00005, 0.505)})
    with pytest.raises(bench.PeerError, match=r"pyg: expected minipinet's loss 1 before training, got 1\.001"):
        bench.check_losses({"ours": (1.0, 0.5), "pyg": (1.001, 0.5)})
    with pytest.raises(bench.PeerError, match=r"jax_padded: expected minipinet's loss 0\.5 after an epoch, got nan"):
        bench.check_losses({"ours": (1.0, 0.5), "jax_padded": (1.0, float("nan"))})


def test_the_problem_holds_the_graphs(mutag: Path) -> None:
    dataset = load_dataset("MUTAG")
    with np.load(mutag) as file:
        arrays = dict(file)
    order, ptr = arrays["orders"][0], arrays["ptr"]
    assert sorted(order) == list(range(188))
    assert arrays["batch_size"] == 50
    for g in order[:10]:
        graph = graph_at(dataset.graphs, int(g))
        nodes = slice(ptr[g], ptr[g + 1])
        A = np.zeros((graph.N, graph.N))
        for i in range(graph.N):
            entries = slice(arrays["indptr"][ptr[g] + i], arrays["indptr"][ptr[g] + i + 1])
            A[i, arrays["indices"][entries] - ptr[g]] = arrays["weight"][entries]
        assert (graph.A.toarray() == A).all()
        assert (arrays["X"][nodes] == graph.X).all()
        assert arrays["y"][g] == dataset.y[g]


def test_peers_cut_out_the_same_graphs_sparse_and_padded(mutag: Path) -> None:
    """Both forms, written out for the oracle, have the loss of the data set's own graphs."""
    serve = module("serve")
    with np.load(mutag) as file:
        arrays = dict(file)
    graphs = arrays["orders"][0][:6]
    one, dense = serve.union(arrays, graphs), serve.padded(arrays, graphs, 30)
    dataset = load_dataset("MUTAG")
    for k, g in enumerate(graphs):
        graph = graph_at(dataset.graphs, int(g))
        inside = one["graph"] == k
        A = np.zeros((len(one["X"]), len(one["X"])))
        A[one["row"], one["column"]] = one["weight"]
        assert (A[np.ix_(inside, inside)] == graph.A.toarray()).all()
        assert A[inside].sum() == graph.A.sum()
        assert (one["deg"][inside] == graph.A.toarray().sum(axis=1)).all()
        assert (dense["A"][k, : graph.N, : graph.N] == graph.A.toarray()).all()
        assert dense["A"][k].sum() == graph.A.sum()
        assert (dense["X"][k, : graph.N] == graph.X).all()
        assert dense["mask"][k].sum() == graph.N
    assert (one["y"] == dense["y"]).all()


def oracle(arrays: dict[str, Any]) -> float:
    """Return the loss of the first batch by the equations, dense and literal."""
    dense = module("serve").padded(arrays, arrays["orders"][0][:50], 30)
    sizes = dense["mask"].sum(axis=1).astype(int)
    graphs = [
        (A[:n, :n].astype(float), X[:n].astype(float)) for A, X, n in zip(dense["A"], dense["X"], sizes, strict=True)
    ]
    return float(oracle_loss(graphs, dense["y"], arrays))


@pytest.mark.parametrize("peer", ["ours", "ours_numpy", *PEERS])
def test_a_peer_computes_the_oracles_loss_and_trains(peer: str, mutag: Path, tmp_path: Path) -> None:
    environments, processes = module("environments"), module("processes")
    if peer in PEERS and not environments.is_made(environments.PEERS[peer], ENVS):
        pytest.skip(f"{environments.PEERS[peer]} is not installed in {ENVS}: scripts/bench_peers installs it")
    with np.load(mutag) as file:
        arrays = dict(file)
    process = processes.PeerProcess(peer, environments.python_of(peer, ENVS), mutag, 1, tmp_path / "log")
    try:
        assert process.loss() == pytest.approx(oracle(arrays), rel=ORACLE_FLOAT32)
        first = process.epochs(0)
        assert first["epochs"] == 1
        assert first["seconds"] > 0
        last = process.epochs(0.5)
        assert last["epochs"] > 1
        assert last["loss"] < first["loss"] / 1.5
        # Every turn starts anew.
        assert process.epochs(0)["loss"] == pytest.approx(first["loss"], rel=ORACLE_FLOAT32)
    finally:
        process.close()
    assert process.process.returncode == 0


def test_a_peer_that_fails_says_why(tmp_path: Path) -> None:
    processes = module("processes")
    with pytest.raises(processes.PeerError, match=r"ours ended: .*No such file"):
        processes.PeerProcess("ours", Path(sys.executable), tmp_path / "none.npz", 1, tmp_path / "log")
