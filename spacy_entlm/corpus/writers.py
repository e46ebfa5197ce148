"""Docs to the files that training and the other commands read."""

import json
from pathlib import Path
from typing import Iterable

from spacy.tokens import Doc, DocBin

from ..files.errors import DataError
from .tags import doc_to_tags

OUTPUT_EXTENSIONS = (".spacy", ".jsonl")


def check_extension(path: Path) -> None:
    """Check that a file of this name can be written.

    RAISES (DataError): If its extension is none of OUTPUT_EXTENSIONS.
    """
    if path.suffix not in OUTPUT_EXTENSIONS:
        raise DataError(
            f"the output's extension is {path.suffix!r}: end its name in "
            f"{' or '.join(OUTPUT_EXTENSIONS)}",
            path=path,
        )


def write_docs(docs: Iterable[Doc], path: Path) -> None:
    """Write Docs as a DocBin (.spacy) or as JSON lines of words and BIO tags (.jsonl).

    RAISES (DataError): If its extension is none of OUTPUT_EXTENSIONS.
    """
    check_extension(path)
    if path.suffix == ".spacy":
        DocBin(docs=docs).to_disk(path)
        return
    with path.open("w", encoding="utf-8", newline="\n") as file_:
        for doc in docs:
            # Tokens of blanks only exist where a text was tokenised; no word list has
            # them, and readers of word lists stumble over them.
            pairs = [
                (t.text, tag) for t, tag in zip(doc, doc_to_tags(doc)) if not t.is_space
            ]
            entry = {"text": [w for w, _ in pairs], "label": [tag for _, tag in pairs]}
            file_.write(json.dumps(entry, ensure_ascii=False) + "\n")
