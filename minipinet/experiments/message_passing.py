"""The paper's second experiment: four fixed message-passing matrices, and p and q learned."""

from __future__ import annotations

from minipinet.errors import UsageError
from minipinet.experiments.plan import Plan, chosen_datasets, chosen_models, fold_cells
from minipinet.experiments.records import Cell

NAME = "message-passing"
MODELS = ("pinet", "pinet-p1q0", "pinet-p1q1", "pinet-p0q0", "pinet-p0q1")


def list_cells(plan: Plan) -> list[Cell]:
    """Return the cells of the experiment, data set after data set.

    Examples
    --------
    >>> len(list_cells(Plan(datasets=["MUTAG"])))
    50
    """
    if plan.protocol == "fair":
        raise UsageError("protocol: expected paper or released, got 'fair', which chooses among the matrices itself")
    return fold_cells(NAME, plan, dict.fromkeys(chosen_datasets(plan), chosen_models(plan, MODELS, MODELS)))
