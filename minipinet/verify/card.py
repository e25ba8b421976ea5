"""A pair as the checker sees it when it computes on a card: NumPy goes in, NumPy comes out, the cache stays there."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from minipinet._array import Array, to_card, to_host
from minipinet._tree import named_leaves
from minipinet.verify.pairs import Pair


class CardCache(NamedTuple):
    """The cache of a forward on a card."""

    there: Any  #: as the forward returned it
    masks: list[Array]  #: copies of its boolean arrays, which tell of kinks


def on_card(pair: Pair) -> Pair:
    """Return the same pair computed on a card: what is bound is moved there now, inputs and cotangents at each call.

    Examples
    --------
    >>> from minipinet.verify.pairs import layer_pairs
    >>> on_card(layer_pairs(np.random.default_rng(0))[4]).name
    'relu'
    """
    there = bound_on_card(pair.forward)

    def forward(**inputs: Any) -> tuple[Any, CardCache]:
        out, cache = there(**to_card(inputs))
        masks = [leaf for _, leaf in named_leaves(cache) if getattr(leaf, "dtype", None) == np.dtype(bool)]
        return to_host(out), CardCache(cache, to_host(masks))

    def backward(dout: Any, cache: CardCache) -> Any:
        return to_host(pair.backward(to_card(dout), cache.there))

    return pair._replace(forward=forward, backward=backward)


def bound_on_card(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function with the arguments that are bound to it (by ``partial``) moved to the card."""
    if not isinstance(function, partial):
        return function
    return partial(function.func, *to_card(function.args), **to_card(function.keywords))
