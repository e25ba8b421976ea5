"""scripts/isomorphism_released.py: its faulty pairs have right gradients, and each does what it is there to do."""

from __future__ import annotations

import importlib
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from minipinet import attention_readout, model, propagation
from minipinet.batch import make_batch
from minipinet.model import loss_backward, loss_forward, pinet_forward
from minipinet.params import init_params
from minipinet.verify import verify_pair
from tests.small_pairs import generator
from tests.tolerances import CLOSED_FORM, ENTRY_FLOAT64, FORMS_FLOAT64, relative_error

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Import the script, and shrink its graphs."""
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    found = importlib.import_module("isomorphism_released")
    monkeypatch.setattr(found, "N", 12)
    monkeypatch.setattr(found, "P", 0.4)
    return found


def make_small(script: Any, pq: tuple[float, float], index: Any = None) -> tuple[Any, Any]:
    """Return a batch of five graphs, and a loss of small weights on it."""
    quotient, y = script.draw_data(generator(1), "own", 2, merge=False)
    index = np.arange(0, 10, 2) if index is None else index
    batch = make_batch(quotient, index, "float64")
    params = init_params(
        generator(2), 2, script.C, hidden=4, out=3, bias=True, learned_pq=pq == (0.5, 0.5), dtype="float64"
    )
    fixed = None if pq == (0.5, 0.5) else np.tile(pq, (4, 1))
    return params, partial(loss_forward, batch=batch, y=y[index], pq=fixed, l2=5e-4)


@pytest.mark.gradient
@pytest.mark.parametrize("name", ["OVER_BATCH", "after_relu", "QUARTER"])
def test_the_pairs_pass_the_checker(script: Any, name: str) -> None:
    rng = generator(3)
    if name == "QUARTER":
        forward, backward = script.QUARTER
        deg = np.array([0.0, 1.0, 2.0, 7.0])
        found = verify_pair(partial(forward, deg), backward, {"p": np.float64(0.3)}, rng=rng)
    else:
        quotient, _ = script.draw_data(rng, "own", 1, merge=False)
        pool = make_batch(quotient, np.arange(script.C), "float64").pool
        forward, backward = script.OVER_BATCH if name == "OVER_BATCH" else script.after_relu(script.OVER_BATCH)
        inputs = {"H": rng.standard_normal((5 * script.N, 3))}
        found = verify_pair(partial(forward, pool=pool), backward, inputs, rng=rng)
    assert found.ok, found


@pytest.mark.gradient
@pytest.mark.parametrize("pq", [(0.5, 0.5), (1.0, 0.0), (0.0, 0.0)])
@pytest.mark.parametrize("name", ["relu", "over-batch", "quarter-p0q0", "clipped", "all-p0q1"])
def test_the_networks_pass_the_checker(script: Any, name: str, pq: tuple[float, float]) -> None:
    params, loss = make_small(script, pq)
    with script.in_place(script.VARIANTS[name]):
        found = verify_pair(
            loss, lambda dloss, cache: {"dparams": loss_backward(dloss, cache)},
            {"params": params}, rng=generator(4),
        )  # fmt: skip
    assert found.ok, found


@pytest.mark.gradient
def test_the_clipped_loss_passes_the_checker_and_stands_still_where_it_clips(script: Any) -> None:
    y = np.array([0, 1, 2, 2])
    Z = np.array([[0.3, -0.2, 0.1], [20.0, 0.0, 1.0], [0.0, 1.0, 20.0], [1.0, 2.0, 0.5]])  # right: some, no, yes, some
    forward, backward = script.CLIPPED
    found = verify_pair(partial(forward, y=y), backward, {"Z": Z}, rng=generator(5))
    assert found.ok, found
    dZ = backward(1.0, forward(Z, y)[1])
    assert (dZ[[1, 2]] == 0).all()
    rows = np.array([0, 3])
    plain = script.ENTROPY[0](Z[rows], y[rows])
    assert relative_error(dZ[rows] * 2, script.ENTROPY[1](1.0, plain[1])) <= CLOSED_FORM
    expected = (2 * plain[0] - np.log(1e-7) - np.log(1 - 1e-7)) / 4
    assert relative_error(forward(Z, y)[0], expected) <= CLOSED_FORM


@pytest.mark.parametrize(("name", "company"), [("relu", False), ("over-batch", True), ("all-p1q0", True)])
def test_only_the_softmax_over_the_batch_sees_other_graphs(script: Any, name: str, company: bool) -> None:
    params, _ = make_small(script, (1.0, 0.0))
    quotient, _ = script.draw_data(generator(1), "own", 2, merge=False)
    fixed = np.tile((1.0, 0.0), (4, 1))
    with script.in_place(script.VARIANTS[name]):
        scores = [
            pinet_forward(params, make_batch(quotient, index, "float64"), fixed)[0][0]
            for index in ([0], [0, 2], [0, 9], [1])
        ]
    alone, *others, permuted = scores
    differs = [relative_error(other, alone) > FORMS_FLOAT64 for other in others]
    assert differs == [company] * 2
    # Alone, and with equal weights for all its nodes, a graph has the scores of its copy.
    assert relative_error(permuted, alone) <= FORMS_FLOAT64


def test_attention_over_the_batch_is_one_for_a_graph_alone(script: Any) -> None:
    quotient, _ = script.draw_data(generator(1), "own", 1, merge=False)
    H = generator(2).standard_normal((2 * script.N, 3))
    one, two = (make_batch(quotient, np.arange(B), "float64").pool for B in (1, 2))
    assert (script.OVER_BATCH[0](H[: script.N], one)[0] == 1).all()
    Z_A = script.OVER_BATCH[0](H, two)[0].reshape(2, script.N, 3)
    assert relative_error(Z_A.sum(axis=0), np.ones((script.N, 3))) <= ENTRY_FLOAT64
    assert relative_error(Z_A[0], 1 / (1 + np.exp(H[script.N :] - H[: script.N]))) <= CLOSED_FORM


def test_a_degree_comes_to_the_power_of_minus_a_quarter(script: Any) -> None:
    s, _ = script.QUARTER[0](np.array([0.0, 1.0, 16.0, 81.0]), np.float64(0))
    assert relative_error(s, np.array([0, 1, 1 / 2, 1 / 3])) <= ENTRY_FLOAT64


def test_the_package_is_itself_again_afterwards(script: Any) -> None:
    def pairs() -> list[Any]:
        names = (
            (model, "softmax_cross_entropy"),
            (attention_readout, "column_softmax"),
            (propagation, "scaling"),
        )
        return [vars(module)[f"{name}_{way}"] for module, name in names for way in ("forward", "backward")]

    before = pairs()
    with script.in_place(script.VARIANTS["all-p0q0"]):
        assert pairs()[:2] == list(script.CLIPPED)
        assert pairs()[4:] == list(script.QUARTER)
        assert not set(pairs()) & set(before)
    assert pairs() == before


@pytest.mark.parametrize("labels", ["own", "shared", "constant"])
def test_classes_share_degrees_and_where_asked_labels(script: Any, labels: str) -> None:
    quotient, y = script.draw_data(generator(5), labels, 1, merge=False)
    X, degrees = quotient.X.reshape(script.C, script.N, -1), quotient.levels[0].deg.reshape(script.C, script.N)
    pairs = [sorted(zip(deg.tolist(), x[:, 0].tolist(), strict=True)) for deg, x in zip(degrees, X, strict=True)]
    assert y.tolist() == [0, 1, 2, 3, 4]
    assert len({tuple(sorted(deg.tolist())) for deg in degrees}) == 1
    assert [len(set(map(tuple, pairs[i:]))) for i in (0, 1)] == {"own": [5, 4], "shared": [2, 1], "constant": [1, 1]}[
        labels
    ]


@pytest.mark.parametrize("name", ["package", "relu-over-batch"])
def test_a_tiny_table_and_an_invariant_model_without_a_gap(script: Any, name: str, capsys: Any) -> None:
    script.main(["--variants", name, "--labels", "shared", "--sizes", "2", "--trials", "1", "--steps", "10"])
    head, rule, line = capsys.readouterr().out.splitlines()
    assert head.count("|") == rule.count("|") == line.count("|")
    cells = [cell.strip() for cell in line.strip("|").split("|")]
    assert cells[:2] == [name, "shared"]
    tested, trained = cells[2].split(" / ")
    if name == "package":
        assert tested == trained == cells[4] == cells[5]
    assert all(0 <= float(cell) <= 1 for cell in (tested, trained, *cells[3:9]))


def test_a_tiny_lottery(script: Any, capsys: Any) -> None:
    script.main(["--lottery", "--trials", "2", "--steps", "30"])
    head, rule, *lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2
    assert {head.count("|"), rule.count("|")} == {line.count("|") for line in lines}
