"""Progress on standard error: a bar on a terminal, a line now and then elsewhere, so that logs stay short."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator

#: Lines in all where there is no terminal.
LINES = 10


@contextlib.contextmanager
def progress(total: int, unit: str, *, quiet: bool) -> Iterator[Callable[[int, str], None]]:
    """Give a function to call with how many units are done, never fewer than before, and a word on the last of them.

    Examples
    --------
    >>> with progress(200, "epoch", quiet=True) as show:
    ...     show(1, "loss 0.69")
    """
    if quiet:
        yield lambda done, note: None
    elif sys.stderr.isatty():
        from tqdm import tqdm

        with tqdm(total=total, unit=unit, file=sys.stderr) as bar:

            def move(done: int, note: str) -> None:
                bar.set_postfix_str(note, refresh=False)
                bar.update(done - bar.n)

            yield move
    else:
        told = 0

        def tell(done: int, note: str) -> None:
            nonlocal told
            if LINES * done // total > told:
                told = LINES * done // total
                print(f"{done} of {total} {unit}s: {note}", file=sys.stderr, flush=True)

        yield tell
