"""Which device computes: whether a card can, and what fails on one later, in one sentence each with what to try."""

from __future__ import annotations

import contextlib
import functools
import importlib
import re
from collections.abc import Iterator
from types import ModuleType
from typing import Any

from minipinet._array import CARD_ERRORS, ON_CARD, card_library, csr, to_host
from minipinet.errors import CardError, DeviceError, UsageError, notify

#: What `device` may be.
DEVICES = ("cpu", "cuda", "auto")


def check_device(device: str) -> str:
    """Return ``"cpu"`` or ``"cuda"``, whichever `device` comes to here.

    Parameters
    ----------
    device : {"cpu", "cuda", "auto"}
        ``"auto"`` is ``"cuda"`` where that can be used, else ``"cpu"`` with a :class:`~minipinet.errors.Notice`.

    Raises
    ------
    UsageError
        For any other value, and, as a DeviceError, for ``"cuda"`` where it cannot be used: in one sentence, why.
    """
    if not isinstance(device, str) or device not in DEVICES:
        shown = " ".join(repr(device).split())
        raise UsageError(f"device: expected 'cpu', 'cuda' or 'auto', got {shown:.80}")
    if device == "cpu":
        return device
    problem = card_problem()
    if problem is None:
        return "cuda"
    if device == "cuda":
        raise DeviceError(f"device: 'cuda' cannot be used here: {problem}")
    notify(f"device: 'auto' comes to 'cpu': {problem}")
    return "cpu"


#: The oldest CuPy that is tried. The extras ask for 14, the first that installs NVIDIA's libraries too.
OLDEST_CUPY = 13, 4
#: What counts of a version: of 14.0a1 the numbers 14 and 0.
_VERSION = re.compile(r"(\d+)(?:\.(\d+))?")
#: How CuPy comes with all that it needs.
INSTALL = "pip install 'minipinet[cuda12]' or, in the project's folder, -e '.[cuda12]' (cuda13 for a driver of CUDA 13)"
#: What CuPy names that finds no card, and what it cannot do without.
_NO_CARD = re.compile("cudaErrorInsufficientDriver|cudaErrorNoDevice")
_NO_LIBRARY = re.compile("DynamicLibNotFound|lib(nvrtc|cublas|nvJitLink|cudart|cusparse)")
#: What libraries say where the memory of a card is short.
_NO_MEMORY = re.compile("OutOfMemory|out of memory|ALLOC_FAILED", re.IGNORECASE)
#: A kernel to try the compiler with.
_DOUBLE = 'extern "C" __global__ void twice(float *x) { x[threadIdx.x] *= 2; }'


def _cublas(library: ModuleType) -> Any:
    return importlib.import_module("minipinet.cuda.cublas").Cublas(library)


def card_problem() -> str | None:
    """Return why no card can be computed on here, None if one can: CuPy, a driver, a card, and a trial that is right.

    That CuPy is installed says nothing of a driver, a driver nothing of a card, and a card nothing of the compiler and
    the libraries of products that CuPy finds when the first kernel and the first product need them.
    """
    try:
        return try_card(card_library())
    except (Exception, SystemExit) as error:  # whatever a broken installation raises
        if isinstance(error, ModuleNotFoundError) and error.name in ON_CARD:
            return f"CuPy is not installed: {INSTALL}"
        reason = reason_of(error)
        if _NO_CARD.search(reason):
            return f"there is no NVIDIA driver or card, or the driver is too old for this CuPy ({reason})"
        if _NO_LIBRARY.search(reason):
            return f"CuPy lacks a library of NVIDIA's, or finds that of another CUDA: {INSTALL} ({reason})"
        if _NO_MEMORY.search(reason):
            return f"the card has no memory left ({reason})"
        return f"CuPy finds no card that works ({reason})"


@functools.cache
def try_card(library: ModuleType) -> str | None:
    """Compute something small on a card: the problem, or None, which holds for the rest of the process.

    So a run looks once; a card that is lost in the middle of it is found by what fails there (`card_failures`).
    """
    if not library.cuda.runtime.getDeviceCount():
        return "there is no NVIDIA card"
    version = _VERSION.match(str(library.__version__))
    if version is None or (int(version[1]), int(version[2] or 0)) < OLDEST_CUPY:
        return f"expected CuPy {'.'.join(map(str, OLDEST_CUPY))} or later, got {library.__version__}"
    x = library.arange(4, dtype="float32")
    library.RawModule(code=_DOUBLE, options=()).get_function("twice")((1,), (4,), (x,))
    products, M = library.empty((2, 2), "float32"), x.reshape(2, 2)
    _cublas(library).product(M, M, products)
    of_library = library.matmul(M, M)  # which may find another cuBLAS, or none
    squares = csr(x, library.arange(4, dtype="int32"), library.arange(5, dtype="int32"), (4, 4)) @ x.reshape(4, 1)
    found = [to_host(each).ravel().tolist() for each in (x, products, of_library, squares)]
    if found != [[0, 2, 4, 6], [8, 12, 24, 44], [8, 12, 24, 44], [0, 4, 16, 36]]:
        return "the card doubles 0, 1, 2 and 3 to {}, with the products {}, by CuPy {}, and the squares {}".format(
            *found
        )
    return None


@contextlib.contextmanager
def card_failures(smaller: str, device: str = "cuda") -> Iterator[None]:
    """Raise what fails on a card in here as a CardError, chained to the error of the library; all else as it is.

    For what the package itself does on a card: nothing that a caller handed in is run in here, whose errors are its
    own. Also a decorator.

    Parameters
    ----------
    smaller : str
        What needs less memory, or has more of it: what to try where a card has too little.
    device : {"cuda", "cpu"}
        Where all this runs; on the CPU every error is left as it is.

    Examples
    --------
    >>> with card_failures("fewer graphs at a time", "cpu"):
    ...     print("no card is asked for anything")
    no card is asked for anything
    """
    try:
        yield
    except Exception as error:
        # What loads a library says only by its text that it is one of a card's.
        of_card = CARD_ERRORS.match(f"{type(error).__module__}.") or _lacks_library(error)
        if device != "cuda" or isinstance(error, CardError) or not of_card:
            raise
        try_card.cache_clear()  # whoever asks for a card again has it tried again
        raise CardError(_sentence(error, smaller)) from error


@contextlib.contextmanager
def found_before() -> Iterator[None]:
    """Raise as a CardError that a card is refused in here, in work that began when it could be used.

    It is tried again after a failure, and in every process once. Nothing that a caller handed in is run in here.
    """
    try:
        yield
    except DeviceError as error:
        raise CardError(f"{error}, where it could before; try again, with fewer jobs, or device 'cpu'") from error


def _lacks_library(error: Exception) -> bool:
    return isinstance(error, ImportError | OSError | RuntimeError) and bool(_NO_LIBRARY.search(str(error)))


def _sentence(error: Exception, smaller: str) -> str:
    reason, card = reason_of(error), _card()
    if _lacks_library(error) or _NO_LIBRARY.search(reason):
        return (
            f"device: 'cuda' lacks a library of NVIDIA's on {card}, or finds that of another CUDA: {INSTALL} ({reason})"
        )
    if _NO_MEMORY.search(reason):
        return f"device: 'cuda' ran out of memory on {card} ({reason}); try {smaller}, or device 'cpu'"
    return f"device: 'cuda' failed on {card} ({reason}); try again in a new process, or device 'cpu'"


def _card() -> str:
    """Return which card is in use, if it still answers."""
    try:
        return f"card {int(card_library().cuda.Device().id)}"
    except Exception:  # after a failure every call may fail
        return "the card"


def reason_of(error: BaseException) -> str:
    r"""Return what a library says of its failure, its cause if it names one, as a short line of printable text.

    Examples
    --------
    >>> reason_of(ImportError("=====\nFailed to import.\n\nOriginal error:\n  OSError: no libcuda.so.1\n====="))
    'OSError: no libcuda.so.1'
    """
    banner, _, text = str(error).partition("Original error:")
    if not text:
        cause = error.__cause__ or error
        text = f"{type(cause).__name__}: {banner if cause is error else cause}"
    printable = "".join(c if c.isprintable() else " " for c in text)
    return f"{' '.join(re.sub('={4,}', ' ', printable).split()):.200}"
