"""What a row is called in a table: a model of `plan.MODELS` only if it has that model's settings and no others."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Any, NamedTuple

from minipinet.errors import DataError, UsageError
from minipinet.experiments import comparison, isomorphism
from minipinet.experiments.cells import system_of
from minipinet.experiments.plan import MODELS, model_cell
from minipinet.experiments.protocols import candidates
from minipinet.experiments.records import Cell, Row, to_text, to_variant

#: Behind the name of a model in the small version that a quick run trains.
QUICK_MARK = " (quick)"


class Name(NamedTuple):
    """What a row is a result of."""

    model: str  #: name of a model, with `QUICK_MARK` of its small version; else the system and its settings
    other_epochs: bool = False  #: the model at another number of epochs, as the isomorphism test has it at size 1


def name_row(row: Row) -> Name:
    """Return the name that a row has in tables; rows of different settings never have the same.

    ``pinet-manual`` is in the experiment ``comparison`` the model with the p and q of the paper's search. A row whose
    settings after defaults are not those that its model has now carries the difference in its name.

    Parameters
    ----------
    row : Row

    Raises
    ------
    DataError
        For a variant that is no JSON object, as somebody may have edited it.

    Examples
    --------
    >>> from minipinet.experiments.cells import run_cell
    >>> row = run_cell(Cell("comparison", "paper", "wl", "MUTAG", variant=to_variant(C=[1.0], rounds=[0, 1])))
    >>> name_row(row).model
    'wl (quick)'
    >>> other = run_cell(Cell("comparison", "paper", "wl", "MUTAG", variant=to_variant(C=[1.0], rounds=[0])))
    >>> name_row(other).model
    'wl C=[1.0], rounds=[0]'
    >>> name_row(row._replace(settings={**row.settings, "inner_folds": 3})).model
    'wl (quick), was inner_folds=3'
    """
    cell = row.cell
    settings, known = _changed(cell), _known(cell.experiment)
    model = known.get((cell.system, cell.variant))
    other_epochs = model is None and cell.experiment == isomorphism.NAME and cell.size == 1
    if other_epochs and cell.system in isomorphism.NETWORKS:
        bare = {(system, _bare(variant)): name for (system, variant), name in known.items()}
        model = bare.get((cell.system, _bare(cell.variant)))
    if model is None:
        own = ", ".join(f"{name}={to_text(value)}" for name, value in settings.items())
        return Name(f"{cell.system} {own}".strip() + _unusual(row))
    if cell.experiment == comparison.NAME:
        whole = model.removesuffix(QUICK_MARK)
        if whole == comparison.MANUAL.get(cell.dataset, "pinet-p1q0"):
            model = model.replace(whole, "pinet-manual")
    return Name(model + _unusual(row), other_epochs)


def _changed(cell: Cell) -> dict[str, Any]:
    """Return the settings of a cell that are not the defaults."""
    try:
        settings = json.loads(cell.variant)
    except (ValueError, RecursionError):
        settings = None
    if not isinstance(settings, dict):
        raise DataError(f"{cell.key}: expected settings as a JSON object, got {cell.variant!r:.60}")
    return settings


def _unusual(row: Row) -> str:
    """Return what the row's settings have that no run of its cell would have now."""
    cell = row.cell
    possible = _possible(cell.protocol, cell.system, cell.variant, len(row.test_index))
    if not possible or row.settings in possible:
        return ""
    now, was = possible[0], row.settings
    changed = (f"{name}={to_text(was.get(name))}" for name in sorted(now | was) if was.get(name) != now.get(name))
    return f", was {', '.join(changed)}"


@lru_cache(maxsize=256)
def _possible(protocol: str, system: str, variant: str, tested: int) -> list[dict[str, Any]]:
    """Return the settings after defaults that a cell may have; none for a system or setting that is not known here."""
    try:
        found = candidates(protocol, system_of(Cell("", protocol, system, "", variant=variant)), tested)
    except UsageError:
        return []
    return [candidate.settings for candidate in found]


@lru_cache(maxsize=8)
def _known(experiment: str) -> dict[tuple[str, str], str]:
    """Return the name of each model, as an experiment trains it, by system and variant."""
    names = {}
    for quick in (False, True):
        for model, (system, _) in MODELS.items():
            batches = experiment == isomorphism.NAME and system != "wl"
            own = {"batch_size": isomorphism.BATCH_SIZE} if batches else {}
            cell = model_cell(Cell(experiment, "", "", ""), model, quick=quick, **own)
            names[system, cell.variant] = model + QUICK_MARK * quick
    return names


def _bare(variant: str) -> str:
    """Return the variant less its number of epochs."""
    return to_variant(**{name: value for name, value in json.loads(variant).items() if name != "epochs"})
