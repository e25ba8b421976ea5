"""What training needs to know of a network: how it starts, its batches, its loss with the gradient, its scores."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from minipinet._array import Array

#: The trainable arrays of a network: a NamedTuple of arrays, None where one is absent. Gradients and Adam's moments are
#: trees of the same kind.
Params: TypeAlias = Any
#: Some graphs, in the form in which a network takes them.
Batch: TypeAlias = Any
#: ``scores(params, batch)`` returns the logits, (B, C).
Scores: TypeAlias = Callable[[Params, Batch], Array]


def no_pq(params: Params) -> Array:
    """Return the table of a network that has no p and q: no row.

    Examples
    --------
    >>> no_pq(None).shape
    (0, 2)
    """
    return np.empty((0, 2))


def as_they_are(params: Params) -> Params:
    """Return the parameters of a network that computes where they are.

    Examples
    --------
    >>> as_they_are((1.0, None))
    (1.0, None)
    """
    return params


class Network(NamedTuple):
    """A network and the graphs of one data set, as :func:`minipinet.train.fit_network` sees them.

    Examples
    --------
    PiNet is one (:func:`minipinet.pinet_network.pinet_network`):

    >>> from minipinet.datasets import load_dataset
    >>> from minipinet.quotient import refine
    >>> from minipinet.settings import Settings
    >>> from minipinet.pinet_network import pinet_network
    >>> network = pinet_network(refine(load_dataset("MUTAG").graphs), Settings(hidden=4, out=2), C=2)
    >>> params = network.init(np.random.default_rng(0))
    >>> [network.scores(params, batch).shape for batch in network.batches(np.arange(5), 3, None)]
    [(3, 2), (2, 2)]
    """

    G: int  #: graphs in the data set
    C: int  #: classes
    #: ``init(rng)`` draws the initial parameters.
    init: Callable[[np.random.Generator], Params]
    #: ``batches(index, batch_size, rng)`` yields the graphs by number, so many at a time, the last time maybe fewer.
    #: From `rng` comes what training draws for each batch (a dropout mask); None to score.
    batches: Callable[[Array, int, np.random.Generator | None], Iterable[Batch]]
    #: ``loss_forward(params, batch, y)`` returns the loss that is minimised, and a cache whose `cross_entropy` holds
    #: the log-probabilities of the classes.
    loss_forward: Callable[[Params, Batch, Array], tuple[Array, Any]]
    #: ``loss_backward(dloss, cache)`` returns the gradient of every parameter.
    loss_backward: Callable[[float, Any], Params]
    scores: Scores
    #: ``placed(params)`` returns the parameters where `scores` computes, so that they move once for many batches.
    placed: Callable[[Params], Params] = as_they_are
    #: ``epoch(settings, params, adam, y, order)`` trains elsewhere on the graphs in this order and returns new
    #: parameters, Adam's new state, the sum of the losses and the number of right answers; None: batch by batch, here.
    epoch: Callable[[Any, Params, Any, Array, Array], tuple[Params, Any, float, int]] | None = None
    #: ``pq(params)`` returns the p and q in force, a row a layer: for the record of an epoch.
    pq: Callable[[Params], Array] = no_pq
