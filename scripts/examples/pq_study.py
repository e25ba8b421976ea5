"""What p and q do: the four corners of the unit square and learned ones, on MUTAG by cross-validation.

    python scripts/examples/pq_study.py [EPOCHS]

By default 100 epochs, 5 folds. The accuracy of 188 graphs moves by some hundredths from one split to the next, so that
differences of that size say nothing (docs/statistics.md). Needs scikit-learn: pip install 'minipinet[sklearn]'.
"""

from __future__ import annotations

import re
import sys

from sklearn.model_selection import StratifiedKFold, cross_val_score

from minipinet import PiNetClassifier
from minipinet.datasets import load_dataset

MATRICES = {
    (1, 0): "A",
    (1, 1): "A + I",
    (0, 0): "D^-1/2 A D^-1/2",
    (0, 1): "D^-1/2 (A + I) D^-1/2",
    "learned": "learned, each layer its own",
}


def main(epochs: int = 100) -> None:
    data = load_dataset("MUTAG")
    graphs, y = list(data), data.labels
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    clf = PiNetClassifier(epochs=epochs, hidden=32, out=16, lr=1e-2, random_state=0)
    print("accuracy  p, q      matrix")
    for pq, matrix in MATRICES.items():
        scores = cross_val_score(clf.set_params(pq=pq), graphs, y, cv=folds, error_score="raise")
        print(f"{scores.mean():8.3f}  {pq!s:9} {matrix}")
    history = clf.set_params(pq="learned").fit(graphs, y).history_
    print("\nlayer   p      q      after training on all graphs (both start at 0.5)")
    for layer, p, q in zip(("A0", "A1", "X0", "X1"), history[-1].p, history[-1].q, strict=True):
        print(f"{layer:5} {p:6.3f} {q:6.3f}")


if __name__ == "__main__":
    given = sys.argv[1:]
    if len(given) > 1 or not all(re.fullmatch("[1-9][0-9]{0,5}", text) for text in given):
        print("usage: pq_study.py [EPOCHS], a whole number from 1 to 999999", file=sys.stderr)
        sys.exit(2)
    main(*map(int, given))
