"""The rounds of a data set: every side is checked and then timed in turn, or left out with a reason where it fails."""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

import numpy as np
from bench import check_losses
from processes import PeerError, PeerProcess
from sides import Side

from minipinet.cuda.launch import NOT_CAPTURED
from minipinet.errors import Notice

#: How a peer fails: with another loss, an answer that is none, or a process that cannot be started.
FAILURES = PeerError, ValueError, OSError
#: Why something is left out that was not begun in time.
OVER = "the --minutes were over"


class Rounds:
    """All sides of a data set, and what was found of them.

    Parameters
    ----------
    own : mapping of str to Side
        minipinet's; "cpu" has the loss that all others must have.
    peers : mapping of str to PeerProcess
        Which answer as a side does.
    options : argparse.Namespace
        Read: rounds, least, until.
    """

    def __init__(self, own: Mapping[str, Side], peers: Mapping[str, PeerProcess], options: argparse.Namespace) -> None:
        self.peers, self.options = peers, options
        self.sides: dict[str, Side | PeerProcess] = {**own, **peers}
        self.losses: dict[str, tuple[float, float]] = {}  #: before training and after an epoch
        self.seconds: dict[str, list[float]] = {side: [] for side in self.sides}  #: an epoch, in each round
        self.reasons: dict[str, str] = {}  #: why a side, or a round, is left out
        self.failed: list[str] = []  #: sides of minipinet's that have another loss than on the CPU

    def run(self) -> None:
        """Check every side, and time each in every round, the first one another each time."""
        every = list(self.sides.values())
        try:
            for name in list(self.sides):
                if name in self.peers and is_over(self.options):
                    self._leave_out(name, OVER)
                else:
                    self._attempt(self._check, name)
            for k in range(self.options.rounds):
                if k and is_over(self.options):
                    self.reasons[f"round {k + 1} and what follows"] = OVER
                    break
                names = list(self.sides)
                for name in names[k % len(names) :] + names[: k % len(names)]:
                    self._attempt(self._take_time, name)
        finally:
            for side in every:
                side.close()

    def _check(self, name: str) -> None:
        with refused_captures() as refused:
            found = self.sides[name].loss(), self.sides[name].epochs(0)["loss"]
        for before, after in zip(*map(np.ravel, found), strict=True):  # of every fold
            losses = float(before), float(after)
            check_losses({"ours": self.losses.get("cpu", losses), name: losses})
        self.losses[name] = losses
        if refused:  # its launches one by one would go under the name of what it is not
            self._leave_out(name, refused[0])

    def _take_time(self, name: str) -> None:
        self.seconds[name].append(self.sides[name].epochs(self.options.least)["seconds"])

    def _leave_out(self, name: str, reason: str) -> None:
        self.reasons[name] = reason
        for kept in (self.sides, self.seconds, self.losses):
            kept.pop(name, None)

    def _attempt(self, step: Callable[[str], None], name: str) -> None:
        """Take a step of a side; one that fails in it is left out from here on."""
        try:
            step(name)
        except FAILURES as error:
            own = name not in self.peers
            if name == "cpu" or (own and not isinstance(error, PeerError)):
                raise
            self._leave_out(name, short(error))
            self.failed += [name] * own


def short(error: Exception) -> str:
    """Return what an error says, without where the whole log of a peer is: that is gone when this is read."""
    return str(error).partition(" (all of it")[0]


def is_over(options: argparse.Namespace) -> bool:
    """Return whether the time for the benchmark is over."""
    return bool(time.monotonic() > options.until)


@contextmanager
def refused_captures() -> Iterator[list[str]]:
    """Give a list that at the end has what was told of steps that could not be captured; all that is told is shown."""
    refused: list[str] = []
    told: list[warnings.WarningMessage] = []
    try:
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always", Notice)
            yield refused
    finally:
        refused += [str(one.message) for one in told if str(one.message).startswith(NOT_CAPTURED)]
        for one in told:
            warnings.warn_explicit(one.message, one.category, one.filename, one.lineno)
