"""The command `predict`: entities of plain text, to a file."""

import os
from collections import Counter
from contextlib import contextmanager
from functools import partial
from itertools import islice
from pathlib import Path
from typing import (
    IO,
    Any,
    Callable,
    Dict,
    Iterable,
    Iterator,
    List,
    NamedTuple,
    Optional,
    Tuple,
)

import spacy
from spacy.language import Language
from spacy.tokens import Doc, DocBin
from spacy.util import minibatch
from thinc.api import compounding
from tqdm import tqdm

from ..backbones.names import ENTLM_BASE
from ..corpus.texts import check_text_files, note_entry, text_entries
from ..files.errors import DataError
from ..files.file import check_extension, check_output, lock_file, sync, write_file
from ..files.json_lines import dump_line, load_object
from ..files.progress import bar_place
from ..files.text import unpacked_extension
from ..pipeline.confidence import entities_of, found_spans
from ..pipeline.loading import load_pipeline, set_threshold
from ._classes import LABELS_HELP, lines_of_reading, pipeline_of_names, read_classes
from ._options import GPU_ID, arg, command, flag, opt
from ._util import echo

JSONL, SPACY, HTML = ".jsonl", ".spacy", ".html"
# Beside OUT: what a run that was ended has found so far.
UNFINISHED = ".unfinished"
# Texts that are read before the first one is shown, and in one go later.
FIRST_BATCH, GROWTH = 8, 2.0
DEFAULT_LANG = "en"
_PATHS = (
    "PIPELINE: folder or package; left out with --labels. IN: lines of text (.txt) or "
    "JSON lines (.jsonl), packed (.xz .gz) or not, or .spacy. OUT: .jsonl, .spacy, or "
    ".html for a page to look at"
)
_LANG = "Language whose tokenizer splits texts into words; with --labels"
_BACKBONE = "Masked LM that reads the names, a folder or a hub name; with --labels"

Entry = Dict[str, Any]


class Asked(NamedTuple):
    """What finds entities: a pipeline, by its name, or classes; and the files."""

    pipeline: Optional[str]
    labels: Optional[str]
    in_: Path
    out: Path


@command("predict")
def predict_cli(
    paths: List[str] = arg("[PIPELINE] IN OUT", _PATHS),
    labels: Optional[str] = opt(None, f"Predict without a pipeline. {LABELS_HELP}"),
    lang: Optional[str] = opt(None, _LANG, show_default=DEFAULT_LANG),
    backbone: Optional[str] = opt(None, _BACKBONE, show_default=ENTLM_BASE),
    threshold: Optional[float] = opt(None, "Drop entities of less confidence"),
    batch_size: int = opt(1000, "Texts at once", min=1),
    resume: bool = flag("--resume", "Go on where a run ended (.jsonl)"),
    overwrite: bool = flag("--overwrite", "Replace OUT, or an unfinished run"),
    gpu_id: int = GPU_ID,
) -> None:
    """Find the entities of texts and write them with their confidences: with a
    pipeline, or by nothing but the names of classes.

    A JSON line has the text, "spans" with start, end, label and score, and all else
    that its line of the input has, or the number of the line; `convert` reads it. Each
    text of the input has one, blank ones too.

    \b
    Example:
      python -m spacy entlm predict my_model texts.txt.gz entities.jsonl
      python -m spacy entlm predict --labels person,city,disease texts.txt out.html
    """
    asked = _asked(paths, labels, lang, backbone)
    in_, out = asked.in_, asked.out
    check_text_files([in_])
    check_extension(out, (JSONL, SPACY, HTML))
    check_output(out, source=in_, overwrite=overwrite)
    if gpu_id >= 0:
        spacy.require_gpu(gpu_id)
    nlp = _load(asked, lang or DEFAULT_LANG, backbone or ENTLM_BASE, threshold)
    counts = Counter[str]()
    entries = partial(_entries, in_, nlp.max_length)

    def found(n_done: int = 0) -> Iterator[Tuple[Doc, Entry]]:
        """Texts with their entities, all but the first, and the objects of IN."""
        counts["before"] = n_done
        stream = _predicted(nlp, islice(entries(), n_done, None), batch_size)
        for doc, entry in tqdm(stream, unit="text", initial=n_done, **bar_place()):
            is_blank = not doc.text.strip()
            counts.update(texts=1, blank=is_blank, entities=len(found_spans(doc)))
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
    blank = f" ({n:,} blank)" if (n := counts["blank"]) else ""
    found_now = f"{counts['texts']:,} texts{blank}, {counts['entities']:,} entities"
    echo(found_now + before, f"Wrote {out}")


def _asked(
    paths: List[str],
    labels: Optional[str],
    lang: Optional[str],
    backbone: Optional[str],
) -> Asked:
    """What the command line names.
    RAISES (DataError): If it names both a pipeline and classes, or neither."""
    given = " ".join(paths)
    if len(paths) == 3 and labels is not None:
        raise DataError(
            f"--labels {labels} stands in place of a pipeline, and three paths are "
            f"given ({given}): leave out the first, or --labels. Names of classes have "
            f"commas between them, and no blanks: person,city"
        )
    if len(paths) == 2 and labels is None:
        raise DataError(
            f"two paths ({given}) are IN and OUT, and nothing says what to find: put a "
            f"pipeline before them, or name classes: --labels person,city,disease"
        )
    if len(paths) not in (2, 3):
        raise DataError(
            f"expected PIPELINE IN OUT, or --labels NAMES IN OUT, not {given!r}"
        )
    if labels is None and (lang is not None or backbone is not None):
        option = "--lang" if lang is not None else "--backbone"
        raise DataError(
            f"{option} goes with --labels: a pipeline has its language and its backbone"
        )
    pipeline = paths[0] if labels is None else None
    return Asked(pipeline, labels, Path(paths[-2]), Path(paths[-1]))


def _load(
    asked: Asked, lang: str, backbone: str, threshold: Optional[float]
) -> Language:
    """The pipeline, or one that begins with the classes, of which it says how their
    names were read."""
    if asked.labels is None:
        return load_pipeline(str(asked.pipeline), threshold)
    nlp = pipeline_of_names(read_classes(asked.labels), lang, backbone)
    pipe: Any = nlp.get_pipe(nlp.pipe_names[-1])
    echo("Looking for these classes by their names:")
    echo(*lines_of_reading(pipe.label_data))
    if threshold is not None:
        set_threshold(nlp, threshold)
    return nlp


def _predicted(
    nlp: Language, texts: Iterator[Tuple[str, Entry]], batch_size: int
) -> Iterator[Tuple[Doc, Entry]]:
    """Docs with their objects: in batches that grow, so that the first texts are there
    soon."""
    sizes = compounding(min(FIRST_BATCH, batch_size), batch_size, GROWTH)
    for batch in minibatch(texts, sizes):
        yield from nlp.pipe(batch, as_tuples=True, batch_size=batch_size)


def _write_whole(found: Iterable[Tuple[Doc, Entry]], path: Path, title: str) -> None:
    """Write a .spacy file, or a page."""
    if path.suffix.lower() == SPACY:
        docs = (note_entry(doc, entry) for doc, entry in found)
        DocBin(docs=docs, store_user_data=True).to_disk(path)
        return
    from ..evaluation.pages import predictions_page

    filled = (pair for pair in found if pair[0].text.strip())
    page = predictions_page((entities_of(doc, entry) for doc, entry in filled), title)
    path.write_text(page, encoding="utf8")


def _entries(path: Path, max_length: int) -> Iterator[Tuple[str, Entry]]:
    """The texts of a file, blank ones too, and what the file says of each.
    RAISES (DataError): If the file cannot be read, or a text is too long for spaCy."""
    is_lines = unpacked_extension(path) not in (JSONL, SPACY)
    for number, text, entry in text_entries(path, longest=None):
        text = text.strip() if is_lines else text
        if len(text) > max_length:
            problem = f"a text of {len(text):,} characters, of which spaCy reads "
            problem += f"{max_length:,}: split it"
            raise DataError(problem, path=path, line=number)
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
