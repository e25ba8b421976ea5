"""PiNetClassifier inside scikit-learn: its own checks, its tools, and models that travel."""

from __future__ import annotations

import copy
import io
import pickle
import re
from pathlib import Path
from typing import Any

import joblib
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

from minipinet.errors import DataError, Notice
from minipinet.estimator import PiNetClassifier
from minipinet.graphs import as_graph
from minipinet.predictor import PiNet
from tests.small_data import ROOT, python, same_bits, two_kinds
from tests.small_estimator import LABELS, MOLECULES, PAIRS, classifier

#: Each edge of PAIRS one way, with another weight.
ARCS = [(np.triu(A) * 2.5, X) for A, X in PAIRS]


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
    for method in ("predict", "predict_proba", "transform"):
        with pytest.raises(NotFittedError):
            getattr(classifier(), method)(PAIRS)
    with pytest.raises(NotFittedError):
        classifier().save(tmp_path / "model")
    with pytest.raises(NotFittedError):
        classifier().get_feature_names_out()


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


def by_pickle(clf: PiNetClassifier) -> Any:
    return pickle.loads(pickle.dumps(clf))


def by_joblib(clf: PiNetClassifier) -> Any:
    joblib.dump(clf, file := io.BytesIO())
    file.seek(0)
    return joblib.load(file)


@pytest.mark.parametrize("travel", [by_pickle, by_joblib, copy.deepcopy])
@pytest.mark.parametrize("pq", ["learned", (1, 0)])
def test_it_survives_copies(travel: Any, pq: Any) -> None:
    clf = classifier(node_label="atom", pq=pq, bias=True).fit(MOLECULES, LABELS)
    other = travel(clf)
    assert same_bits(other.predict_proba(MOLECULES), clf.predict_proba(MOLECULES))
    assert same_bits(other.model_.params, clf.model_.params)
    assert all(
        w is None or not np.shares_memory(w, v) for w, v in zip(other.model_.params, clf.model_.params, strict=True)
    )
    assert (other.get_params(), other.history_) == (clf.get_params(), clf.history_)
    assert travel(classifier()).get_params() == classifier().get_params()


def test_a_pickle_holds_arrays_and_records_alone() -> None:
    """Records of this package, NumPy arrays and Python values: no function, no closure, no file, no generator."""
    clf = classifier(node_label="atom", validation=0.25, patience=3).fit(MOLECULES, LABELS)
    found = set()

    class Recorder(pickle.Unpickler):
        def find_class(self, module: str, name: str) -> Any:
            found.add(f"{module}.{name}")
            return super().find_class(module, name)

    Recorder(io.BytesIO(pickle.dumps(clf))).load()
    ours = {name for name in found if name.startswith("minipinet.")}
    assert {name.rpartition(".")[2] for name in ours} == {
        "PiNetClassifier", "PiNet", "PiNetParams", "Settings", "FeatureEncoder", "Reading", "EpochRecord",
    }  # fmt: skip
    assert {name.partition(".")[0] for name in found - ours} == {"numpy"}


@pytest.mark.parametrize(
    ("graphs", "params"),
    [
        (PAIRS, {}),
        (ARCS, {"weight": "w", "directed": True, "pq": (0.5, 1)}),
        ([as_graph(A, X) for A, X in PAIRS], {"bias": True}),
        (MOLECULES, {"node_label": "atom", "epochs": 3, "l2": 0.01, "random_state": 7}),
        (MOLECULES, {"features": "degree", "validation": 0.25, "patience": 2, "dtype": "float64"}),
        (MOLECULES, {"features": "constant", "out": 1}),
    ],
)
def test_a_saved_model_answers_alike_and_can_be_trained_again(graphs: Any, params: Any, tmp_path: Path) -> None:
    clf = classifier(**params).fit(graphs, LABELS)
    clf.save(tmp_path / "model")
    loaded = PiNetClassifier.load(tmp_path / "model")
    assert same_bits(loaded.predict_proba(graphs), clf.predict_proba(graphs))
    assert same_bits(loaded.transform(graphs), clf.transform(graphs))
    assert loaded.predict(graphs).tolist() == clf.predict(graphs).tolist()
    assert loaded.classes_.tolist() == clf.classes_.tolist()
    assert loaded.n_features_in_ == clf.n_features_in_
    assert same_bits(clone(loaded).fit(graphs, LABELS).model_.params, clf.model_.params)
    if not isinstance(graphs[0], tuple):  # pairs are the estimator's own way
        assert same_bits(PiNet.load(tmp_path / "model").probabilities(graphs), clf.predict_proba(graphs))


def test_a_file_that_is_no_model_is_refused(tmp_path: Path) -> None:
    (tmp_path / "model").write_bytes(pickle.dumps(classifier()))
    with pytest.raises(DataError, match="not a minipinet model"):
        PiNetClassifier.load(tmp_path / "model")


def test_a_saved_model_answers_alike_in_a_new_process(tmp_path: Path) -> None:
    clf = classifier().fit(PAIRS, LABELS)
    clf.save(tmp_path / "model")
    code = """
import sys
import minipinet
assert "sklearn" not in sys.modules
from tests.small_estimator import PAIRS
print(*minipinet.PiNetClassifier.load(sys.argv[1]).predict(PAIRS))
"""
    assert python(code, tmp_path / "model").stdout.split() == clf.predict(PAIRS).tolist()
