"""What the commands share: the Typer app, errors, output files, progress, pipelines."""

import logging
from contextlib import contextmanager
from typing import Annotated, Any, Dict, Iterable, Iterator, List

import spacy
import typer
from spacy.language import Language
from tqdm import tqdm
from wasabi import table
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


_FORMATS = f"auto (from its name and content), {', '.join(FORMATS)}"
FormatOption = Annotated[
    str, typer.Option("--format", help=f"Format of the input: {_FORMATS}")
]
LangOption = Annotated[
    str, typer.Option("--lang", help="Language whose tokenizer splits texts into words")
]


def echo_lines(lines: Iterable[str]) -> None:
    """Print lines on stdout, with "?" for what the terminal cannot show.

    lines (Iterable[str]): The lines.
    """
    for line in lines:
        typer.echo(locale_escape(line))


def score_table(rows: Dict[str, Dict[str, float]]) -> List[str]:
    """Render precision, recall and F1, in percent, in lines for people.

    rows (Dict[str, Dict[str, float]]): Shares "p", "r" and "f", by names.
    """
    cells = [
        (name, *(f"{100 * row[key]:.2f}" for key in ("p", "r", "f")))
        for name, row in rows.items()
    ]
    head = ("", "P", "R", "F1")
    text = table(cells, header=head, divider=True, aligns=("l", "r", "r", "r"))
    return text.strip("\n").splitlines()


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
