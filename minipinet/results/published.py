"""The numbers that the paper printed, as data, and what is known of how each came about."""

from __future__ import annotations

from typing import NamedTuple

from minipinet.experiments.comparison import MANUAL


class Published(NamedTuple):
    """An accuracy as it was published."""

    mean: float  #: over ten splits; of PTC, over its four parts too
    sd: float | None  #: over ten splits, as the paper's table of results has it, in two digits; None: not printed


_NAMES = ("MUTAG", "NCI1", "NCI109", "PROTEINS", "PTC", "PTC_MM", "PTC_FM", "PTC_MR", "PTC_FR")
#: Means by model: the paper's table and bar charts, in the three digits of the authors' result files.
_MEANS = {
    "pinet": (0.879, 0.736, 0.712, 0.755, 0.626, 0.665, 0.603, 0.531, 0.706),
    "pinet-p1q0": (0.868, 0.720, 0.714, 0.747, 0.628, 0.676, 0.596, 0.559, 0.681),
    "pinet-p1q1": (0.852, 0.741, 0.725, 0.735, 0.611, 0.669, 0.599, 0.523, 0.653),
    "pinet-p0q0": (0.845, 0.711, 0.703, 0.743, 0.630, 0.671, 0.587, 0.593, 0.670),
    "pinet-p0q1": (0.846, 0.713, 0.694, 0.740, 0.621, 0.666, 0.582, 0.564, 0.669),
    "gcn-dense": (0.863, 0.730, 0.716, 0.709, 0.625, 0.632, 0.623, 0.626, 0.619),
    "gcn-sum": (0.863, 0.722, 0.732, 0.741, 0.613, 0.656, 0.589, 0.540, 0.667),
    "wl": (0.684, 0.531, 0.532, 0.612, 0.617, 0.638, 0.600, 0.577, 0.653),
    "patchy-san": (0.85, 0.58, 0.58, 0.70, 0.58),
}
#: Standard deviations by row of the paper's table of results, for the first five data sets.
_SDS = {
    "pinet": (0.07, 0.02, 0.04, 0.06, 0.04),
    "pinet-manual": (0.08, 0.03, 0.03, 0.06, 0.06),
    "gcn-dense": (0.06, 0.03, 0.02, 0.04, 0.07),
    "gcn-sum": (0.05, 0.03, 0.03, 0.04, 0.05),
    "wl": (0.00, 0.02, 0.03, 0.01, 0.03),
    "patchy-san": (0.06, 0.02, 0.03, 0.02, 0.02),
}

#: Mean accuracy of the isomorphism test over ten trials, by training graphs of each class.
ISOMORPHISM = {
    model: dict(zip(range(2, 21, 2), values, strict=True))
    for model, values in {
        "pinet-p1q0": (0.70, 0.65, 0.74, 0.76, 0.78, 0.77, 0.84, 0.78, 0.81, 0.75),
        "gcn-sum": (0.27, 0.30, 0.50, 0.39, 0.23, 0.28, 0.42, 0.30, 0.20, 0.31),
        "gcn-dense": (0.39, 0.35, 0.32, 0.41, 0.40, 0.42, 0.40, 0.43, 0.42, 0.50),
        "wl": (0.25, 0.20, 0.22, 0.22, 0.21, 0.17, 0.19, 0.21, 0.20, 0.18),
        "patchy-san": (0.21, 0.20, 0.22, 0.25, 0.24, 0.29, 0.32, 0.29, 0.34, 0.31),
    }.items()
}

#: What the authors' code does that bears on a row of their tables, by system.
FAULTS = {
    "pinet": "published: attention normalised over the batch, k^(-1/4) for k^(-1/2), ceil(tested / 50) steps an epoch",
    "gcn-sum": "published: a mean over nodes in the authors' final code",
    "wl": "published: every node has one and the same label, C is not tuned",
}
#: The same for the isomorphism test.
ISOMORPHISM_FAULTS = {
    "pinet-p1q0": "published: attention normalised over the batch, so that a graph's answer depends on the graphs "
    "beside it and on the order of its nodes",
    "gcn-sum": FAULTS["gcn-sum"],
    "wl": "published: every node has one and the same label, C is not tuned; .17 to .25 are chance, which is .2",
}


def published(model: str, dataset: str) -> Published | None:
    """Return the published accuracy of a model on a data set, None where there is none.

    Parameters
    ----------
    model : str
        As in :data:`minipinet.experiments.plan.MODELS`, or ``"pinet-manual"``.
    dataset : str
        A name, or ``"PTC"`` for the mean of its four parts.

    Examples
    --------
    >>> published("pinet", "MUTAG"), published("pinet", "PTC_MM")
    (Published(mean=0.879, sd=0.07), Published(mean=0.665, sd=None))
    >>> published("pinet-manual", "NCI1") == published("pinet-p1q1", "NCI1")
    True
    """
    manual = MANUAL["PTC_MR" if dataset == "PTC" else dataset] if dataset in _NAMES else None
    means = dict(zip(_NAMES, _MEANS.get(str(manual) if model == "pinet-manual" else model, ()), strict=False))
    if dataset not in means:
        return None
    sds = _SDS.get("pinet-manual" if model == manual else model, ())
    return Published(means[dataset], dict(zip(_NAMES, sds, strict=False)).get(dataset))
