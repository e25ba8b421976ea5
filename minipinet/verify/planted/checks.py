"""The checks that planted bugs are shown to, and which of them catch one."""

from __future__ import annotations

import cProfile
import math
import warnings
from collections.abc import Callable, Iterator, Mapping
from functools import cache, partial
from types import CodeType, ModuleType
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from threadpoolctl import threadpool_limits

from minipinet._tree import named_leaves, with_leaves
from minipinet.verify import VerificationError, check_pair
from minipinet.verify.pairs import Pair, example_params
from minipinet.verify.planted.models import L2, example_graphs, labels, model_of
from minipinet.verify.planted.plant import COPY_OF, PlantedBug, plant
from minipinet.verify.probe import gradient_of
from minipinet.verify.properties import (
    column_sum_error,
    isolation_error,
    oracle_error,
    oracle_loss_error,
    permutation_error,
)

#: Largest error of a property: rounding comes to 1e-14 here, the mildest bug to 1e-4.
ALLOWED = 1e-10


Modules: TypeAlias = Mapping[str, ModuleType]


class Check(NamedTuple):
    """A column of the table; docs/planted-bugs.md explains each."""

    title: str
    default: bool  #: one of those that must together catch every bug
    method: str = ""  #: of `check_pair`; none for a property
    symmetric: bool = False  #: on undirected graphs node by node, else on directed ones in the quotient form
    ones: bool = False  #: with a cotangent of ones, else a random one
    whole: bool = False  #: on the whole network alone, else on the pair that the bug is in


CHECKS = (
    Check("ones", False, "central", symmetric=True, ones=True),
    Check("symmetric", False, "central", symmetric=True),
    Check("directed", True, "central"),
    Check("complex", False, "complex"),
    Check("Taylor", True, "taylor", whole=True),
    Check("adjoint", True, "adjoint"),
    Check("linear", True, "linear"),
    Check("permutation", True),
    Check("isolation", True),
    Check("column sums", True),
    Check("oracle", True),
)
#: Stems of the names of the functions that are the whole network.
WHOLE = ("pinet", "loss")
#: Verdicts. A crash counts as caught, but it tells more of luck with shapes than of the check.
CAUGHT, CRASH, BLIND, NOT_RUN = "caught", "crash", ".", "–"


class Trial(NamedTuple):
    """One check on one pair, or on one form of the model."""

    check: Check
    pair: str  #: its name; none for a property
    stem: str  #: of the names of the pair's functions, such as propagate
    fails: Callable[[], bool]


def trials(bug: PlantedBug | None, seed: int = 0) -> list[Trial]:
    """Return every check on everything it applies to, in a copy of the package with a bug, not yet run."""
    copy, pairs = cache(partial(plant, bug)), cache(partial(project_pairs, bug, seed=seed))
    found = []
    for check in CHECKS:
        if check.method:
            for name, stem, methods in _sound_pairs():
                is_whole = stem in WHOLE
                if is_whole if check.whole else check.method != "complex" or "complex" in methods:
                    found.append(Trial(check, name, stem, partial(_pair_fails, check, pairs, name, seed)))
        else:
            found += [
                Trial(check, "", "", partial(_property_fails, check, copy, C, merge, seed))
                for C in (2, 3)
                for merge in (True, False)
            ]
    found.append(Trial(CHECKS[-1], "", "", partial(_adam_fails, copy, seed)))
    return found


def project_pairs(bug: PlantedBug | None, symmetric: bool, seed: int) -> dict[str, Pair]:
    """Return all pairs of a copy by name, on undirected graphs node by node or on directed ones in colours."""
    pairs = plant(bug)["minipinet.verify.pairs"]
    if symmetric:
        # In colours not even an undirected graph has a symmetric matrix.
        vars(pairs)["example_union"] = partial(pairs.example_union, directed=False)
        vars(pairs)["example_batch"] = partial(pairs.example_batch, merge=False)
    rngs = np.random.default_rng(seed), np.random.default_rng(seed)
    return {pair.name: pair for pair in pairs.layer_pairs(rngs[0]) + pairs.model_pairs(rngs[1])}


@cache
def _sound_pairs() -> list[tuple[str, str, tuple[str, ...]]]:
    pairs = project_pairs(None, False, 0)
    return [(name, _stem(pair.backward.__name__), pair.methods) for name, pair in pairs.items()]


def _stem(function: str) -> str:
    return function.removesuffix("_backward").removesuffix("_forward")


def _pair_fails(check: Check, pairs: Callable[[bool], dict[str, Pair]], name: str, seed: int) -> bool:
    pair = pairs(check.symmetric)[name]
    forward, backward = of_ones(pair) if check.ones else (pair.forward, pair.backward)
    rng = np.random.default_rng(seed)
    # Many entries: two random directions an array tell as much.
    whole: dict[str, Any] = {"directions": 2, "each_entry": 0} if _stem(pair.backward.__name__) in WHOLE else {}
    return not check_pair(forward, backward, pair.inputs, rng=rng, method=check.method, name=name, **whole).ok


def of_ones(pair: Pair) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Return a pair whose only output is the sum of all: its gradient is that for a cotangent of ones.

    The sum of the inputs is added, so that a derivative that is 0, as the softmax has one, stands beside the 1 of that
    sum and not beside rounding.
    """

    def forward(**inputs: Any) -> tuple[Any, Any]:
        out, kept = pair.forward(**inputs)
        ones = with_leaves(out, iter([np.ones(np.shape(v)) for _, v in named_leaves(out)]))
        total = sum(v.sum() for _, v in named_leaves((out, inputs)) if v is not None)
        return total, (kept, ones, inputs)

    def backward(total: Any, kept: Any) -> dict[str, Any]:
        kept, ones, inputs = kept
        gradient, _ = gradient_of(pair.name, pair.backward(ones, kept), inputs)
        plus_one = iter([total * (g + 1.0) for g in gradient])
        arrays = {key: inputs[key] for key in sorted(inputs, key=str)}
        leaves = [v if v is None else next(plus_one) for _, v in named_leaves(list(arrays.values()))]
        return {f"d{key}": g for key, g in with_leaves(arrays, iter(leaves)).items()}

    return forward, backward


def _property_fails(check: Check, copy: Callable[[], Modules], C: int, merge: bool, seed: int) -> bool:
    graphs = example_graphs(np.random.default_rng(seed))
    model = model_of(copy(), C, merge=merge, seed=seed)
    if check.title == "permutation":
        return permutation_error(model.scores, graphs, rng=np.random.default_rng(seed)) > ALLOWED
    if check.title == "isolation":
        return isolation_error(model.scores, graphs) > 0
    if check.title == "column sums":
        return column_sum_error(model.attention, graphs) > ALLOWED
    scores = oracle_error(model.scores, graphs, model.params)
    calm = graphs[:-1]  # the oracle takes the logarithm of a probability, which may be 0 for the wild one
    return max(scores, oracle_loss_error(model.loss, calm, labels(calm, C), model.params, l2=L2)) > ALLOWED


def _adam_fails(copy: Callable[[], Modules], seed: int) -> bool:
    """Compare three steps of Adam with algorithm 1 of Kingma and Ba (2015), number by number."""
    optim = copy()["minipinet.optim"]
    rng = np.random.default_rng(seed)
    params = example_params(rng, 2, bias=False, learned_pq=False)
    # As small as eps, so that it matters where eps stands.
    gradients = [with_leaves(params, (w if w is None else 1e-8 * w * t for w in params)) for t in (1.0, -0.5, 2.0)]
    lr, beta1, beta2, eps = 1e-3, 0.9, 0.999, 1e-8
    after, state = params, optim.adam_init(params)
    for grads in gradients:
        after, state = optim.adam_step(after, grads, state)
    for leaf, end, *history in zip(params, after, *gradients, strict=True):
        for at in () if leaf is None else np.ndindex(leaf.shape):
            w, m, v = float(leaf[at]), 0.0, 0.0
            for t, g in enumerate((float(grads[at]) for grads in history), start=1):
                m, v = beta1 * m + (1 - beta1) * g, beta2 * v + (1 - beta2) * g**2
                w -= lr * (m / (1 - beta1**t)) / (math.sqrt(v / (1 - beta2**t)) + eps)
            if not abs(float(end[at]) - w) < ALLOWED:
                return True
    return False


def run(trial: Trial) -> str:
    """Return `CAUGHT`, `CRASH` (anything raised but a refusal by name) or `BLIND`."""
    with warnings.catch_warnings(), np.errstate(all="ignore"), threadpool_limits(1):
        warnings.simplefilter("ignore")
        try:
            return CAUGHT if trial.fails() else BLIND
        except VerificationError:
            return CAUGHT
        except Exception:
            return CRASH


@cache
def reached(k: int, seed: int = 0) -> frozenset[tuple[str, str]]:
    """Return the functions (module, name) that the k-th of `trials` runs, watched on a sound copy of its own."""
    trial = trials(None, seed)[k]
    watch = cProfile.Profile(subcalls=False, builtins=False)  # in C: a function for sys.setprofile doubles the time
    watch.enable()
    try:
        run(trial)
    finally:
        watch.disable()
    codes = [entry.code for entry in watch.getstats() if isinstance(entry.code, CodeType)]
    return frozenset(
        (code.co_filename.removeprefix(COPY_OF).removesuffix(">"), code.co_name)
        for code in codes
        if code.co_filename.startswith(COPY_OF)
    )


def relevant(bug: PlantedBug, seed: int = 0) -> Iterator[Trial]:
    """Yield the checks that run a function the bug is in, not yet run.

    A pair's own functions are looked at through that pair (and by the checks of the whole network), any other function
    through the whole network and its loss.
    """
    functions = {(bug.module, edit.function) for edit in bug.edits}
    stems = {_stem(function) for _, function in functions}
    subjects = {stem for _, stem, _ in _sound_pairs()} & stems or set(WHOLE)
    for k, trial in enumerate(trials(bug, seed)):
        if (trial.check.whole or trial.stem in subjects or not trial.pair) and functions & reached(k, seed):
            yield trial


def verdicts(bug: PlantedBug, seed: int = 0) -> dict[str, str]:
    """Show one bug to every check.

    Parameters
    ----------
    bug : PlantedBug
        In a module of the package.
    seed : int
        For the examples.

    Returns
    -------
    dict from title of a check, in the order of `CHECKS`, to `CAUGHT`, `CRASH`, `BLIND` or `NOT_RUN`

    Raises
    ------
    UsageError
        If the bug's line is not there exactly once.

    Examples
    --------
    >>> from minipinet.verify.planted.library import BUGS
    >>> bug = next(bug for bug in BUGS if bug.name == "A for A^T")
    >>> seen = verdicts(bug)
    >>> seen["symmetric"], seen["directed"], seen["oracle"]
    ('.', 'caught', '–')
    """
    plant(bug)  # an error of planting is not to be taken for a crash
    found = {check.title: NOT_RUN for check in CHECKS}
    for trial in relevant(bug, seed):
        title = trial.check.title
        if found[title] != CAUGHT:
            found[title] = max(found[title], run(trial), key=(NOT_RUN, BLIND, CRASH, CAUGHT).index)
    return found


def caught_by_default(verdict: Mapping[str, str]) -> bool:
    """Tell whether one of the default checks caught it."""
    return any(verdict[check.title] in (CAUGHT, CRASH) for check in CHECKS if check.default)
