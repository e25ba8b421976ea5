"""A virtual environment for each framework, with the releases that requirements-*.txt pins."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
#: Peer: its framework. Each is a file of this folder.
PEERS = {
    "pyg": "torch",
    "plain_torch": "torch",
    "jax_sparse": "jax",
    "jax_padded": "jax",
    "keras_padded": "keras",
}
#: What the tables call them.
TITLES = {
    "ours": "minipinet",
    "ours_numpy": "minipinet, NumPy alone",
    "pyg": "PyTorch + PyG",
    "plain_torch": "PyTorch, tuned by hand",
    "jax_sparse": "JAX, sparse",
    "jax_padded": "JAX, padded",
    "keras_padded": "Keras/TensorFlow, padded",
}


def python_of(peer: str, envs: Path) -> Path:
    """Return the Python that a peer runs in; minipinet in that of the benchmark."""
    return Path(sys.executable) if peer not in PEERS else envs / PEERS[peer] / "bin" / "python"


def is_made(framework: str, envs: Path) -> bool:
    """Return whether an environment holds, to the end of its installation, what its requirements ask for now."""
    stamp = envs / framework / "requirements.txt"
    return stamp.is_file() and stamp.read_text(encoding="utf-8") == _requirements(framework).read_text(encoding="utf-8")


def make_environment(framework: str, envs: Path) -> None:
    """Make a framework's environment, unless it is there."""
    if is_made(framework, envs):
        return
    where, requirements = envs / framework, _requirements(framework)
    print(f"Installing {framework} in {where}: some minutes, once ...", file=sys.stderr, flush=True)
    subprocess.run([sys.executable, "-m", "venv", "--clear", where], check=True)
    pip = [
        str(where / "bin" / "python"),
        "-m",
        "pip",
        "install",
        "-q",
        "--disable-pip-version-check",
        "-r",
        str(requirements),
    ]
    subprocess.run(pip, check=True, stdout=sys.stderr)
    (where / "requirements.txt").write_text(requirements.read_text(encoding="utf-8"), encoding="utf-8")


def _requirements(framework: str) -> Path:
    return HERE / f"requirements-{framework}.txt"
