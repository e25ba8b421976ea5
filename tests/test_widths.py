"""How wide X becomes where there is nothing to make columns of, or far too much."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest

from minipinet.datasets import Dataset, dataset_from_networkx, load_dataset, refit_encoder
from minipinet.datasets.encoder import FeatureEncoder, fit_encoder
from minipinet.datasets.load import load_graphs
from minipinet.errors import DataError, Notice
from minipinet.runs import train_pinet
from minipinet.settings import Settings
from tests.tu_files import write_folder

NO_COLUMN = r"'{}' of {} makes no column, so every node has the one feature 1$"
NO_NODES: dict[str, str | bytes | None] = {
    "A": "",
    "graph_indicator": "",
    "node_labels": "",
    "node_attributes": "",
}
ONE_EPOCH = Settings(epochs=1, hidden=2, out=2)


@pytest.mark.parametrize("kind", ["labels", "attributes", "both", "degree"])
def test_no_node_at_all(tmp_path: Path, kind: str) -> None:
    folder = write_folder(tmp_path / "TOY", NO_NODES)
    with (
        pytest.warns(Notice, match="2 of 2 graphs have no node"),
        pytest.warns(Notice, match=NO_COLUMN.format(kind, "0 nodes")),
    ):
        dataset = load_dataset(folder, features=kind)
    assert (dataset.encoder, dataset.graphs.X.shape) == (FeatureEncoder("constant"), (0, 1))
    model = train_pinet(dataset, ONE_EPOCH).model
    with pytest.warns(Notice, match="no node"):
        assert set(model.predict(dataset)) <= {-1, 1}


@pytest.mark.parametrize(
    ("kind", "labels", "attributes", "N"),
    [
        ("labels", np.zeros((3, 0)), None, 3),
        ("both", np.zeros((0, 2)), np.zeros((0, 0)), 0),
        ("labels", [], None, 0),
        ("degree", None, None, 0),
    ],
)
def test_no_column_is_the_constant_one(kind: str, labels: Any, attributes: Any, N: int) -> None:
    with pytest.warns(Notice, match=NO_COLUMN.format(kind, f"{N} nodes")):
        encoder = fit_encoder(kind, labels, attributes, np.zeros(N))
    assert encoder.encode(labels, attributes, np.zeros(N)).tolist() == [[1.0]] * N


def test_columns_that_are_known_stay() -> None:
    """Attributes have a width even where no node has any."""
    assert fit_encoder("attributes", None, np.zeros((0, 2)), []).num_features == 2
    assert fit_encoder("both", np.zeros((0, 1)), np.zeros((0, 2)), []).vocabularies == ((),)


def test_a_training_part_without_nodes() -> None:
    graphs = [nx.Graph(), nx.Graph(), nx.path_graph(2)]
    nx.set_node_attributes(graphs[2], "C", "atom")
    dataset = dataset_from_networkx(graphs, [0, 1, 1], node_label="atom")
    with pytest.warns(Notice, match=NO_COLUMN.format("labels", "0 nodes")):
        part = refit_encoder(dataset, [0, 1])
    assert part.graphs.X.tolist() == [[1.0], [1.0]]


def molecule(N: int) -> nx.Graph:
    G = nx.path_graph(N)
    for name, value in (("mass", 1.5), ("charge", 2.0), ("place", (0.0, 1.0, 2.0)), ("atom", "C")):
        nx.set_node_attributes(G, value, name)
    return G


@pytest.mark.parametrize(
    "options",
    [
        {"node_attributes": ["mass", "charge"]},
        {"node_attributes": "place"},
        {"node_attributes": ["mass", "place"], "node_label": "atom"},
        {"node_label": "atom"},
        {"node_label": ["atom", "charge"]},
        {"features": "degree"},
    ],
)
@pytest.mark.filterwarnings("ignore:.*no node:minipinet.errors.Notice", "ignore:.*edges:minipinet.errors.Notice")
def test_an_empty_graph_alone_scores_as_it_does_beside_others(options: dict[str, Any]) -> None:
    dataset: Dataset = dataset_from_networkx([molecule(N) for N in (2, 3, 2, 4)], [0, 1, 0, 1], **options)
    model = train_pinet(dataset, ONE_EPOCH).model
    alone = model.logits([nx.Graph()])
    np.testing.assert_array_equal(alone, model.logits([molecule(2), nx.Graph()])[1:])
    np.testing.assert_array_equal(alone, model.logits([nx.Graph(), nx.Graph()])[:1])


def test_files_without_nodes_fit_any_encoder(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "TOY", {**NO_NODES, "node_attributes": None})
    encoder = FeatureEncoder("both", ((0, 1), (5,)), 2)
    with pytest.warns(Notice, match="2 of 2 graphs have no node"):
        assert load_graphs(folder, encoder).X.shape == (0, 5)


def test_too_many_distinct_labels_are_refused_before_memory_is_taken(tmp_path: Path) -> None:
    N = 200_000  # one-hot, 298 GiB
    lines = "".join(f"{i}\n" for i in range(N))
    changes: dict[str, str | bytes | None] = {"node_labels": lines, "graph_indicator": "1\n" + "2\n" * (N - 1), "A": ""}
    folder = write_folder(tmp_path / "TOY", changes)
    message = (
        r"^features: 200000 distinct node labels make X too large for 200000 nodes: expected at most 536870912 "
        r"entries, got 200000 x 200000 \(features='attributes' or 'degree' or 'constant' may do\)$"
    )
    with pytest.raises(DataError, match=message):
        load_dataset(folder)
    assert load_dataset(folder, features="constant").graphs.X.shape == (N, 1)


def test_the_limit_is_on_rows_times_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("minipinet.datasets.encoder.MAX_ENTRIES", 12)
    assert fit_encoder("labels", [1, 2, 3], None, [0] * 3).encode([1, 2, 3, 1], None, [0] * 4).shape == (4, 3)
    with pytest.raises(
        DataError, match=r"3 distinct node labels .*for 5 nodes: expected at most 12 entries, got 5 x 3"
    ):
        FeatureEncoder("labels", ((1, 2), (3,))).encode([[1, 3]] * 5, None, [0] * 5)
    with pytest.raises(DataError, match=r"7 distinct degrees .*got 2 x 7 \(features='attributes' or 'constant'"):
        FeatureEncoder("degree", (tuple(range(7)),)).encode(None, None, [0, 1])
    with pytest.raises(DataError, match=r"2 distinct node labels .*got 5 x 3"):
        FeatureEncoder("both", ((1, 2),), 1).encode([1] * 5, [0.5] * 5, [0] * 5)
    # Attributes take no more memory than they do already.
    assert FeatureEncoder("attributes", (), 3).encode(None, np.ones((5, 3)), [0] * 5).shape == (5, 3)
