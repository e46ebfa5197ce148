"""Plain text, one sentence a line, to Docs."""

from pathlib import Path
from typing import Iterable, Iterator

from spacy.language import Language
from spacy.tokens import Doc

from ..corpus.errors import CorpusError
from .files import Line


def make_docs(lines: Iterable[Line], nlp: Language, path: Path) -> Iterator[Doc]:
    """Make a Doc of each line that is not blank.

    lines (Iterable[Line]): Line numbers and lines.
    nlp (Language): Gives the tokenizer.
    path (Path): Their file, for messages.
    YIELDS (Doc): One per line.
    RAISES (CorpusError): If spaCy refuses a line, eg as it is too long.
    """
    for number, line in lines:
        text = line.strip()
        if not text:
            continue
        try:
            yield nlp.make_doc(text)
        except ValueError as error:
            raise CorpusError(
                f"spaCy refuses this text: {error}", path=path, line=number
            ) from error
