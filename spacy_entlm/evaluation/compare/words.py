"""Label words for a benchmark: the search of `search`, for many settings at a time."""

import json
from pathlib import Path
from typing import Any, Callable, Dict, Iterable, List, Optional, Sequence

from spacy.tokens import Doc

from ...label_words.counts import count_docs, fold_counts
from ...label_words.search import Counts, SearchSettings, search_label_words
from ...label_words.words import LabelWords
from ...pipeline.examples import search_in_examples
from .files import write_atomically

Progress = Callable[[Sequence[Any]], Iterable[Any]]


class WordFinder:
    """Counts words in annotated text and chooses label words, in the form in which a
    backbone reads them.

    backbone (str): The masked LM, a folder or a name on the hub.
    """

    def __init__(self, backbone: str) -> None:
        from ...model.entlm import load_reader

        self.backbone = backbone
        self._reader = load_reader(backbone)

    def count_data(self, docs: Iterable[Doc]) -> Counts:
        """Count the words of each class (paper, Eq. 5)."""
        return self.fold(count_docs(docs))

    def count_lm(
        self, docs: Iterable[Doc], progress: Optional[Progress] = None
    ) -> Counts:
        """Count what the masked LM predicts for each class (paper, Eq. 6)."""
        from ...label_words.lm_counts import count_predictions

        return self.fold(count_predictions(self._reader, docs, progress=progress))

    def fold(self, counts: Counts) -> Counts:
        """Counts of words in the form in which the backbone reads them."""
        return fold_counts(counts, self._reader.fold_word)

    def search(
        self,
        data: Counts,
        lm: Optional[Counts],
        settings: SearchSettings,
        *,
        labels: Optional[Iterable[str]] = None,
    ) -> LabelWords:
        """Choose the words of each class (paper, Eq. 5-8).

        data, lm (Dict[str, Counter]): From this finder.
        labels (Optional[Iterable[str]]): The classes; None: those of `data`.
        RETURNS (Dict[str, List[str]]): A class may have fewer words than asked for, or
            none.
        """
        found = search_label_words(
            data, lm, settings, labels=labels, get_pieces=self._reader.word_pieces
        )
        return {label: search.words for label, search in found.items()}

    def search_examples(
        self, docs: Iterable[Doc], labels: List[str], top_k: int
    ) -> LabelWords:
        """Choose words in few annotated examples, as a training does for classes that
        have none.

        docs (Iterable[Doc]): The examples. labels (List[str]): The classes.
        top_k (int): The most words of a class.
        RAISES (LabelWordError): If a class has no word.
        """
        from spacy.training import Example

        examples = (Example(doc, doc) for doc in docs)
        reader, found = self._reader, {}
        if labels:
            found = search_in_examples(
                examples, labels, reader.fold_word, reader.word_pieces
            )
        return {label: words[:top_k] for label, words in found.items()}


def write_words(words: Dict[str, List[str]], path: Path) -> None:
    """Write label words as the other commands read them."""
    lines = [
        f"{json.dumps(k)}: {json.dumps(v, ensure_ascii=False)}"
        for k, v in words.items()
    ]
    write_atomically(path, "{" + ",\n ".join(lines) + "}\n")
