"""The paper's first experiment: fresh permutations of five graphs, told apart after a few of each."""

from __future__ import annotations

from minipinet.errors import UsageError
from minipinet.experiments.data import ISOMORPHISM
from minipinet.experiments.plan import MODELS as ALL_MODELS
from minipinet.experiments.plan import Plan, check_repeats, chosen, chosen_models, model_cell
from minipinet.experiments.records import Cell

NAME = "isomorphism"
MODELS = ("pinet", "pinet-p1q0", "gcn-sum", "gcn-dense", "wl", "patchy-san")
#: Training graphs of each of the five classes.
SIZES = (1, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20)
#: Node features: the authors' two labels drawn at random, as many of each in every class, and none.
FEATURES = ("random", "balanced", "constant")
TRIALS = 10
BATCH_SIZE = 5
#: Training steps at one graph of each class, where an epoch is one step, besides the 200 of the default.
STEPS = (20, 50, 100, 500, 1000, 2000, 4000)
#: The systems that train in epochs, to one length.
NETWORKS = ("pinet", "gcn-sum", "gcn-dense")


def list_cells(plan: Plan) -> list[Cell]:
    """Return the cells of the isomorphism test; `plan.datasets` are kinds of features, `plan.repeats` trials.

    For each trial and kind of features: every model at every size, and for constant features, the hard case, the
    networks at size 1 after other numbers of steps. Quick: two trials, two sizes, and one other number of steps.

    Raises
    ------
    UsageError
        For another protocol than ``"paper"``: its data have no folds. For unknown names.

    Examples
    --------
    >>> len(list_cells(Plan(models=["pinet"]))), len(list_cells(Plan(datasets=["random"], models=["wl"], repeats=1)))
    (400, 11)
    """
    if plan.protocol != "paper":
        raise UsageError(f"protocol: the isomorphism test has one of its own, so expected paper, got {plan.protocol!r}")
    models = chosen_models(plan, MODELS, MODELS)
    kinds = chosen("datasets", plan.datasets, FEATURES, FEATURES)
    sizes, steps = (SIZES[:2], (5,)) if plan.quick else (SIZES, STEPS)
    stepped = sum(ALL_MODELS[model][0] in NETWORKS for model in models) if "constant" in kinds else 0
    a_trial = len(kinds) * len(models) * len(sizes) + stepped * len(steps)
    trials = check_repeats(plan, 2 if plan.quick else TRIALS, a_trial)
    cells = []
    for kind in kinds:
        for trial in range(trials):
            plain = Cell(NAME, plan.protocol, "", ISOMORPHISM, features=kind, shuffled=int(plan.shuffled), repeat=trial)
            for model in models:
                system = ALL_MODELS[model][0]
                batches = {} if system == "wl" else {"batch_size": BATCH_SIZE}
                cells += [model_cell(plain._replace(size=size), model, quick=plan.quick, **batches) for size in sizes]
                if kind == "constant" and system in NETWORKS:
                    first = plain._replace(size=1)
                    cells += [model_cell(first, model, quick=plan.quick, **batches, epochs=n) for n in steps]
    return cells
