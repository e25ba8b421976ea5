"""A scalar function and its gradient, as most people have them: `verify_function`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import wraps
from typing import Any, TypeAlias

import numpy as np

from minipinet._host import refuse_card
from minipinet._tree import named_leaves, with_leaves
from minipinet.errors import UsageError
from minipinet.verify.arguments import require_pair
from minipinet.verify.check import name_of
from minipinet.verify.contract import VerificationError
from minipinet.verify.report import Report, words_of_a_function
from minipinet.verify.verification import Verification, verify_pair

#: ``function(**inputs) -> a number``
Function: TypeAlias = Callable[..., Any]
#: ``gradient(**inputs) -> a tree of arrays``
Gradient: TypeAlias = Callable[..., Any]


def verify_function(
    function: Function,
    gradient: Gradient,
    inputs: Mapping[str, Any],
    *,
    rng: np.random.Generator,
    methods: Sequence[str] = ("central", "taylor"),
    name: str | None = None,
    **settings: Any,
) -> Verification:
    """Check the gradient of a function that returns one number.

    Parameters
    ----------
    function : callable
        ``function(**inputs)`` returns a number: a float or an array without dimensions, float64 for float64 inputs.
    gradient : callable
        ``gradient(**inputs)`` returns a mapping or NamedTuple with a field for each input, with its name or `d` + its
        name; for a single input its gradient may come alone.
    inputs : mapping from argument name to array, number, None, or a tree of them
        Everything to differentiate; bind the rest with `functools.partial`. Copied to float64; whatever happens, the
        caller's own arrays end as they were.
    rng : numpy.random.Generator
        For the directions.
    methods : sequence of str
        Methods of `check_pair`. ``linear`` has nothing to look at here, since there is no cotangent.
    name : str, optional
        For the report; by default the function's name.
    **settings
        Further arguments of `check_pair`.

    Returns
    -------
    Verification

    Raises
    ------
    UsageError
        If an argument is wrong.
    VerificationError
        If nothing can be compared: the function does not return one finite number, or as for `check_pair`.

    Notes
    -----
    Two calls of the function for each derivative, 20 for each Taylor direction.

    Examples
    --------
    >>> import numpy as np
    >>> def energy(x, k):
    ...     return 0.5 * k * np.sum(x * x)
    >>> def energy_gradient(x, k):
    ...     return {"x": k * x, "k": 0.5 * np.sum(x * x)}
    >>> inputs = {"x": np.array([1.0, -2.0]), "k": 3.0}
    >>> verify_function(energy, energy_gradient, inputs, rng=np.random.default_rng(0)).ok
    True
    >>> wrong = verify_function(energy, lambda x, k: {"x": x, "k": 0.0}, inputs, rng=np.random.default_rng(0))
    >>> print(wrong.problems[0])
    dk: gradient (analytic) 0, central difference (numeric) 2.5, relative error 1.0e+00, allowed 1e-06
    """
    require_pair(inputs, rng, function=function, gradient=gradient)
    if "cotangent" in settings:
        raise UsageError("cotangent: a function that returns one number has none to choose; check_pair takes one")
    name = name or name_of(function)

    @wraps(function)  # its arguments are those of the function
    def forward(**arrays: Any) -> tuple[Any, dict[str, Any]]:
        value = function(**arrays)
        refuse_card(name, value)
        if isinstance(value, tuple) or np.ndim(value):
            shape = "a tuple" if isinstance(value, tuple) else f"an array of shape {np.shape(value)}"
            raise VerificationError(
                f"{name}: expected one number, got {shape}; check_pair takes arrays and a cotangent"
            )
        return value, arrays

    def backward(dvalue: Any, arrays: dict[str, Any]) -> Any:
        grads = gradient(**arrays)
        # As it came where it can be: then it is seen whether it shares memory with the inputs.
        return _by_input(grads if dvalue == 1 else _times(dvalue, grads), arrays)

    try:
        found = verify_pair(forward, backward, inputs, rng=rng, methods=methods, name=name, cotangent=1.0, **settings)
    except VerificationError as reason:
        raise VerificationError(words_of_a_function(str(reason))) from reason
    return found._replace(reports=tuple(map(_of_a_function, found.reports)))


def _of_a_function(report: Report) -> Report:
    problems, notes = (tuple(map(words_of_a_function, texts)) for texts in (report.problems, report.notes))
    return replace(report, problems=problems, notes=notes, backward="gradient")


def _times(factor: Any, grads: Any) -> Any:
    return with_leaves(grads, iter([g if g is None else factor * g for _, g in named_leaves(grads)]))


def _by_input(grads: Any, arrays: Mapping[str, Any]) -> Any:
    """Call the fields of a gradient d + name where they have the names of the inputs."""
    fields = grads._asdict() if isinstance(grads, tuple) and hasattr(grads, "_asdict") else grads
    if isinstance(fields, Mapping) and not any(f"d{key}" in fields for key in arrays) and set(arrays) <= set(fields):
        return {f"d{key}": value for key, value in fields.items()}
    return grads
