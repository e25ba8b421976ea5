"""PiNet by scikit-learn's conventions; the one module that imports scikit-learn, an extra, at once."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from minipinet._array import Array
from minipinet._extras import sklearn
from minipinet._fit_arguments import SETTINGS, classes_of, parameters_of, seed_of
from minipinet._host import refuse_card
from minipinet._members import KNOWN, OPTIONS, dataset_of, graphs_of_one_kind, graphs_of_pairs, kind_of
from minipinet.attention_shares import Attention, attention_shares
from minipinet.errors import UsageError
from minipinet.evaluation import pooled, score
from minipinet.model_input import model_input, notify_nodeless
from minipinet.predictor import PiNet
from minipinet.quotient import Quotient, refine
from minipinet.readout import log_softmax
from minipinet.runs import train_pinet
from minipinet.settings import LEARNED, Pairs, Settings
from minipinet.union import DisjointUnion

base: Any = sklearn("base", "PiNetClassifier")
check_is_fitted = sklearn("utils.validation", "PiNetClassifier").check_is_fitted


class PiNetClassifier(base.ClassifierMixin, base.TransformerMixin, base.BaseEstimator):  # type: ignore[misc]
    """PiNet as a scikit-learn classifier and transformer, whose X is a list of graphs.

    X, everywhere, is a sequence of G graphs of one kind:

    - networkx graphs, read as :func:`minipinet.conversions.from_networkx` does. Node labels become one-hot features
      by a vocabulary that `fit` takes from its own graphs alone; a label that is not in it has zeros in its columns,
      and a :class:`~minipinet.errors.Notice` names it.
    - pairs ``(A, X)``, each a tuple: an adjacency matrix, dense or of any SciPy format, and the (N, d) features of its
      nodes, or None for one feature, 1; read as :func:`minipinet.graphs.as_graph` does.
    - :class:`~minipinet.graphs.Graph`, taken as they are.

    y, (G,), holds classes of any kind that scikit-learn takes: numbers, booleans or strings.

    Parameters
    ----------
    node_label, node_attributes, features, default
        Of networkx graphs alone, as for :func:`minipinet.datasets.dataset_from_networkx`.
    weight : str, bool or None
        Of networkx graphs the name of the edge attribute that holds the weight; of pairs True, which keeps the entries
        of A. None: every edge has weight 1.
    directed : bool
        Whether arcs of networkx graphs, and matrices that are not symmetric, keep their direction.
    epochs, batch_size, steps_per_epoch, lr, hidden, out, pq, bias, l2, init, dtype, merge
        As in :class:`minipinet.settings.Settings`.
    device : {"cpu", "cuda", "auto"}
        Where `fit` trains and `predict`, `predict_proba` and `transform` compute, as in
        :class:`minipinet.settings.Settings`. :meth:`attention` is computed on the CPU.
    validation : float
        Share of the graphs that `fit` holds out, 0 <= validation < 1, stratified by class.
    patience : int or None
        Stop early: after that many epochs without a lower loss on the graphs held out, with the weights of the best.
    random_state : int, RandomState, Generator or None
        Decides the graphs held out, the initial weights and the order of the graphs. An int gives the same model
        again, to the bit; of a RandomState or Generator `fit` draws one number; None takes a number from the operating
        system. NumPy's global state is neither read nor changed.

    Attributes
    ----------
    classes_ : (C,) array
        The class values, sorted.
    n_features_in_ : int
        Features of a node, d: of networkx graphs as many as the encoder makes.
    model_ : PiNet
        The trained model, plain NumPy arrays and Python values: scores, and ``predict(..., bitwise=True)``.
    history_ : tuple of EpochRecord
        Loss, accuracy, p and q of every epoch. Not of a model that was loaded, nor are the next two.
    n_iter_ : int
        Epochs trained.
    best_epoch_ : int
        The epoch whose weights were kept: the last, or the best one with `patience`.

    Notes
    -----
    There is no `sample_weight` or `class_weight`: the loss is the paper's mean over the graphs (eq. 6). A graph given
    several times counts several times, and costs less than several graphs. There is no `warm_start` either: classes and
    features belong to one `fit`; a run folder (`minipinet.runs.train_pinet`) goes on where it stopped.

    Examples
    --------
    >>> import networkx as nx
    >>> rings, paths = [[make(n) for n in range(4, 12)] for make in (nx.cycle_graph, nx.path_graph)]
    >>> clf = PiNetClassifier(hidden=8, out=4, epochs=60, lr=0.01, random_state=0)
    >>> clf.fit(rings + paths, ["ring"] * 8 + ["path"] * 8).predict([nx.cycle_graph(20), nx.path_graph(20)]).tolist()
    ['ring', 'path']
    """

    def __init__(
        self,
        *,
        node_label: str | Sequence[str] | None = None,
        node_attributes: str | Sequence[str] = (),
        features: str | None = None,
        weight: str | bool | None = None,
        directed: bool = False,
        default: Any = None,
        epochs: int = 200,
        batch_size: int = 50,
        steps_per_epoch: int | None = None,
        lr: float = 1e-3,
        hidden: int = 100,
        out: int = 64,
        pq: str | Pairs | tuple[float, float] = LEARNED,
        bias: bool = False,
        l2: float = 0.0,
        init: str = "he",
        dtype: str = "float32",
        device: str = "cpu",
        merge: bool = True,
        validation: float = 0.0,
        patience: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.node_label = node_label
        self.node_attributes = node_attributes
        self.features = features
        self.weight = weight
        self.directed = directed
        self.default = default
        self.epochs = epochs
        self.batch_size = batch_size
        self.steps_per_epoch = steps_per_epoch
        self.lr = lr
        self.hidden = hidden
        self.out = out
        self.pq = pq
        self.bias = bias
        self.l2 = l2
        self.init = init
        self.dtype = dtype
        self.device = device
        self.merge = merge
        self.validation = validation
        self.patience = patience
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> PiNetClassifier:
        """Train on graphs X with classes y, and return self.

        Raises
        ------
        UsageError
            Naming the parameter, X or y, what is allowed and what came; of real-valued y, scikit-learn's ValueError.
        DataError, DivergedError
            As :func:`minipinet.runs.train_pinet` and the readers of graphs do.
        CardError
            When a card fails.
        """
        settings = Settings(**{name: getattr(self, name) for name in SETTINGS}, seed=seed_of(self.random_state))
        kind, graphs = graphs_of_one_kind(X)
        y = classes_of(y, len(graphs))
        options = {name: getattr(self, name) for name in OPTIONS}
        dataset = dataset_of(kind, graphs, y, options)
        notify_nodeless(dataset.graphs)
        trained = train_pinet(dataset, settings)
        self.classes_ = np.unique(y)
        self.model_ = trained.model
        self.n_features_in_ = trained.model.encoder.num_features
        self.history_ = trained.state.history
        self.n_iter_ = trained.state.epoch
        self.best_epoch_ = trained.epoch
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the class of each graph, (G,); a graph has the same one in whatever company."""
        found = self._logits(X).argmax(axis=1)
        labels: NDArray[Any] = self.classes_[found]
        return labels

    def predict_proba(self, X: Any) -> Array:
        """Return the probability of each class, (G, C), in the order of `classes_`."""
        return np.exp(log_softmax(self._logits(X)))

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the share of graphs that are labelled rightly, each counting `sample_weight` times, or once."""
        refuse_card("y", y)
        refuse_card("sample_weight", sample_weight)
        return float(super().score(X, y, sample_weight))

    def transform(self, X: Any) -> Array:
        """Return each graph as the readout sees it: the pooled matrix of eq. 5, its rows one after the other.

        Returns
        -------
        (G, out * out) array of `dtype`
            Column ``a * out + x`` is P_g[a, x]: feature x, averaged over the nodes with attention column a. Times the
            readout's kernel, plus its bias if it has one, these are the scores. A graph without nodes has zeros.
        """
        quotient, index = self._quotient(X)
        return pooled(self.model_.params, self.model_.settings.pairs, quotient, index, device=self.device)

    def attention(self, graph: Any) -> Attention:
        """Return each node's attention and what it adds to each logit, of one graph of the kinds that X has.

        As :meth:`minipinet.predictor.PiNet.attention`, which says more; on the CPU, whatever `device` says.
        """
        check_is_fitted(self)
        kind, model = kind_of(graph), self.model_
        if not kind:
            raise UsageError(f"graph: expected {KNOWN}, got {type(graph).__name__}")
        return attention_shares(model.params, model.settings.pairs, self._union(kind, [graph], "graph"), model.classes)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Return the names of the columns of :meth:`transform`: ``"P_0_0"``, ``"P_0_1"``, ..."""
        check_is_fitted(self)
        out = range(self.model_.settings.out)
        return np.array([f"P_{a}_{x}" for a in out for x in out], dtype=object)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to one file, as :meth:`minipinet.predictor.PiNet.save` does: nothing in it is pickled."""
        check_is_fitted(self)
        self.model_.save(path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> PiNetClassifier:
        """Read a model that :meth:`save`, or any other part of minipinet, wrote; no code runs from the file.

        The parameters are those the model was trained with, `random_state` the seed that was used; of `default`, which
        is no part of a model, the file knows nothing. If a card trained it, `device` is "auto".

        Raises
        ------
        DataError
            When the file is missing, cut short, changed, or no model of minipinet.
        """
        model = PiNet.load(path)
        loaded = cls(**parameters_of(model))
        loaded.classes_ = np.array(model.classes)
        loaded.model_ = model
        loaded.n_features_in_ = model.encoder.num_features
        return loaded

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.transformer_tags.preserves_dtype = []
        return tags

    def _logits(self, X: Any) -> Array:
        quotient, index = self._quotient(X)
        return score(self.model_.params, self.model_.settings.pairs, quotient, index, device=self.device)

    def _quotient(self, X: Any) -> tuple[Quotient, Array]:
        """Return graphs as the model scores them, and their numbers."""
        check_is_fitted(self)
        union = self._union(*graphs_of_one_kind(X), "X")
        return refine(union, self.model_.settings.merge), np.arange(len(union.ptr) - 1)

    def _union(self, kind: str, graphs: list[Any], name: str) -> DisjointUnion:
        """Return graphs of one kind as the model takes them: read as in training, but for what `default` stands in."""
        model = self.model_
        if kind == "(A, X) pair":
            graphs = graphs_of_pairs(graphs, model.reading, name)
        if kind == "networkx graph" and model.encoder.kind == "attributes" and not model.reading.node_attributes:
            trained = "graphs that were no networkx graphs" if model.reading.node_label else "(A, X) pairs"
            raise UsageError(f"{name}: this model was fitted on {trained}, got networkx graphs")
        conversion = {"default": self.default} if kind == "networkx graph" else {}
        union = model_input(graphs, model.encoder, model.reading, conversion, name)
        notify_nodeless(union)
        return union
