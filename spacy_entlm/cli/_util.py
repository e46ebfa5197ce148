"""What the commands share: the Typer app, errors, output files, progress, pipelines."""

import logging
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, Iterable, Iterator, Optional

import spacy
import typer
from spacy.language import Language
from tqdm import tqdm
from wasabi.util import locale_escape

from ..corpus.formats import FORMATS
from ..files.errors import DataError

logger = logging.getLogger(__name__)

HELP = "Few-shot named entity recognition with a masked language model (EntLM)."

# Shorter work needs no progress bar.
_PROGRESS_DELAY_SECONDS = 1.0

entlm_cli = typer.Typer(
    name="entlm", help=HELP, no_args_is_help=True, rich_markup_mode=None
)


def arg(metavar: str, help: str) -> Any:
    """A positional argument."""
    return typer.Argument(metavar=metavar, help=help, show_default=False)


def opt(name: str, help: str, **settings: Any) -> Any:
    """An option."""
    return typer.Option(name, help=help, **settings)


_FORMATS = (
    f"Format of the input: auto (from its name and content), {', '.join(FORMATS)}"
)
FormatOption = Annotated[str, opt("--format", _FORMATS)]
LangOption = Annotated[
    str, opt("--lang", "Language whose tokenizer splits texts into words")
]
GpuOption = Annotated[int, opt("--gpu-id", "GPU, or -1 for the CPU")]
OverwriteOption = Annotated[
    bool, opt("--overwrite", "Replace what an earlier run has written")
]


def echo_lines(lines: Iterable[str]) -> None:
    """Print lines on stdout, with "?" for what the terminal cannot show.

    lines (Iterable[str]): The lines.
    """
    for line in lines:
        typer.echo(locale_escape(line))


@contextmanager
def one_line_errors() -> Iterator[None]:
    """Turn errors about input and files into one line on stderr and exit status 1.

    The traceback is logged at debug level.

    RAISES (typer.Exit): In place of a ValueError (so of a DataError) or an OSError.
    """
    try:
        yield
    except (ValueError, OSError) as error:
        logger.debug("The command failed", exc_info=True)
        line = locale_escape(f"✘ {_one_line(error)}")
        typer.echo(typer.style(line, fg="red"), err=True)
        raise typer.Exit(code=1) from error


def _one_line(error: Exception) -> str:
    text = str(error)
    if isinstance(error, OSError) and error.strerror and error.filename is not None:
        text = f"{error.filename}: {error.strerror}"
    return " ".join(text.split()) or type(error).__name__


def progress_bar(items: Iterable[Any], unit: str = "doc") -> Iterable[Any]:
    """Show a progress bar on a terminal if going through the items takes long.

    items (Iterable[Any]): What is gone through.
    unit (str): Name of one item.
    RETURNS (Iterable[Any]): The same items.
    """
    # disable=None: no bar where stderr is not a terminal.
    return tqdm(
        items, unit=unit, leave=False, disable=None, delay=_PROGRESS_DELAY_SECONDS
    )


def check_data_folder(folder: Path) -> None:
    """RAISES (DataError): If there is no such folder."""
    if not folder.is_dir():
        hint = "is no folder with data: check the path (--vars.data in the project)"
        raise DataError(hint, path=folder)


def check_output_folder(
    folder: Path, *, source: Optional[Path] = None, overwrite: bool
) -> None:
    """Check before long work that an output folder may be written.

    folder (Path): The folder.
    source (Optional[Path]): The input, which must not be the same folder.
    overwrite (bool): Whether files that an earlier run wrote may be replaced.
    RAISES (DataError): If it may not.
    """
    if not folder.exists():
        return
    if not folder.is_dir():
        raise DataError("is a file: name a folder for the output", path=folder)
    if source is not None and source.exists() and folder.samefile(source):
        raise DataError("is the input too: choose another output", path=folder)
    if any(folder.iterdir()) and not overwrite:
        raise DataError(
            "is not empty: choose another folder, or replace what an earlier run wrote "
            "there with --overwrite",
            path=folder,
        )


def blank_pipeline(lang: str) -> Language:
    """Make an empty pipeline.

    lang (str): Language code, eg "en".
    RETURNS (Language): With the tokenizer of that language.
    RAISES (DataError): If spaCy lacks the language, or it needs another package.
    """
    try:
        return spacy.blank(lang)
    except ImportError as error:
        raise DataError(f"cannot make a pipeline for --lang {lang}: {error}") from error
