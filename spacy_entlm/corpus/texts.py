"""Plain text of any form: .txt, JSON lines and .spacy files, packed or not."""

import re
from pathlib import Path
from typing import Any, Iterable, Iterator, Optional

import spacy
from spacy.language import Language
from spacy.tokens import Doc

from ..files.errors import DataError, located
from ..files.json_lines import read_objects
from ..files.text import check_file, read_lines
from .file_format import format_from_name
from .readers import REFUSED, read_docbin

# A longer line is cut at white space: a text may be one line of a gigabyte.
MAX_LINE_CHARS = 1 << 13
TEXT_KEYS = ("text", "tokens", "words")
# The key of the number of a line of text.
LINE = "line"
# Of a Doc's user_data: what a file says of the text beside it.
ENTRY_KEY = "entry"
# Up to white space or the end, or as much as may be.
_PART = re.compile(
    rf".{{1,{MAX_LINE_CHARS}}}(?=[ \n]|\Z)|.{{1,{MAX_LINE_CHARS}}}", re.DOTALL
)
# Without packing; .spacy files are packed already.
TEXT_EXTENSIONS = (".txt", ".jsonl", ".spacy")

# A text, and the number of its line or Doc, counted from 1.
Text = tuple[int, str]


def read_texts(paths: Iterable[Path]) -> Iterator[str]:
    """Go through the lines of text files, of which only .spacy files are held in
    memory as a whole.

    paths (Iterable[Path]): .txt and .jsonl files, packed (.xz, .gz) or not, and .spacy
        files. A JSON line is {"text": str}, or {"text": [words]}.
    YIELDS (str): Lines that are not blank, without blanks around them. Lines of more
        than MAX_LINE_CHARS come in parts, cut at white space where there is some.
    RAISES (DataError): If a file cannot be read, is damaged, or is no text.
    """
    for path in paths:
        for _, text, _ in text_entries(path):
            for part in cut_text(text):
                if part := part.strip():
                    yield part


def text_entries(
    path: Path, longest: Optional[int] = MAX_LINE_CHARS
) -> Iterator[tuple[int, str, dict[str, Any]]]:
    """Go through one text file, with blank lines.

    longest (Optional[int]): Of a .txt file's lines, as `read_lines` takes it.
    YIELDS (tuple[int, str, dict]): The number of a line or Doc, from 1, a text, and
        what the file says of it beside it: the object of a JSON line, the number of a
        line of text, what `note_entry` noted in a Doc.
    RAISES (DataError): As `read_texts`.
    """
    kind = _kind(path)
    if kind == ".txt":
        for number, line in read_lines(path, longest=longest):
            yield number, line, {LINE: number}
    elif kind == ".jsonl":
        for number, entry in read_objects(path, form='{"text": "..."}'):
            yield number, text_of(entry, path, number), entry
    else:
        for number, doc in enumerate(read_docbin(path, spacy.blank("xx")), 1):
            yield number, doc.text, doc.user_data.get(ENTRY_KEY, {})


def note_entry(doc: Doc, entry: dict[str, Any]) -> Doc:
    """Note in a Doc what a file says of its text beside it (in `user_data["entry"]`),
    and give the Doc back."""
    others = {key: value for key, value in entry.items() if key not in TEXT_KEYS}
    if others:
        doc.user_data[ENTRY_KEY] = others
    return doc


def make_docs(texts: Iterable[Text], nlp: Language, path: Path) -> Iterator[Doc]:
    """Make a Doc of each text of a file that is not blank.
    RAISES (DataError): If spaCy refuses a text, eg as it is too long."""
    for number, line in texts:
        if text := line.strip():
            with located(path, number, REFUSED):
                doc = nlp.make_doc(text)
            yield doc


def text_of(entry: dict[str, Any], path: Path, number: Optional[int] = None) -> str:
    """The text of a JSON line, {"text": str} or {"text": [words]}.
    RAISES (DataError): If it has none."""
    value = next((entry[key] for key in TEXT_KEYS if key in entry), None)
    if isinstance(value, list) and all(isinstance(word, str) for word in value):
        value = " ".join(value)
    if not isinstance(value, str):
        raise DataError(
            f"no text in {entry!s:.60}: write one {{'text': '...'}} per line",
            path=path,
            line=number,
        )
    # JSON may hold halves of characters, which no tokenizer takes.
    return value.encode("utf8", "replace").decode("utf8")


def check_text_files(paths: list[Path]) -> None:
    """RAISES (DataError): If there is no such file, or its form is not known."""
    for path in paths:
        check_file(path)
        _kind(path)


def _kind(path: Path) -> str:
    kinds = {extension: extension for extension in TEXT_EXTENSIONS}
    return str(format_from_name(path, None, kinds, ()))


def cut_text(text: str) -> Iterator[str]:
    """Cut a long text at white space, or anywhere if it has none.
    YIELDS (str): Parts of at most MAX_LINE_CHARS characters, which make up the text."""
    return (match[0] for match in _PART.finditer(text))
