"""What accuracies over folds and repeats say: mean, two kinds of spread, and whether two models differ.

Folds share most of their training graphs, so their accuracies are not independent. docs/statistics.md says what that
does to each test.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import mean, variance
from typing import NamedTuple

from minipinet.results.accuracies import Accuracies, flat, read_accuracies, read_items, read_part
from minipinet.settings import real, whole

#: A standard deviation up to this is the rounding of float64 numbers from 0 to 1: their differences are off by 2e-16.
_ROUNDING = 1e-15


class Summary(NamedTuple):
    """Accuracies of one model on one data set."""

    mean: float  #: of all accuracies
    sd_folds: float | None  #: standard deviation over the folds of one repeat; None if no repeat has two
    sd_repeats: float | None  #: that of the means of whole repeats; None if there are not two
    n: int  #: number of accuracies


class Compared(NamedTuple):
    """Two models on one data set. The p-values are two-sided; 1.0 where one accuracy alone leaves nothing to test."""

    difference: float  #: mean of the first less mean of the second
    n: int  #: folds that both have, all that is compared; 0: there are none, so all folds of either are
    welch: float  #: p-value of Welch's t-test, which takes all accuracies as independent
    paired: float | None  #: of the paired t-test, which takes the folds as independent; None for n = 0
    corrected: float | None  #: of the corrected resampled t-test, which lets training parts overlap; None for n = 0


class Moments(NamedTuple):
    """What a publication gives in place of the accuracies."""

    mean: float  #: in [0, 1]
    sd: float  #: standard deviation of single accuracies, with n - 1
    n: int  #: number of accuracies, at least 1


def summarise(accuracies: Accuracies) -> Summary:
    """Summarise the accuracies of one model on one data set, keeping the two kinds of spread apart.

    Parameters
    ----------
    accuracies : repeats by folds
        In [0, 1]; repeats may be unfinished: shorter, empty, or with None for a fold.

    Returns
    -------
    Summary
        ``sd_folds`` tells how much a single fold varies: the root of the variance within repeats, pooled.
        ``sd_repeats`` tells how much a whole cross-validation varies with its seed; only repeats with as many folds as
        the fullest count, since the mean of a few folds varies more.

    Raises
    ------
    UsageError
        For anything else than numbers from 0 to 1, and for no number at all.

    Examples
    --------
    >>> summarise([[0.75, 1.0], [0.5, 0.75]])
    Summary(mean=0.75, sd_folds=0.1767766952966369, sd_repeats=0.1767766952966369, n=4)
    >>> summarise([[0.75, 1.0], [0.5]])
    Summary(mean=0.75, sd_folds=0.1767766952966369, sd_repeats=None, n=3)
    """
    repeats = [[value for value in repeat if value is not None] for repeat in read_accuracies("accuracies", accuracies)]
    values = flat(repeats)
    freedom = sum(len(repeat) - 1 for repeat in repeats if repeat)
    squares = sum((len(repeat) - 1) * variance(repeat) for repeat in repeats if len(repeat) > 1)
    fullest = max(map(len, repeats))
    means = [mean(repeat) for repeat in repeats if len(repeat) == fullest]
    return Summary(
        mean(values),
        math.sqrt(squares / freedom) if freedom else None,
        math.sqrt(variance(means)) if len(means) > 1 else None,
        len(values),
    )


def compare(a: Accuracies, b: Accuracies, *, test_share: float = 0.1) -> Compared:
    """Test whether two models differ in mean accuracy, on the folds that both have.

    Parameters
    ----------
    a, b : repeats by folds
        Accuracies in [0, 1], the same fold in the same place; None where a fold is missing.
    test_share : float
        Share of the graphs that a fold tests, 0 <= test_share < 1: 0.1 for ten folds. 0 where training graphs are
        drawn anew each time, so that nothing is shared: then the corrected test is the paired one.

    Returns
    -------
    Compared
        With n common folds, d the differences in them and s^2 their variance, paired and corrected are Student's t-test
        with n - 1 degrees of freedom of

            t = mean(d) / sqrt(s^2 / n)   and   t = mean(d) / sqrt((1 / n + n_test / n_train) s^2).

        Without any spread the p-value is the limit: 0 when the means differ, 1 when they are equal.

    Raises
    ------
    UsageError
        For anything else than numbers from 0 to 1, for no number at all, and for a wrong `test_share`.

    Notes
    -----
    The correction is that of Nadeau and Bengio, "Inference for the Generalization Error", Machine Learning 52, 2003, in
    the form of Bouckaert and Frank (PAKDD 2004) for r repeats of k folds, n = r k.

    Examples
    --------
    >>> found = compare([[0.9, 0.8, 1.0, 0.9]], [[0.8, 0.8, 0.9, 0.8]], test_share=0.25)
    >>> found.n, [round(value, 3) for value in (found.difference, found.welch, found.paired, found.corrected)]
    (4, [0.075, 0.178, 0.058, 0.144])
    >>> compare([[0.9, 0.8]], [[None, None, 0.7]]).paired is None
    True
    """
    one, two = read_accuracies("a", a), read_accuracies("b", b)
    share = real("test_share", test_share, lambda x: 0 <= x < 1, "at least 0 and below 1")
    common = [
        (x, y)
        for row, other in zip(one, two, strict=False)
        for x, y in zip(row, other, strict=False)
        if x is not None and y is not None
    ]
    if not common:
        first, second = flat(one), flat(two)
        return Compared(mean(first) - mean(second), 0, _welch(_moments(first), _moments(second)), None, None)
    first, second = ([pair[k] for pair in common] for k in (0, 1))
    gap, sd, n = _moments([x - y for x, y in common])
    return Compared(
        gap,
        n,
        _welch(_moments(first), _moments(second)),
        _student(gap, sd * math.sqrt(1 / n), n - 1),
        _student(gap, sd * math.sqrt(1 / n + share / (1 - share)), n - 1),
    )


def compare_independent(a: Accuracies | Moments, b: Accuracies | Moments) -> float:
    """Return the two-sided p-value of Welch's t-test, from accuracies, from published moments, or from one of each.

    Parameters
    ----------
    a, b : repeats by folds, or Moments

    Returns
    -------
    float
        1.0 where either has one accuracy. Without any spread: 0 when the means differ, 1 when they are equal.

    Raises
    ------
    UsageError
        For accuracies as in :func:`compare`; for a mean out of [0, 1], a negative sd and an n below 1.

    Examples
    --------
    The paper's PiNet against its GCN + Sum on NCI1:

    >>> round(compare_independent(Moments(0.74, 0.02, 10), Moments(0.72, 0.03, 10)), 3)
    0.099
    """
    return _welch(*(_checked(name, x) for name, x in (("a", a), ("b", b))))


def holm(p_values: Sequence[float]) -> list[float]:
    """Adjust the p-values of a family of tests by Holm's method.

    With what is at most 0.05 after adjustment called significant, the chance of any wrong call in the family is at most
    0.05, however the tests depend on each other.

    Parameters
    ----------
    p_values : sequence of float
        In [0, 1]; may be empty.

    Returns
    -------
    list of float
        In the same order: the k-th smallest of m times m - k + 1, no less than any before it, at most 1.

    Raises
    ------
    UsageError
        For anything else than numbers from 0 to 1.

    References
    ----------
    Holm, "A simple sequentially rejective multiple test procedure", Scandinavian Journal of Statistics 6, 1979.

    Examples
    --------
    >>> holm([0.25, 0.01, 0.02])
    [0.25, 0.03, 0.04]
    """
    given = read_items("p_values", p_values, "a list of numbers")
    values = [read_part(f"p_values[{k}]", value) for k, value in enumerate(given)]
    adjusted, least = [0.0] * len(values), 0.0
    for rank, place in enumerate(sorted(range(len(values)), key=values.__getitem__)):
        least = max(least, min(1.0, (len(values) - rank) * values[place]))
        adjusted[place] = least
    return adjusted


def _student(difference: float, error: float, freedom: int) -> float:
    """Return the two-sided p-value of a difference with this standard error."""
    if freedom < 1:
        return 1.0
    if error <= _ROUNDING:
        return 1.0 if abs(difference) <= _ROUNDING else 0.0
    from scipy import stats

    return float(2 * stats.t.sf(abs(difference) / error, freedom))


def _welch(a: Moments, b: Moments) -> float:
    """Return the two-sided p-value of Welch's t-test."""
    if min(a.n, b.n) < 2 or max(a.sd, b.sd) <= _ROUNDING:
        return _student(a.mean - b.mean, 0.0, min(a.n, b.n) - 1)
    from scipy import stats

    return float(stats.ttest_ind_from_stats(*a, *b, equal_var=False).pvalue)


def _moments(values: Sequence[float]) -> Moments:
    # The standard library sums exactly: equal numbers have no variance at all.
    return Moments(mean(values), math.sqrt(variance(values)) if len(values) > 1 else 0.0, len(values))


def _checked(name: str, given: Accuracies | Moments) -> Moments:
    if not isinstance(given, Moments):
        return _moments(flat(read_accuracies(name, given)))
    return Moments(
        read_part(f"{name}.mean", given.mean),
        real(f"{name}.sd", given.sd, lambda x: x >= 0, "of at least 0"),
        whole(f"{name}.n", given.n),
    )
