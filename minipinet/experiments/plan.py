"""What is asked of an experiment, and the models that every experiment chooses from."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from minipinet._words import counted, nearest
from minipinet.datasets.catalogue import available, find_name, unknown_name
from minipinet.errors import UsageError, notify
from minipinet.experiments.protocols import FOLDS, check_protocol
from minipinet.experiments.records import MOST_REPEATS, Cell, to_variant
from minipinet.settings import whole

#: Each model: the short name of its system, and the settings that are not the defaults.
MODELS: dict[str, tuple[str, dict[str, Any]]] = {
    "pinet": ("pinet", {}),
    "pinet-p1q0": ("pinet", {"pq": (1.0, 0.0)}),
    "pinet-p1q1": ("pinet", {"pq": (1.0, 1.0)}),
    "pinet-p0q0": ("pinet", {"pq": (0.0, 0.0)}),
    "pinet-p0q1": ("pinet", {"pq": (0.0, 1.0)}),
    "gcn-sum": ("gcn-sum", {}),
    "gcn-dense": ("gcn-dense", {}),
    "wl": ("wl", {}),
    "patchy-san": ("patchy-san", {}),
}

#: The paper's benchmarks, small ones first; its PTC is four data sets.
PTC = ("PTC_MM", "PTC_FM", "PTC_MR", "PTC_FR")
DATASETS = ("MUTAG", *PTC, "PROTEINS", "NCI1", "NCI109")

#: What a quick run changes, by system: enough to see that everything works, and no more.
_SMALL_NETWORK = {"epochs": 2, "hidden": 8, "out": 4}
QUICK: dict[str, dict[str, Any]] = {
    "pinet": _SMALL_NETWORK,
    "gcn-sum": _SMALL_NETWORK,
    "gcn-dense": _SMALL_NETWORK,
    "wl": {"rounds": [0, 1], "C": [1.0]},
    "patchy-san": {"epochs": 2, "labellings": ["nauty"], "widths": [1.0], "sizes": [5]},
}
QUICK_FOLDS = 2
#: Cells of one run at most: months of work, which are listed in a second.
CELLS = 100_000


class Plan(NamedTuple):
    """What is asked of an experiment; None stands for all that it has."""

    protocol: str = "paper"
    datasets: Sequence[str] | None = None
    models: Sequence[str] | None = None
    repeats: int | None = None  #: 0 to this number less one are run
    quick: bool = False
    shuffled: bool = False


def fold_cells(experiment: str, plan: Plan, models: Mapping[str, Sequence[str]]) -> list[Cell]:
    """Return a cell for each data set, repeat, fold and model of the data set; quick ones of two folds."""
    check_protocol(plan.protocol)
    folds = QUICK_FOLDS if plan.quick else FOLDS
    repeats = check_repeats(plan, 1, folds * sum(map(len, models.values())))
    return [
        model_cell(
            Cell(experiment, plan.protocol, "", dataset, shuffled=int(plan.shuffled), repeat=repeat, fold=fold),
            model,
            quick=plan.quick,
        )
        for dataset, own in models.items()
        for repeat in range(repeats)
        for fold in range(folds)
        for model in own
    ]


def check_repeats(plan: Plan, default: int, cells: int) -> int:
    """Return how often everything is repeated; a UsageError for more cells than can be listed, before they are.

    Examples
    --------
    >>> check_repeats(Plan(repeats=30_000), 1, cells=480)
    Traceback (most recent call last):
    ...
    minipinet.errors.UsageError: repeats: expected at most 208, with 480 cells each, got 30000, which are 14400000 cells
    """
    repeats = whole("repeats", default if plan.repeats is None else plan.repeats)
    most = min(MOST_REPEATS, CELLS // max(cells, 1))
    if repeats > most:
        raise UsageError(
            f"repeats: expected at most {most}, with {counted(cells, 'cell')} each, got {repeats}, "
            f"which are {repeats * cells} cells"
        )
    return repeats


def model_cell(cell: Cell, model: str, *, quick: bool, **settings: Any) -> Cell:
    """Return the cell with the system of a model and its settings; other settings where the system has them.

    Examples
    --------
    >>> cell = Cell("comparison", "paper", "", "MUTAG")
    >>> model_cell(cell, "pinet-p1q0", quick=False, batch_size=5).variant
    '{"batch_size":5,"pq":[1.0,0.0]}'
    """
    system, own = MODELS[model]
    changed = {**(QUICK[system] if quick else {}), **own, **settings}
    return cell._replace(system=system, variant=to_variant(**changed))


def chosen(what: str, asked: Sequence[str] | None, known: Sequence[str], default: Sequence[str]) -> list[str]:
    """Return the names asked for, each once, or the default ones; an unknown one is a UsageError with the nearest.

    Examples
    --------
    >>> chosen("models", ["wl", "wl"], ["pinet", "wl"], ["pinet"])
    ['wl']
    """
    for name in asked or ():
        if name not in known:
            raise UsageError(f"{what}: expected names among {', '.join(known)}, got {name!r}{nearest(name, known)}")
    return list(dict.fromkeys(default if asked is None else asked))


def chosen_models(plan: Plan, known: Sequence[str], default: Sequence[str]) -> list[str]:
    """Return the models asked for, or the default ones that can be had here, with a Notice for one that cannot.

    Raises
    ------
    UsageError
        For an unknown model, and for PATCHY-SAN by name without the package that it needs.
    """
    names = chosen("models", plan.models, known, default)
    if "patchy-san" in names and importlib.util.find_spec("pynauty") is None:
        lacks = "patchy-san needs the package pynauty: pip install 'minipinet[kernels]'"
        if plan.models is not None:
            raise UsageError(f"models: {lacks}")
        notify(f"{lacks}; it is left out")
        names.remove("patchy-san")
    return names


def chosen_datasets(plan: Plan) -> list[str]:
    """Return the data sets asked for as the collection spells them, PTC as its four parts; quick: MUTAG alone.

    Examples
    --------
    >>> chosen_datasets(Plan(datasets=["ptc", "nci-1"]))
    ['PTC_MM', 'PTC_FM', 'PTC_MR', 'PTC_FR', 'NCI1']
    """
    if plan.datasets is None:
        return ["MUTAG"] if plan.quick else list(DATASETS)
    names: list[str] = []
    for asked in plan.datasets:
        name = find_name(asked, available())
        if asked.casefold() != "ptc" and name is None:
            raise unknown_name(asked, available(), "known (`minipinet data list` shows what is)")
        names += PTC if name is None else [name]
    return list(dict.fromkeys(names))
