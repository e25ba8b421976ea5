"""How often the tests between two models call equal ones different, and whether they find real differences."""

from __future__ import annotations

import importlib
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from tests.thinned import thinned

ROOT = Path(__file__).resolve().parent.parent
RNG_SEED = 20261128
LEVEL = 0.05


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    return importlib.import_module("significance")


def near(share: float, n: int, sds: float = 4) -> Any:
    """Return what a share counted over n may be, to a few standard deviations (four: one seed in 16,000 fails)."""
    return pytest.approx(share, abs=sds * math.sqrt(share * (1 - share) / n))


def overlapping(gap: float = 0.0, overlap: float = 0.1) -> Any:
    """Return a scene of two models whose folds' accuracies all have the correlation that the correction assumes.

    Each model has a part that its overlapping training sets share, one for all folds, and a part for each fold.
    """

    def scene(rng: np.random.Generator) -> Any:
        shared, own = rng.normal(size=(2, 1)), rng.normal(size=(2, 10))
        accuracies = 0.7 + 0.03 * (math.sqrt(overlap) * shared + math.sqrt(1 - overlap) * own)
        return [accuracies[0] + gap], [accuracies[1]]

    return scene


def test_case_083_shared_training_graphs_deceive_all_but_the_corrected_test(script: Any) -> None:
    """The share that the paired test calls is known: its t is too large by the root of (1/10 + 1/9) / (1/10)."""
    n = 2000
    found = script.shares(overlapping(), n, seed=RNG_SEED)
    bound = stats.t.isf(LEVEL / 2, 9)
    too_many = 2 * stats.t.sf(bound / math.sqrt((1 / 10 + 1 / 9) / (1 / 10)), 9)
    assert too_many == pytest.approx(0.154, abs=1e-3)
    assert found.corrected == near(LEVEL, n)
    assert found.paired == near(too_many, n)
    assert found.welch > 0.12


def test_case_083_independent_folds_deceive_no_test_and_the_correction_is_careful(script: Any) -> None:
    found = script.shares(overlapping(overlap=0.0), 1000, seed=RNG_SEED)
    assert found.paired == near(LEVEL, 1000)
    assert found.welch == near(LEVEL, 1000)
    assert found.corrected < LEVEL / 2


def test_a_difference_of_two_standard_deviations_is_found(script: Any) -> None:
    assert script.shares(overlapping(gap=0.06), 200, seed=RNG_SEED).corrected > 0.75


def too_often(share: float, n: int) -> bool:
    """Whether a test is wrong more often than its level, by more than one seed in a thousand would give."""
    return bool(stats.binom.sf(round(share * n) - 1, n, LEVEL) < 0.001)


@pytest.mark.parametrize("scene", thinned(["copies", "copies-own-folds", "copies-own-draws"]))
def test_case_083_a_model_and_its_copy_differ_no_more_often_than_the_level(script: Any, scene: str) -> None:
    """Trees with other seeds on MUTAG."""
    found = script.shares(script.SCENES[scene], 60, seed=RNG_SEED)
    assert 0.8 < found.accuracy_a < 0.88
    assert found.corrected <= LEVEL
    assert not too_often(max(found.welch, found.paired), 60)


@pytest.mark.parametrize("scene", ["equals", "equals-own-folds"])
def test_case_083_of_equally_good_models_the_papers_test_calls_too_many_different(script: Any, scene: str) -> None:
    """Nearest neighbours on data drawn anew."""
    found = script.shares(script.SCENES[scene], 600, seed=RNG_SEED)
    assert found.accuracy_a == pytest.approx(found.accuracy_b, abs=0.02)
    assert 0.08 < found.sd < 0.1
    assert [too_often(share, 600) for share in (found.welch, found.paired, found.corrected)] == [True, True, False]


def test_more_repeats_of_the_same_folds_deceive_the_more(script: Any) -> None:
    """Fifty accuracies of one data set are no fifty observations; the corrected test too calls more than its level."""
    found = script.shares(script.SCENES["equals-5-repeats"], 100, seed=RNG_SEED)
    assert min(found.welch, found.paired) > 0.3 > 0.2 > found.corrected


def test_the_better_of_two_trained_models_is_found(script: Any) -> None:
    found = script.shares(script.SCENES["better"], 60, seed=RNG_SEED)
    assert found.accuracy_a - found.accuracy_b > 0.2
    assert found.corrected > 0.5


def test_the_script_prints_a_line_a_scene(script: Any, capsys: pytest.CaptureFixture[str]) -> None:
    script.main(["--comparisons", "1", "--scenes", "equals", "pinet-copies"])
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == ["scene", "equals", "pinet-copies", "1"]
    with pytest.raises(SystemExit):
        script.main(["--comparisons", "0"])
