"""Kernels between fences: whoever reads or writes beyond an end of what it was handed is stopped there."""

from __future__ import annotations

import ctypes
import mmap
from functools import lru_cache

import numpy as np

from minipinet._array import Array
from tests.device_stand_in import Device
from tests.kernels_on_host import BLOCK, HostLauncher

C = ctypes.CDLL(None)
#: Bytes on both sides of an array that nobody may touch.
FENCE = 2**20
#: The number of a thread that is 0 where it is put into 32 bits.
FAR = 2**32


class Field:
    """Memory for `size` bytes between two fences: at the first fence, or at the last."""

    def __init__(self, size: int) -> None:
        self.size, self.room = size, -(-size // mmap.PAGESIZE) * mmap.PAGESIZE
        flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
        memory = mmap.mmap(-1, FENCE + self.room + FENCE, flags=flags, prot=0)
        self.memory = np.frombuffer(memory, np.uint8)  # keeps it
        self.first = self.memory.ctypes.data + FENCE
        self.last = self.first + self.room - size

    def allow(self, rights: int) -> None:
        """Let what lies between the fences be read, or written too."""
        memory = ctypes.c_void_p(self.first), ctypes.c_size_t(self.room)
        assert C.mprotect(*memory, rights) == 0


# A kernel's arguments each have a field of their own.
field = lru_cache(maxsize=256)(lambda argument, size: Field(size))


def span(x: Array) -> tuple[int, int]:
    """Return where an array, which may be a view with gaps, begins in memory, and its bytes from there to its end."""
    first, end = np.lib.array_utils.byte_bounds(x) if x.size else (0, 0)
    return first, end - first


class Fenced(HostLauncher):
    """Runs kernels on copies between fences, with more threads than there are elements.

    Threads far beyond the last element, whose numbers have more than 32 bits, must write nothing at all.
    """

    def __call__(self, kernel: str, elements: int, *arguments: Array | int | float | None) -> None:
        self.launched.append(kernel)
        values = self.values(arguments)
        spans = {i: span(x.host) for i, x in enumerate(arguments) if isinstance(x, Device)}
        # Arguments that are one table are one here.
        fields = {where: field(i, where[1]) for i, where in spans.items()}
        for side in ("first", "last"):
            for (start, size), here in fields.items():
                here.allow(mmap.PROT_READ | mmap.PROT_WRITE)
                ctypes.memmove(getattr(here, side), start, size)
                here.allow(mmap.PROT_READ)
            for i, where in spans.items():
                values[i] = ctypes.c_void_p(getattr(fields[where], side))
            self.run(kernel, FAR, FAR + BLOCK, values)
            for here in fields.values():
                here.allow(mmap.PROT_READ | mmap.PROT_WRITE)
            self.run(kernel, 0, (elements // BLOCK + 1) * BLOCK, values)
        for (start, size), here in fields.items():
            ctypes.memmove(start, here.last, size)
