"""What a report says, section by section."""

from __future__ import annotations

from typing import Any

import numpy as np

from minipinet._words import counted, number, spread
from minipinet.params import LAYERS
from minipinet.report import figures, html
from minipinet.report.gallery import MOST_NODES, Drawn
from minipinet.report.run import Run, Training
from minipinet.report.scores import Labelled

#: The four corners, for readers of the square.
_CORNERS = (
    "Each panel is one layer, each line one training. p = 1 takes the sum over the neighbours as it is, p = 0 divides "
    "by the degrees; q is the weight of a node's own state. The corners have the names of the matrices there."
)


def title(run: Run) -> str:
    """Return what the page is called."""
    what = f"{len(run.trainings)}-fold cross-validation" if run.cross_validated else "one model on all graphs"
    return f"PiNet on {html.shown(run.data['name'])}: {what}"


def lead(run: Run) -> str:
    """Return one sentence on the data."""
    classes = run.data["classes"]
    named = ", ".join(map(html.shown, classes[:10])) + (", ..." if len(classes) > 10 else "")
    return f"{counted(run.data['graphs'], 'graph')} of {counted(len(classes), 'class', 'classes')} ({named})."


def state(run: Run) -> str:
    """Return what is missing of a run that is not finished, nothing of one that is."""
    if run.results:
        return ""
    done = sum(training.model is not None for training in run.trainings)
    begun = sum(bool(training.history) for training in run.trainings) - done
    if run.cross_validated:
        said = f"{done} of {counted(len(run.trainings), 'fold')} are done, {begun} more have begun."
    else:
        said = f"{len(run.trainings[0].history)} of {counted(run.settings.epochs, 'epoch')} are done."
    return f'<p class="state"><strong>This run is not finished:</strong> {said} What follows is of what is there.</p>'


def tiles(run: Run, summary: dict[str, Any] | None) -> list[tuple[str, str, str]]:
    """Return the figures to be seen first."""
    found: list[tuple[str, str, str]] = []
    if not run.cross_validated and (chosen := run.trainings[0].chosen):
        found.append(("Accuracy in training", number(chosen.accuracy), f"in epoch {chosen.epoch}, while it learned"))
        if chosen.validation_accuracy is not None:
            held_out = f"on {len(run.trainings[0].split['validation'])} graphs held out"
            found.append(("Accuracy in validation", number(chosen.validation_accuracy), held_out))
    if summary is None:
        return found
    accuracy, folds = spread(summary["accuracy_mean"], summary["accuracy_sd"]), summary["folds"]
    majority = ("Majority class", number(summary["majority_rate"]), "what always answering the largest class reaches")
    if run.cross_validated:
        over = f"mean and standard deviation over {counted(folds, 'fold')}" if folds > 1 else "of one fold"
        found.append(("Accuracy", accuracy, f"{over}, on graphs not trained on"))
    else:
        found.append(("Accuracy of the model", accuracy, "on all graphs: no estimate for new ones"))
    found += [("Balanced accuracy", number(summary["balanced_accuracy"]), "mean share found of each class"), majority]
    matrix = np.array(summary["confusion_matrix"])
    wrong = int(matrix.sum() - np.trace(matrix))
    return [*found, ("Wrongly labelled", f"{wrong} of {matrix.sum()}", "graphs")]


def results(run: Run, labelled: list[Labelled], summary: dict[str, Any] | None) -> str:
    """Return the confusion matrix, the folds, and p and q."""
    pieces = []
    if summary is None:
        pieces.append("<p>No graphs are scored yet, or the data of the run are not at hand.</p>")
    else:
        pieces.append(html.confusion(summary["classes"], summary["confusion_matrix"]))
    if run.cross_validated:
        pieces.append(_fold_table(run, labelled))
    if table := _pq_table(run):
        pieces.append(table)
    return f'<div class="tables">{"".join(pieces)}</div>'


def _fold_table(run: Run, labelled: list[Labelled]) -> str:
    scored = {part.training: (part.scored.accuracy, part.scored.loss) for part in labelled}
    if run.results:
        scored = {k: (fold["accuracy"], fold["loss"]) for k, fold in enumerate(run.results["folds"])}
    rows = []
    for k, training in enumerate(run.trainings):
        tested = len(training.split["test"])
        accuracy, loss = scored.get(k, (None, None))
        right = "-" if accuracy is None else f"{round(accuracy * tested)}/{tested}"
        seconds = sum(record.seconds for record in training.history)
        epoch = str(training.epoch) if training.model is not None else _progress(run, training)
        rows.append([k, right, number(accuracy), number(loss), epoch, f"{seconds:.1f}"])
    caption = "Folds: the test graphs of each, labelled by the weights of the epoch named"
    return html.table(caption, ["fold", "right", "accuracy", "loss (nats)", "epoch", "seconds"], rows)


def _progress(run: Run, training: Training) -> str:
    return f"{len(training.history)} of {run.settings.epochs}, unfinished" if training.history else "not begun"


def _pq_table(run: Run) -> str:
    """Return p and q of each layer: mean and spread over the trainings, each at its own epoch."""
    chosen = [record for training in run.trainings if (record := training.chosen)]
    if not chosen:
        return ""
    rows = []
    for k, layer in enumerate(LAYERS):
        columns = [np.array([getattr(record, name)[k] for record in chosen]) for name in "pq"]
        spreads = run.settings.learned_pq and len(chosen) > 1
        rows.append([layer, *(spread(float(x.mean()), float(x.std(ddof=1)) if spreads else None) for x in columns)])
    what = "Learned p and q" if run.settings.learned_pq else "p and q, fixed"
    over = f": mean and standard deviation over {counted(len(chosen), 'training')}" if run.settings.learned_pq else ""
    return html.table(what + over * (len(chosen) > 1), ["layer", "p", "q"], rows)


def curves(run: Run, summary: dict[str, Any] | None) -> str:
    """Return loss and accuracy by epoch."""
    if not any(training.history for training in run.trainings):
        return "<p>No epoch is done yet.</p>"
    majority = None if summary is None else summary["majority_rate"]
    said = "On the graphs trained on, each taken just before the step that learns from it"
    records = [training.history[-1] for training in run.trainings if training.history]
    end = f"Last: loss {number(float(np.mean([r.loss for r in records])))}, accuracy "
    end += f"{number(float(np.mean([r.accuracy for r in records])))}{' (means)' * (len(records) > 1)}."
    return f"<figure>{figures.learning_curves(run, majority)}<figcaption>{said}. {end}</figcaption></figure>"


def paths(run: Run) -> str:
    """Return what p and q did."""
    if not run.settings.learned_pq:
        return "<p>They were fixed in this run; the table under Results has them.</p>"
    if not any(training.history for training in run.trainings):
        return "<p>No epoch is done yet.</p>"
    return f"<figure>{figures.paths(run)}<figcaption>{_CORNERS}</figcaption></figure>"


def which(run: Run, labelled: list[Labelled], drawn: list[Drawn]) -> str:
    """Return which graphs are drawn, and by whose model."""
    total = sum(len(part.index) for part in labelled)
    wrong = sum(graph.truth != graph.prediction for graph in drawn)
    if run.cross_validated:
        model = "Each is shown with the model of the fold that tested it, which never saw it."
    elif "validation" in run.trainings[0].split:
        model = "There is no test part: the model was trained on most of these graphs; those held out are so named."
    else:
        model = "There is no test part: these are graphs that the model was trained on."
    return (
        f"{len(drawn)} of {counted(total, 'graph')}: first {wrong} that were wrongly labelled, then "
        f"{len(drawn) - wrong} rightly labelled, of either kind those that the model was surest of. {model}"
    )


def left_out(labelled: list[Labelled], drawn: list[Drawn]) -> str:
    """Return which graphs are not drawn, and how to ask for them; nothing if all are."""
    number = np.concatenate([part.index for part in labelled])
    size = np.concatenate([np.diff(part.graphs.ptr) for part in labelled])
    right = np.concatenate([part.scored.predictions == part.y for part in labelled])
    fits = (size > 0) & (size <= MOST_NODES)
    more = fits & ~np.isin(number, [graph.number for graph in drawn])
    kinds = [
        ("wrongly labelled", "", np.sort(number[more & ~right])),
        (f"of more than {MOST_NODES} nodes", "never drawn", np.sort(number[size > MOST_NODES])),
        ("without nodes", "never drawn", np.sort(number[size == 0])),
    ]
    found = [
        f"<li>{counted(len(which), 'graph')} {kind}{never and f', {never}'}: {', '.join(map(str, which))}</li>"
        for kind, never, which in kinds
        if len(which)
    ]
    if others := int(np.count_nonzero(more & right)):
        found.append(f"<li>{counted(others, 'graph')} rightly labelled: all others</li>")
    if not found:
        return ""
    ask = "<p><code>minipinet report RUN --graphs N</code> draws N of them.</p>" if more.any() else ""
    count = len(number) - len(drawn)
    title = f"Which {counted(count, 'graph')} {'is' if count == 1 else 'are'} left out"
    return f'<details class="left-out"><summary>{title}</summary><ul>{"".join(found)}</ul>{ask}</details>'


def settings(run: Run) -> str:
    """Return everything that shaped the run."""
    encoder = run.data["encoder"]
    rows = [
        ("data", html.shown(run.data["name"])),
        ("digest of the data", run.data["digest"]),
        ("node features", encoder["kind"]),
        *((name, _value(value)) for name, value in run.settings.to_json().items()),
        ("versions", ", ".join(f"{name} {version}" for name, version in run.versions.items())),
        ("folder", html.shown(run.folder.name)),
    ]
    return html.table("What the run was asked for, and what made it", [], rows, "words")


def _value(value: Any) -> str:
    return "none" if value is None else str(value)
