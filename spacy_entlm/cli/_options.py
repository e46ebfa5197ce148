"""Short forms for the arguments and options of commands."""

from typing import Annotated, Any, Callable

import typer

from ._util import entlm_cli, one_line_errors


def command(name: str) -> Callable:
    """Make a function a command whose errors are one line."""
    return lambda function: entlm_cli.command(name)(one_line_errors()(function))


def arg(metavar: str, help: str) -> Any:
    """A positional argument."""
    return typer.Argument(metavar=metavar, help=help, show_default=False)


def opt(name: str, help: str) -> Any:
    """An option."""
    return typer.Option(name, help=help)


GpuOption = Annotated[int, opt("--gpu-id", "GPU, or -1 for the CPU")]
OverwriteOption = Annotated[bool, opt("--overwrite", "Replace the output if it exists")]
