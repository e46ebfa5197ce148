"""What the commands share: errors, outputs, progress, pipelines, lexicons."""

import logging
import os
import signal
import sys
import threading
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Dict, Iterable, Iterator, List, Optional, Sequence, Tuple

import typer
from spacy.tokens import Doc
from tqdm import tqdm
from wasabi import table
from wasabi.util import locale_escape

from ..corpus.readers import read_docs
from ..corpus.reading_report import CorpusReport
from ..files.file import check_output
from ..files.progress import bar_place
from ..lexicon.entries import Entry, LexiconReport
from ..lexicon.labels import read_label_map
from ..lexicon.readers import read_lexicon
from ..pipeline.loading import blank_pipeline
from ..scale.apply import apply_sharded
from ..scale.engines import Engine
from ..scale.layout import FAILED
from ..scale.worker import Reader

logger = logging.getLogger(__name__)
# Exit status of a program that was stopped by the keyboard, and by SIGTERM.
INTERRUPTED, TERMINATED = 130, 143
# What a command says when it is stopped: outputs are written whole or not at all.
ANEW = "Stopped: nothing is left half-written. The same command begins anew."
GOES_ON = "Stopped: the same command goes on where it was."
RESUMED = "Stopped: the same command with --resume goes on at the last checkpoint."


class Terminated(KeyboardInterrupt):
    """SIGTERM, by which a system stops a program, where it is taken as Ctrl-C is."""


def echo(*lines: str) -> None:
    """Print lines on stdout, with "?" for what the terminal cannot show. Where nobody
    reads them any more, as after `| head`, the work goes on without them."""
    for line in lines:
        try:
            typer.echo(locale_escape(line))
        except BrokenPipeError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def show_error(line: str) -> None:
    """Print on stderr what is wrong."""
    typer.echo(typer.style(locale_escape(f"✘ {line}"), fg="red"), err=True)


def score_table(rows: Dict[str, Dict[str, float]]) -> List[str]:
    """Render shares "p", "r" and "f", by names, in percent, in lines for people."""
    shares = {name: [row["p"], row["r"], row["f"]] for name, row in rows.items()}
    cells = [(x, *(f"{100 * share:.2f}" for share in shares[x])) for x in shares]
    head = ("", "P", "R", "F1")
    text = table(cells, header=head, divider=True, aligns=("l", "r", "r", "r"))
    return text.strip("\n").splitlines()


@contextmanager
def one_line_errors() -> Iterator[None]:
    """Turn a ValueError (so a DataError), an OSError or an ImportError, which names
    what is not installed, into one line on stderr and exit status 1; the traceback is
    logged at debug level."""
    try:
        yield
    except (ValueError, OSError, ImportError) as error:
        logger.debug("The command failed", exc_info=True)
        text = str(error)
        if isinstance(error, OSError) and error.strerror and error.filename is not None:
            text = f"{error.filename}: {error.strerror}"
        show_error(" ".join(text.split()) or type(error).__name__)
        raise typer.Exit(code=1) from error


@contextmanager
def told_when_stopped(line: str) -> Iterator[None]:
    """Say a line where the user or the system stops the program, and end it with the
    status for that."""
    try:
        yield
    except KeyboardInterrupt as error:
        typer.echo(f"\n{locale_escape(line)}", err=True)
        is_terminated = isinstance(error, Terminated)
        raise typer.Exit(TERMINATED if is_terminated else INTERRUPTED) from error


@contextmanager
def terminated_as_interrupted() -> Iterator[None]:
    """Let SIGTERM end what runs as Ctrl-C does, so that it leaves nothing behind; in
    this process, not in those that it starts."""
    process = os.getpid()

    def end(number: int, frame: Any) -> None:
        if os.getpid() == process:
            raise Terminated
        signal.signal(number, signal.SIG_DFL)
        signal.raise_signal(number)

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def check_outputs(
    paths: Iterable[Path], sources: Sequence[Optional[Path]], overwrite: bool
) -> None:
    """RAISES (DataError): If files may not be written, or one of them is a source."""
    for path in paths:
        for source in sources:
            check_output(path, source=source)
        check_output(path, overwrite=overwrite)


def progress_bar(items: Iterable[Any], unit: str = "doc") -> Iterable[Any]:
    """Give the items, with a progress bar on a terminal if that takes long."""
    # Shorter work needs none.
    return tqdm(items, unit=unit, leave=False, delay=1.0, **bar_place())


def apply_on(engine: Engine, reader: Reader, in_: str, out: str, **how: Any) -> None:
    """Find entities in shards, and say what was done. how (Any): Other arguments of
    `apply_sharded`."""

    def bar(outcomes: Iterable[Any], total: int) -> Iterable[Any]:
        return tqdm(outcomes, total=total, unit="shard", **bar_place())

    counts = apply_sharded(reader, in_, out, engine=engine, progress=bar, **how)
    echo(", ".join(f"{counts[key]:,} {key}" for key in counts))
    if counts.get(FAILED):
        folder = f"{out.rstrip('/')}/{FAILED}"
        echo(f"Texts that failed are in {folder}, each with what was wrong")
    echo(f"Wrote {out}")


def load_docs(
    path: Path, lang: str, format: str, **how: Any
) -> Tuple[List[Doc], CorpusReport]:
    """Read annotated text, with a progress bar. how (Any): Other arguments of
    `read_docs`."""
    nlp = blank_pipeline(lang)
    return read_docs(path, nlp, format=format, progress=progress_bar, **how)


def load_lexicon(
    path: Path, format: str, label: Optional[str], map_: Optional[List[str]]
) -> Tuple[List[Entry], LexiconReport]:
    """Read a lexicon with the values of --lexicon-format, --label and --map."""
    label_map = read_label_map(map_) if map_ else None
    return read_lexicon(path, format=format, label=label, label_map=label_map)
