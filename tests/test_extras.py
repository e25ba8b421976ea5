"""Without scikit-learn, an extra: what does not need it works, and what does says so in one sentence."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import minipinet
from minipinet._extras import library
from minipinet.errors import MissingLibraryError, UsageError
from tests.small_data import environment

#: As if scikit-learn were not installed.
FORBID = """
import sys
class Forbid:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "sklearn":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Forbid())
"""
SENTENCE = "needs sklearn.{}: pip install 'minipinet[sklearn]' (No module named 'sklearn')"


def without(code: str, *args: object, folder: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run code in a process that cannot import scikit-learn."""
    return subprocess.run(
        [sys.executable, "-c", FORBID + code, *map(str, args)],
        cwd=folder, env=environment(), text=True, capture_output=True, timeout=120, check=False,
    )  # fmt: skip


def command(*args: object, folder: Path) -> subprocess.CompletedProcess[str]:
    return without("from minipinet.cli import main; sys.exit(main(sys.argv[1:]))", *args, folder=folder)


def test_every_module_but_the_estimator_is_imported() -> None:
    done = without(
        """
import importlib, pkgutil, minipinet
failed = []
for module in pkgutil.walk_packages(minipinet.__path__, "minipinet."):
    if not module.name.endswith("__main__"):
        try:
            importlib.import_module(module.name)
        except ImportError as error:
            failed.append(module.name)
            found = f"{type(error).__name__}: {error}"
print(failed, found)
"""
    )
    sentence = SENTENCE.format("base")
    assert done.stdout == f"['minipinet.estimator'] MissingLibraryError: PiNetClassifier {sentence}\n", done.stderr


def test_the_package_says_what_its_estimator_needs_and_is_whole_otherwise() -> None:
    done = without(
        """
import doctest, inspect, pydoc
import minipinet
from minipinet import *
from minipinet.errors import UsageError
assert minipinet.__version__ and not hasattr(minipinet, "no_such")
assert doctest.testmod(minipinet).failed == 0
assert inspect.getmembers(minipinet) and pydoc.render_doc(minipinet)
for take in ("from minipinet import PiNetClassifier", "minipinet.PiNetClassifier"):
    try:
        exec(take)
    except ImportError as error:
        assert isinstance(error, UsageError)
        print(error)
"""
    )
    assert done.stdout == f"PiNetClassifier {SENTENCE.format('base')}\n" * 2, done.stderr


def test_one_model_is_trained_saved_and_asked(tmp_path: Path) -> None:
    trained = command("train", "--folds", 0, "--epochs", 2, "--run-dir", "run", "--quiet", folder=tmp_path)
    assert trained.returncode == 0, trained.stderr
    predicted = command("predict", "run", "MUTAG", folder=tmp_path)
    assert (predicted.returncode, predicted.stdout.count("\n") > 188) == (0, True), predicted.stderr
    evaluated = command("evaluate", "run", "MUTAG", folder=tmp_path)
    assert evaluated.returncode == 0, evaluated.stderr
    done = without(
        """
from minipinet.datasets import load_dataset
from minipinet.interop.networkx import to_networkx
from minipinet.predictor import PiNet
import numpy
from minipinet.verify import verify_pair
model, data = PiNet.load("run/model.safetensors"), load_dataset("MUTAG")
assert (model.predict(to_networkx(data)) == model.predict(data)).all()
print(verify_pair(lambda x: (x * x, x), lambda dy, x: {"dx": 2 * x * dy}, {"x": 3.0}, rng=numpy.random.default_rng(0)))
""",
        folder=tmp_path,
    )
    assert "ok" in done.stdout, done.stderr


@pytest.mark.parametrize(
    ("options", "purpose"),
    [
        (["--folds", 3], "cross-validation"),
        ([], "cross-validation"),
        (["--folds", 0, "--validation", 0.2], "validation"),
    ],
)
def test_what_needs_it_is_refused_before_any_training(options: list[object], purpose: str, tmp_path: Path) -> None:
    for place in (["--run-dir", "run"], []):
        done = command("train", "--epochs", 1, *place, *options, folder=tmp_path)
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr.splitlines()[-1].endswith(f"{purpose} {SENTENCE.format('model_selection')}")
        assert not any(tmp_path.iterdir()), place


def test_the_kernel_machine_names_it_too() -> None:
    done = without(
        """
import numpy as np
from minipinet.baselines.weisfeiler_lehman import WeisfeilerLehman
from minipinet.datasets import load_dataset
try:
    WeisfeilerLehman().fit(load_dataset("MUTAG"), np.arange(100), seed=0, validation=np.arange(100, 188))
except ImportError as error:
    print(error)
"""
    )
    assert done.stdout == f"the Weisfeiler-Lehman kernel {SENTENCE.format('svm')}\n", done.stderr


def test_the_error_is_one_of_use_and_one_of_import() -> None:
    with pytest.raises(MissingLibraryError, match=r"^nothing needs no_such\.part: pip install it \(No module named"):
        library("no_such.part", "nothing", "pip install it")
    assert issubclass(MissingLibraryError, UsageError)
    assert issubclass(MissingLibraryError, ImportError)
    assert hasattr(minipinet, "PiNetClassifier")
