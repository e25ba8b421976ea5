"""The paper's benchmark: every system on every data set."""

from __future__ import annotations

from minipinet.experiments.plan import PTC, Plan, chosen_datasets, chosen_models, fold_cells
from minipinet.experiments.records import Cell

NAME = "comparison"
#: PiNet with learned p and q, and with those that the paper's search settled on; and the other systems.
MODELS = ("pinet", "pinet-manual", "gcn-sum", "gcn-dense", "wl", "patchy-san")
#: The model with the paper's p and q (caption of its table of results); elsewhere the plain adjacency matrix.
MANUAL = {
    **dict.fromkeys(("MUTAG", "PROTEINS"), "pinet-p1q0"),
    **dict.fromkeys(("NCI1", "NCI109"), "pinet-p1q1"),
    **dict.fromkeys(PTC, "pinet-p0q0"),
}


def list_cells(plan: Plan) -> list[Cell]:
    """Return the cells of the comparison, data set after data set.

    In protocol ``"fair"`` PiNet's own search covers the manual p and q, so that model stands there on request alone.

    Examples
    --------
    >>> len(list_cells(Plan(models=["pinet", "wl"]))), len(list_cells(Plan(models=["wl"], datasets=["MUTAG"])))
    (160, 10)
    """
    default = [model for model in MODELS if not (plan.protocol == "fair" and model == "pinet-manual")]
    models = chosen_models(plan, MODELS, default)
    named = {
        dataset: [MANUAL.get(dataset, "pinet-p1q0") if model == "pinet-manual" else model for model in models]
        for dataset in chosen_datasets(plan)
    }
    return fold_cells(NAME, plan, named)
