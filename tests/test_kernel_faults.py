"""Faults planted into the kernels of minipinet/cuda, a wrong place in each of them among these: training sees them."""

from __future__ import annotations

from typing import Any

import pytest

from minipinet.cuda.launch import SOURCES, names
from tests import tolerances
from tests.device_stand_in import use_stand_in
from tests.kernels_on_host import compile_sources, kernels_of
from tests.planted_kernels import error_of_an_epoch, file_with_fault, kernels_with

#: A wrong place, read or written, in every kernel: another fold's, another graph's, another column's. None is outside.
PLACES = [
    ("batch_offsets", "order[k * n + at]", "order[at]"),
    ("batch_features", "r - start[b]) * d + f]", "r - start[b]) * d + d - 1 - f]"),
    ("batch_rows", "entries[b] + all_first[from]", "all_first[from]"),
    ("batch_columns", "= all_deg[from]", "= all_deg[c]"),
    ("batch_entries", "entries[b] + all_entry[from]", "all_entry[from]"),
    ("batch_counts", "all_count[ptr[2 * (G + 1) + id[k * B + b]] + r - rows[b]]", "all_count[r]"),
    ("gate_forward", "raw[t]", "raw[t ^ 1]"),
    ("propagate_forward", "M[j * F]", "M[own[k * rows + i] * F]"),
    ("propagate_backward", "at_own[k * rows + i]", "at_own[i]"),
    ("pq_terms", "to_q += dH[at + f] * x[j * F + f]", "to_q += dH[at + f] * x[f]"),
    ("sum_parts", "size i = first;", "size i = first + 1;"),
    ("gate_backward", "part[t * parts + i]", "part[(t ^ 2) * parts + i]"),
    ("softmax_forward", "count + k * cap", "count"),
    ("softmax_backward", "Z_A + k * cap * F + a", "Z_A + k * cap * F + (a + 1) % F"),
    ("pool_forward", "attention[r * F + a]", "attention[r * F + x]"),
    ("transpose", "(matrix * F + a) * F + x", "(matrix * F + x) * F + a"),
    ("pool_backward", "d[a * F + f] * attention[a]", "d[f * F + a] * attention[a]"),
    ("bias_relu", "b[(k * 2 + stack) * F + f]", "b[(k * 2 + 1 - stack) * F + f]"),
    ("relu_backward", "if (t < n) dR[t] *= R[t] > 0", "if (t + 1 < n) dR[t] *= R[t + 1] > 0"),
    ("bias_backward", "(table * parts + i) * F + f", "(table * parts + i) * F + F - 1 - f"),
    ("cross_entropy", "b_D[k * C + c]", "b_D[c]"),
    ("logits_bias_backward", "dlogits[(k * B + b) * C + c]", "dlogits[(k * B + b) * C + C - 1 - c]"),
    ("adam", "steps[k] + 1", "steps[0] + 1"),
    ("next_batch", "loss[k * B + b]", "loss[b]"),
]
#: Other faults.
FAULTS = [
    ("propagate_forward", "sum += a * scale(p, deg[k * columns + j])", "sum += a"),
    ("propagate_backward", "n < start[1]", "n + 1 < start[1]"),
    ("pq_terms", "to_q *= s * s;", "to_q *= s;"),
    ("sum_parts", "(table * n + i) * F + f", "(table * n + i) * F + F - 1 - f"),
    ("softmax_backward", "z[r * F] * (dx[r * F] - sum)", "z[r * F] * dx[r * F]"),
    ("pool_backward", "d[x * F + f]", "d[f * F + x]"),
    ("pool_backward", "features[f] > 0", "features[f] >= 0"),
    ("relu_backward", "R[t] > 0", "R[t] >= 0"),
    ("cross_entropy", "expm1(log_p)", "exp(log_p)"),
    ("adam", "steps[k] + 1", "steps[k] + 2"),
    ("adam", "id[k * B] < 0", "id[0] < 0"),
    ("next_batch", "id[k * B] >= 0", "id[0] >= 0"),
]


@pytest.fixture(autouse=True)
def card(monkeypatch: pytest.MonkeyPatch) -> None:
    use_stand_in(monkeypatch)


def seen_in(kernels: dict[str, Any]) -> bool:
    try:
        return not error_of_an_epoch(kernels) < tolerances.FAST_FLOAT64
    except AssertionError:
        return True


def test_every_kernel_has_a_wrong_place() -> None:
    assert [kernel for kernel, *_ in PLACES] == [kernel for file in SOURCES for kernel in names(file)]


@pytest.mark.parametrize("i", range(len(PLACES + FAULTS)), ids=["-".join(fault) for fault in PLACES + FAULTS])
def test_a_planted_bug_is_seen(i: int) -> None:
    assert seen_in(kernels_with(*PLACES, *FAULTS)[i])


def test_a_planted_bug_in_the_bisection_is_seen() -> None:
    text = file_with_fault("batch", "graph_of", "start[middle] <= r", "start[middle] < r")
    assert seen_in(kernels_of("float64") | compile_sources(text, "float64"))


def test_without_a_fault_none_is_seen() -> None:
    assert not seen_in(kernels_of("float64"))
