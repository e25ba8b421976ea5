"""What the benchmark's report says: milliseconds an epoch and a step, targets beside what was found, as Markdown."""

from __future__ import annotations

from collections.abc import Mapping
from statistics import median
from typing import Any, NamedTuple

from environments import TITLES
from summary import paired_ratio

Report = Mapping[str, Any]
#: The sides that are minipinet's own; peers are called as in `environments.TITLES`.
OWN = {
    "cpu": "CPU, one core, {cpu_passes}",
    "launches": "launches",
    "captured": "captured",
    "folds": "{folds} folds at once, each",
}


class Target(NamedTuple):
    """What an epoch on a card shall come to."""

    what: str
    goal: float
    found: float | None  #: None if it was not measured
    unit: str
    least: bool  #: whether `goal` is the least, or the most
    instead: str | None = None  #: what stands in place of what was found, where the card kept it from being measured

    @property
    def shown(self) -> str:
        """What was found as the table has it, without its unit."""
        if self.instead is not None:
            return self.instead
        return "–" if self.found is None else f"{self.found:.3g}"

    @property
    def met(self) -> str:
        """Whether the shown number reaches the goal."""
        if self.instead is not None:
            return "no"
        if self.found is None:
            return "not measured"
        shown = float(self.shown)
        return "yes" if (shown >= self.goal if self.least else shown <= self.goal) else "no"


def milliseconds(report: Report, name: str, side: str) -> float | None:
    """Return the median milliseconds of an epoch of one fold, None if it was not timed or no time went by."""
    seconds = _seconds(report, name, side)
    folds = report["folds"] if side == "folds" else 1
    return 1e3 * median(seconds) / folds if seconds else None


def times_pyg(report: Report, name: str) -> float | None:
    """Return how many times as long PyG's epoch is as a captured one, the median over the rounds of both."""
    pyg, captured = (_seconds(report, name, side) for side in ("pyg", "captured"))
    return paired_ratio(pyg, captured) if pyg and captured else None


def hindrance(report: Report, name: str, side: str) -> str | None:
    """Return why a side of minipinet's was not timed: its step was not captured, or its loss is not the CPU's."""
    what = left_out(side, name)
    if side not in OWN or what not in report["skipped"]:
        return None
    return "wrong loss" if what in report["failed"] else "not captured"


def left_out(side: str, name: str) -> str:
    """Return what the report calls a side that is left out on a data set."""
    return f"{side} on {name}"


def bandwidth_share(report: Report, name: str, side: str = "captured") -> float | None:
    """Return the share of the card's bandwidth that a step of one fold, or of all at once, achieves."""
    ms, copied = milliseconds(report, name, side), report["copy_bytes_per_second"]
    one = report["datasets"].get(name, {})
    if ms is None or not copied or not one["batches"]:
        return None
    seconds = 1e-3 * ms * (report["folds"] if side == "folds" else 1) / one["batches"]
    return float(one["bytes"][side] / seconds / copied)


def targets(report: Report) -> list[Target]:
    """Return what was aimed at, with what was found."""
    of_folds = report["cross_validation"]
    no_time = "failed" if of_folds["failed"] else "not captured" if of_folds["not_captured"] else None
    return [
        *(
            Target(
                f"an epoch of {name}, captured", most, milliseconds(report, name, "captured"), "ms", least=False,
                instead=hindrance(report, name, "captured"),
            )
            for name, most in (("NCI1", 12), ("MUTAG", 1))
        ),
        *(
            Target(
                f"PyG's epoch of {name} by a captured one", 20, times_pyg(report, name), "times", least=True,
                instead=hindrance(report, name, "captured"),
            )
            for name in report["datasets"]
        ),
        Target(
            f"{of_folds['folds']} folds of MUTAG, {of_folds['epochs']} epochs", 5, of_folds["seconds"] or None, "s",
            least=False, instead=no_time,
        ),
    ]  # fmt: skip


def markdown(report: Report) -> str:
    """Return the report as tables, with what was left out and why."""
    timed = {side for one in report["datasets"].values() for side in one["seconds"]}
    timed |= {side for side in OWN if any(hindrance(report, name, side) for name in report["datasets"])}
    sides = {side: title.format(**report) for side, title in {**OWN, **TITLES}.items() if side in timed}
    lines = [
        "| ms an epoch (a step) | " + " | ".join(sides.values()) + " | PyG by captured | of the bandwidth |",
        "|---" * (len(sides) + 3) + "|",
    ]
    for name, one in report["datasets"].items():
        cells = [
            hindrance(report, name, side) or _times(milliseconds(report, name, side), one["batches"]) for side in sides
        ]
        ratio, share = times_pyg(report, name), bandwidth_share(report, name)
        cells += ["–" if ratio is None else f"{ratio:.1f}×", "–" if share is None else f"{100 * share:.1f} %"]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    lines += ["", "| aim | | found | met |", "|---|---|---|---|"]
    for aim in targets(report):
        what, goal, found, unit, least, instead = aim
        shown = aim.shown if found is None or instead else f"{aim.shown} {unit}"
        lines.append(f"| {what} | at {'least' if least else 'most'} {goal:g} {unit} | {shown} | {aim.met} |")
    lines += ["", *(f"Not timed: {what}: {reason}." for what, reason in report["skipped"].items())]
    of_folds = report["cross_validation"]
    lines += [f"The folds of MUTAG: {of_folds[why]}." for why in ("failed", "not_captured") if of_folds[why]]
    versions = ", ".join(f"{name} {version}" for name, version in sorted(report["versions"].items()))
    copied = f"{report['copy_bytes_per_second'] / 1e9:.0f} GB/s copied"
    lines.append(
        f"{report['card']}, {copied}, driver {report['driver']}; {report['processor']}; {versions}; minipinet at "
        f"{report['commit']}, {report['date']}; float32, {report['rounds']} rounds, medians."
    )
    return "\n".join(lines) + "\n"


def _seconds(report: Report, name: str, side: str) -> list[float]:
    """Return the seconds of an epoch in each round; none if the clock did not move in one."""
    seconds = report["datasets"].get(name, {}).get("seconds", {}).get(side) or []
    return list(seconds) if min(seconds, default=0) > 0 else []


def _times(ms: float | None, batches: int) -> str:
    if ms is None:
        return "–"
    return f"{ms:.3g} ({ms / batches:.2g})" if batches else f"{ms:.3g} (–)"
