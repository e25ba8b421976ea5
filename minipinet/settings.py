"""Everything that shapes a training run, in one checked, frozen record that goes to JSON and back."""

from __future__ import annotations

import contextlib
import math
import operator
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields, replace
from numbers import Real
from typing import Any, Final, TypeAlias

import numpy as np

from minipinet._card import DEVICES, check_device
from minipinet._host import refuse_card
from minipinet.errors import UsageError
from minipinet.initializers import INITIALIZERS

#: Fixed (p, q) of the four layers in the order A0, A1, X0, X1.
Pairs: TypeAlias = tuple[tuple[float, float], ...]

#: Largest width of a layer: the sizes of wider kernels would not be numbers that NumPy can hold.
WIDEST: Final = 2**20
#: Largest of the other whole numbers, so that no product of two passes 64 bits.
LARGEST: Final = 2**31 - 1
#: The least and the largest seed that scikit-learn takes.
SEEDS: Final = (0, 2**32 - 1)
LEARNED: Final = "learned"
DTYPES: Final = ("float32", "float64")


@dataclass(frozen=True)
class Settings:
    """The settings of one training run; a wrong value is refused at once.

    Attributes
    ----------
    epochs : int
        Passes over the training graphs, 1 to 2**31 - 1.
    batch_size : int
        Graphs in a mini-batch, 1 to 2**31 - 1; the last batch of an epoch may be shorter.
    lr : float
        Adam's learning rate, above 0.
    hidden, out : int
        Width of the first and of the second message-passing layer of either stack, 1 to 2**20.
    pq : "learned", a pair (p, q), or four pairs
        Learned per layer, or fixed inside [0, 1]: one pair for all layers, or four in the order
        A0, A1, X0, X1 (kept as four).
    bias : bool
        Whether layers have biases; the paper's equations have none.
    l2 : float
        Weight of ``sum W**2`` over the four message-passing kernels in the loss, at least 0.
    init : {"he", "glorot", "orthogonal"}
        How the kernels are drawn.
    seed : int
        0 to 2**32 - 1; decides folds, initial weights and the order of the graphs.
    dtype : {"float32", "float64"}
        Precision of parameters, activations, gradients and Adam's moments.
    device : {"cpu", "cuda", "auto"}
        Where training computes, its validation scores and a cross-validation's test scores too; ``"auto"`` is
        ``"cuda"`` where that can be used.
    merge : bool
        Whether nodes of equal colour share a row (the quotient form); False computes node by node.
    validation : float
        Share of the training graphs held out, 0 <= validation < 1, stratified by class.
    patience : int or None
        Stop after that many epochs without a lower validation loss and take the weights of the best epoch;
        needs ``validation > 0``. None: train all epochs, take the last weights.
    steps_per_epoch : int or None
        Take this many of Adam's steps an epoch at most, 1 to 2**31 - 1: the first batches of the epoch's order. None:
        one for every batch, so that an epoch visits every training graph.

    Raises
    ------
    UsageError
        Naming the field, what is allowed and what came.

    Examples
    --------
    >>> Settings(pq=(1, 0)).pq
    ((1.0, 0.0), (1.0, 0.0), (1.0, 0.0), (1.0, 0.0))
    >>> Settings(epochs=0)
    Traceback (most recent call last):
    ...
    minipinet.errors.UsageError: epochs: expected a whole number of at least 1, got 0
    """

    epochs: int = 200
    batch_size: int = 50
    lr: float = 1e-3
    hidden: int = 100
    out: int = 64
    pq: str | Pairs | tuple[float, float] = LEARNED
    bias: bool = False
    l2: float = 0.0
    init: str = "he"
    seed: int = 0
    dtype: str = "float32"
    device: str = "cpu"
    merge: bool = True
    validation: float = 0.0
    patience: int | None = None
    steps_per_epoch: int | None = None

    def __post_init__(self) -> None:
        checked = {
            **{name: whole(name, getattr(self, name)) for name in ("epochs", "batch_size")},
            **{name: whole(name, getattr(self, name), at_most=WIDEST) for name in ("hidden", "out")},
            "lr": real("lr", self.lr, lambda x: x > 0, "above 0"),
            "pq": _pq(self.pq),
            "bias": truth("bias", self.bias),
            "l2": real("l2", self.l2, lambda x: x >= 0, "of at least 0"),
            "init": _choice("init", self.init, tuple(INITIALIZERS)),
            "seed": whole("seed", self.seed, *SEEDS),
            "dtype": _choice("dtype", self.dtype, DTYPES),
            "device": _choice("device", self.device, DEVICES),
            "merge": truth("merge", self.merge),
            "validation": real("validation", self.validation, lambda x: 0 <= x < 1, "in [0, 1)"),
            **{
                name: None if getattr(self, name) is None else whole(name, getattr(self, name))
                for name in ("patience", "steps_per_epoch")
            },
        }
        for name, value in checked.items():
            object.__setattr__(self, name, value)
        if self.patience is not None and self.validation == 0:
            raise UsageError("patience: early stopping needs a validation part, so validation > 0 (say 0.1), got 0")

    def on_this_machine(self) -> Settings:
        """Return the settings with the device that `device` comes to here, ``"cpu"`` or ``"cuda"``.

        Raises
        ------
        UsageError
            If ``"cuda"`` is asked for and cannot be used.
        """
        return self if self.device == "cpu" else replace(self, device=check_device(self.device))

    @property
    def learned_pq(self) -> bool:
        """Whether p and q are parameters of the model."""
        return self.pq == LEARNED

    @property
    def pairs(self) -> np.ndarray | None:
        """The fixed (p, q) as a (4, 2) float64 array in the order A0, A1, X0, X1; None when learned."""
        return None if self.learned_pq else np.array(self.pq, dtype=np.float64)

    def to_json(self) -> dict[str, Any]:
        """Return the settings, all defaults filled in, as a dict of plain JSON values."""
        values = asdict(self)
        if not self.learned_pq:
            values["pq"] = [list(pair) for pair in values["pq"]]
        return values

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Settings:
        """Return the settings that :meth:`to_json` wrote; a name that is no setting is a UsageError."""
        known = [field.name for field in fields(cls)]
        if not isinstance(values, Mapping):
            raise UsageError(f"settings: expected values by name, got {values!r:.80}")
        unknown = [str(name) for name in values if name not in known]
        if unknown:
            raise UsageError(f"settings: expected names among {', '.join(known)}, got {', '.join(unknown)}")
        return cls(**values)


def whole(name: str, value: Any, at_least: int = 1, at_most: int = LARGEST) -> int:
    """Return `value` as an int within the bounds; anything else is a UsageError that names the argument."""
    refuse_card(name, value)
    try:
        number = operator.index(value)
    except TypeError:
        number = at_least - 1
    if isinstance(value, bool | np.bool_) or number < at_least:
        raise UsageError(f"{name}: expected a whole number of at least {at_least}, got {value!r:.80}")
    if number > at_most:
        raise UsageError(f"{name}: expected a whole number from {at_least} to {at_most}, got {value!r:.80}")
    return number


def real(name: str, value: Any, allowed: Callable[[float], bool], range_text: str) -> float:
    """Return `value` as a finite float that is `allowed`; anything else is a UsageError that names the argument."""
    refuse_card(name, value)
    try:
        number = math.nan if isinstance(value, str | bytes | bool | np.bool_) else float(value)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not (math.isfinite(number) and allowed(number)):
        raise UsageError(f"{name}: expected a finite number {range_text}, got {value!r:.80}")
    return number


def truth(name: str, value: Any) -> bool:
    """Return `value` as a bool; anything but True and False is a UsageError that names the argument."""
    if not isinstance(value, bool | np.bool_):
        raise UsageError(f"{name}: expected True or False, got {value!r:.80}")
    return bool(value)


def _choice(name: str, value: Any, allowed: tuple[str, ...]) -> str:
    if not (isinstance(value, str) and value in allowed):
        *others, last = map(repr, allowed)
        raise UsageError(f"{name}: expected {', '.join(others)} or {last}, got {value!r:.80}")
    return value


def _pq(value: Any) -> str | Pairs:
    if isinstance(value, str) and value == LEARNED:
        return LEARNED
    refuse_card("pq", value)
    pairs: np.ndarray = np.empty(0)
    with contextlib.suppress(TypeError, ValueError, OverflowError):
        leaves = np.array(value, dtype=object)
        if all(isinstance(leaf, Real) and not isinstance(leaf, bool) for leaf in leaves.flat):
            pairs = leaves.astype(np.float64)
    if pairs.shape == (2,):
        pairs = np.tile(pairs, (4, 1))
    # The comparison is False for a NaN.
    if pairs.shape != (4, 2) or not np.all((pairs >= 0) & (pairs <= 1)):
        raise UsageError(
            f"pq: expected 'learned', a pair (p, q) in [0, 1], or four such pairs (A0, A1, X0, X1), got {value!r}"
        )
    return tuple((float(p), float(q)) for p, q in pairs)
