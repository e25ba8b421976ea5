"""How the library of planted bugs is written down: a kind, a name, a line, what stands there instead, and why."""

from __future__ import annotations

from typing import NamedTuple

from minipinet.verify.planted.plant import Edit, PlantedBug

#: The kinds that any two-stack graph network is prone to; each is planted at least once.
CLASSIC = (
    "A for A^T",
    "softmax backward 0",
    "softmax backward 1 % off",
    "0.01 % scale error",
    "softmax backward without its inner sum",
    "dp dropped",
    "dq doubled",
    "s differentiated on one side only",
    "self-loop lost",
    "ReLU mask lost",
    "softmax over the wrong axis",
    "softmax over the whole batch",
    "forward depends on the node index",
    "degree to the power -1/4",
)
#: Further kinds: some line of a backward pass; a forward pass; what only a batch of colours can have; what the authors'
#: released code does and the paper does not; the optimiser.
FURTHER = ("backward line", "not linear", "forward", "quotient form", "released code", "Adam")


class Row(NamedTuple):
    """A bug of a function."""

    kind: str
    name: str
    line: str
    bug: str
    why: str
    also: tuple[Edit, ...] = ()


def bugs_in(module: str, function: str, *rows: Row) -> tuple[PlantedBug, ...]:
    """Return the bugs of one function of ``minipinet.<module>``."""
    return tuple(
        PlantedBug(row.name, row.kind, f"minipinet.{module}", function, row.line, row.bug, row.why, row.also)
        for row in rows
    )
