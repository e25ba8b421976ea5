"""``minipinet train``: cross-validate on a data set, or train one model on all of it."""

from __future__ import annotations

import argparse
import contextlib
import os
import shlex
import shutil
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from minipinet.cli import common
from minipinet.cli.progress import progress
from minipinet.cli.train_options import add_options, settings_of
from minipinet.errors import CardError, UsageError, notify

if TYPE_CHECKING:
    from minipinet.datasets import Dataset
    from minipinet.fold import FoldResult
    from minipinet.settings import Settings
    from minipinet.train import TrainState

DESCRIPTION = """\
Train on a data set and report how well the model labels graphs it has not seen.

Without options: ten-fold cross-validation on MUTAG (part of the package) with the paper's hyper-parameters. Each graph
is tested once, by a model that never saw it. The run folder keeps run.json (settings, seed, folds, versions, data
checksum, results) and for each fold the model, a checkpoint and a log of its epochs.

--folds 0 tests nothing: it trains one model on all graphs and saves DIR/model.safetensors, the one to use with
`minipinet predict`."""

EPILOG = """\
examples:
  minipinet train
  minipinet train --dataset PTC_MR --epochs 100 --validation 0.1 --patience 20
  minipinet train --folds 0 --run-dir runs/final && minipinet predict runs/final new_graphs.json
  minipinet train --pq 1,0            the plain adjacency matrix in all four layers
  minipinet train --pq 0,1:0,1:1,0:1,0    one pair for each of the layers A0, A1, X0, X1

environment:
  MINIPINET_THREADS=2  two threads for a training, where Numba is installed; the results are the same
  MINIPINET_NUMBA=0    train in NumPy even where Numba is installed; the last bits differ"""


def add_parser(commands: Any) -> None:
    """Add ``train`` to the commands."""
    parser: argparse.ArgumentParser = commands.add_parser(
        "train", help="cross-validate, or train a model", description=DESCRIPTION, epilog=EPILOG
    )
    add_options(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace, arguments: list[str]) -> None:
    """Train, and print what came out."""
    from minipinet.crossval import check_folds_at_once
    from minipinet.datasets import load_dataset
    from minipinet.fast.training import threads_asked
    from minipinet.rundir import as_run_folder
    from minipinet.settings import whole

    settings = settings_of(args)
    threads_asked()  # before a run that is to be overwritten is gone
    if isinstance(args.folds, str) or args.folds < 0 or args.folds == 1:
        raise UsageError(f"folds: expected 2 or more, or 0 for one model on all graphs, got {args.folds!r}")
    check_folds_at_once(args.folds_at_once, 1 if args.jobs is None else whole("jobs", args.jobs), args.device)
    if args.folds == 0 and args.folds_at_once != 1:
        raise UsageError(f"folds_at_once: expected 1 with --folds 0, which has no folds, got {args.folds_at_once}")
    settings = settings.on_this_machine()
    if (args.resume or args.overwrite) and args.run_dir is None:
        flag = "--resume" if args.resume else "--overwrite"
        raise UsageError(f"{flag}: expected --run-dir DIR with it, to know which run is meant")
    if args.run_dir is not None:
        as_run_folder(args.run_dir)
    if args.resume and not (Path(args.run_dir) / "run.json").exists():
        notify(f"{args.run_dir}: there is no run to go on with, so this one begins")
    dataset = load_dataset(args.dataset, data_dir=args.data_dir, features=args.features, progress=not args.quiet)
    with _run_folder(args.run_dir, dataset.name) as folder:
        try:
            text = (_cross_validate if args.folds else _train)(args, dataset, settings, folder)
        except KeyboardInterrupt:
            raise KeyboardInterrupt(f"go on with: {_resume_command(arguments, args.run_dir, folder)}") from None
        except CardError as error:
            text = str(error)
            for name in ("batch_size", "folds_at_once"):
                text = text.replace(name, f"--{name.replace('_', '-')}")
            if (folder / "run.json").exists():  # a run that has kept nothing is gone
                command = _resume_command(arguments, args.run_dir, folder)
                text += f"; the last checkpoint is kept, and --batch-size and --device with it: go on with: {command}"
            raise CardError(text) from error
    if args.json:
        from minipinet._files import read_json

        common.print_json({"run_dir": folder, **read_json(folder / "run.json")})
    else:
        from minipinet.cli.summary import data_text

        print(f"{data_text(dataset)}\n\n{text}\n\nsaved in {folder}")


def _cross_validate(args: argparse.Namespace, dataset: Dataset, settings: Settings, folder: Path) -> str:
    from joblib import cpu_count

    from minipinet.cli.summary import cross_validation_text
    from minipinet.crossval import cross_validate

    at_once = args.folds_at_once if settings.device == "cuda" else 1
    jobs = min(args.jobs or (1 if settings.device == "cuda" else cpu_count()), args.folds)
    done: dict[int, int] = {}  # epochs of each fold
    with progress(args.folds * settings.epochs, "epoch", quiet=args.quiet) as show:

        def on_epoch(fold: int, state: TrainState) -> None:
            done[fold] = state.epoch
            show(sum(done.values()), f"fold {fold}, loss {state.history[-1].loss:.3f}")

        def on_fold(fold: FoldResult) -> None:
            done[fold.fold] = settings.epochs
            show(sum(done.values()), f"fold {fold.fold}, accuracy {fold.accuracy:.3f}")

        result = cross_validate(
            dataset,
            settings,
            args.folds,
            jobs=jobs,
            folds_at_once=at_once,
            run_dir=folder,
            resume=args.resume,
            overwrite=args.overwrite,
            on_fold=on_fold,
            on_epoch=on_epoch if jobs == 1 else None,
        )
    return cross_validation_text(result)


def _train(args: argparse.Namespace, dataset: Dataset, settings: Settings, folder: Path) -> str:
    from minipinet.cli.summary import training_text
    from minipinet.runs import train_pinet

    with progress(settings.epochs, "epoch", quiet=args.quiet) as show:
        trained = train_pinet(
            dataset,
            settings,
            run_dir=folder,
            resume=args.resume,
            overwrite=args.overwrite,
            on_epoch=lambda state: show(state.epoch, f"loss {state.history[-1].loss:.3f}"),
        )
    return training_text(trained, dataset)


@contextlib.contextmanager
def _run_folder(asked: str | None, name: str) -> Iterator[Path]:
    """Give the folder asked for, or a new one, which goes again if nothing is begun in it."""
    if asked is not None:
        yield Path(asked)
        return
    runs = Path("runs")
    found = runs.exists()
    folder = _new_folder(runs / f"{name}-{time.strftime('%Y%m%d-%H%M%S')}")
    try:
        yield folder
    finally:
        with contextlib.suppress(OSError):  # it is not empty
            folder.rmdir()
            if not found:
                runs.rmdir()


def _new_folder(wanted: Path) -> Path:
    """Make the folder `wanted`, or with a number after its name when another run has just made that one."""
    wanted.parent.mkdir(parents=True, exist_ok=True)
    number = 1
    while True:
        folder = wanted if number == 1 else wanted.with_name(f"{wanted.name}-{number}")
        try:
            folder.mkdir()
        except FileExistsError:
            number += 1
        else:
            return folder


def _resume_command(arguments: list[str], run_dir: str | None, folder: Path) -> str:
    """Return the command that goes on with a run that was begun with these arguments."""
    kept = [word for word in arguments if word not in ("--resume", "--overwrite")]
    where = [] if run_dir is not None else ["--run-dir", os.fspath(folder)]
    return shlex.join([*_program(), *kept, *where, "--resume"])


def _program() -> list[str]:
    """Return the words that call this program again, from wherever it was installed."""
    called = sys.argv[0]
    if Path(called).parts[-2:] == ("minipinet", "__main__.py"):
        return [sys.executable, "-m", "minipinet"]
    found = shutil.which("minipinet")
    if Path(called).stem != "minipinet" or (found is not None and Path(found).resolve() == Path(called).resolve()):
        return ["minipinet"]
    return [called]
