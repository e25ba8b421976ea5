"""The test of the tests: sound code passes every check, each bug is caught, and the page says which check caught it."""

from __future__ import annotations

import runpy
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from minipinet.errors import UsageError
from minipinet.verify import DEFAULT_METHODS
from minipinet.verify.planted import PlantedBug
from minipinet.verify.planted.checks import (
    BLIND,
    CAUGHT,
    CHECKS,
    CRASH,
    NOT_RUN,
    caught_by_default,
    project_pairs,
    relevant,
    run,
    trials,
    verdicts,
)
from minipinet.verify.planted.library import BUGS
from minipinet.verify.planted.table import BEGIN, END, read, render, table_of, with_table
from tests.thinned import thinned

pytestmark = pytest.mark.gradient

ROOT = Path(__file__).resolve().parent.parent
TABLE = table_of((ROOT / "docs" / "planted-bugs.md").read_text(encoding="utf-8"))
ROWS = read(TABLE)
#: The bugs that are shown to every check; the others, until one of the default checks catches them.
COMPARED = thinned(BUGS, 5)
#: An error of 1e-8, as large as what Taylor's remainder can see: the directions drawn and the last bits decide.
BY_CHANCE = {"dZ_A in single precision": {"Taylor"}}


@pytest.mark.parametrize("seed", [0, 1])
def test_sound_code_passes_every_check(seed: int) -> None:
    for trial in trials(None, seed):
        assert run(trial) == BLIND, f"{trial.check.title} of {trial.pair or 'the model'}"


@pytest.mark.parametrize("bug", [bug for bug in BUGS if bug not in COMPARED], ids=lambda bug: bug.name)
def test_a_planted_bug_is_caught_by_the_default_checks(bug: PlantedBug) -> None:
    default = [trial for trial in relevant(bug, 0) if trial.check.default]
    cheap_first = sorted(default, key=lambda trial: trial.check.method in ("central", "taylor"))
    assert any(run(trial) in (CAUGHT, CRASH) for trial in cheap_first)


@pytest.mark.parametrize("bug", COMPARED, ids=lambda bug: bug.name)
def test_a_planted_bug_is_caught_as_the_page_says(bug: PlantedBug) -> None:
    verdict = verdicts(bug)
    assert caught_by_default(verdict), verdict
    differs = {title for title, cell in ROWS[bug.name].items() if verdict[title] != cell}
    assert differs <= BY_CHANCE.get(bug.name, set()), "run scripts/bug_table.py --write"


def test_the_page_has_the_table_of_all_bugs() -> None:
    assert list(ROWS) == [bug.name for bug in BUGS]
    assert render(ROWS) == TABLE, "run scripts/bug_table.py --write"
    assert f"the default checks together {len(BUGS)}." in TABLE


def test_the_default_checks_are_those_of_verify_pair_and_the_properties() -> None:
    default = {check.method for check in CHECKS if check.default}
    assert default == {*DEFAULT_METHODS, ""}
    assert not any(check.default for check in CHECKS if check.ones or check.symmetric)
    assert all(check.default for check in CHECKS if not check.method)


# What the table is there to teach, in the words of the page.


def seen(kind: str, *titles: str) -> set[tuple[str, ...]]:
    return {tuple(ROWS[bug.name][title] for title in titles) for bug in BUGS if bug.kind == kind}


def test_only_a_directed_graph_tells_a_from_its_transpose() -> None:
    assert seen("A for A^T", "ones", "symmetric", "directed") == {(BLIND, BLIND, CAUGHT)}


@pytest.mark.parametrize("kind", ["softmax backward 0", "softmax backward 1 % off"])
def test_a_cotangent_of_ones_does_not_see_a_softmax(kind: str) -> None:
    assert seen(kind, "ones", "symmetric", "directed") == {(BLIND, CAUGHT, CAUGHT)}


def test_a_scale_error_of_a_hundredth_of_a_percent_is_caught_by_every_comparison_of_derivatives() -> None:
    assert seen("0.01 % scale error", "directed", "Taylor", "adjoint") == {(CAUGHT, CAUGHT, CAUGHT)}


def test_what_is_not_linear_in_the_cotangent_is_not_linear() -> None:
    assert seen("not linear", "directed", "linear") == {(CAUGHT, CAUGHT)}


GRADIENT = tuple(check.title for check in CHECKS if check.method)


@pytest.mark.parametrize(
    "kind",
    [
        "softmax over the wrong axis",
        "softmax over the whole batch",
        "forward depends on the node index",
        "degree to the power -1/4",
        "released code",
    ],
)
def test_no_gradient_check_sees_a_wrong_model_that_is_differentiated_rightly(kind: str) -> None:
    assert {verdict for row in seen(kind, *GRADIENT) for verdict in row} <= {BLIND, NOT_RUN}
    assert seen(kind, "oracle") == {(CAUGHT,)}


def test_invariance_alone_proves_little() -> None:
    assert seen("degree to the power -1/4", "permutation", "isolation", "column sums") == {(BLIND, BLIND, BLIND)}
    assert ROWS["softmax over the whole batch"]["permutation"] == BLIND
    assert ROWS["softmax over the whole batch"]["isolation"] == CAUGHT
    assert ROWS["way chosen for the whole batch"]["oracle"] == BLIND
    assert ROWS["way chosen for the whole batch"]["isolation"] == CAUGHT


# The checks themselves.


def test_the_symmetric_examples_are_symmetric_and_the_directed_ones_are_not() -> None:
    for symmetric in (True, False):
        forward = project_pairs(None, symmetric, 0)["propagate"].forward
        A = forward.keywords["step"].A.toarray()  # type: ignore[attr-defined]
        assert A.shape[0] == A.shape[1]
        assert bool((A == A.T).all()) == symmetric


def test_a_crash_is_told_from_a_refusal_and_from_a_mismatch() -> None:
    trial = trials(None)[0]

    def raising(error: Exception) -> str:
        def fails() -> bool:
            raise error

        return run(trial._replace(fails=fails))

    from minipinet.verify import VerificationError

    assert raising(VerificationError("refused")) == CAUGHT
    assert raising(ValueError("shapes")) == CRASH
    assert run(trial._replace(fails=lambda: True)) == CAUGHT
    assert run(trial._replace(fails=lambda: bool(np.divide(1.0, 0.0) < 0))) == BLIND  # warnings are no verdict


def test_a_bug_that_cannot_be_planted_is_an_error_and_no_verdict() -> None:
    with pytest.raises(UsageError, match="found 0 times"):
        verdicts(BUGS[0]._replace(line="nowhere"))


# The page and the script.


def test_a_page_needs_both_markers_once() -> None:
    page = f"a\n{BEGIN}\n\nold\n\n{END}\nb\n"
    assert table_of(page) == "old"
    assert table_of(with_table(page, "new")) == "new"
    assert with_table(with_table(page, "new"), "old") == page
    for wrong in ("", BEGIN, END, END + BEGIN, page + page):
        with pytest.raises(UsageError, match="page: expected one"):
            table_of(wrong)


SCRIPT = str(ROOT / "scripts" / "bug_table.py")


def test_the_script_prints_the_rows_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    # In this process, which has found out which checks reach the bugs.
    assert runpy.run_path(SCRIPT)["main"](["dq doubled", "eps inside"]) == 0
    printed = capsys.readouterr().out
    assert read(printed) == {name: ROWS[name] for name in ("dq doubled", "eps inside the root")}
    assert printed.strip().endswith("the default checks together 2.")


@pytest.mark.parametrize("arguments", [("no such bug",), ("dq", "--write"), ("--seed", "1", "--write")])
def test_the_script_refuses_what_makes_no_table(arguments: tuple[str, ...]) -> None:
    done = subprocess.run([sys.executable, SCRIPT, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "error: " in done.stderr
