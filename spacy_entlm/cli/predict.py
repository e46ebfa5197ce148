"""The command `predict`: entities of plain text, to a file."""

from itertools import chain, islice
from pathlib import Path
from typing import Any, Dict, Iterator, List, Optional, Tuple

import spacy
from spacy.language import Language
from spacy.tokens import Doc, DocBin, Span
from tqdm import tqdm

from ..corpus.texts import check_text_files, numbered_texts, text_of
from ..files.errors import DataError
from ..files.file import check_output, lock_file, sync, write_file
from ..files.json_lines import dump_line, load_object, read_objects
from ..files.text import unpacked_extension
from ..pipeline.base import MaskedLMNER
from ..pipeline.confidence import confidence
from ._options import GPU_ID, arg, command, flag, opt
from ._util import echo

JSONL, SPACY, HTML = ".jsonl", ".spacy", ".html"
# Beside OUT: what a run that was ended has found so far.
UNFINISHED = ".unfinished"
SPANS_KEY = "spans"

Entry = Dict[str, Any]


@command("predict")
def predict_cli(
    pipeline: str = arg("PIPELINE", "Folder or package of a pipeline"),
    in_: Path = arg(
        "IN",
        "Texts: lines (.txt), JSON lines with a text (.jsonl), packed (.xz .gz) or "
        "not, or .spacy",
    ),
    out: Path = arg("OUT", ".jsonl, .spacy, or .html for a page to look at"),
    threshold: Optional[float] = opt(None, "Drop entities of less confidence"),
    batch_size: int = opt(256, "Texts at once"),
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
    if out.suffix not in (JSONL, SPACY, HTML):
        raise DataError(f"end its name in {JSONL}, {SPACY} or {HTML}", path=out)
    check_output(out, source=in_, overwrite=overwrite)
    if gpu_id >= 0:
        spacy.require_gpu(gpu_id)
    found = _Annotated(_load(pipeline, threshold), in_, batch_size)
    if out.suffix == JSONL:
        _write_json_lines(found, out, resume, overwrite)
    else:
        with write_file(out) as temporary:
            if out.suffix == SPACY:
                docs = (doc for doc, _ in found.after(0))
                DocBin(docs=docs, store_user_data=True).to_disk(temporary)
            else:
                from ..evaluation.pages import predictions_page

                entries = (entities_of(doc, entry) for doc, entry in found.after(0))
                page = predictions_page(entries, in_.name)
                temporary.write_text(page, encoding="utf8")
    echo(f"{found.n_docs:,} texts, {found.n_entities:,} entities", f"Wrote {out}")


class _Annotated:
    """Texts of a file as Docs with their entities, and the objects they come from."""

    def __init__(self, nlp: Language, path: Path, batch_size: int) -> None:
        self.nlp, self.path, self.batch_size = nlp, path, batch_size
        self.n_docs = self.n_entities = 0

    def after(self, n_done: int) -> Iterator[Tuple[Doc, Entry]]:
        """All but the first texts."""
        texts = islice(self.texts(), n_done, None)
        stream = self.nlp.pipe(texts, as_tuples=True, batch_size=self.batch_size)
        for doc, entry in tqdm(stream, unit="text", initial=n_done, disable=None):
            self.n_docs += 1
            self.n_entities += len(_spans(doc))
            yield doc, entry

    def texts(self) -> Iterator[Tuple[str, Entry]]:
        """The texts that are not blank."""
        if unpacked_extension(self.path) == JSONL:
            for number, entry in read_objects(self.path, form='{"text": "..."}'):
                text = text_of(entry, self.path, number)
                if text.strip():
                    yield text, entry
        else:
            texts = (text.strip() for _, text in numbered_texts(self.path))
            yield from ((text, {}) for text in texts if text)


def entities_of(doc: Doc, entry: Entry) -> Entry:
    """A text as a JSON object: its entities, and what the input says of it."""
    spans = []
    for ent in _spans(doc):
        span = {"start": ent.start_char, "end": ent.end_char, "label": ent.label_}
        score = confidence(ent)
        spans.append(span if score is None else {**span, "score": round(score, 4)})
    return {**entry, "text": doc.text, SPANS_KEY: spans}


def _spans(doc: Doc) -> List[Span]:
    """The entities, or the span groups' where only these are annotated."""
    groups = [] if doc.ents else doc.spans.values()
    scored = [list(group) for group in groups if "scores" in group.attrs]
    return [*doc.ents, *chain.from_iterable(scored)]


def _load(pipeline: str, threshold: Optional[float]) -> Language:
    nlp = spacy.load(pipeline)
    if threshold is not None:
        pipes = [pipe for _, pipe in nlp.pipeline if isinstance(pipe, MaskedLMNER)]
        if not pipes:
            raise ValueError(f"{pipeline} has no component with a threshold")
        for pipe in pipes:
            pipe.threshold = threshold
    return nlp


def _write_json_lines(
    found: _Annotated, out: Path, resume: bool, overwrite: bool
) -> None:
    part = out.with_name(out.name + UNFINISHED)
    lock = part.with_name(f".{part.name}.lock")
    with lock_file(lock, out):
        if part.exists() and not (resume or overwrite):
            hint = "go on with --resume, or begin again with --overwrite"
            raise DataError(f"holds an unfinished run: {hint}", path=part)
        n_done = _go_on(part, found) if resume and part.exists() else 0
        with part.open("ab" if n_done else "wb") as file_:
            for doc, entry in found.after(n_done):
                file_.write(dump_line(entities_of(doc, entry)))
        sync(part)
        part.replace(out)
    lock.unlink(missing_ok=True)


def _go_on(part: Path, found: _Annotated) -> int:
    """How many texts are done; a line that is not whole is taken away. RAISES
    (DataError): If they are not the first texts of the input."""
    n_done, size, last = 0, 0, b""
    with part.open("rb") as file_:
        for line in file_:
            if line.endswith(b"\n"):
                n_done, size, last = n_done + 1, size + len(line), line
    if not n_done:
        return 0
    text = load_object(last.decode("utf8"), part, n_done, form="text").get("text")
    given = next(islice(found.texts(), n_done - 1, None), (None, {}))[0]
    if text != given:
        hint = "was written for another input: begin again with --overwrite"
        raise DataError(hint, path=part, line=n_done)
    with part.open("r+b") as file_:
        file_.truncate(size)
    found.n_docs += n_done
    return n_done
