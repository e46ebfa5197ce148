"""Copies of Docs."""

from typing import Optional

from spacy.tokens import Doc
from spacy.vocab import Vocab


def unannotated(doc: Doc, vocab: Optional[Vocab] = None) -> Doc:
    """A Doc of the same words and spaces, without any annotation.

    doc (Doc): The Doc, which stays as it is.
    vocab (Optional[Vocab]): That of the copy; None: the Doc's.
    RETURNS (Doc): The copy.
    """
    words = [token.text for token in doc]
    spaces = [bool(token.whitespace_) for token in doc]
    return Doc(doc.vocab if vocab is None else vocab, words=words, spaces=spaces)
