"""What the gradient checker reports: every derivative that was compared, the verdict, and a table to read."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import NamedTuple

from minipinet.verify.contract import VerificationError

#: How each method names the two numbers that it compares.
ANALYTIC = dict.fromkeys(("central", "complex", "taylor", "float32"), "backward") | {
    "adjoint": "<v, backward(w)>",
    "linear": "of a sum",
}
NUMERIC = {
    "central": "central difference",
    "complex": "complex step",
    "taylor": "central difference",
    "float32": "float64",
    "adjoint": "<J v, w>",
    "linear": "sum of backwards",
}


#: What the parts of a pair are called where there is a function and its gradient.
WORDS = {
    "forward's out": "its value",
    "the forward's": "the function's",
    "the forward": "the function",
    "forward": "the function",
    "backward (analytic)": "gradient (analytic)",
    "<v, backward(w)>": "<v, gradient>",
    "the backward": "the gradient",
    "sum of backwards": "sum of gradients",
    "backward": "the gradient",
    "the pair": "the function or its gradient",
    "different out;": "different values;",
}


def words_of_a_function(text: str) -> str:
    """Speak of a function and its gradient instead of a forward and a backward.

    Examples
    --------
    >>> words_of_a_function("energy: two calls of the forward gave different out; backward returned None")
    'energy: two calls of the function gave different values; the gradient returned None'
    """
    first, colon, rest = text.partition(": ")  # the name of the function stays
    return first + colon + re.sub("|".join(map(re.escape, WORDS)), lambda match: WORDS[match[0]], rest)


class Entry(NamedTuple):
    """One derivative that was compared."""

    name: str
    at: tuple[int, ...] | None  #: None: along a random direction
    analytic: float  #: what the backward returned
    numeric: float  #: what the forward shows
    error: float  #: relative to the scale of the array
    direction: str = ""  #: the first numbers of the random direction
    step: float = 0.0  #: of the difference

    @property
    def where(self) -> str:
        """``name[i, j]``, or the name alone for a scalar."""
        if self.at is None:
            return f"{self.name} along a random direction"
        return f"{self.name}[{', '.join(map(str, self.at))}]" if self.at else self.name


@dataclass(frozen=True)
class Report:
    """What `check_pair` found."""

    pair: str
    method: str
    tolerance: float
    entries: tuple[Entry, ...]  #: worst first
    rate: float  #: lowest fitted Taylor rate; NaN for other methods and where the remainder is rounding
    skipped: int  #: steps dropped because they crossed a kink
    problems: tuple[str, ...]  #: what is wrong, in words; empty when all is well
    notes: tuple[str, ...]  #: what was done on the way (copies to float64)
    backward: str = "backward"  #: what to call the analytic side

    @property
    def ok(self) -> bool:
        """True when nothing is wrong."""
        return not self.problems

    @property
    def worst(self) -> float:
        """Largest error, 0 when nothing was compared."""
        return self.entries[0].error if self.entries else 0.0

    def __str__(self) -> str:
        """Return what is wrong, worst first, then a table with the worst entry of each array."""
        verdict = "ok" if self.ok else "FAILED"
        rate = "" if math.isnan(self.rate) else f", Taylor rate {self.rate:.3f}"
        counts = f"{len(self.entries)} derivatives compared, {self.skipped} steps dropped at kinks"
        lines = [f"{self.pair}: {verdict} ({self.method}: {counts}{rate})", *self.problems]
        shown: dict[str, Entry] = {}
        for entry in self.entries:
            shown.setdefault(entry.name, entry)
        width = max((len(entry.where) for entry in shown.values()), default=0)
        if shown:
            sides = (side[self.method].replace("backward", self.backward) for side in (ANALYTIC, NUMERIC))
            lines.append("{:{}}  {:>7}  {:>17}  {:>18}".format("worst of each", width, "error", *sides))
        lines += [f"{e.where:{width}}  {e.error:7.1e}  {e.analytic:17.10g}  {e.numeric:18.10g}" for e in shown.values()]
        return "\n  ".join([*lines, *self.notes])

    def raise_if_failed(self) -> None:
        """Raise `VerificationError` with the whole report unless all is well."""
        if not self.ok:
            raise VerificationError(str(self))
