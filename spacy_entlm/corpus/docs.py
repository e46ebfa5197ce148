"""Docs: copies without annotation, and the files that training and commands read."""

from pathlib import Path
from typing import Iterable, Optional

from spacy.tokens import Doc, DocBin
from spacy.vocab import Vocab

from ..files.file import check_extension
from ..files.json_lines import dump_line
from .tags import doc_to_tags

OUTPUT_EXTENSIONS = (".spacy", ".jsonl")


def unannotated(doc: Doc, vocab: Optional[Vocab] = None) -> Doc:
    """A copy of a Doc, with another vocabulary if one is given, that has its words and
    spaces, and no annotation."""
    words = [token.text for token in doc]
    spaces = [bool(token.whitespace_) for token in doc]
    return Doc(doc.vocab if vocab is None else vocab, words=words, spaces=spaces)


def write_docs(docs: Iterable[Doc], path: Path) -> None:
    """Write Docs as a DocBin (.spacy) or as JSON lines of words and BIO tags (.jsonl).
    RAISES (DataError): If the path's extension is none of these."""
    check_extension(path, OUTPUT_EXTENSIONS)
    if path.suffix.lower() == ".spacy":
        DocBin(docs=docs).to_disk(path)
        return
    with path.open("wb") as file_:
        for doc in docs:
            # Tokens of blanks only exist where a text was tokenised; no word list has
            # them, and readers of word lists stumble over them.
            tagged = [x for x in zip(doc, doc_to_tags(doc)) if not x[0].is_space]
            words = [token.text for token, _ in tagged]
            line = {"text": words, "label": [tag for _, tag in tagged]}
            file_.write(dump_line(line))
