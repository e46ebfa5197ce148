"""Texts of a workbench as Docs, and Docs as texts."""

from pathlib import Path
from typing import Any, Callable, Dict, Iterable, Iterator, List, Optional

import spacy
from spacy.language import Language
from spacy.tokens import Doc, Span
from spacy.vocab import Vocab

from ..corpus.formats import EXTENSIONS
from ..corpus.prodigy import annotated_entry
from ..corpus.readers import read_docs
from ..corpus.texts import TEXT_EXTENSIONS, read_texts
from ..files.errors import DataError
from ..files.folder import write_folder
from ..files.json_lines import dump_line
from ..files.text import find_part
from .store import ACCEPT, NewText, Store

# Longer texts are split at sentences: they are read in one look.
MAX_WORDS = 60


def read_any(
    source: Path, nlp: Language, tell: Callable[[str], Any] = print
) -> Iterator[NewText]:
    """Read plain text, or a folder of data with train.*, test.* or unlabeled.*.
    tell (Callable): Gets lines that say what could not be used.
    RAISES (DataError): If there is none, or it cannot be read."""
    if not source.is_dir():
        yield from _plain(source, nlp)
        return
    parts = {name: find_part(source, name, EXTENSIONS) for name in ("train", "test")}
    plain = find_part(source, "unlabeled", TEXT_EXTENSIONS)
    if not any((*parts.values(), plain)):
        raise DataError("has no train.*, test.* or unlabeled.*", path=source)
    for name, path in parts.items():
        if path is not None:
            docs, report = read_docs(path, nlp)
            for line in report.problems():
                tell(line)
            for doc in docs:
                yield _annotated(doc, name == "test")
    if plain is not None:
        yield from _plain(plain, nlp)


def _annotated(doc: Doc, is_test: bool) -> NewText:
    n_annotated = sum(token.ent_iob != 0 for token in doc)
    if n_annotated == 0:
        return NewText(_words(doc), is_test=is_test)
    marks = [(ent.start, ent.end, ent.label_) for ent in doc.ents]
    return NewText(_words(doc), marks, is_test, n_annotated == len(doc))


def _plain(path: Path, nlp: Language) -> Iterator[NewText]:
    splitter = spacy.blank("xx").add_pipe("sentencizer")
    for text in read_texts([path]):
        doc = nlp.make_doc(text)
        parts: Iterable[Any] = [doc] if len(doc) <= MAX_WORDS else splitter(doc).sents
        for part in parts:
            if any(not token.is_space for token in part):
                yield NewText(_words(part))


def _words(doc: Iterable[Any]) -> List[Any]:
    words = [(token.text, bool(token.whitespace_)) for token in doc]
    return [*words[:-1], (words[-1][0], False)]


def as_doc(text: Dict[str, Any], vocab: Vocab, names: Dict[int, str]) -> Doc:
    """A text of the store as a Doc, with its marks as entities.
    names (Dict[int, str]): Of the classes."""
    words = [word for word, _ in text["words"]]
    spaces = [blank for _, blank in text["words"]]
    doc = Doc(vocab, words=words, spaces=spaces)
    marks = text.get("marks") or ()
    doc.set_ents([Span(doc, start, end, label=names[n]) for start, end, n in marks])
    return doc


def export(store: Store, folder: Path) -> List[str]:
    """Write train.jsonl, test.jsonl and unlabeled.jsonl, which the project and Prodigy
    read, as far as there is something to write.
    RETURNS (List[str]): Their names."""
    names = {row["id"]: row["name"] for row in store.classes()}
    vocab, lines = Vocab(), {"train": [], "test": []}  # type: ignore[var-annotated]
    for text in store.answered():
        entry = annotated_entry(as_doc(text, vocab, names))
        part = "test" if text["is_test"] else "train"
        lines[part].append((text["answer"], {**entry, "answer": text["answer"]}))
    written = {
        f"{part}.jsonl": [entry for _, entry in rows]
        for part, rows in lines.items()
        if any(answer == ACCEPT for answer, _ in rows)
    }
    plain = [{"text": as_doc(t, vocab, names).text} for t in store.unanswered()]
    if plain:
        written["unlabeled.jsonl"] = plain
    with write_folder(folder) as writing:
        for name, rows in written.items():
            (writing / name).write_bytes(b"".join(map(dump_line, rows)))
    return list(written)


def make_pipeline(lang: str, backbone: Optional[str] = None) -> Language:
    """An empty pipeline, with an `entlm_ner` if a backbone is named."""
    nlp = spacy.blank(lang)
    if backbone is not None:
        nlp.add_pipe("entlm_ner", config={"model": {"name": backbone}})
    return nlp
