"""Memory grows with nodes and edges, not with the largest graph squared."""

from __future__ import annotations

import subprocess
import sys

import pytest

TRAIN = """
import pathlib, resource, sys
import numpy as np, scipy.sparse as sp
from minipinet.graphs import as_graph
from minipinet.union import disjoint_union
from minipinet.quotient import refine
from minipinet.settings import Settings
from minipinet.train import fit

def path(n):
    return sp.diags_array([np.ones(n - 1), np.ones(n - 1)], offsets=[-1, 1], shape=(n, n)).tocsr()

rng = np.random.default_rng(0)
graphs = [as_graph(path(n), rng.standard_normal((n, 7))) for n in [10] * 200 + [20_000]]
quotient = refine(disjoint_union(graphs), merge=sys.argv[1] == "quotient")
y = np.arange(201) % 2
state = fit(quotient, y, np.arange(201), Settings(epochs=1), C=2)
assert np.isfinite(state.history[-1].loss)
status = pathlib.Path("/proc/self/status")
if status.exists():
    # Linux: getrusage would count the memory of the process that started this one.
    print(1024 * int(status.read_text().split("VmHWM:")[1].split()[0]))
else:
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


@pytest.mark.slow
@pytest.mark.parametrize("form", ["quotient", "plain"])
def test_case_052_one_large_graph_among_small_ones(form: str) -> None:
    pytest.importorskip("resource", reason="peak memory is read from the resource module, which is not on this system")
    done = subprocess.run([sys.executable, "-c", TRAIN, form], capture_output=True, text=True, check=True)
    # Dense padding of this set would take 201 * 20000^2 * 4 bytes = 320 GB; every node has features of its own.
    assert int(done.stdout) < 400e6
