"""Planting: a copy with one line changed, seen by everything in the copy and by nothing outside it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import minipinet.verify.pairs
from minipinet.errors import UsageError
from minipinet.verify.planted import Edit, PlantedBug, plant, with_bug
from minipinet.verify.planted.library import BUGS, COVERED
from minipinet.verify.planted.plant import COPIED, find_line, package_sources, statements
from minipinet.verify.planted.rows import CLASSIC, FURTHER

pytestmark = pytest.mark.gradient

RELU = PlantedBug("mask", "test", "minipinet.propagation", "relu_backward", "return dZ * mask", "return 1.0 * dZ", "-")
LAYER = "def double(x):\n    y = 2 * x\n    return y\n"
DOUBLE = PlantedBug("double", "test", "layer", "double", "y = 2 * x", "y = 3 * x", "-")


def loaded() -> dict[str, ModuleType]:
    return {name: module for name, module in sys.modules.items() if name.partition(".")[0] == "minipinet"}


def contents(modules: dict[str, ModuleType]) -> dict[str, dict[str, int]]:
    return {name: {key: id(value) for key, value in vars(module).items()} for name, module in modules.items()}


@pytest.fixture(autouse=True)
def untouched() -> Iterator[None]:
    """Require of every test that the real modules and the files are as they were."""
    for name in COPIED:
        __import__(name)
    modules, inside = loaded(), contents(loaded())
    files = {name: Path(str(modules[name].__file__)).read_bytes() for name in COPIED}
    yield
    after = {name: module for name, module in loaded().items() if name in modules}
    assert all(after[name] is module for name, module in modules.items())
    assert contents(after) == inside
    assert files == {name: Path(str(modules[name].__file__)).read_bytes() for name in COPIED}


def backward(module: Any) -> list[float]:
    return list(module.relu_backward(np.array([1.0, 2.0]), np.array([True, False])))


def test_every_module_of_a_copy_sees_the_bug_and_no_other() -> None:
    copy = plant(RELU)
    assert list(copy) == list(package_sources()) == list(COPIED)
    users = [name for name, module in copy.items() if hasattr(module, "relu_backward")]
    assert {"minipinet.propagation", "minipinet.model", "minipinet.verify.pairs"} <= set(users)
    for name in users:
        assert backward(copy[name]) == [1.0, 2.0]
        assert backward(sys.modules[name]) == backward(plant()[name]) == [1.0, 0.0]
    pairs = copy["minipinet.verify.pairs"].layer_pairs(np.random.default_rng(0))
    assert next(pair for pair in pairs if pair.name == "relu").backward is copy["minipinet.propagation"].relu_backward
    assert copy["minipinet.verify.pairs"].pinet_backward.__globals__ is vars(copy["minipinet.model"])


def test_a_copy_shares_no_module_with_another() -> None:
    one, other = plant(RELU), plant()
    assert not {id(module) for module in one.values()} & {id(module) for module in other.values()}
    assert not {id(one[name]) for name in COPIED} & {id(sys.modules[name]) for name in COPIED}


def test_a_sound_copy_computes_the_same_bits() -> None:
    real, copied = minipinet.verify.pairs, plant()["minipinet.verify.pairs"]
    for a, b in zip(
        real.layer_pairs(np.random.default_rng(0)), copied.layer_pairs(np.random.default_rng(0)), strict=True
    ):
        first, second = (np.asarray(pair.forward(**pair.inputs)[0]) for pair in (a, b))
        assert first.tobytes() == second.tobytes()


@pytest.mark.parametrize(
    ("bug", "error"),
    [("y = = 2", SyntaxError), ("y = 2 * x\nreturn", None), ("y = nothing", NameError)],
)
def test_a_bug_that_breaks_the_module_leaves_all_as_it_was(bug: str, error: type[Exception] | None) -> None:
    source = {"layer": LAYER + "double(1)\n"}
    if error is None:
        assert vars(plant(DOUBLE._replace(bug=bug), source)["layer"])["double"](1) is None
    else:
        with pytest.raises(error):
            plant(DOUBLE._replace(bug=bug), source)
    with pytest.raises(SyntaxError):
        plant(RELU._replace(bug="return return"))
    assert plant(None, source)["layer"].double(1) == 2


def test_threads_plant_side_by_side() -> None:
    def planted(factor: int) -> int:
        return int(plant(DOUBLE._replace(bug=f"y = {factor} * x"), {"layer": LAYER})["layer"].double(1))

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(planted, range(200))) == list(range(200))


def test_planting_inside_a_module_that_is_being_planted() -> None:
    inner = (
        "from minipinet.verify.planted import PlantedBug, plant\n"
        "bug = PlantedBug('inner', 'test', 'leaf', 'f', 'return 1', 'return 7', '-')\n"
        "inner = plant(bug, {'leaf': 'def f():\\n    return 1\\n'})['leaf'].f()\n"
        "from layer import double\n"
        "outer = double(1)\n"
    )
    copy = plant(DOUBLE, {"user": inner, "layer": LAYER})
    assert (copy["user"].inner, copy["user"].outer) == (7, 3)


@pytest.mark.parametrize("statement", ["import layer", "from . import layer", "from package import layer"])
def test_an_import_that_a_copy_cannot_follow_is_refused(statement: str) -> None:
    with pytest.raises(ImportError, match=r"from package\.module import name"):
        plant(None, {"layer": LAYER, "package.layer": LAYER, "user": statement})


# Finding the line.


def test_a_line_must_be_there_exactly_once() -> None:
    for line, times in (("y = 4 * x", 0), ("x += 1", 2)):
        source = {"layer": "def double(x):\n    x += 1\n    x += 1\n    y = 2 * x\n    return y\n"}
        with pytest.raises(UsageError, match=rf"planted bug 'double' in layer: .*found {times} times: '{line[0]}"):
            plant(DOUBLE._replace(line=line), source)
    with pytest.raises(UsageError, match="function: expected one triple in the source, found 0"):
        plant(DOUBLE._replace(function="triple"), {"layer": LAYER})
    with pytest.raises(UsageError, match="'double': expected a module out of other, got 'layer'"):
        plant(DOUBLE, {"other": LAYER})


def test_only_whole_lines_of_the_function_count() -> None:
    source = "y = 2 * x\ndef double(x):\n    # y = 2 * x\n    yy = 2 * x\n    if x:\n        y = 2 * x\n    return y\n"
    edit = Edit("double", "y = 2 * x", "y = 3 * x\nx = 0")
    assert find_line(source, edit) == (5, 6)
    changed = with_bug(source, DOUBLE._replace(bug="y = 3 * x\nx = 0"))
    assert changed == source.replace("        y = 2 * x\n", "        y = 3 * x\n        x = 0\n")


def test_several_edits_are_made_one_after_the_other() -> None:
    bug = DOUBLE._replace(also=(Edit("double", "return y", "return -y"),))
    assert plant(bug, {"layer": LAYER})["layer"].double(1) == -3


# The library.


def test_every_kind_is_planted_and_every_bug_says_why() -> None:
    assert {bug.kind for bug in BUGS} == {*CLASSIC, *FURTHER}
    assert len({bug.name for bug in BUGS}) == len(BUGS)
    assert all(bug.why and bug.name and edit.line != edit.bug for bug in BUGS for edit in bug.edits)


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.name)
def test_every_bug_can_be_planted(bug: PlantedBug) -> None:
    source = package_sources()[bug.module]
    assert with_bug(source, bug) != source
    plant(bug)


def without_a_bug(bugs: tuple[PlantedBug, ...]) -> list[str]:
    """Return every statement of the backward passes that no bug touches."""
    missing = []
    for module in COVERED:
        source = package_sources()[module]
        planted = [find_line(source, edit) for bug in bugs if bug.module == module for edit in bug.edits]
        names = [line.split("(")[0].removeprefix("def ") for line in source.splitlines() if line.startswith("def ")]
        for function in names:
            if function.endswith("_backward"):
                missing += [
                    f"{module}, line {place.first + 1}, {function}: {text}"
                    for place, text in statements(source, function)
                    if not any(bug.first < place.last and place.first < bug.last for bug in planted)
                ]
    return missing


def test_every_line_of_every_backward_pass_has_a_bug() -> None:
    assert without_a_bug(BUGS) == []


def test_a_line_without_a_bug_is_named() -> None:
    for line in ("return dZ * mask", "if cache.learned:", "xp = xp_of(dlogits)"):
        fewer = tuple(bug for bug in BUGS if bug.line != line)
        assert [text.partition(": ")[2] for text in without_a_bug(fewer)] == [line]
    assert len(without_a_bug(())) > 90
