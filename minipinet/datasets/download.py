"""Data sets from the collection's site, kept in a cache folder: whole, checked, or not at all."""

from __future__ import annotations

import errno
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

from minipinet._files import write_whole
from minipinet.datasets.archive import TUFiles, read_bytes, unzip
from minipinet.datasets.tu import TUContent
from minipinet.errors import DataError, DownloadError, UsageError

#: Where the collection lives; it has moved twice, so MINIPINET_DATA_URL or `base_url` can name another address.
BASE_URL = "https://www.chrsmrrs.com/graphkerneldatasets"
#: Largest zip taken, in bytes: several times the largest classification set of the collection.
MAX_BYTES = 2**28
#: Seconds without a byte, and seconds in all, after which a download is given up.
STALL_S = 30.0
TOTAL_S = 1800.0


def cache_dir() -> Path:
    """Return the folder for downloaded zips: MINIPINET_CACHE, or one in the user's cache folder on this system.

    Raises
    ------
    UsageError
        If neither is known.
    """
    chosen = os.environ.get("MINIPINET_CACHE")
    if chosen:
        return Path(chosen)
    try:
        home = Path.home()
    except RuntimeError as error:
        raise UsageError("MINIPINET_CACHE: expected a folder for downloads, since this user has no home") from error
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or home / "AppData" / "Local") / "minipinet" / "cache"
    if sys.platform == "darwin":
        return home / "Library" / "Caches" / "minipinet"
    base = Path(os.environ.get("XDG_CACHE_HOME", ""))
    # The XDG specification: a relative path there is to be ignored.
    return (base if base.is_absolute() else home / ".cache") / "minipinet"


def download_url(name: str, base_url: str | None = None) -> str:
    """Return the address of the zip of a data set.

    Raises
    ------
    UsageError
        If the base address is not one of http or https.

    Examples
    --------
    >>> download_url("NCI1", "http://127.0.0.1:8000/sets/")
    'http://127.0.0.1:8000/sets/NCI1.zip'
    """
    base = base_url or os.environ.get("MINIPINET_DATA_URL") or BASE_URL
    try:
        parts = urlsplit(base)
        possible = parts.scheme in ("http", "https") and bool(parts.netloc)
    except (AttributeError, TypeError, ValueError):  # no string, or an open bracket in it
        possible = False
    if not isinstance(base, str) or not possible:
        raise UsageError(f"base_url: expected an address that starts with http:// or https://, got {base!r:.80}")
    return f"{base.rstrip('/')}/{name}.zip"


def obtain(
    name: str, parse: Callable[[TUFiles], TUContent], base_url: str | None = None, progress: bool = True
) -> TUContent:
    """Get a data set from the cache or, failing that, from the network into the cache.

    Parameters
    ----------
    name : str
        A name of the catalogue.
    parse : callable
        Parses the files and raises DataError unless they are what `name` stands for. Only what passes is kept, and
        what is found in the cache must pass again: a cached file that does not is fetched anew.
    base_url, progress
        As for :func:`minipinet.datasets.load_dataset`.

    Raises
    ------
    DownloadError
        If the set cannot be fetched, is not what it should be, or cannot be kept; the cache is left as it was.
    """
    file = cache_dir() / f"{name}.zip"
    notices: tuple[str, ...] = ()
    if file.exists():
        try:
            return parse(unzip(read_bytes(file), str(file)))
        except (DataError, OSError) as error:
            notices = (f"{error}; fetched anew",)
    url = download_url(name, base_url)
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        if not os.access(file.parent, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    except OSError as error:  # known before the download, not after it
        raise DownloadError(
            f"cache folder {file.parent}: cannot be written: {error.strerror} (MINIPINET_CACHE names another)"
        ) from error
    raw = fetch(url, progress=progress)
    try:
        content = parse(unzip(raw, url))
    except DataError as error:
        raise DownloadError(f"{error}; not kept (MINIPINET_DATA_URL names another address)") from error
    write_whole(file, raw)
    return content._replace(notices=(*content.notices, *notices))


def fetch(
    url: str,
    *,
    max_bytes: int = MAX_BYTES,
    stall_s: float = STALL_S,
    total_s: float = TOTAL_S,
    progress: bool = True,
) -> bytes:
    """Fetch what is at an address into memory.

    Parameters
    ----------
    url : str
        An http or https address; redirects are followed.
    max_bytes : int
        Largest size taken, whether the server tells the size or not.
    stall_s, total_s : float
        Seconds to wait for the next byte, and for all of them.
    progress : bool
        Show a progress bar, if standard error is a terminal.

    Raises
    ------
    DownloadError
        If there is no answer, an error status, too little, too much, or it takes too long.
    """
    # Here, since a set that is at hand should not wait for what only a download needs.
    from http.client import HTTPException
    from urllib.error import HTTPError, URLError
    from urllib.request import Request, urlopen

    from tqdm import tqdm

    deadline = time.monotonic() + total_s
    content = bytearray()
    try:
        with urlopen(Request(url, headers={"User-Agent": "minipinet"}), timeout=stall_s) as response:
            told = response.headers.get("Content-Length")
            expected = int(told) if told else None
            if expected is not None and expected > max_bytes:
                raise ValueError(f"expected at most {max_bytes} bytes, got {expected}")
            name = url.rpartition("/")[2]
            with tqdm(total=expected, unit="B", unit_scale=True, desc=name, disable=None if progress else True) as bar:
                # read1 returns after each piece that arrives; read would wait for a full one.
                while piece := response.read1(2**16):
                    content += piece
                    bar.update(len(piece))
                    if len(content) > max_bytes:
                        raise ValueError(f"expected at most {max_bytes} bytes, got more")
                    if time.monotonic() > deadline:
                        raise TimeoutError(f"not done within {total_s:g} seconds")
    except (OSError, HTTPException, ValueError) as error:
        if isinstance(error, HTTPError):
            error.close()  # it is also the open response
        reason = error.reason if isinstance(error, URLError) and not isinstance(error, HTTPError) else error
        raise DownloadError(f"{url}: cannot be fetched: {' '.join(str(reason).split())}") from error
    if expected is not None and len(content) != expected:
        raise DownloadError(f"{url}: the connection ended after {len(content)} of {expected} bytes; try again")
    return bytes(content)
