"""Choose settings by cross-validation, and say how good the choice is on graphs that had no part in it.

    python scripts/examples/grid_search.py [EPOCHS]

MUTAG, 141 graphs to choose on and 47 to test, by default 60 epochs; `n_jobs=-1` in GridSearchCV would use all cores.
Needs scikit-learn: pip install 'minipinet[sklearn]'.
"""

from __future__ import annotations

import re
import sys

from sklearn.model_selection import GridSearchCV, train_test_split

from minipinet import PiNetClassifier
from minipinet.datasets import load_dataset


def main(epochs: int = 60) -> None:
    data = load_dataset("MUTAG")
    graphs, test_graphs, y, test_y = train_test_split(
        list(data), data.labels, test_size=0.25, stratify=data.labels, random_state=0
    )
    clf = PiNetClassifier(epochs=epochs, hidden=32, out=16, random_state=0)
    grid = {"lr": [1e-3, 1e-2], "pq": ["learned", (1, 1)]}
    search = GridSearchCV(clf, grid, cv=3, error_score="raise").fit(graphs, y)
    for params, mean in zip(search.cv_results_["params"], search.cv_results_["mean_test_score"], strict=True):
        print(f"{mean:.3f}  {params}")
    print(f"best: {search.best_params_}")
    print(
        f"test accuracy {search.score(test_graphs, test_y):.3f} (always the larger class: {(test_y == 1).mean():.3f})"
    )


if __name__ == "__main__":
    given = sys.argv[1:]
    if len(given) > 1 or not all(re.fullmatch("[1-9][0-9]{0,5}", text) for text in given):
        print("usage: grid_search.py [EPOCHS], a whole number from 1 to 999999", file=sys.stderr)
        sys.exit(2)
    main(*map(int, given))
