"""minipinet's own training without Numba: the form in NumPy."""

import os

os.environ["MINIPINET_NUMBA"] = "0"  # before the package is imported

from ours import VERSIONS, Ours
from serve import serve

if __name__ == "__main__":
    serve(Ours, VERSIONS)
