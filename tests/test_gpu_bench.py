"""The benchmark of a card, on the host's kernels: that all of it runs, what it counts, and what its report says."""

from __future__ import annotations

import importlib
import json
import re
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minipinet._array
from minipinet.cuda.dataset import graph_table
from minipinet.cuda.training import Card
from minipinet.datasets import load_dataset
from minipinet.params import init_params
from minipinet.quotient import refine
from minipinet.settings import Settings
from tests.kernels_on_host import HostLauncher, use_host_card

ROOT = Path(__file__).resolve().parent.parent
FACTS = {"card": "no card at all", "driver": "0.0", "versions": {"CUDA": "0.0"}}
SMALL = ["--folds", "2", "--epochs", "2", "--rounds", "2", "--least", "0", "--megabytes", "1"]


@pytest.fixture(autouse=True)
def scripts(monkeypatch: pytest.MonkeyPatch) -> None:
    for folder in ("scripts", "scripts/gpu", "scripts/peers"):
        monkeypatch.syspath_prepend(str(ROOT / folder))


def module(name: str) -> Any:
    return importlib.import_module(name)


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The benchmark with the host for a card, a few graphs for each data set, and minipinet on the CPU for PyG."""
    found = module("gpu_bench")
    use_host_card(monkeypatch)
    monkeypatch.setattr(found, "card_problem", lambda: None)
    monkeypatch.setattr(found, "card_facts", lambda: json.loads(json.dumps(FACTS)))
    monkeypatch.setattr(found, "launcher", HostLauncher)
    monkeypatch.setattr(found, "load", lambda name, data_dir: load_dataset("MUTAG")[:60:2])
    monkeypatch.setattr(found, "is_made", lambda framework, envs: framework == "torch")
    monkeypatch.setattr(found, "MODULES", dict.fromkeys(found.MODULES, "no_such_module"))
    process = found.PeerProcess

    def stand_in(peer: str, python: Path, problem: Path, threads: int, log: Path, device: str) -> Any:
        assert device == "cuda"
        if peer == "plain_torch":
            raise found.PeerError(f"{peer} ended: no CUDA (all of it: {log})")
        return process("ours", Path(sys.executable), problem, 1, log)

    monkeypatch.setattr(found, "PeerProcess", stand_in)
    return found


def test_everything_is_timed_and_told(bench: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    output = tmp_path / "report.json"
    assert bench.main([*SMALL, "--output", str(output)]) == 0
    report = json.loads(output.read_text(encoding="utf-8"))
    assert list(report["datasets"]) == ["MUTAG", "isomorphism"]
    for one in report["datasets"].values():
        assert (one["graphs"], one["batches"]) == (30, 1)
        assert {side: len(seconds) for side, seconds in one["seconds"].items()} == {
            "cpu": 2, "launches": 2, "captured": 2, "folds": 2, "pyg": 2,
        }  # fmt: skip
        assert min(min(seconds) for seconds in one["seconds"].values()) > 0
        before, after = one["losses"]["cpu"]
        for losses in one["losses"].values():
            assert losses == pytest.approx([before, after], rel=1e-4)
        assert one["bytes"]["launches"] == one["bytes"]["captured"] < one["bytes"]["folds"]
    assert report["skipped"] == {
        "NCI1": "there is no --data-dir", "PROTEINS": "there is no --data-dir",
        **{f"{peer} on {name}": reason for name in ("MUTAG", "isomorphism") for peer, reason in (
            ("plain_torch", "plain_torch ended: no CUDA"), ("jax_sparse", "no_such_module is not installed"),
        )},
    }  # fmt: skip
    assert report["cross_validation"]["seconds"] > 0
    assert report["copy_bytes_per_second"] > 0
    assert re.fullmatch(r"[0-9a-f]{7,}(-dirty)?|unknown", report["commit"])
    assert {"numpy", "python", "CUDA"} <= report["versions"].keys()
    written = output.with_suffix(".md").read_text(encoding="utf-8")
    assert written == module("report").markdown(report)
    assert capsys.readouterr().out == written + "\n"


def test_another_loss_ends_it_and_a_peer_with_another_is_left_out(
    bench: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    check = bench.check_losses
    wrong = {"pyg"}

    def changed(losses: dict[str, tuple[float, float]]) -> None:
        check({name: (before + (name in wrong), after) for name, (before, after) in losses.items()})

    monkeypatch.setattr(bench, "check_losses", changed)
    words = [*SMALL, "--datasets", "MUTAG", "--output", str(tmp_path / "report.json")]
    assert bench.main(words) == 0
    report = json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))
    assert "pyg" not in report["datasets"]["MUTAG"]["seconds"]
    assert report["skipped"]["pyg on MUTAG"].startswith("pyg: expected minipinet's loss ")
    wrong.add("captured")
    with pytest.raises(bench.PeerError, match="captured: expected minipinet's loss"):
        bench.main(words)


def test_without_a_card_it_says_why(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bench = module("gpu_bench")
    monkeypatch.setattr(bench, "card_problem", lambda: "there is no NVIDIA card")
    assert bench.main(["--output", str(tmp_path / "report.json")]) == 1
    assert capsys.readouterr().err == "gpu_bench: there is no NVIDIA card\n"
    assert list(tmp_path.iterdir()) == []


def report(**captured: float) -> dict[str, Any]:
    """Return a report of data sets whose captured epoch takes so many seconds."""
    return {
        **FACTS, "processor": "Some CPU", "commit": "1234567", "date": "2026-11-28", "folds": 10, "rounds": 2,
        "copy_bytes_per_second": 2e12, "cross_validation": {"folds": 10, "epochs": 200, "seconds": 4.5},
        "skipped": {"PROTEINS": "there is no --data-dir"},
        "datasets": {
            name: {
                "batches": 4, "bytes": {"captured": 10**8, "folds": 10**9},
                "seconds": {
                    "cpu": [10 * own] * 2, "captured": [own] * 2, "folds": [5 * own] * 2, "pyg": [19 * own, 23 * own],
                },
            }
            for name, own in captured.items()
        },
    }  # fmt: skip


def test_the_report_says_what_was_aimed_at_and_found() -> None:
    text = module("report").markdown(report(MUTAG=8e-4, NCI1=0.0125))
    head, _, mutag, nci1, _, aims, _, *found = text.splitlines()
    assert head == (
        "| ms an epoch (a step) | CPU, one core | captured | 10 folds at once, each | PyTorch + PyG | PyG by captured "
        "| of the bandwidth |"
    )
    # A step is 0.2 ms: 1e8 bytes in it are 5e11 a second, a quarter of 2e12. PyG: 19 and 23 times as long.
    assert mutag == "| MUTAG | 8 (2) | 0.8 (0.2) | 0.4 (0.1) | 16.8 (4.2) | 21.0× | 25.0 % |"
    assert nci1.startswith("| NCI1 | 125 (31) | 12.5 (3.1) | 6.25 (1.6) | ")
    assert aims == "| aim | | found | met |"
    assert found[:5] == [
        "| an epoch of NCI1, captured | at most 12 ms | 12.5 ms | no |",
        "| an epoch of MUTAG, captured | at most 1 ms | 0.8 ms | yes |",
        "| PyG's epoch of MUTAG by a captured one | at least 20 times | 21 times | yes |",
        "| PyG's epoch of NCI1 by a captured one | at least 20 times | 21 times | yes |",
        "| 10 folds of MUTAG, 200 epochs | at most 5 s | 4.5 s | yes |",
    ]
    assert found[6] == "Not timed: PROTEINS: there is no --data-dir."
    assert found[7].startswith(
        "no card at all, 2000 GB/s copied, driver 0.0; Some CPU; CUDA 0.0; minipinet at 1234567,"
    )


@pytest.mark.parametrize(
    ("found", "least", "met"),
    [(20, True, "yes"), (19.9, True, "no"), (20, False, "yes"), (20.1, False, "no"), (None, True, "not measured")],
)
def test_an_aim_is_met_from_the_goal_on(found: float | None, least: bool, met: str) -> None:
    assert module("report").Target("aim", 20, found, "times", least).met == met


def test_what_was_not_measured_is_not_met() -> None:
    one = report(MUTAG=8e-4)
    del one["datasets"]["MUTAG"]["seconds"]["pyg"]
    met = {target.what: target.met for target in module("report").targets(one)}
    assert met["an epoch of NCI1, captured"] == "not measured"
    assert met["PyG's epoch of MUTAG by a captured one"] == "not measured"
    one["datasets"]["MUTAG"]["seconds"]["pyg"] = [19 * 8e-4, 20 * 8e-4]
    assert {target.what: target.met for target in module("report").targets(one)} == met | {
        "PyG's epoch of MUTAG by a captured one": "no"
    }


def test_a_step_of_all_folds_has_all_their_bytes() -> None:
    shares = [module("report").bandwidth_share(report(MUTAG=8e-4), "MUTAG", side) for side in ("captured", "folds")]
    # Ten times the bytes in five times the time.
    assert shares == pytest.approx([0.25, 0.5])


def test_bytes_are_those_of_every_array_once() -> None:
    a, b, table = np.zeros(10, np.float32), np.zeros(3), np.zeros(1000, np.int32)
    counter = module("traffic").Counter({id(table)})
    counter("kernel", 20, a, b, a, table, None, 7, 0.5)
    assert counter.bytes == 40 + 24 + 20 * 4
    counter.xp.matmul(np.zeros((2, 3)), np.zeros((3, 4)), out=np.zeros((2, 4)))
    assert counter.bytes == 144 + 8 * (6 + 12 + 8)


def test_the_bytes_of_a_step_grow_with_the_folds_and_nothing_is_run() -> None:
    data = load_dataset("MUTAG")
    params = init_params(np.random.default_rng(0), data.num_features, 2, hidden=6, out=4)
    launch, table = HostLauncher("float32"), graph_table(refine(data.graphs), data.y)
    found = []
    for K in (1, 2, 4):
        card = Card(launch, [table], [params] * K, 188, Settings())
        found.append(module("traffic").step_bytes(card))
        n_1 = card.shape.rows[1]
        assert not card.buffers.H_1.any()
    assert found[0] > 4 * (2 * n_1 * 6 * 8), "R alone is taken by eight kernels and products"
    for fewer, more in pairwise(found):
        assert 1.9 * fewer < more < 2 * fewer, "the data set counts once"
    assert launch.launched == []


def test_the_bandwidth_is_that_of_the_fastest_copy(monkeypatch: pytest.MonkeyPatch) -> None:
    ticks = iter([0.0, 8.0, 10.0, 12.0, 20.0, 24.0])
    monkeypatch.setattr("traffic.time.perf_counter", lambda: next(ticks))
    # Ten copies of 1 MiB are 20 MiB read and written, in 2 seconds at best.
    assert module("traffic").copy_bandwidth(np, 1, repeats=2) == 10 * 2**20


def test_a_peer_that_finds_no_card_says_so(tmp_path: Path) -> None:
    environments, processes, problem = module("environments"), module("processes"), module("problem")
    envs = Path.home() / ".cache" / "minipinet" / "peers"
    problem.write_problem(tmp_path / "problem.npz", load_dataset("MUTAG")[:10])
    tried = 0
    for peer in ("pyg", "plain_torch", "jax_sparse"):
        if minipinet._array.card_problem() is None or not environments.is_made(environments.PEERS[peer], envs):
            continue
        python, log = environments.python_of(peer, envs), tmp_path / "log"
        with pytest.raises(processes.PeerError, match=f"{peer} ended: .*(CUDA|cuda)"):
            processes.PeerProcess(peer, python, tmp_path / "problem.npz", 1, log, "cuda")
        tried += 1
    if not tried:
        pytest.skip("no framework is installed, or there is a card")
