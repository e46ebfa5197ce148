"""The texts of the speed benchmark: what is read, and which part of it."""

import json
import lzma
from dataclasses import dataclass
from pathlib import Path
from typing import Any, List, Optional

import spacy

from spacy_entlm.corpus.readers import read_docs

# What ends a limit that counts words: one document is made of so many.
ONE_DOCUMENT = "w"


@dataclass
class Source:
    """A text, by its name, its file and how much of that is meant.

    documents, words (Optional[int]): The first so many lines or sentences; or one
        document of so many words, made by joining them. None, both: the whole file.
    """

    name: str
    path: Path
    documents: Optional[int] = None
    words: Optional[int] = None

    @classmethod
    def parse(cls, given: str) -> "Source":
        """given (str): NAME=FILE, NAME=FILE:2000 or NAME=FILE:50000w.
        RAISES (ValueError): If it is none of these."""
        name, _, rest = given.partition("=")
        path, _, limit = rest.rpartition(":")
        if not path:
            path, limit = rest, ""
        count = limit.removesuffix(ONE_DOCUMENT)
        if not name or not path or (limit and not count.isdigit()):
            raise ValueError(
                f"A text is NAME=FILE, NAME=FILE:2000 (documents) or NAME=FILE:50000w "
                f"(one document of so many words), not {given!r}"
            )
        number = int(count) if count else None
        if limit.endswith(ONE_DOCUMENT):
            return cls(name, Path(path), words=number)
        return cls(name, Path(path), documents=number)

    def read(self) -> List[str]:
        """RETURNS (List[str]): The documents, words separated by one space."""
        if self.path.suffix == ".xz":
            texts = _lines(self.path, self.documents)
        elif self.path.suffix == ".jsonl":
            lines = self.path.read_text(encoding="utf8").splitlines()
            texts = [_joined(json.loads(line)["text"]) for line in lines]
        else:
            docs, _ = read_docs(self.path, spacy.blank("xx"))
            texts = [doc.text for doc in docs]
        texts = [text.strip() for text in texts if text.strip()][: self.documents]
        if not texts:
            raise ValueError(f"{self.path} holds no text")
        if self.words is None:
            return texts
        return [" ".join(" ".join(texts).split()[: self.words])]


def _lines(path: Path, limit: Optional[int]) -> List[str]:
    """Lines that are not empty, no more than the limit."""
    found: List[str] = []
    with lzma.open(path, "rt", encoding="utf8") as file:
        for line in file:
            if limit is not None and len(found) == limit:
                break
            if line.strip():
                found.append(line)
    return found


def _joined(text: Any) -> str:
    return text if isinstance(text, str) else " ".join(text)


def count_words(texts: List[str]) -> int:
    """Words between spaces."""
    return sum(len(text.split()) for text in texts)


def some_of(texts: List[str], n_words: int) -> List[str]:
    """About so many words: documents taken evenly over all; of a single one, its
    beginning.

    texts (List[str]): The documents. n_words (int): 0: all.
    """
    total = count_words(texts)
    if not n_words or n_words >= total:
        return texts
    if len(texts) == 1:
        return [" ".join(texts[0].split()[:n_words])]
    count = max(1, round(len(texts) * n_words / total))
    return [texts[int(i * len(texts) / count)] for i in range(count)]
