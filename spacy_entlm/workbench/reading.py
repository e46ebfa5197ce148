"""Files of texts, annotated or not, as texts of a workbench."""

from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import (
    Any,
    Callable,
    Dict,
    Iterable,
    Iterator,
    List,
    Optional,
    Sequence,
    Tuple,
)

import spacy
from spacy.language import Language
from spacy.tokens import Doc

from ..corpus.file_format import EXTENSIONS, format_from_content
from ..corpus.forms.brat import is_brat_folder
from ..corpus.readers import read_docs
from ..corpus.texts import TEXT_EXTENSIONS, TEXT_KEYS, cut_text, text_entries
from ..files.errors import DataError
from ..files.text import find_part, read_lines, unpacked_extension
from .adding import NewDocument, NewText
from .mentions import joined

# How long texts are shown: whole, in the parts that line breaks make, or in sentences.
DOCUMENTS, PARAGRAPHS, SENTENCES = "documents", "paragraphs", "sentences"
UNITS = (DOCUMENTS, PARAGRAPHS, SENTENCES)
# Longer texts are split at sentences unless it is said how: they are read in one look.
MAX_WORDS = 60

# A text, and what its line says of it besides.
Entry = Tuple[str, Dict[str, Any]]


class Texts:
    """Reads what a workbench is to show."""

    def __init__(
        self,
        nlp: Language,
        unit: Optional[str] = None,
        tell: Callable[[str], Any] = print,
        *,
        format: Optional[str] = None,
        columns: Optional[str] = None,
        labels: Sequence[str] = (),
    ) -> None:
        """nlp (Language): Its tokenizer makes the words.
        unit (Optional[str]): One of UNITS, as which texts without annotation are shown;
            None: those of more than 60 words as sentences, the others whole.
        tell (Callable): Gets lines that say what was read, and what could not be.
        format, columns, labels: Of files that are annotated, as of `read_docs`.
        RAISES (ValueError): If there is no such unit.
        """
        if unit not in (None, *UNITS):
            raise ValueError(f"{unit!r} is no unit: choose {', '.join(UNITS)}")
        self.nlp, self.unit, self.tell = nlp, unit, tell
        self.is_annotated = bool(format not in (None, "auto") or columns or labels)
        self.how: Dict[str, Any] = {"format": format, "columns": columns}
        self.how["labels"] = labels
        self.n_long = self.n_parts = 0
        self._splitter = spacy.blank("xx").add_pipe("sentencizer")

    def read(self, source: Path) -> Iterator[NewDocument]:
        """Read plain text, an annotated file, or a folder of data with train.*, test.*
        or unlabeled.*, or one of brat's.
        RAISES (DataError): If there is none, or it cannot be read."""
        if not source.is_dir() or is_brat_folder(source):
            is_plain = not self.is_annotated and _is_plain(source)
            yield from self._plain(source) if is_plain else self._annotated(source)
            return
        parts = {
            name: find_part(source, name, EXTENSIONS) for name in ("train", "test")
        }
        plain = find_part(source, "unlabeled", TEXT_EXTENSIONS)
        if not any((*parts.values(), plain)):
            raise DataError("has no train.*, test.* or unlabeled.*", path=source)
        for name, path in parts.items():
            if path is not None:
                yield from self._annotated(path, name == "test")
        if plain is not None:
            yield from self._plain(plain)

    def _annotated(
        self, path: Path, is_test: Optional[bool] = None
    ) -> Iterator[NewDocument]:
        docs, report = read_docs(path, self.nlp, **self.how)
        understood, *problems = report.lines()
        for line in (f"{path.name}: {understood}", *problems):
            self.tell(line)
        noted = _noted_keys(path)
        for doc in docs:
            new = _new_text(doc, is_test)
            text = joined(new.words)
            waiting = noted.get(text.strip())
            yield NewDocument(text, [(0, new)], waiting.pop(0) if waiting else {})

    def _plain(self, path: Path) -> Iterator[NewDocument]:
        for text, keys in _entries(path):
            for part in cut_text(text):
                if not part.strip():
                    continue
                doc = self.nlp.make_doc(part.strip())
                parts = [
                    (own[0].idx, NewText(_words(own)))
                    for own in self._parts(doc)
                    if any(not token.is_space for token in own)
                ]
                if parts:
                    yield NewDocument(doc.text, parts, keys)

    def _parts(self, doc: Doc) -> Iterable[Any]:
        """The parts in which a text is shown."""
        unit = self.unit
        if unit is None:
            unit = DOCUMENTS if len(doc) <= MAX_WORDS else SENTENCES
        parts: List[Any] = [doc]
        if unit == PARAGRAPHS:
            parts = _paragraphs(doc)
        elif unit == SENTENCES:
            parts = list(self._splitter(doc).sents)
        self.n_long += len(parts) > 1
        self.n_parts += len(parts) if len(parts) > 1 else 0
        return map(_trimmed, parts)


def count_long(source: Path, nlp: Language) -> int:
    """How many texts without annotation have more words than are read in one look."""
    if source.is_dir():
        plain = find_part(source, "unlabeled", TEXT_EXTENSIONS)
    else:
        plain = source if _is_plain(source) else None
    if plain is None:
        return 0
    texts = (text for text, _ in _entries(plain))
    return sum(
        len(text.split()) > MAX_WORDS / 2 and len(nlp.make_doc(text)) > MAX_WORDS
        for text in chain.from_iterable(map(cut_text, texts))
    )


def _is_plain(path: Path) -> bool:
    """Whether a file is text without annotation."""
    if path.is_dir():
        return False
    extension = unpacked_extension(path)
    if extension not in TEXT_EXTENSIONS:
        return False
    if extension == ".txt":
        try:
            return not format_from_content(read_lines(path), path)
        except DataError:
            return True
    try:
        docs, _ = read_docs(path, spacy.blank("xx"))
    except DataError:  # nothing in it is annotated
        return True
    return not any(doc.ents for doc in docs)


def _entries(path: Path) -> Iterator[Entry]:
    """The texts of a file, with the other keys of a JSON line."""
    is_json = unpacked_extension(path) == ".jsonl"
    for _, text, entry in text_entries(path):
        keys = {key: x for key, x in entry.items() if key not in TEXT_KEYS}
        yield text, keys if is_json else {}


def _noted_keys(path: Path) -> Dict[str, List[Dict[str, Any]]]:
    """What the JSON lines of an annotated file say of each text besides, in order."""
    found: Dict[str, List[Dict[str, Any]]] = {}
    if unpacked_extension(path) != ".jsonl":
        return found
    with suppress(DataError):  # of a form that has its texts elsewhere
        for text, keys in _entries(path):
            found.setdefault(text.strip(), []).append(keys)
    return found


def _new_text(doc: Doc, is_test: Optional[bool]) -> NewText:
    n_annotated = sum(token.ent_iob != 0 for token in doc)
    if n_annotated == 0:
        return NewText(_words(doc), is_test=is_test)
    marks = [(ent.start, ent.end, ent.label_) for ent in doc.ents]
    return NewText(_words(doc), marks, is_test, n_annotated == len(doc))


def _paragraphs(doc: Doc) -> List[Any]:
    """The parts of a text between line breaks."""
    parts, start = [], 0
    for token in doc:
        if token.is_space and "\n" in token.text:
            parts.append(doc[start : token.i])
            start = token.i + 1
    parts.append(doc[start:])
    return [part for part in parts if len(part)]


def _trimmed(part: Any) -> Any:
    """A part without line breaks and blanks around it, if anything is left."""
    start, end = 0, len(part)
    while start < end and part[start].is_space:
        start += 1
    while end > start and part[end - 1].is_space:
        end -= 1
    return part[start:end] if start < end else part


def _words(doc: Iterable[Any]) -> List[Any]:
    words = [(token.text, bool(token.whitespace_)) for token in doc]
    return [*words[:-1], (words[-1][0], False)]
