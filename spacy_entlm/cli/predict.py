"""The command `predict`: entities of plain text, to a file."""

import os
from collections import Counter
from contextlib import contextmanager
from functools import partial
from itertools import islice
from pathlib import Path
from typing import IO, Any, Callable, Dict, Iterable, Iterator, Optional, Tuple

import spacy
from spacy.tokens import Doc, DocBin
from tqdm import tqdm

from ..corpus.texts import check_text_files, numbered_texts, text_of
from ..files.errors import DataError
from ..files.file import check_extension, check_output, lock_file, sync, write_file
from ..files.json_lines import dump_line, load_object, read_objects
from ..files.text import unpacked_extension
from ..pipeline.confidence import entities_of, found_spans
from ..pipeline.loading import load_pipeline
from ._options import GPU_ID, arg, command, flag, opt
from ._util import echo

JSONL, SPACY, HTML = ".jsonl", ".spacy", ".html"
# Beside OUT: what a run that was ended has found so far.
UNFINISHED = ".unfinished"
_IN = "Lines of text (.txt) or JSON lines (.jsonl), packed (.xz .gz) or not, or .spacy"

Entry = Dict[str, Any]


@command("predict")
def predict_cli(
    pipeline: str = arg("PIPELINE", "Folder or package of a pipeline"),
    in_: Path = arg("IN", _IN),
    out: Path = arg("OUT", ".jsonl, .spacy, or .html for a page to look at"),
    threshold: Optional[float] = opt(None, "Drop entities of less confidence"),
    batch_size: int = opt(1000, "Texts at once", min=1),
    resume: bool = flag("--resume", "Go on where a run ended (.jsonl)"),
    overwrite: bool = flag("--overwrite", "Replace OUT, or an unfinished run"),
    gpu_id: int = GPU_ID,
) -> None:
    """Find the entities of texts and write them with their confidences.

    A JSON line has the text, "spans" with start, end, label and score, and all else
    that its line of the input has; `convert` reads it.

    \b
    Example:
      python -m spacy entlm predict my_model texts.txt.gz entities.jsonl
    """
    check_text_files([in_])
    check_extension(out, (JSONL, SPACY, HTML))
    check_output(out, source=in_, overwrite=overwrite)
    if gpu_id >= 0:
        spacy.require_gpu(gpu_id)
    nlp, counts = load_pipeline(pipeline, threshold), Counter[str]()
    entries = partial(_entries, in_, nlp.max_length)

    def found(n_done: int = 0) -> Iterator[Tuple[Doc, Entry]]:
        """Texts with their entities, all but the first, and the objects of IN."""
        counts["before"] = n_done
        texts = islice(entries(), n_done, None)
        stream = nlp.pipe(texts, as_tuples=True, batch_size=batch_size)
        for doc, entry in tqdm(stream, unit="text", initial=n_done, disable=None):
            counts.update(texts=1, entities=len(found_spans(doc)))
            yield doc, entry

    if out.suffix.lower() == JSONL:
        with _append(out, in_, entries, resume, overwrite) as (file_, n_done):
            for doc, entry in found(n_done):
                file_.write(dump_line(entities_of(doc, entry)))
    else:
        with write_file(out, overwrite=overwrite) as temporary:
            _write_whole(found(), temporary, in_.name)
    before = (
        f", after {n:,} texts of the earlier run" if (n := counts["before"]) else ""
    )
    found_now = f"{counts['texts']:,} texts, {counts['entities']:,} entities"
    echo(found_now + before, f"Wrote {out}")


def _write_whole(found: Iterable[Tuple[Doc, Entry]], path: Path, title: str) -> None:
    """Write a .spacy file, or a page."""
    if path.suffix.lower() == SPACY:
        docs = (doc for doc, _ in found)
        DocBin(docs=docs, store_user_data=True).to_disk(path)
        return
    from ..evaluation.pages import predictions_page

    page = predictions_page((entities_of(doc, entry) for doc, entry in found), title)
    path.write_text(page, encoding="utf8")


def _entries(path: Path, max_length: int) -> Iterator[Tuple[str, Entry]]:
    """The texts of a file that are not blank, and the objects that they come from.
    RAISES (DataError): If the file cannot be read, or a text is too long for spaCy."""
    if unpacked_extension(path) == JSONL:
        objects = read_objects(path, form='{"text": "..."}')
        texts: Iterator[Tuple[int, str, Entry]] = (
            (n, text_of(entry, path, n), entry) for n, entry in objects
        )
    else:
        lines = numbered_texts(path, longest=None)
        texts = ((n, text.strip(), {}) for n, text in lines)
    for number, text, entry in texts:
        if len(text) > max_length:
            problem = f"a text of {len(text):,} characters, of which spaCy reads "
            problem += f"{max_length:,}: split it"
            raise DataError(problem, path=path, line=number)
        if text.strip():
            yield text, entry


@contextmanager
def _append(
    out: Path,
    in_: Path,
    entries: Callable[[], Iterator[Tuple[str, Entry]]],
    resume: bool,
    overwrite: bool,
) -> Iterator[Tuple[IO[bytes], int]]:
    """Give a file to append to, which takes the place of OUT at the end, and how many
    texts it has already."""
    part = out.with_name(out.name + UNFINISHED)
    lock = part.with_name(f".{part.name}.lock")
    with lock_file(lock, out):
        # Another run may have come to its end while this one got ready.
        check_output(out, source=in_, overwrite=overwrite)
        if part.exists() and not (resume or overwrite):
            hint = "go on with --resume, or begin again with --overwrite"
            raise DataError(f"holds an unfinished run: {hint}", path=part)
        if not resume:
            part.unlink(missing_ok=True)
        n_done = _check_unfinished(part, entries()) if part.exists() else 0
        try:
            with part.open("ab") as file_:
                yield file_, n_done
        except BaseException:
            if not part.stat().st_size:  # nothing to go on with
                part.unlink()
                lock.unlink(missing_ok=True)
            else:
                told = f"What was read is in {part}: the same command goes on with"
                echo(f"{told} --resume")
            raise
        sync(part)
        part.replace(out)
    lock.unlink(missing_ok=True)


def _check_unfinished(part: Path, texts: Iterator[Tuple[str, Entry]]) -> int:
    """How many texts are done; a line that is not whole is taken away. RAISES
    (DataError): If they are not the first texts of the input."""
    n_done, size, last = 0, 0, b""
    with part.open("rb") as file_:
        for line in file_:
            if line.endswith(b"\n"):
                n_done, size, last = n_done + 1, size + len(line), line
    if n_done:
        text = load_object(last, part, n_done, form="text").get("text")
        if text != next(islice(texts, n_done - 1, None), ("", {}))[0]:
            hint = "was written for another input: begin again with --overwrite"
            raise DataError(hint, path=part, line=n_done)
    os.truncate(part, size)
    return n_done
