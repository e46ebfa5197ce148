"""The entities of the texts of one file, written to one file."""

import os
from collections import Counter
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import IO, Any, Callable, Dict, Iterable, Iterator, Optional, Tuple

from spacy.language import Language
from spacy.tokens import Doc
from spacy.util import minibatch
from thinc.api import compounding
from tqdm import tqdm

from ..corpus.forms.inline import has_marks
from ..corpus.texts import (
    LINE,
    TEXT_EXTENSIONS,
    check_text_files,
    text_entries,
    text_of,
)
from ..files.errors import DataError
from ..files.file import (
    check_output,
    lock_file,
    sync,
    told_if_full,
    write_file,
)
from ..files.json_lines import dump_line, load_object
from ..files.progress import bar_place
from ..files.text import check_file, unpacked_extension
from ..pipeline.confidence import entities_of, found_spans
from . import parquet
from .places import Place
from .writing import open_writer

JSONL, SPACY, HTML = ".jsonl", ".spacy", ".html"
OUT_EXTENSIONS = (JSONL, SPACY, parquet.EXTENSION, HTML)
# Beside OUT: what a run that was ended has found so far.
UNFINISHED = ".unfinished"
# Texts that are read before the first one is shown, and in one go later.
FIRST_BATCH, GROWTH = 8, 2.0

Entry = Dict[str, Any]


def check_files(in_: Path, out: Path, overwrite: bool) -> None:
    """RAISES (DataError): If there is no such input, its form is not known, or the
    output may not be written."""
    if is_parquet(in_):
        check_file(in_)
    else:
        check_text_files([in_])
    check_output(out, source=in_, overwrite=overwrite)


def predict_file(
    nlp: Language,
    in_: Path,
    out: Path,
    *,
    batch_size: int,
    resume: bool = False,
    overwrite: bool = False,
    tell: Callable[[str], None] = print,
) -> "Counter[str]":
    """Find the entities of the texts of a file, with a progress bar, and write them.

    nlp (Language): The pipeline. in_, out (Path): As `check_files` allows them; out
        ends in one of OUT_EXTENSIONS.
    batch_size (int): Texts that are read together.
    resume (bool): Whether to go on where a run ended; of JSON lines.
    tell (Callable): Gets a line on how to go on, if the run is ended.
    RETURNS (Counter[str]): The "texts", the "blank" ones among them, the "entities",
        the texts that were done "before", and lines of text with "marked" words.
    RAISES (DataError): If a file cannot be read or written, or a text is too long.
    """
    counts = Counter[str]()

    def found(n_done: int = 0) -> Iterator[Tuple[Doc, Entry]]:
        """Texts with their entities, all but the first, and what IN says of each."""
        counts["before"] = n_done
        entries = islice(_entries(in_, nlp.max_length), n_done, None)
        stream = _predicted(nlp, entries, batch_size)
        for doc, entry in tqdm(stream, unit="text", initial=n_done, **bar_place()):
            is_blank = not doc.text.strip()
            counts.update(texts=1, blank=is_blank, entities=len(found_spans(doc)))
            counts["marked"] += LINE in entry and has_marks(doc.text)
            yield doc, entry

    extension = out.suffix.lower()
    if extension == JSONL:
        part = _Unfinished(out, in_, lambda: _entries(in_, nlp.max_length), tell)
        with part.append(resume, overwrite) as (file_, n_done):
            for doc, entry in found(n_done):
                file_.write(dump_line(entities_of(doc, entry)))
        return counts
    with write_file(out, overwrite=overwrite) as temporary:
        if extension == HTML:
            _write_page(found(), temporary, in_.name)
            return counts
        schema = parquet.columns(Place(str(in_))) if is_parquet(in_) else None
        with open_writer(temporary, extension[1:], schema) as writer:
            for doc, entry in found():
                writer.write(writer.row(doc, entry))
    return counts


def is_parquet(path: Path) -> bool:
    return path.suffix.lower() == parquet.EXTENSION


def _predicted(
    nlp: Language, texts: Iterator[Tuple[str, Entry]], batch_size: int
) -> Iterator[Tuple[Doc, Entry]]:
    """Docs with their objects: in batches that grow, so that the first texts are there
    soon."""
    sizes = compounding(min(FIRST_BATCH, batch_size), batch_size, GROWTH)
    for batch in minibatch(texts, sizes):
        yield from nlp.pipe(batch, as_tuples=True, batch_size=batch_size)


def _write_page(found: Iterable[Tuple[Doc, Entry]], path: Path, title: str) -> None:
    from ..evaluation.pages import predictions_page

    filled = (pair for pair in found if pair[0].text.strip())
    page = predictions_page((entities_of(doc, entry) for doc, entry in filled), title)
    path.write_text(page, encoding="utf8")


def _entries(path: Path, max_length: int) -> Iterator[Tuple[str, Entry]]:
    """The texts of a file, blank ones too, and what the file says of each.
    RAISES (DataError): If the file cannot be read, or a text is too long for spaCy."""
    is_lines = unpacked_extension(path) == TEXT_EXTENSIONS[0]
    for number, text, entry in _numbered_entries(path):
        text = text.strip() if is_lines else text
        if len(text) > max_length:
            problem = f"a text of {len(text):,} characters, of which spaCy reads "
            problem += f"{max_length:,}: split it"
            raise DataError(problem, path=path, line=number)
        yield text, entry


def _numbered_entries(path: Path) -> Iterator[Tuple[int, str, Entry]]:
    if not is_parquet(path):
        yield from text_entries(path, longest=None)
        return
    for number, row in enumerate(parquet.read_rows(Place(str(path))), 1):
        yield number, text_of(row, path, number), row


class _Unfinished:
    """JSON lines that take the place of OUT when all are there; until then they lie
    beside it, and another run may go on with them.

    entries (Callable): Gives the texts of IN. tell (Callable): Gets how to go on.
    """

    def __init__(
        self,
        out: Path,
        in_: Path,
        entries: Callable[[], Iterator[Tuple[str, Entry]]],
        tell: Callable[[str], None],
    ) -> None:
        self.out, self.in_, self.entries, self.tell = out, in_, entries, tell
        self.path = out.with_name(out.name + UNFINISHED)

    @contextmanager
    def append(self, resume: bool, overwrite: bool) -> Iterator[Tuple[IO[bytes], int]]:
        """Give the file to append to, and how many texts it has already."""
        part = self.path
        lock = part.with_name(f".{part.name}.lock")
        with lock_file(lock, self.out):
            # Another run may have come to its end while this one got ready.
            check_output(self.out, source=self.in_, overwrite=overwrite)
            if part.exists() and not (resume or overwrite):
                hint = "go on with --resume, or begin again with --overwrite"
                raise DataError(f"holds an unfinished run: {hint}", path=part)
            if not resume:
                part.unlink(missing_ok=True)
            n_done = self._check() if part.exists() else 0
            try:
                with told_if_full(part), part.open("ab") as file_:
                    yield file_, n_done
            except BaseException:
                if not part.stat().st_size:  # nothing to go on with
                    part.unlink()
                    lock.unlink(missing_ok=True)
                else:
                    told = f"What was read is in {part}: the same command goes on with"
                    self.tell(f"{told} --resume")
                raise
            sync(part)
            part.replace(self.out)
        lock.unlink(missing_ok=True)

    def _check(self) -> int:
        """How many texts are done; a line that is not whole is taken away. RAISES
        (DataError): If they are not the first texts of the input."""
        n_done, size, last = 0, 0, b""
        with self.path.open("rb") as file_:
            for line in file_:
                if line.endswith(b"\n"):
                    n_done, size, last = n_done + 1, size + len(line), line
        if n_done:
            text = load_object(last, self.path, n_done, form="text").get("text")
            expected: Optional[Tuple[str, Entry]] = next(
                islice(self.entries(), n_done - 1, None), None
            )
            if expected is None or text != expected[0]:
                hint = "was written for another input: begin again with --overwrite"
                raise DataError(hint, path=self.path, line=n_done)
        os.truncate(self.path, size)
        return n_done
