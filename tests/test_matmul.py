"""A product whose rows have the same bits in any company, whatever processor BLAS takes the machine for."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

#: Rows alone, in a full block at every place, in a short one; prints what differs.
CHECK = """
import numpy as np
from minipinet.matmul import matmul_rows
from threadpoolctl import threadpool_limits

rng = np.random.default_rng(0)
with threadpool_limits(1):
    for dtype in ("float32", "float64", "complex128"):
        for k in (1, 7, 18, 37, 100, 1000):
            for m in (1, 2, 3, 5, 8, 16, 31, 32, 33, 64, 128):
                M, W = (rng.standard_normal(shape).astype(dtype) for shape in ((41, k), (k, m)))
                for of_kind in (W, np.asfortranarray(W)):
                    alone = np.vstack([matmul_rows(row[None], of_kind) for row in M])
                    parts = [matmul_rows(M[i:j], of_kind) for i, j in ((0, 5), (5, 18), (18, 41))]
                    if not alone.tobytes() == matmul_rows(M, of_kind).tobytes() == np.vstack(parts).tobytes():
                        print(dtype, k, m)
print("checked")
"""


@pytest.mark.parametrize("core", ["", "Haswell", "Sandybridge", "Nehalem", "Prescott", "SkylakeX"])
def test_a_row_has_the_same_bits_in_any_company(core: str) -> None:
    environment = {**os.environ, "OPENBLAS_CORETYPE": core} if core else dict(os.environ)
    done = subprocess.run([sys.executable, "-c", CHECK], env=environment, capture_output=True, text=True, check=False)
    if core and done.returncode < 0:
        pytest.skip(f"this processor is no {core}")
    assert (done.returncode, done.stdout) == (0, "checked\n"), done.stderr
