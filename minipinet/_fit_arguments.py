"""What an estimator is given beside graphs: a random state, classes, and parameters, read off a model that has none."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from minipinet._extras import sklearn
from minipinet._host import refuse_card
from minipinet.datasets.encoder import KINDS
from minipinet.datasets.values import as_values
from minipinet.errors import UsageError
from minipinet.predictor import PiNet
from minipinet.settings import SEEDS, Settings, whole
from minipinet.splits import check_classes

#: The parameters that are settings of a training run; its seed comes from `random_state`.
SETTINGS = tuple(name for name in Settings.__dataclass_fields__ if name != "seed")


def seed_of(random_state: Any) -> int:
    """Return a seed: the number itself, one drawn from a generator, or one from the operating system for None.

    Examples
    --------
    >>> seed_of(7), seed_of(np.random.default_rng(0)) == seed_of(np.random.default_rng(0))
    (7, True)
    """
    if random_state is None:
        return int(np.random.SeedSequence().generate_state(1)[0])
    if isinstance(random_state, Integral):
        return whole("random_state", random_state, *SEEDS)
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(SEEDS[1], endpoint=True))
    if random_state is np.random or not hasattr(random_state, "randint"):
        raise UsageError(f"random_state: expected an int, a RandomState, a Generator or None, got {random_state!r:.80}")
    return int(random_state.randint(SEEDS[1], dtype=np.int64))


def classes_of(y: Any, G: int) -> NDArray[Any]:
    """Return the classes of G graphs as one row of the dtype they came in.

    Examples
    --------
    >>> classes_of(["a", "b"], 2)
    array(['a', 'b'], dtype='<U1')
    """
    if y is None:
        raise UsageError("y: fit requires y to be passed, but the target y is None: expected the class of each graph")
    refuse_card("y", y)
    try:
        classes: NDArray[Any] = sklearn("utils", "PiNetClassifier").column_or_1d(y, warn=True)
    except TypeError as error:  # of a sequence of a user's own, with what is no class in it
        raise UsageError(f"y: expected the class of each graph, got {type(y).__name__} ({error})") from error
    # Refuses what is missing or of several kinds, which NumPy would make strings of when it turns a list into an array.
    as_values(y if isinstance(y, list | tuple) else classes, "y")
    sklearn("utils.multiclass", "PiNetClassifier").check_classification_targets(classes)
    if len(classes) != G:
        raise UsageError(f"y: expected {G} classes, one for each graph, got {len(classes)}")
    check_classes("y", classes)
    return classes


def parameters_of(model: PiNet) -> dict[str, Any]:
    """Return the parameters of the estimator that trains such a model, as a user would write them.

    Of a model that a card trained `device` is "auto".

    Examples
    --------
    >>> from minipinet.datasets import load_dataset
    >>> from minipinet.runs import train_pinet
    >>> found = parameters_of(train_pinet(load_dataset("MUTAG")[:20], Settings(epochs=1, pq=(1, 0))).model)
    >>> found["node_label"], found["pq"], found["random_state"]
    ('label', (1.0, 0.0), 0)
    """
    settings, reading, kind = model.settings, model.reading, model.encoder.kind
    found = {name: getattr(settings, name) for name in SETTINGS} | {"random_state": settings.seed}
    if settings.device == "cuda":
        found["device"] = "auto"  # the model is as good without a card
    if not settings.learned_pq and len(set(settings.pq)) == 1:
        found["pq"] = settings.pq[0]
    found |= {"weight": reading.weight, "directed": reading.directed}
    if kind == "attributes" and not reading.node_attributes:  # the graphs came with their features
        return found | {"weight": True if reading.weight else None}
    used = KINDS[kind]
    names = [
        names if use else () for names, use in zip((reading.node_label, reading.node_attributes), used, strict=True)
    ]
    label, attributes = [given[0] if len(given) == 1 else given for given in names]
    implied = any(used) and all(bool(given) == use for given, use in zip(names, used, strict=True))
    return found | {
        "node_label": label or None,
        "node_attributes": attributes,
        "features": None if implied else kind,
    }
