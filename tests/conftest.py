"""Shared fixtures: the folder of TU data sets, and the one hypothesis profile of the whole suite."""

from __future__ import annotations

import gc
import os
import signal
from collections.abc import Generator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests import seeds
from tests.browser import chromium, visit
from tests.gpu_scripts import gpu_required
from tests.thinned import examples

__all__ = ["chromium", "visit"]  # fixtures

# One profile: no deadline (busy machines), and the same examples every time unless MINIPINET_SEED asks for others.
settings.register_profile(
    "minipinet",
    deadline=None,
    max_examples=examples(40),
    suppress_health_check=[HealthCheck.too_slow],
    **seeds.profile(),
)
settings.load_profile("minipinet")


def pytest_configure() -> None:
    """Refuse a MINIPINET_REQUIRE_GPU that is not known before the first test: a missing card would pass with it."""
    gpu_required()


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Keep what is collected, which stays to the end, from being looked through for garbage again and again."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give every property test the seed of this run."""
    for item in items:
        seeds.plant(getattr(item, "obj", None))


# A shell starts what runs in the background with Ctrl-C ignored, which children inherit: tests that interrupt a child
# would wait for ever.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """Return the folder of TU zips named by MINIPINET_DATA, or ../shared/data beside the project; skip without it."""
    root = Path(__file__).resolve().parent.parent
    folder = Path(os.environ.get("MINIPINET_DATA") or root.parent / "shared" / "data")
    if not folder.is_dir():
        pytest.skip(f"the TU data sets are not here: {folder} is no folder (set MINIPINET_DATA)")
    return folder


@pytest.fixture(scope="session")
def run_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a cross-validated run of the data set of `tests.small_reports`, which no test may change."""
    from tests.small_reports import cross_validated

    return cross_validated(tmp_path_factory.mktemp("run") / "folds")


@pytest.fixture(scope="session")
def html(run_dir: Path) -> str:
    """Return the report on that run, with eight graphs."""
    from minipinet.report import make_report
    from tests.small_reports import DATA

    return make_report(run_dir, dataset=DATA, graphs=8)
