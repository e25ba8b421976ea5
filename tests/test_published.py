"""The published numbers agree: parts with their mean, three digits with the two of the paper's table."""

from __future__ import annotations

import numpy as np
import pytest

from minipinet.experiments.plan import MODELS, PTC
from minipinet.results.published import FAULTS, ISOMORPHISM, published

SETS = ("MUTAG", "NCI1", "NCI109", "PROTEINS", "PTC")
#: The paper's table of results, percent; its PROTEINS of the learned model is .75 where the result files have .755.
TABLE = {
    "gcn-dense": (86, 73, 72, 71, 63),
    "gcn-sum": (86, 72, 73, 74, 61),
    "patchy-san": (85, 58, 58, 70, 58),
    "wl": (68, 53, 53, 61, 62),
    "pinet-manual": (87, 74, 73, 75, 63),
    "pinet": (88, 74, 71, 75, 63),
}


@pytest.mark.parametrize("model", TABLE)
def test_three_digits_round_to_the_table(model: str) -> None:
    for dataset, percent in zip(SETS, TABLE[model], strict=True):
        found = published(model, dataset)
        assert found is not None
        assert found.sd is not None
        assert abs(100 * found.mean - percent) <= 0.5 + 1e-9


@pytest.mark.parametrize("model", sorted(set(MODELS) - {"patchy-san"}))
def test_ptc_is_the_mean_of_its_parts(model: str) -> None:
    parts = [found.mean for found in (published(model, name) for name in PTC) if found is not None]
    whole = published(model, "PTC")
    assert whole is not None
    assert len(parts) == 4
    assert abs(np.mean(parts) - whole.mean) <= 0.001  # each part is rounded


def test_manual_is_the_best_of_the_search_on_every_set() -> None:
    """The paper calls it the result of a search over the four matrices, so it is their best mean."""
    for dataset in SETS:
        four = [published(f"pinet-{pq}", dataset) for pq in ("p1q0", "p1q1", "p0q0", "p0q1")]
        assert published("pinet-manual", dataset) == max(found for found in four if found is not None)


def test_unknown_names_have_no_numbers() -> None:
    assert published("pinet", "ENZYMES") is published("pinet-manual", "ENZYMES") is published("no", "MUTAG") is None
    assert published("patchy-san", "PTC_MM") is None


def test_isomorphism_has_all_five_systems() -> None:
    assert set(ISOMORPHISM) == {"pinet", "gcn-sum", "gcn-dense", "wl", "patchy-san"} >= set(FAULTS)
    assert all(list(curve) == list(range(2, 21, 2)) for curve in ISOMORPHISM.values())
