"""``minipinet export``: a saved model for other programs."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from minipinet._words import nearest
from minipinet.cli import common
from minipinet.errors import UsageError

#: Format and what it is.
FORMATS = {
    "state-dict": "the weights as a safetensors file that PyTorch loads by name into a module of Linear layers",
    "onnx": "the model as an ONNX file that scores batches of graphs in onnxruntime and others (minipinet[onnx])",
}

DESCRIPTION = f"""\
Write a saved model for other programs: no data come with it, and minipinet is not needed to use it.

  state-dict  {FORMATS["state-dict"]}
  onnx        {FORMATS["onnx"]}

The names of weights, inputs and outputs are in docs/interop.md."""


def add_parser(commands: Any) -> None:
    """Add ``export`` to the commands."""
    parser: argparse.ArgumentParser = commands.add_parser(
        "export", help="write a saved model for PyTorch or ONNX runtimes", description=DESCRIPTION
    )
    common.add_model_argument(parser)
    parser.add_argument("--format", metavar="NAME", required=True, help=" or ".join(FORMATS))
    parser.add_argument("--output", metavar="FILE", required=True, help="the file to write; replaced if it is there")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace, _: list[str]) -> None:
    """Load the model, write it in the format asked for, and say where."""
    if args.format not in FORMATS:
        hint = nearest(args.format, FORMATS)
        raise UsageError(f"--format: expected {' or '.join(FORMATS)}, got {args.format!r}{hint}")
    common.check_output(args.output)
    output = Path(args.output)
    if output.exists() and output.samefile(common.model_file(args.model)):
        raise UsageError(f"--output: expected another file than the model, got {args.output!r}")
    model = common.load_model(args.model)
    if args.format == "onnx":
        from minipinet.interop.onnx import export_onnx

        export_onnx(model, args.output)
    else:
        from minipinet.interop.state_dict import write_state_dict

        write_state_dict(model, args.output)
    print(f"{args.output}: {model!r} as {args.format}")
