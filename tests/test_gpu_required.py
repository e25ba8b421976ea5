"""What MINIPINET_REQUIRE_GPU=1 asks for: a card, and a compiler for the kernels that run on the host."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests import kernels_on_host, test_gpu
from tests.gpu_scripts import ROOT, skip_or_fail


@pytest.mark.parametrize(("value", "outcome"), [("1", "Failed"), ("0", "Skipped"), ("", "Skipped"), (None, "Skipped")])
def test_what_is_missing_is_skipped_or_fails(value: str | None, outcome: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MINIPINET_REQUIRE_GPU", raising=False)
    if value is not None:
        monkeypatch.setenv("MINIPINET_REQUIRE_GPU", value)
    with pytest.raises((pytest.fail.Exception, pytest.skip.Exception), match="there is no card") as told:
        skip_or_fail("there is no card")
    assert told.type.__name__ == outcome


@pytest.mark.parametrize("value", ["true", "yes", "2", " 1"])
def test_another_value_is_refused_before_the_first_test(value: str) -> None:
    words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(ROOT / "tests" / "test_gpu.py")]
    environment = os.environ | {"MINIPINET_REQUIRE_GPU": value}
    done = subprocess.run(words, capture_output=True, text=True, env=environment, cwd=ROOT, check=False)
    assert (done.returncode, done.stdout) == (pytest.ExitCode.USAGE_ERROR, "")
    assert done.stderr.strip() == (
        f"ERROR: MINIPINET_REQUIRE_GPU: expected 1 where a card must be there, else 0 or nothing, got {value!r}"
    )


def test_a_missing_compiler_fails_where_a_card_is_required(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINIPINET_REQUIRE_GPU", "1")
    monkeypatch.setattr("shutil.which", lambda name: None)
    with pytest.raises(pytest.fail.Exception, match=r"^MINIPINET_REQUIRE_GPU=1, but there is no g\+\+ to compile"):
        kernels_on_host.compile_sources({}, "float32")


def test_a_missing_card_fails_where_it_is_required(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINIPINET_REQUIRE_GPU", "1")
    monkeypatch.setattr(test_gpu, "PROBLEM", "there is no NVIDIA card")
    with pytest.raises(pytest.fail.Exception, match=r"^MINIPINET_REQUIRE_GPU=1, but no card: there is no NVIDIA card$"):
        test_gpu.card.__wrapped__()  # type: ignore[attr-defined]


def test_the_check_names_files_that_are_there() -> None:
    script = (ROOT / "scripts" / "gpu_check").read_text(encoding="utf-8")
    named = [word.rstrip(")") for word in script.split() if word.startswith("tests/")]
    assert len(named) == 6
    assert [name for name in named if not list(ROOT.glob(name))] == []
