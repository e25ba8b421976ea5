"""What fails on a card after it was found to work: one sentence, status 1, and a run that goes on."""

from __future__ import annotations

import sys
import types
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from minipinet import PiNetClassifier, evaluation
from minipinet._card import card_failures
from minipinet.crossval import cross_validate
from minipinet.cuda import folds
from minipinet.cuda.cublas import CublasError
from minipinet.errors import CardError, DeviceError, UsageError
from minipinet.evaluation import evaluate, pooled, score
from minipinet.model import pinet_forward
from minipinet.pinet_network import pinet_network
from minipinet.predictor import PiNet
from minipinet.quotient import refine
from minipinet.runs import train_pinet
from minipinet.settings import Settings
from minipinet.train import fit, fit_network
from minipinet.verify import verify_all
from tests.cli_calls import call, figures
from tests.kernels_on_host import HostLauncher, use_host_card
from tests.small_data import files, same_bits, two_kinds

DATA = two_kinds(25)
QUOTIENT, INDEX = refine(DATA.graphs), np.arange(len(DATA))
SMALL = Settings(epochs=4, batch_size=8, hidden=6, out=4, lr=1e-2, device="cuda")
TRAIN = ["train", "--folds", "3", "--epochs", "2", "--hidden", "4", "--out", "2", "--device", "cuda", "--jobs", "1"]


def error_of(module: str, name: str, text: str, base: type[Exception] = RuntimeError) -> Exception:
    """Return an error of a library that is not here."""
    made: Exception = type(name, (base,), {"__module__": module})(text)
    return made


ILLEGAL = "cudaErrorIllegalAddress: an illegal memory access was encountered"
FAILURE = error_of("cupy_backends.cuda.api.runtime", "CUDARuntimeError", ILLEGAL)
SHORT = error_of("cupy.cuda.memory", "OutOfMemoryError", "Out of memory allocating 2,048 bytes", MemoryError)
FAILED = f"device: 'cuda' failed on card 3 (CUDARuntimeError: {ILLEGAL}); try again in a new process, or device 'cpu'"
NO_MEMORY = "device: 'cuda' ran out of memory on card 3 ({}); try {}, or device 'cpu'"
LACKS = "device: 'cuda' lacks a library of NVIDIA's on card 3, or finds that of another CUDA: pip install 'minipinet[c"
OUT = "OutOfMemoryError: Out of memory allocating 2,048 bytes"


@pytest.fixture(autouse=True)
def card(monkeypatch: pytest.MonkeyPatch) -> None:
    use_host_card(monkeypatch)
    cuda = types.SimpleNamespace(Device=lambda: types.SimpleNamespace(id=3))
    monkeypatch.setattr(sys.modules["cupy"], "cuda", cuda, raising=False)


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch) -> Callable[[int, Exception], None]:
    """Let training fail from so many steps on, or not at all if that is below 0."""

    def fail(after: int, error: Exception) -> None:
        class Failing(HostLauncher):
            def __call__(self, kernel: str, elements: int, *arguments: Any) -> None:
                nonlocal after
                if kernel == "adam":
                    if after == 0:
                        raise error
                    after -= 1
                super().__call__(kernel, elements, *arguments)

        monkeypatch.setattr(folds, "launcher", Failing)

    return fail


@pytest.fixture
def scoring_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    def forward(*_: Any) -> Any:
        raise SHORT

    monkeypatch.setattr(evaluation, "pinet_forward", forward)


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (FAILURE, FAILED),
        (SHORT, NO_MEMORY.format(OUT, "less")),
        (
            error_of("cupy_backends.cuda.api.runtime", "CUDARuntimeError", "cudaErrorMemoryAllocation: out of memory"),
            NO_MEMORY.format("CUDARuntimeError: cudaErrorMemoryAllocation: out of memory", "less"),
        ),
        (
            CublasError("cublasCreate_v2: CUBLAS_STATUS_ALLOC_FAILED"),
            NO_MEMORY.format("CublasError: cublasCreate_v2: CUBLAS_STATUS_ALLOC_FAILED", "less"),
        ),
        (
            CublasError("cublasSgemmStridedBatched: CUBLAS_STATUS_EXECUTION_FAILED"),
            "device: 'cuda' failed on card 3 (CublasError: cublasSgemmStridedBatched: CUBLAS_STATUS_EXECUTION_FAILED); "
            "try again in a new process, or device 'cpu'",
        ),
        (error_of("cupyx.scipy.sparse", "SomeError", "no"), "device: 'cuda' failed on card 3 (SomeError: no); try aga"),
        (
            error_of("cuda.pathfinder._dynamic_libs", "DynamicLibNotFoundError", "no libcusparse.so.12"),
            LACKS,
        ),
        (
            RuntimeError("CuPy failed to load libcusparse.so.12: OSError: libnvJitLink.so.12: cannot open"),
            LACKS,
        ),
        (
            ImportError("libcusparse.so.12: cannot open shared object file"),
            LACKS,
        ),
    ],
)
def test_it_is_one_sentence_with_the_card_and_what_to_try(error: Exception, told: str) -> None:
    with pytest.raises(CardError) as raised, card_failures("less"):
        raise error
    assert str(raised.value).startswith(told)
    assert "\n" not in str(raised.value)
    assert raised.value.__cause__ is error


def test_a_card_that_answers_no_more_has_no_number(monkeypatch: pytest.MonkeyPatch) -> None:
    def device() -> Any:
        raise FAILURE

    monkeypatch.setattr(sys.modules["cupy"], "cuda", types.SimpleNamespace(Device=device))
    with pytest.raises(CardError, match=r"^device: 'cuda' failed on the card \(CUDARuntimeError: "), card_failures(""):
        raise FAILURE


@pytest.mark.parametrize(
    "error",
    [
        RuntimeError("a bug"), MemoryError(), UsageError("device: no"), CardError("told"), KeyboardInterrupt(),
        ImportError("no module"), OSError("no space"), error_of("cudax", "CUDARuntimeError", "another library's"),
    ],
)  # fmt: skip
def test_what_is_not_the_cards_passes_as_it_is(error: BaseException) -> None:
    with pytest.raises(type(error)) as raised, card_failures("less"):
        raise error
    assert raised.value is error


@pytest.mark.parametrize("error", [FAILURE, RuntimeError("libcudart.so missing"), SHORT])
def test_on_the_cpu_nothing_is_a_cards(error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(type(error)) as raised, card_failures("less", "cpu"):
        raise error
    assert raised.value is error

    def fails(*_: Any) -> Any:
        raise error

    at_work = train_pinet(DATA, replace(SMALL, device="cpu")).model
    monkeypatch.setattr(evaluation, "pinet_forward", fails)
    for score_them in (lambda: at_work.predict(DATA), lambda: evaluate(at_work.params, None, QUOTIENT, DATA.y, INDEX)):
        with pytest.raises(type(error)) as raised:
            score_them()
        assert raised.value is error


@pytest.mark.parametrize(
    "error", [FAILURE, RuntimeError("libcudart.so missing"), DeviceError("device: 'cuda' cannot be used here: gone")]
)
@pytest.mark.parametrize("device", ["cpu", "cuda"])
@pytest.mark.parametrize("at_once", [1, 3])
def test_what_a_callback_raises_is_the_callers(device: str, at_once: int, error: Exception) -> None:
    def fails(*_: Any) -> None:
        raise error

    settings = replace(SMALL, device=device)
    trainings: list[Callable[[], Any]] = [
        lambda: fit(QUOTIENT, DATA.y, INDEX, settings, C=2, on_epoch=fails),
        lambda: train_pinet(DATA, settings, on_epoch=fails),
        lambda: cross_validate(DATA, settings, 3, folds_at_once=at_once, on_epoch=fails),
        lambda: cross_validate(DATA, settings, 3, folds_at_once=at_once, on_fold=fails),
    ]
    for train in trainings[: 2 if device == "cpu" and at_once > 1 else 4]:
        with pytest.raises(type(error)) as raised:
            train()
        assert raised.value is error


def test_training_tells_it_from_python(failing: Callable[[int, Exception], None]) -> None:
    one, several = "a smaller batch_size", "a smaller batch_size or folds_at_once"
    trainings: list[tuple[str, Callable[[], Any]]] = [
        (one, lambda: fit(QUOTIENT, DATA.y, INDEX, SMALL, C=2)),
        (one, lambda: train_pinet(DATA, SMALL)),
        (one, lambda: cross_validate(DATA, SMALL, 3)),
        (several, lambda: cross_validate(DATA, SMALL, 3, folds_at_once=3)),
        (one, lambda: PiNetClassifier(epochs=2, device="cuda").fit(list(DATA), DATA.y)),
    ]
    for smaller, train in trainings:
        failing(2, SHORT)
        with pytest.raises(CardError) as raised:
            train()
        assert str(raised.value) == NO_MEMORY.format(OUT, smaller)
        assert raised.value.__cause__ is SHORT


@pytest.mark.usefixtures("scoring_fails")
def test_validation_scores_tell_it_too() -> None:
    told = "fewer graphs to validate on, or a smaller batch_size or folds_at_once"
    with pytest.raises(CardError, match=rf"^device: 'cuda' ran out of memory on card 3 .*; try {told}, or ") as raised:
        fit(QUOTIENT, DATA.y, INDEX[5:], SMALL, C=2, validation_index=INDEX[:5])
    assert raised.value.__cause__ is SHORT


@pytest.fixture
def model() -> PiNet:
    return train_pinet(DATA, SMALL).model


def test_scores_tell_it_from_python(model: PiNet, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: Any, **__: Any) -> Any:
        raise SHORT

    for place in ("pinet_forward", "on_device"):  # on the way to the card too
        with monkeypatch.context() as patch:
            patch.setattr(evaluation, place, fails)
            scores: list[Callable[[], Any]] = [
                lambda: model.predict(DATA, device="cuda"),
                lambda: score(model.params, None, QUOTIENT, INDEX, device="cuda"),
                lambda: pooled(model.params, None, QUOTIENT, INDEX, device="cuda"),
                lambda: evaluate(model.params, None, QUOTIENT, DATA.y, INDEX, device="cuda"),
            ]
            for found in scores:
                with pytest.raises(CardError) as raised:
                    found()
                assert str(raised.value) == NO_MEMORY.format(OUT, "fewer graphs at a time")
                assert raised.value.__cause__ is SHORT


@pytest.mark.parametrize("place", ["to_card", "to_host"])
def test_the_checker_tells_it_instead_of_blaming_a_pair(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(tree: Any) -> Any:
        raise FAILURE

    monkeypatch.setattr(f"minipinet.verify.card.{place}", fails)
    with pytest.raises(CardError, match=r"^device: 'cuda' failed on card 3 "):
        verify_all(["relu"], device="cuda")


def test_the_command_says_how_a_run_goes_on(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, failing: Callable[[int, Exception], None]
) -> None:
    folder = tmp_path / "run"
    whole = call(capsys, *TRAIN, "--json", "--run-dir", tmp_path / "whole")
    failing(11, SHORT)  # fold 0 has 6 steps, and is kept
    words = [*TRAIN, "--quiet", "--run-dir", folder]
    failed = call(capsys, *words)
    assert (failed.status, failed.out) == (1, "")
    assert failed.err == (
        f"minipinet: error: {NO_MEMORY.format(OUT, 'a smaller --batch-size')}; the last checkpoint "
        f"is kept, and --batch-size and --device with it: go on with: minipinet {' '.join(map(str, words))} --resume\n"
    )
    assert "fold-00/checkpoint.safetensors" in files(folder)
    failing(-1, SHORT)
    resumed = call(capsys, *TRAIN, "--json", "--run-dir", folder, "--resume", "--folds-at-once", "2")
    assert resumed.status == 0
    assert figures(resumed.json) == figures(whole.json)


@pytest.mark.parametrize("words", [[], ["--folds-at-once", "3"], ["--folds", "0"]])
def test_a_run_that_kept_nothing_is_gone(
    words: list[str],
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    failing: Callable[[int, Exception], None],
) -> None:
    monkeypatch.chdir(tmp_path)
    failing(2, FAILURE)
    failed = call(capsys, *TRAIN, *words, "--quiet")
    assert (failed.status, failed.out, failed.err) == (1, "", f"minipinet: error: {FAILED}\n")
    assert files(tmp_path) == []


@pytest.mark.usefixtures("scoring_fails")
@pytest.mark.parametrize("command", ["predict", "evaluate"])
def test_the_commands_that_score_say_it(command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    train = call(capsys, "train", "--folds", "0", "--epochs", "1", "--hidden", "2", "--out", "2", "--run-dir", tmp_path)
    assert train.status == 0
    failed = call(capsys, command, tmp_path, "MUTAG", "--device", "cuda")
    told = f"minipinet: error: {NO_MEMORY.format(OUT, 'fewer graphs at a time')}\n"
    assert (failed.status, failed.out, failed.err) == (1, "", told)


def test_what_failed_half_way_is_not_gone_on_with(failing: Callable[[int, Exception], None]) -> None:
    failing(-1, SHORT)
    first = fit(QUOTIENT, DATA.y, INDEX, SMALL, C=2)
    straight = fit(QUOTIENT, DATA.y, INDEX, Settings(**{**vars(SMALL), "epochs": 6}), C=2)
    failing(4 * 4 + 2, SHORT)  # the second step of the fifth epoch
    network = pinet_network(QUOTIENT, SMALL, 2)
    state = fit_network(network, DATA.y, INDEX, SMALL)
    assert same_bits(state.params, first.params)
    more = Settings(**{**vars(SMALL), "epochs": 6})
    with pytest.raises(CardError):
        fit_network(network, DATA.y, INDEX, more, state=state)
    failing(-1, SHORT)
    assert same_bits(fit_network(network, DATA.y, INDEX, more, state=state).params, straight.params)


@pytest.mark.parametrize("call", [10, 11])
def test_folds_that_had_ended_are_handed_out_when_a_scoring_fails(call: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of fold 0: in the last epoch of three folds at once (call 10), and on its test graphs (11)."""
    calls, handed = [0], []

    def forward(*arguments: Any) -> Any:
        calls[0] += 1
        if calls[0] == call:
            raise SHORT
        return pinet_forward(*arguments)

    monkeypatch.setattr(evaluation, "pinet_forward", forward)
    settings = replace(SMALL, validation=0.2)
    with pytest.raises(CardError, match="ran out of memory"):
        cross_validate(DATA, settings, 3, folds_at_once=3, on_fold=lambda fold: handed.append(fold.fold))
    assert handed == [1, 2]


@pytest.fixture
def gone(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Let every look for a card but the first few find none."""

    def go(after: int) -> None:
        def problem() -> str | None:
            nonlocal after
            after -= 1
            return None if after >= 0 else "CuPy finds no card that works (gone)"

        monkeypatch.setattr("minipinet._card.card_problem", problem)

    return go


@pytest.mark.parametrize("at_once", [1, 3])
@pytest.mark.parametrize("after", range(1, 9))
def test_a_card_that_is_gone_when_it_is_looked_for_again_failed(
    after: int, at_once: int, gone: Callable[[int], None]
) -> None:
    """As in another process, where it is looked for anew, or after a failure: no bad use of `device`."""
    gone(after)
    if after >= 1 + 2 * 3:  # at the door, and in each fold to train and to test
        assert len(cross_validate(DATA, SMALL, 3, folds_at_once=at_once).folds) == 3
        return
    with pytest.raises(CardError) as raised:
        cross_validate(DATA, SMALL, 3, folds_at_once=at_once)
    assert str(raised.value) == (
        "device: 'cuda' cannot be used here: CuPy finds no card that works (gone), where it could before; try again, "
        "with fewer jobs, or device 'cpu'"
    )


def test_a_card_that_was_never_there_is_bad_use(gone: Callable[[int], None]) -> None:
    gone(0)
    with pytest.raises(
        DeviceError, match=r"^device: 'cuda' cannot be used here: CuPy finds no card that works \(gone\)$"
    ):
        cross_validate(DATA, SMALL, 3)


@pytest.mark.usefixtures("scoring_fails")
def test_a_card_that_fails_while_folds_are_tested_and_is_gone_then(
    gone: Callable[[int], None], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    gone(1 + 1 + 3 + 1)  # twice for the command, in each fold to train, and in the first to test
    failed = call(capsys, *TRAIN, "--quiet", "--folds-at-once", "3", "--run-dir", tmp_path / "run")
    assert failed.status == 1
    assert failed.err.startswith(f"minipinet: error: {NO_MEMORY.format(OUT, 'fewer graphs at a time')}; the last check")
    assert failed.err.endswith(" --resume\n")
