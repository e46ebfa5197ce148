"""Texts of a workbench as Docs, and what was marked as a folder of data."""

import json
import sqlite3
from itertools import groupby
from pathlib import Path
from typing import Any, Dict, Iterator, List, NamedTuple, Tuple

from spacy.tokens import Doc, Span
from spacy.vocab import Vocab

from ..corpus.docs import write_docs, writer_of
from ..corpus.prodigy import annotated_entry
from ..files.folder import write_folder
from ..files.json_lines import dump_line
from .changes import ACCEPT, OPEN
from .database import reading
from .store import Store

# Keys of a line that say what was marked: they are ours, not the input's.
OWN_KEYS = ("text", "tokens", "spans", "answer", "label", "labels", "entities")
UNLABELED = "unlabeled"
# The form that has all that a workbench knows of a text.
PRODIGY = "prodigy"


def as_doc(text: Dict[str, Any], vocab: Vocab, names: Dict[int, str]) -> Doc:
    """A text of the store as a Doc, with its marks as entities.
    names (Dict[int, str]): Of the classes."""
    words = [word for word, _ in text["words"]]
    spaces = [blank for _, blank in text["words"]]
    doc = Doc(vocab, words=words, spaces=spaces)
    marks = text.get("marks") or ()
    doc.set_ents([Span(doc, start, end, label=names[n]) for start, end, n in marks])
    return doc


def export(store: Store, folder: Path, form: str = PRODIGY) -> List[str]:
    """Write train.*, test.* and unlabeled.jsonl, as far as there is something to write.

    In Prodigy's form, which the project and this workbench read, what came in comes out
    again, with its other keys: a text that was shown in parts is one line if all of
    them have the same answer in the same part of the data, else each part is a line,
    with "part": its first and last character. Other forms have accepted texts only.

    form (str): One of `forms.out.BY_NAME`.
    RETURNS (List[str]): Their names.
    RAISES (DataError): If there is no such form, or it has no place for a word.
    """
    writer = writer_of(form)
    names = {row["id"]: row["name"] for row in store.classes()}
    found: Dict[str, List[Written]] = {}
    with reading(store.path) as db:
        for written in _written(db, names, Vocab()):
            if writer.name == PRODIGY or written.answer in (ACCEPT, OPEN):
                found.setdefault(written.part, []).append(written)
    done = []
    with write_folder(folder) as writing:
        for part in ("train", "test", UNLABELED):
            rows = found.get(part, ())
            if not any(row.answer == ACCEPT or part == UNLABELED for row in rows):
                continue
            is_lines = writer.name == PRODIGY or part == UNLABELED
            path = writing / (part + (".jsonl" if is_lines else writer.extensions[0]))
            if is_lines:
                path.write_bytes(b"".join(dump_line(row.entry()) for row in rows))
            else:
                write_docs([row.doc for row in rows], path, writer.name)
            done.append(path.name)
    return done


class Written(NamedTuple):
    """A document, or a part of one, as it is written: the part of the data, the answer,
    the words and marks, and the other keys of what came in."""

    part: str
    answer: str
    doc: Doc
    keys: Dict[str, Any]

    def entry(self) -> Dict[str, Any]:
        """As a JSON line."""
        if self.part == UNLABELED:
            return {"text": self.doc.text, **self.keys}
        return {**annotated_entry(self.doc), **self.keys, "answer": self.answer}


def _written(
    db: sqlite3.Connection, names: Dict[int, str], vocab: Vocab
) -> Iterator[Written]:
    for whole, keys, parts in documents(db):
        kept = {key: value for key, value in keys.items() if key not in OWN_KEYS}
        kinds = {(_part_of(text), text["answer"]) for _, text in parts}
        if len(kinds) == 1:
            ((part, answer),) = kinds
            if part:
                doc = _joined(whole, parts, vocab, names)
                yield Written(part, answer, doc, kept)
            continue
        for start, text in parts:
            if part := _part_of(text):
                doc = as_doc(text, vocab, names)
                own = {**kept, "part": [start, start + len(doc.text)]}
                yield Written(part, text["answer"], doc, own)


def _part_of(text: Dict[str, Any]) -> str:
    """The part of the data; none of a text that waits for its turn in the test part."""
    if text["answer"] == OPEN:
        return "" if text["is_test"] else UNLABELED
    return "test" if text["is_test"] else "train"


def _joined(
    whole: str,
    parts: List[Tuple[int, Dict[str, Any]]],
    vocab: Vocab,
    names: Dict[int, str],
) -> Doc:
    """The parts of a document as one Doc, with what is between them."""
    words: List[Any] = []
    marks: List[List[int]] = []
    place = 0
    for start, text in parts:
        between = whole[place:start]
        if words and between.startswith(" "):
            words[-1], between = (words[-1][0], True), between[1:]
        words += [(between, False)] if between else []
        n = len(words)
        marks += [[a + n, b + n, x] for a, b, x in text["marks"] or ()]
        words += text["words"]
        place = start + sum(len(word) + bool(blank) for word, blank in text["words"])
    rest = whole[place:]
    words += [(rest, False)] if rest else []
    return as_doc({"words": words, "marks": marks}, vocab, names)


def documents(
    db: sqlite3.Connection,
) -> Iterator[Tuple[str, Dict[str, Any], List[Tuple[int, Dict[str, Any]]]]]:
    """What came in: its text, its other keys, and its parts ("words", "is_test",
    "answer" and its "marks"), with the place of the first character of each."""
    query = (
        "SELECT documents.*, start, words, is_test, answer, spans FROM documents JOIN "
        "parts ON documents.id = document_id JOIN texts ON texts.id = parts.text_id "
        "LEFT JOIN answers ON answers.text_id = texts.id ORDER BY documents.id, start"
    )
    for _, group in groupby(db.execute(query), lambda row: row["id"]):
        rows = list(group)
        parts = [(row["start"], _part(row)) for row in rows]
        yield rows[0]["text"], json.loads(rows[0]["keys"]), parts


def _part(row: sqlite3.Row) -> Dict[str, Any]:
    answer = row["answer"] or OPEN
    return {
        "words": json.loads(row["words"]),
        "marks": None if answer == OPEN else json.loads(row["spans"]),
        "is_test": bool(row["is_test"]),
        "answer": answer,
    }
