"""The forms in which annotated Docs are written."""

from typing import Any, Callable, Iterable, Iterator, NamedTuple, Sequence

from spacy.tokens import Doc, DocBin

from ...files.json_lines import dump_json, dump_line
from ..prodigy import annotated_entry
from ..tags import doc_to_tags
from .label_studio import answered_task


class Writer(NamedTuple):
    """A form that is written.

    name (str): As a user names it. title (str): For people.
    extensions (Sequence[str]): Of its files, in lower case.
    write (Callable): Makes the parts of a file's content from Docs.
    says_missing (bool): Whether it has a sign for words without annotation.
    """

    name: str
    title: str
    extensions: Sequence[str]
    write: Callable[[Iterable[Doc]], Iterable[bytes]]
    says_missing: bool = True


def _tagged(doc: Doc) -> list[tuple[str, str]]:
    """Words and tags. Tokens of blanks only exist where a text was tokenised; no word
    list has them, and readers of word lists stumble over them."""
    pairs = zip(doc, doc_to_tags(doc))
    return [(token.text, tag) for token, tag in pairs if not token.is_space]


def _text_entry(doc: Doc) -> dict[str, Any]:
    """A text with its spans; lists of words end in a blank."""
    entry = annotated_entry(doc)
    return {**entry, "text": entry["text"].rstrip(" ")}


def _lines(make: Callable[[Doc], Any]) -> Callable[[Iterable[Doc]], Iterable[bytes]]:
    return lambda docs: (dump_line(make(doc)) for doc in docs)


def _words(doc: Doc) -> dict[str, Any]:
    pairs = _tagged(doc)
    return {"text": [word for word, _ in pairs], "label": [tag for _, tag in pairs]}


def _huggingface(doc: Doc) -> dict[str, Any]:
    found = _words(doc)
    return {"tokens": found["text"], "ner_tags": found["label"]}


def _doccano(doc: Doc) -> dict[str, Any]:
    entry = _text_entry(doc)
    marks = [[span["start"], span["end"], span["label"]] for span in entry["spans"]]
    return {"text": entry["text"], "label": marks}


def _columns(docs: Iterable[Doc]) -> Iterator[bytes]:
    is_first = True
    for rows in filter(None, map(_tagged, docs)):
        for word, _ in rows:
            if any(sign in word for sign in "\t\n\r"):
                raise ValueError(
                    f"the word {word!r:.60} cannot stand in a column: write another "
                    "form, eg .jsonl"
                )
        lines = "".join(f"{word}\t{tag}\n" for word, tag in rows)
        yield ("" if is_first else "\n").encode() + lines.encode("utf8", "replace")
        is_first = False


def _label_studio(docs: Iterable[Doc]) -> Iterator[bytes]:
    yield dump_json([answered_task(_text_entry(doc)) for doc in docs])


def _docbin(docs: Iterable[Doc]) -> Iterator[bytes]:
    yield DocBin(docs=docs).to_bytes()


# The first one that has an extension is what it means.
WRITERS = (
    Writer("spacy", "spaCy's binary form", (".spacy",), _docbin),
    Writer("jsonl", "JSON lines of words and tags", (".jsonl",), _lines(_words)),
    Writer(
        "conll",
        "columns: a word and its tag a line",
        (".conll", ".iob", ".bio", ".tsv"),
        _columns,
    ),
    Writer(
        "label-studio",
        "Label Studio's tasks with answers",
        (".json",),
        _label_studio,
        says_missing=False,
    ),
    Writer(
        "doccano",
        "doccano's JSON lines",
        (".jsonl",),
        _lines(_doccano),
        says_missing=False,
    ),
    Writer(
        "prodigy",
        "Prodigy's JSON lines",
        (".jsonl",),
        _lines(_text_entry),
        says_missing=False,
    ),
    Writer(
        "huggingface",
        "Hugging Face's JSON lines of tokens and ner_tags",
        (".jsonl",),
        _lines(_huggingface),
    ),
)
BY_NAME = {writer.name: writer for writer in WRITERS}


def lacks_annotation(doc: Doc) -> bool:
    """Whether a Doc has words without annotation."""
    return any(token.ent_iob == 0 and not token.is_space for token in doc)
