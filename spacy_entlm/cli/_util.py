"""What the commands share: the Typer app, errors, output files, progress, pipelines."""

import logging
import os
import secrets
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, Iterable, Iterator, Optional, Sequence

import spacy
import typer
from spacy.language import Language
from tqdm import tqdm
from wasabi.util import locale_escape

from ..corpus.errors import CorpusError
from ..corpus.formats import FORMATS

logger = logging.getLogger(__name__)

HELP = "Few-shot named entity recognition with a masked language model (EntLM)."

# Shorter work needs no progress bar.
_PROGRESS_DELAY_SECONDS = 1.0

entlm_cli = typer.Typer(
    name="entlm", help=HELP, no_args_is_help=True, rich_markup_mode=None
)

FormatOption = Annotated[
    str,
    typer.Option(
        "--format",
        help=f"Format of the input: auto (from its name and content), "
        f"{', '.join(FORMATS)}",
    ),
]
OutputArgument = Annotated[
    Path,
    typer.Argument(
        metavar="OUT",
        help="File to write: .spacy, or .jsonl for words with BIO tags",
        show_default=False,
    ),
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


@contextmanager
def one_line_errors() -> Iterator[None]:
    """Turn errors about input and files into one line on stderr and exit status 1.

    The traceback is logged at debug level.

    RAISES (typer.Exit): In place of a ValueError (so of a CorpusError) or an OSError.
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


def check_output(path: Path, *, source: Optional[Path] = None) -> None:
    """Check before long work that an output file may be written.

    path (Path): The output file.
    source (Optional[Path]): The input, which must not be overwritten.
    RAISES (CorpusError): If path is a folder, no regular file, or the source.
    """
    if path.is_dir():
        raise CorpusError("is a folder: name a file for the output", path=path)
    if path.exists() and not path.is_file():
        raise CorpusError("is no regular file: choose another output", path=path)
    if (
        source is not None
        and source.exists()
        and path.exists()
        and path.samefile(source)
    ):
        raise CorpusError("is the input too: choose another output", path=path)


@contextmanager
def atomic_output(path: Path, *, source: Optional[Path] = None) -> Iterator[Path]:
    """Give a temporary path to write to, and rename it when all went well.

    path (Path): The output file; missing parent folders are made.
    source (Optional[Path]): The input, which must not be overwritten.
    YIELDS (Path): A path in the same folder with the same extension.
    RAISES (CorpusError): If path is a folder, no regular file, or the source.
    """
    check_output(path, source=source)
    # A link stays a link: the file that it points to is replaced.
    target = path.resolve()
    target.parent.mkdir(parents=True, exist_ok=True)
    # tempfile would make a file that only its owner may read.
    temporary = target.with_name(
        f".{target.stem}.{secrets.token_hex(4)}{target.suffix}"
    )
    try:
        yield temporary
        os.replace(temporary, target)
    finally:
        temporary.unlink(missing_ok=True)


def progress_bar(items: Sequence[Any], unit: str = "doc") -> Iterable[Any]:
    """Show a progress bar on a terminal if going through the items takes long.

    items (Sequence[Any]): What is gone through.
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
    RAISES (CorpusError): If spaCy lacks the language, or it needs another package.
    """
    try:
        return spacy.blank(lang)
    except ImportError as error:
        raise CorpusError(
            f"cannot make a pipeline for --lang {lang}: {error}"
        ) from error
