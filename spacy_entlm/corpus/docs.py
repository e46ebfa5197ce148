"""Docs: copies without annotation, and the files that training and commands read."""

from pathlib import Path
from typing import Iterable, List, Optional

from spacy.tokens import Doc
from spacy.vocab import Vocab

from ..files.errors import DataError, located
from ..files.file import check_extension
from .forms.out import BY_NAME, WRITERS, Writer

# What training reads.
OUTPUT_EXTENSIONS = (".spacy", ".jsonl")


def unannotated(doc: Doc, vocab: Optional[Vocab] = None) -> Doc:
    """A copy of a Doc, with another vocabulary if one is given, that has its words and
    spaces, and no annotation."""
    words = [token.text for token in doc]
    spaces = [bool(token.whitespace_) for token in doc]
    return Doc(doc.vocab if vocab is None else vocab, words=words, spaces=spaces)


def unread_spans(doc: Doc) -> List[str]:
    """Marks in the span groups of a Doc that are no entities of it: nothing here reads
    them. Groups with scores are none: a pipeline found them."""
    ents = {(ent.start, ent.end, ent.label) for ent in doc.ents}
    return [
        f"{span.text!r:.60} ({span.label_}) in doc.spans[{key!r:.40}]"
        for key, spans in doc.spans.items()
        if "scores" not in spans.attrs
        for span in spans
        if (span.start, span.end, span.label) not in ents
    ]


def write_docs(docs: Iterable[Doc], path: Path, form: Optional[str] = None) -> None:
    """Write Docs in a form of `forms.out`.

    form (Optional[str]): Its name; None: the first that has the path's extension.
    RAISES (DataError): If the path's extension is none of the form's, or of none, or
        the form has no place for a word.
    """
    writer = choose_writer(path, form)
    with located(path), path.open("wb") as file_:
        for part in writer.write(docs):
            file_.write(part)


def choose_writer(path: Path, form: Optional[str] = None) -> Writer:
    """RAISES (DataError): As `write_docs`."""
    writers = WRITERS if form is None else [writer_of(form)]
    extensions = [x for writer in writers for x in writer.extensions]
    check_extension(path, list(dict.fromkeys(extensions)))
    name = path.name.lower()
    return next(x for x in writers if name.endswith(tuple(x.extensions)))


def writer_of(form: str) -> Writer:
    """What writes a form. RAISES (DataError): If there is no such form."""
    if form not in BY_NAME:
        raise DataError(f"unknown form {form!r:.60}: choose {', '.join(BY_NAME)}")
    return BY_NAME[form]
