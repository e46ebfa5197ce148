"""The sentences of a benchmark's datasets: test part and few-shot splits."""

import hashlib
import json
from collections import Counter
from pathlib import Path
from typing import Any, Dict, Iterable, List, Optional, Tuple

import spacy
from spacy.tokens import Doc

from ...corpus.formats import EXTENSIONS
from ...corpus.readers import read_docs
from ...corpus.sampling import sample_exact
from ...corpus.tags import doc_to_tags
from ...files.errors import DataError
from .config import Dataset
from .errors import BenchmarkError

# Hexadecimal digits of a hash: 64 bits tell any number of cells apart.
HASH_DIGITS = 16


class DatasetReader:
    """Reads the parts of a dataset, each once.

    name (str): The dataset's name. config (Dataset): Where it lies.
    """

    def __init__(self, name: str, config: Dataset) -> None:
        self.name = name
        self.config = config
        self.nlp = spacy.blank(config.lang)
        self._test: Optional[List[Doc]] = None
        self._pool: Optional[List[Doc]] = None
        self._splits: Dict[Tuple[int, int], List[Doc]] = {}

    def test_docs(self) -> List[Doc]:
        """The test sentences (List[Doc]).

        RAISES (DataError): If there are none, or they cannot be read.
        """
        if self._test is None:
            docs = self._read(self.config.test or self._part("test"))
            self._test = docs[: self.config.limit]
            if not any(doc.ents for doc in self._test):
                raise DataError(
                    f"{self.name}: no entity in {len(self._test)} test sentences: "
                    "raise the limit"
                )
        return self._test

    def split(self, shots: int, split: int) -> List[Doc]:
        """The examples of a split: those of {K}shot/{split}.*, or a sample drawn with
        the split as its seed.

        shots (int): K. split (int): Number of the split.
        RAISES (DataError): If they cannot be read or drawn.
        RAISES (BenchmarkError): If a class of the test part has no example.
        """
        key = (shots, split)
        if key not in self._splits:
            docs, source = self._draw(shots, split)
            self._check_classes(docs, source)
            self._splits[key] = docs
        return self._splits[key]

    def _draw(self, shots: int, split: int) -> Tuple[List[Doc], str]:
        folder = self.config.data
        given = folder and _find(folder / f"{shots}shot", str(split))
        if given:
            return self._read(given), str(given)
        if self._pool is None:
            path = self.config.train or _find(folder or Path(), "train")
            if path is None:
                raise DataError(
                    f"has neither {shots}shot/{split}.* nor train.* to sample from",
                    path=folder,
                )
            self._pool = self._read(path)
        docs = sample_exact(
            self._pool,
            shots,
            seed=split,
            keep_negatives=self.config.keep_negatives,
            min_words=self.config.min_words,
        )
        return docs, f"sample {split}"

    def _check_classes(self, docs: List[Doc], source: str) -> None:
        wanted = {ent.label_ for doc in self.test_docs() for ent in doc.ents}
        missing = sorted(wanted - set(entity_counts(docs)))
        if missing:
            raise BenchmarkError(
                f"{self.name}, {source}: no example of {', '.join(missing)}, which the "
                "test part has: add one, or leave the split out"
            )

    def _part(self, stem: str) -> Path:
        folder = self.config.data or Path()
        path = _find(folder, stem)
        if path is None:
            raise DataError(f"has no {stem}.*: add it", path=folder)
        return path

    def _read(self, path: Path) -> List[Doc]:
        return read_docs(path, self.nlp)[0]


def entity_counts(docs: Iterable[Doc]) -> Dict[str, int]:
    """Entities per class, classes in the order of the alphabet."""
    counts = Counter(ent.label_ for doc in docs for ent in doc.ents)
    return dict(sorted(counts.items()))


def hash_docs(docs: Iterable[Doc]) -> str:
    """A hash of the words and tags of Docs (str)."""
    sentences = [[[t.text for t in doc], doc_to_tags(doc)] for doc in docs]
    return hash_value(sentences)


def hash_value(value: Any) -> str:
    """A hash of what JSON can hold (str)."""
    text = json.dumps(value, ensure_ascii=False)
    return _shorten(hashlib.sha256(text.encode("utf8", "surrogatepass")))


def hash_files(paths: Iterable[Path]) -> str:
    """A hash of the contents of files (str)."""
    digest = hashlib.sha256()
    for path in paths:
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return _shorten(digest)


def _shorten(digest: Any) -> str:
    return digest.hexdigest()[:HASH_DIGITS]


def _find(folder: Path, stem: str) -> Optional[Path]:
    found = [folder / f"{stem}{extension}" for extension in EXTENSIONS]
    found = [path for path in found if path.is_file()]
    if len(found) > 1:
        names = ", ".join(path.name for path in found)
        raise DataError(f"has several files for one part ({names})", path=folder)
    return found[0] if found else None
