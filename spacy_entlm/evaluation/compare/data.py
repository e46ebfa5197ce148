"""The sentences of a comparison's datasets: test part and few-shot splits."""

import hashlib
import json
from collections import Counter
from functools import lru_cache
from pathlib import Path
from typing import Any, Dict, Iterable, List

import spacy
from spacy.tokens import Doc

from ...corpus.file_format import EXTENSIONS
from ...corpus.readers import read_docs
from ...corpus.sampling import SamplingError, sample_exact
from ...corpus.tags import doc_to_tags
from ...files.errors import DataError
from ...files.text import find_part, read_bytes
from .config import Dataset

# Hexadecimal digits of a hash: 64 bits tell any number of cells apart.
HASH_DIGITS = 16


class DatasetReader:
    """Reads the parts of a dataset, each once. config (Dataset): Where it lies."""

    def __init__(self, config: Dataset) -> None:
        self.config = config
        self.nlp = spacy.blank(config.lang)
        self._folder = config.data or Path()
        self._read = lru_cache(maxsize=None)(lambda path: read_docs(path, self.nlp)[0])

    def test_docs(self) -> List[Doc]:
        """The test sentences. RAISES (DataError): If there are none to be read."""
        path = self.config.test or find_part(self._folder, "test", EXTENSIONS)
        if path is None:
            raise DataError("has no test.*: add it", path=self._folder)
        docs: List[Doc] = self._read(path)[: self.config.limit]
        if not any(doc.ents for doc in docs):
            text = f"no entity in {len(docs)} test sentences: raise the limit"
            raise DataError(text, path=path)
        return docs

    def split(self, shots: int, split: int) -> List[Doc]:
        """The examples of a split: those of {K}shot/{split}.*, or a sample drawn with
        the split as its seed.
        RAISES (DataError): If they cannot be read or drawn, or a class of the test part
        has no example."""
        config, folder = self.config, self._folder
        drawn = find_part(folder / f"{shots}shot", str(split), EXTENSIONS)
        path = config.train or drawn or find_part(folder, "train", EXTENSIONS)
        if path is None:
            text = f"has neither {shots}shot/{split}.* nor train.* to sample from"
            raise SamplingError(text, path=folder)
        docs: List[Doc] = self._read(path)
        if path != drawn:
            options = config.model_dump(include={"keep_negatives", "min_words"})
            docs = sample_exact(docs, shots, seed=split, **options)
        known = count_entities(docs)
        if missing := [x for x in count_entities(self.test_docs()) if x not in known]:
            text = f"K = {shots}, split {split}: no example of {', '.join(missing)}, "
            advice = "which the test part has: add one, or leave the split out"
            raise DataError(text + advice, path=path)
        return docs


def count_entities(docs: Iterable[Doc]) -> Dict[str, int]:
    """Entities per class, classes in the order of the alphabet."""
    return dict(sorted(Counter(e.label_ for doc in docs for e in doc.ents).items()))


def hash_docs(docs: Iterable[Doc]) -> str:
    """A hash of the words and tags of Docs (str)."""
    return hash_value([[[t.text for t in doc], doc_to_tags(doc)] for doc in docs])


def hash_value(value: Any) -> str:
    """A hash of what JSON can hold (str)."""
    text = json.dumps(value, ensure_ascii=False).encode("utf8", "surrogatepass")
    return hashlib.sha256(text).hexdigest()[:HASH_DIGITS]


def hash_files(paths: Iterable[Path]) -> str:
    """A hash of the contents of files (str)."""
    digests = (hashlib.sha256(read_bytes(path)).hexdigest() for path in paths)
    return hash_value(list(digests))
