"""PiNetClassifier inside scikit-learn: its own checks and its tools."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_score
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils import estimator_checks

from minipinet.errors import Notice
from minipinet.estimator import PiNetClassifier
from minipinet.graphs import as_graph
from tests.small_data import ROOT, same_bits, two_kinds
from tests.small_estimator import LABELS, MOLECULES, PAIRS, classifier


class RowClassifier(PiNetClassifier):
    """Takes tables, as scikit-learn's checks make them: each row becomes a graph of one node with these features."""

    def fit(self, X: Any, y: Any) -> RowClassifier:
        super().fit(graphs_of_rows(X), y)
        return self

    def predict(self, X: Any) -> Any:
        return super().predict(graphs_of_rows(X))

    def predict_proba(self, X: Any) -> Any:
        return super().predict_proba(graphs_of_rows(X))

    def transform(self, X: Any) -> Any:
        return super().transform(graphs_of_rows(X))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = tags.input_tags.sparse = True
        return tags


def graphs_of_rows(X: Any) -> list[Any]:
    """Return a pair (A, X) for each row of a table, dense or sparse."""
    rows = scipy.sparse.csr_array(X) if scipy.sparse.issparse(X) else np.asarray(X)
    return [(np.zeros((1, 1)), rows[[i]]) for i in range(rows.shape[0])]


#: Checks of scikit-learn that do not hold, and why. All of these refuse what they should, but for `check_fit1d`; what
#: the check misses is the wording that scikit-learn's own table reader has.
NOT_FOR_GRAPHS = {
    "check_n_features_in_after_fitting": "wants 'X has 1 features, but ... is expecting'; ours counts features a node",
    "check_dtype_object": "wants 'argument must be a string or a number'; ours names the graph and what is in it",
    "check_estimators_empty_data_messages": "wants '0 feature(s) (shape=...)'; ours names the graph without features",
    "check_estimators_nan_inf": "wants 'NaN' or 'inf' spelt so; ours names the entry, X[0, 0] = nan",
    "check_fit2d_1sample": "wants '1 sample' or '1 class'; ours asks for graphs of at least 2 classes",
    "check_fit2d_predict1d": "wants 'Reshape your data', which is no remedy for graphs",
    "check_fit1d": "wants one-dimensional X refused; the sequence of graphs is one-dimensional",
}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_the_checks_of_scikit_learn_pass_but_for_those_listed() -> None:
    """The reader of tables above apart, every method that is checked is the estimator's own."""
    pytest.importorskip("sklearn", minversion="1.6")
    clf = RowClassifier(hidden=6, out=3, epochs=20, lr=0.05, bias=True)
    results = estimator_checks.check_estimator(
        clf, expected_failed_checks=NOT_FOR_GRAPHS, on_fail=None, on_skip=None
    )  # fmt: skip
    failed = {result["check_name"]: result["exception"] for result in results if result["status"] == "failed"}
    assert failed == {}
    ran = {result["check_name"] for result in results if result["status"] == "passed"}
    assert not ran & set(NOT_FOR_GRAPHS), "a check that is listed passes"
    assert len(ran) > 40
    assert {"check_classifiers_train", "check_estimators_pickle", "check_methods_subset_invariance"} <= ran


def test_the_page_lists_the_same_checks() -> None:
    page = (ROOT / "docs" / "estimator.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| `(check_\w+)` \| (.*) \|$", page, re.MULTILINE))
    assert rows == {name: reason.replace("'", '"') for name, reason in NOT_FOR_GRAPHS.items()}


@pytest.mark.filterwarnings("ignore")
def test_a_list_of_graphs_is_no_table() -> None:
    """On the estimator itself scikit-learn runs but the checks that pass no X."""
    pytest.importorskip("sklearn", minversion="1.6")
    results = estimator_checks.check_estimator(PiNetClassifier(), on_fail=None, on_skip=None)
    assert {result["status"] for result in results} == {"passed"}


def test_before_fit_nothing_is_predicted(tmp_path: Path) -> None:
    given: dict[str, tuple[Any, ...]] = {
        "predict": (PAIRS,), "predict_proba": (PAIRS,), "transform": (PAIRS,), "score": (PAIRS, LABELS),
        "attention": (PAIRS[0],), "save": (tmp_path / "model",), "get_feature_names_out": (),
    }  # fmt: skip
    before = {"fit", "fit_transform", "load", "get_params", "set_params", "set_output", "get_metadata_routing"}
    public = {name for name in dir(PiNetClassifier) if not name.startswith("_")}
    assert {name for name in public if not name.endswith("_request")} == before | set(given), "a new method"
    for name, arguments in given.items():
        with pytest.raises(NotFittedError):
            getattr(classifier(), name)(*arguments)


@pytest.mark.parametrize("graphs", [PAIRS, MOLECULES, [as_graph(A, X) for A, X in PAIRS]], ids=["pairs", "nx", "Graph"])
def test_cross_validation_takes_lists_of_graphs(graphs: list[Any]) -> None:
    clf = classifier(node_label="atom") if graphs is MOLECULES else classifier()
    folds = StratifiedKFold(2)
    scores = cross_val_score(clf, graphs, LABELS, cv=folds, error_score="raise")
    by_hand = []
    for train, test in folds.split(np.zeros(12), LABELS):
        fitted = clone(clf).fit([graphs[i] for i in train], [LABELS[i] for i in train])
        by_hand.append(fitted.score([graphs[i] for i in test], [LABELS[i] for i in test]))
    assert scores.tolist() == by_hand


def test_a_fold_knows_only_the_labels_of_its_training_graphs() -> None:
    graphs = [G.copy() for G in MOLECULES]
    for v in graphs[-1]:
        graphs[-1].nodes[v]["atom"] = "Xe"
    folds = [(np.arange(9), np.arange(9, 12))]
    with pytest.warns(Notice, match=r"'Xe' \(known: 'C', 'O'\)"):
        cross_val_score(classifier(node_label="atom"), graphs, LABELS, cv=folds, error_score="raise")


def test_grid_search_finds_what_is_best() -> None:
    data = two_kinds(24)
    grid = {"pq": ["learned", (0, 1)], "epochs": [1, 60]}
    search = GridSearchCV(classifier(), grid, cv=3, error_score="raise").fit(list(data), data.labels)
    assert search.best_params_["epochs"] == 60
    assert search.best_score_ == max(search.cv_results_["mean_test_score"]) > 0.8
    assert search.predict(list(data)).shape == (24,)
    assert list(search.classes_) == ["dense", "sparse"]


def test_pipelines_at_either_end() -> None:
    def without_features(pairs: Any) -> Any:
        return [(A, None) for A, _ in pairs]

    last: Pipeline = make_pipeline(FunctionTransformer(without_features), classifier()).fit(PAIRS, LABELS)
    alone = classifier().fit(without_features(PAIRS), LABELS)
    assert same_bits(last.predict_proba(PAIRS), alone.predict_proba(without_features(PAIRS)))
    assert last.set_params(pinetclassifier__epochs=3)[-1].epochs == 3

    first: Pipeline = make_pipeline(classifier(), LogisticRegression()).fit(PAIRS, LABELS)
    fitted = classifier().fit(PAIRS, LABELS)
    readout = LogisticRegression().fit(fitted.transform(PAIRS), LABELS)
    assert first.predict(PAIRS).tolist() == readout.predict(fitted.transform(PAIRS)).tolist()
    assert list(first[:-1].get_feature_names_out()) == list(fitted.get_feature_names_out())


@pytest.mark.parametrize("ensemble", [True, False])
def test_calibration(ensemble: bool) -> None:
    data = two_kinds(24)
    clf = CalibratedClassifierCV(classifier(), cv=3, ensemble=ensemble).fit(list(data), data.labels)
    probabilities = clf.predict_proba(list(data))
    assert probabilities.shape == (24, 2)
    assert np.allclose(probabilities.sum(axis=1), 1)
    assert clf.predict(list(data)).tolist() == clf.classes_[probabilities.argmax(axis=1)].tolist()
