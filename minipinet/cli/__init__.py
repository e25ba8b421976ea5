"""The command ``minipinet``: one file for each of its commands.

Results go to standard output; the progress bar, notes and errors go to standard error. Exit status: 0 for success,
2 for bad use, 1 for a failure, 130 after Ctrl-C. The files of this folder import NumPy and the rest of the package
inside the functions that need them, so that ``minipinet --help`` answers at once.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
import warnings
from collections.abc import Iterable, Sequence
from typing import Any, NoReturn, TextIO

import minipinet
from minipinet._words import nearest
from minipinet.cli import data, evaluate, experiment, export, predict, report, results, train, verify
from minipinet.errors import MinipinetError, Notice, UsageError

DESCRIPTION = """\
PiNet, a graph classifier whose answer does not depend on the order of the nodes, with hand-written gradients.
`minipinet train` alone repeats the paper's ten-fold cross-validation on MUTAG, which comes with the program."""

EPILOG = """\
Exit status: 0 success, 2 bad use, 1 failure (data, download, diverged training, card, full disk), 130 interrupted.
Results go to standard output, everything else to standard error; with --json standard output is one JSON document."""


class _Parser(argparse.ArgumentParser):
    """An argument parser whose complaints are UsageErrors, printed by `main` as one line like any other."""

    _commands: Any = None

    def __init__(self, **options: Any) -> None:
        options.setdefault("formatter_class", argparse.RawDescriptionHelpFormatter)
        super().__init__(allow_abbrev=False, **options)

    def add_subparsers(self, **options: Any) -> Any:
        self._commands = super().add_subparsers(**options)
        return self._commands

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse, after refusing what this parser, and no sub-command of it, is to understand."""
        for word in args:
            option = word.partition("=")[0]
            if word == "--":
                break
            if self._commands is not None and not word.startswith("-"):
                if word not in self._commands.choices:
                    self.error(f"unknown command {word!r}{nearest(word, self._commands.choices)}")
                break
            if word.startswith("--") and option not in self._option_string_actions:
                self.error(f"unknown option {option}{nearest(option, self._option_string_actions)}")
        namespace, rest = super().parse_known_args(args, namespace)
        if rest:
            self.error(f"unexpected: {' '.join(rest)}")
        return namespace, rest

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message.removeprefix('argument ')} (see {self.prog} --help)")


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of the whole command line."""
    parser = _Parser(prog="minipinet", description=DESCRIPTION, epilog=EPILOG)
    parser.add_argument("--version", action=_Version)
    commands = parser.add_subparsers(title="commands", dest="command", metavar="COMMAND", required=True)
    for module in (train, report, evaluate, predict, export, data, verify, experiment, results):
        module.add_parser(commands)
    return parser


class _Version(argparse.Action):
    """Print the installed version; looking it up takes longer than parsing, so only when it is asked for."""

    def __init__(self, option_strings: Sequence[str], dest: str) -> None:
        super().__init__(option_strings, argparse.SUPPRESS, nargs=0, help="show the version and leave")

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> NoReturn:
        try:
            print(f"minipinet {minipinet.__version__}")
        except ImportError:
            raise MinipinetError("version: it is not known, because the package is not installed") from None
        parser.exit()


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status.

    Parameters
    ----------
    argv
        The arguments after the program's name; None takes them from ``sys.argv``.

    Returns
    -------
    int
        0 for success, 2 for bad use (`UsageError`), 1 for a failure (any other `MinipinetError`, `OSError`), 130
        after an interrupt, 141 when the reader of the output went away.

    Raises
    ------
    SystemExit
        With status 0, from ``--help`` and ``--version``.

    Examples
    --------
    >>> main(["train", "--folds", "1", "--quiet"])  # prints "minipinet: error: folds: ..." on standard error
    2
    """
    arguments = list(sys.argv[1:] if argv is None else argv)
    _open_closed_streams()
    for stream in (sys.stdout, sys.stderr):
        # A terminal that cannot show "±" must not cost the results of a long run.
        if reconfigure := getattr(stream, "reconfigure", None):
            reconfigure(errors="backslashreplace")
    try:
        with warnings.catch_warnings():
            _show_notices()
            args = build_parser().parse_args(arguments)
            args.run(args, arguments)
            sys.stdout.flush()
    except KeyboardInterrupt as stop:
        return _fail("; ".join(["interrupted", *map(str, stop.args)]), 130)
    except UsageError as error:
        return _fail(f"error: {_by_option(str(error), arguments)}", 2, getattr(error, "__notes__", ()))
    except MinipinetError as error:
        return _fail(f"error: {error}", 1)
    except MemoryError as error:
        wanted = f" ({error})" if str(error) else ""
        return _fail(f"error: not enough memory{wanted}; smaller layers, batches or fewer jobs need less", 1)
    except BrokenPipeError:
        _drop_unwritable(sys.stdout)
        return 141  # what a shell reports for a program that a closed pipe ended
    except OSError as error:
        _drop_unwritable(sys.stdout)
        place = f"{error.filename}: " if error.filename else ""
        return _fail(f"error: {place}{error.strerror or error}", 1)
    return 0


def _fail(message: str, status: int, notes: Iterable[str] = ()) -> int:
    """Print one line on standard error, and one for each note, and return `status`."""
    with contextlib.suppress(OSError):
        print("minipinet:", " ".join(message.splitlines()), file=sys.stderr)
        print(*notes, sep="\n", end="\n" if notes else "", file=sys.stderr, flush=True)
    return status


def _by_option(message: str, arguments: Sequence[str]) -> str:
    """Return the message with the name of an argument as the user gave it: ``--batch-size`` for ``batch_size``."""
    name, colon, rest = message.partition(": ")
    option = "--" + name.replace("_", "-")
    given = any(word.partition("=")[0] == option for word in arguments)
    return option + colon + rest if given else message


def _show_notices() -> None:
    """Show each `Notice` as a line on standard error; other warnings keep Python's form."""
    plain = warnings.showwarning

    def show(message: Warning | str, category: type[Warning], *rest: Any, **options: Any) -> None:
        if issubclass(category, Notice):
            print(f"note: {message}", file=sys.stderr, flush=True)
        else:
            plain(message, category, *rest, **options)

    warnings.showwarning = show
    warnings.simplefilter("always", Notice)


def _open_closed_streams() -> None:
    """Lead the standard streams that the caller closed to the null device, as if it had named that.

    Python has None in their place, and ``print(file=None)`` means standard output. Their numbers are taken too, or the
    next file that is opened would be what other code knows as standard output or error.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            number = os.open(os.devnull, os.O_RDWR)  # the lowest that is free, so theirs
            os.set_inheritable(number, True)
            setattr(sys, name, open(number, mode, closefd=False))  # noqa: SIM115


def _drop_unwritable(stream: TextIO) -> None:
    """Send what `stream` holds nowhere if it cannot be written: Python flushes once more on leaving."""
    try:
        stream.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
