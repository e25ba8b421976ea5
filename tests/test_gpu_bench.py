"""The benchmark of a card, on the host's kernels: that all of it runs, what it counts, and what its report says."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from itertools import count, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minipinet._card
from minipinet.cuda.dataset import graph_table
from minipinet.cuda.launch import NOT_CAPTURED
from minipinet.cuda.training import Card
from minipinet.datasets import Dataset, load_dataset
from minipinet.datasets.isomorphism import isomorphism_dataset
from minipinet.errors import DataError, DivergedError, Notice, notify
from minipinet.fast.training import compiled_form
from minipinet.params import init_params
from minipinet.quotient import refine
from minipinet.settings import Settings
from tests.gpu_scripts import FACTS, ROOT, module, scripts
from tests.kernels_on_host import HostLauncher, use_host_card

__all__ = ["scripts"]  # a fixture

SMALL = ["--folds", "2", "--epochs", "2", "--rounds", "2", "--least", "1e-9", "--megabytes", "1"]


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
        running = process("ours", Path(sys.executable), problem, 1, log)
        running.about["versions"].pop("numba", None)  # which it tells wherever it is installed, and PyG does not have
        return running

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
        **dict.fromkeys(("NCI1", "PROTEINS", "ENZYMES attributes"), "there is no --data-dir"),
        **{f"{peer} on {name}": reason for name in ("MUTAG", "isomorphism") for peer, reason in (
            ("plain_torch", "plain_torch ended: no CUDA"), ("jax_sparse", "no_such_module is not installed"),
        )},
    }  # fmt: skip
    assert report["cross_validation"]["seconds"] > 0
    assert report["copy_bytes_per_second"] > 0
    assert re.fullmatch(r"[0-9a-f]{7,}(-dirty)?|unknown", report["commit"])
    assert {"numpy", "python", "CUDA"} <= report["versions"].keys()
    compiled = compiled_form() is not None
    assert (report["cpu_passes"], "numba" in report["versions"]) == ("Numba" if compiled else "NumPy", compiled)
    written = output.with_suffix(".md").read_text(encoding="utf-8")
    assert written == module("report").markdown(report)
    assert capsys.readouterr().out == written + "\n"


@pytest.mark.parametrize(
    ("before", "late"),
    [
        (0, []),
        (80, ["pyg on isomorphism", "round 2 and what follows on isomorphism", "NCI1"]),
        (100, ["pyg on MUTAG", "round 2 and what follows on MUTAG", "isomorphism", "NCI1"]),
    ],
)
def test_what_is_not_begun_in_time_is_left_out(
    before: int, late: list[str], bench: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the seconds before the first data set are many or few, and each has a fold's check of 25 seconds."""
    clock = [0.0]

    def copy_bandwidth(*_: Any) -> float:
        clock[0] += before
        return 1e9

    def check_losses(losses: dict[str, Any]) -> None:
        clock[0] += 12.5 * ("folds" in losses)  # of each of two folds

    monkeypatch.setattr(bench, "copy_bandwidth", copy_bandwidth)
    monkeypatch.setattr(module("rounds"), "check_losses", check_losses)
    monkeypatch.setattr(bench.time, "monotonic", lambda: clock[0])
    words = ["--peers", "pyg", "--datasets", "MUTAG", "isomorphism", "NCI1", "--minutes", "2"]
    assert bench.main([*SMALL, *words, "--data-dir", str(tmp_path), "--output", str(tmp_path / "report.json")]) == 0
    report = json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))
    assert [what for what, why in report["skipped"].items() if why == bench.OVER] == late
    assert all(seconds for one in report["datasets"].values() for seconds in one["seconds"].values())
    written = (tmp_path / "report.md").read_text(encoding="utf-8")
    assert all(f"Not timed: {what}: {bench.OVER}." in written for what in late)


@pytest.mark.parametrize(
    ("fails_in", "error"),
    [("start", OSError("no such file")), ("loss", ValueError("no JSON")), ("timing", "PeerError")],
)
def test_a_peer_that_fails_is_left_out(
    fails_in: str, error: Any, bench: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fails = bench.PeerError("pyg ended: out of memory (all of it: log)") if error == "PeerError" else error
    closed: list[int] = []

    class Peer:
        about: Any = {"versions": {"torch": "2"}}  # noqa: RUF012
        epochs_done = count()

        def __init__(self, *_: Any) -> None:
            if fails_in == "start":
                raise fails

        def loss(self) -> float:
            if fails_in == "loss":
                raise fails
            return 0.0

        def epochs(self, least: float) -> dict[str, float]:
            if next(self.epochs_done) == 2:
                raise fails
            return {"loss": 0.0, "seconds": 1.0}

        def close(self) -> None:
            closed.append(1)

    monkeypatch.setattr(bench, "PeerProcess", Peer)
    monkeypatch.setattr(module("rounds"), "check_losses", lambda losses: None)
    path = tmp_path / "report.json"
    assert bench.main([*SMALL, "--datasets", "MUTAG", "--peers", "pyg", "--output", str(path)]) == 0
    found = json.loads(path.read_text(encoding="utf-8"))
    assert found["skipped"] == {"pyg on MUTAG": str(fails).partition(" (all")[0]}
    mutag = found["datasets"]["MUTAG"]
    assert list(mutag["seconds"]) == list(mutag["losses"]) == ["cpu", "launches", "captured", "folds"]
    assert {len(seconds) for seconds in mutag["seconds"].values()} == {2}
    assert bool(closed) == (fails_in != "start"), "its process would stay"


def test_launches_one_by_one_do_not_go_for_a_captured_step(
    bench: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: Any, run: Callable[[], None]) -> Callable[[], None]:
        notify(f"{NOT_CAPTURED}, and is launched kernel by kernel (no graphs)")
        return run

    monkeypatch.setattr(HostLauncher, "capture", refuse)
    output = tmp_path / "report.json"
    with pytest.warns(Notice, match="no graphs") as told:
        assert bench.main([*SMALL, "--datasets", "MUTAG", "--peers", "--output", str(output)]) == 0
    assert len(told) >= 4
    found = json.loads(output.read_text(encoding="utf-8"))
    assert list(found["datasets"]["MUTAG"]["seconds"]) == ["cpu", "launches"]
    assert found["skipped"] == dict.fromkeys(["captured on MUTAG", "folds on MUTAG"], str(told[0].message))
    assert found["cross_validation"]["not_captured"] == str(told[0].message)
    assert found["cross_validation"]["seconds"] > 0


def test_a_card_that_fails_is_one_sentence_and_what_was_measured_stays(
    bench: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    output, failure = (
        tmp_path / "report.json",
        type("OutOfMemoryError", (MemoryError,), {"__module__": "cupy.cuda.memory"}),
    )

    def fail(*_: Any, **__: Any) -> Any:
        raise failure("Out of memory allocating 512 bytes")

    monkeypatch.setattr(bench, "measure", fail)
    assert bench.main([*SMALL, "--datasets", "MUTAG", "--output", str(output)]) == 1
    said = capsys.readouterr()
    assert (said.out, said.err.count("\n")) == ("", 1)
    assert said.err.startswith(
        "gpu_bench: device: 'cuda' ran out of memory on the card (OutOfMemoryError: Out of memory"
    )
    assert said.err.endswith(f"; what was measured before is in {output}\n")
    assert json.loads(output.read_text(encoding="utf-8"))["cross_validation"]["seconds"] > 0


def test_a_data_set_that_is_not_there_is_left_out(bench: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    few = bench.load
    monkeypatch.setattr(
        bench,
        "load",
        lambda name, data_dir: module("problem").load(name, data_dir) if name == "NCI1" else few(name, data_dir),
    )
    path = tmp_path / "report.json"
    words = [*SMALL, "--peers", "--data-dir", str(tmp_path), "--output", str(path)]
    assert bench.main([*words, "--datasets", "NCI1", "MUTAG", "MUTAG"]) == 0
    found = json.loads(path.read_text(encoding="utf-8"))
    assert list(found["datasets"]) == ["MUTAG"]
    assert "NCI1" in found["skipped"]["NCI1"]
    # With no data set at all, the rest is written.
    monkeypatch.setattr(bench, "compiled_form", lambda: None)
    assert bench.main([*words, "--datasets", "NCI1"]) == 0
    found = json.loads(path.read_text(encoding="utf-8"))
    assert (found["datasets"], found["cross_validation"]["seconds"] > 0) == ({}, True)
    assert (found["cpu_passes"], "numba" in found["versions"]) == ("NumPy", False)


def test_a_peer_with_another_loss_is_left_out(bench: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check = module("rounds").check_losses
    wrong = {"pyg"}

    def changed(losses: dict[str, tuple[float, float]]) -> None:
        check({name: (before + (name in wrong), after) for name, (before, after) in losses.items()})

    monkeypatch.setattr(module("rounds"), "check_losses", changed)
    words = [*SMALL, "--datasets", "MUTAG", "--output", str(tmp_path / "report.json")]
    assert bench.main(words) == 0
    report = json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))
    assert "pyg" not in report["datasets"]["MUTAG"]["seconds"]
    assert report["skipped"]["pyg on MUTAG"].startswith("pyg: expected minipinet's loss ")
    assert report["failed"] == []


def test_a_side_of_our_own_with_another_loss_is_told_and_the_rest_is_timed(
    bench: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    epoch = Card.epoch

    def wrong(card: Card, orders: Any) -> Any:
        return epoch(card, orders) * (1 + 1e-3 * (card.shape.K == 1 and card._to_capture is False))

    monkeypatch.setattr(Card, "epoch", wrong)
    words = [*SMALL, "--datasets", "MUTAG", "isomorphism", "--peers", "--output", str(tmp_path / "report.json")]
    assert bench.main(words) == 1
    said = capsys.readouterr()
    sides = [f"{side} on {name}" for name in ("MUTAG", "isomorphism") for side in ("launches", "captured")]
    assert said.err == f"gpu_bench: not what the CPU computes: {', '.join(sides)}\n"
    report = json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))
    assert report["failed"] == sides
    for name in ("MUTAG", "isomorphism"):
        assert list(report["datasets"][name]["seconds"]) == ["cpu", "folds"]
        assert report["skipped"][f"captured on {name}"].startswith("captured: expected minipinet's loss ")
    assert "| an epoch of MUTAG, captured | at most 1 ms | wrong loss | no |" in said.out


@pytest.mark.parametrize("fold", [0, 1])
def test_every_fold_must_have_the_cpu_s_loss(
    fold: int, bench: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    epoch = Card.epoch

    def wrong(card: Card, orders: Any) -> Any:
        sums = epoch(card, orders)
        if card.shape.K > 1:
            sums[fold, 0] *= 1 + 1e-3
        return sums

    monkeypatch.setattr(Card, "epoch", wrong)
    words = [*SMALL, "--datasets", "MUTAG", "--peers", "--output", str(tmp_path / "report.json")]
    assert bench.main(words) == 1
    assert capsys.readouterr().err == "gpu_bench: not what the CPU computes: folds on MUTAG\n"


def test_the_cpu_s_own_loss_is_what_all_others_are_held_to(
    bench: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(module("sides").OnCpu, "epoch", lambda *_: float("nan"))
    assert bench.main([*SMALL, "--datasets", "MUTAG", "--peers", "--output", str(tmp_path / "report.json")]) == 1
    assert capsys.readouterr().err == (
        "gpu_bench: ours: expected minipinet's loss nan before training, got nan; what was measured before is in "
        f"{tmp_path / 'report.json'}\n"
    )


@pytest.mark.parametrize("error", [DivergedError("fold 0: the loss is nan"), DataError("fold 0: graph 3: its scores")])
def test_folds_that_end_in_no_number_are_told_and_the_rest_is_timed(
    error: Exception, bench: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fails(*_: Any, **__: Any) -> Any:
        raise error

    monkeypatch.setattr(bench, "cross_validate", fails)
    assert bench.main([*SMALL, "--datasets", "MUTAG", "--peers", "--output", str(tmp_path / "report.json")]) == 1
    said = capsys.readouterr()
    assert said.err == "gpu_bench: not what the CPU computes: the folds of MUTAG\n"
    assert "| 2 folds of MUTAG, 2 epochs | at most 5 s | failed | no |" in said.out
    assert f"The folds of MUTAG: {error}." in said.out
    report = json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))
    assert list(report["datasets"]["MUTAG"]["seconds"]) == ["cpu", "launches", "captured", "folds"]


def test_a_report_that_cannot_be_written_is_one_sentence(
    bench: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any) -> Any:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("minipinet._files.os.fsync", full)
    assert bench.main([*SMALL, "--datasets", "MUTAG", "--peers", "--output", str(tmp_path / "report.json")]) == 1
    said = capsys.readouterr()
    assert said.err == f"gpu_bench: {tmp_path / 'report.json'}: cannot be written: No space left on device\n"
    assert list(tmp_path.iterdir()) == []


def test_bytes_are_those_of_every_array_once() -> None:
    a, b, table = np.zeros(10, np.float32), np.zeros(3), np.zeros(1000, np.int32)
    counter = module("traffic").Counter({id(table)})
    counter("kernel", 20, a, b, a, table, None, 7, 0.5)
    assert counter.bytes == 40 + 24 + 20 * 4
    counter.product(np.zeros((3, 2)), np.zeros((3, 4)), np.zeros((2, 4)), turned="a")
    assert counter.bytes == 144 + 8 * (6 + 12 + 8)


def test_the_bytes_of_a_step_grow_with_the_folds_and_nothing_is_run(monkeypatch: pytest.MonkeyPatch) -> None:
    use_host_card(monkeypatch)
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


@pytest.mark.parametrize(("name", "data"), [("MUTAG", load_dataset("MUTAG")), ("isomorphism", isomorphism_dataset(0))])
def test_the_bytes_in_the_chapter_are_those_counted(name: str, data: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    use_host_card(monkeypatch)
    params = init_params(np.random.default_rng(0), data.num_features, data.num_classes)
    card = Card(HostLauncher("float32"), [graph_table(refine(data.graphs), data.y)], [params], len(data), Settings())
    chapter = (ROOT / "docs" / "gpu.md").read_text(encoding="utf-8")
    _, *rows = card.shape.rows
    found = re.findall(rf"^\| {name} \| .* \| (\d+), (\d+) \| [^|]* \| (\d+) \|$", chapter, re.MULTILINE)
    assert found == [(str(rows[0]), str(rows[1]), f"{module('traffic').step_bytes(card) / 1e6:.0f}")]


def test_the_page_s_epochs_on_the_cpu_are_those_that_are_recorded() -> None:
    chapter = (ROOT / "docs" / "gpu.md").read_text(encoding="utf-8")
    told = re.findall(r'"([A-Za-z0-9 ]+)": \((\d+\.\d), (\d+)\)', chapter)
    recorded = json.loads((ROOT / "docs" / "results" / "peers.json").read_text(encoding="utf-8"))["datasets"]
    assert [name for name, _, _ in told] == ["MUTAG", "NCI1", "isomorphism", "PROTEINS", "ENZYMES attributes"]
    for name, ms, graphs in told:
        one = recorded[name]
        assert (f"{1e3 * np.median(one['seconds']['ours']['1']):.1f}", str(one["graphs"])) == (ms, graphs)


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
        if minipinet._card.card_problem() is None or not environments.is_made(environments.PEERS[peer], envs):
            continue
        python, log = environments.python_of(peer, envs), tmp_path / "log"
        with pytest.raises(processes.PeerError, match=f"{peer} ended: .*(CUDA|cuda)"):
            processes.PeerProcess(peer, python, tmp_path / "problem.npz", 1, log, "cuda")
        tried += 1
    if not tried:
        pytest.skip("no framework is installed, or there is a card")
