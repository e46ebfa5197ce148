"""Counts for the search of label words by the workers of an engine: sums over parts."""

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Dict, List, Optional

import spacy
from spacy.tokens import Doc, DocBin

from ..label_words.search import LM_TOP_K, Counts
from .engines import Engine


@dataclass
class ChunkCounter:
    """Counts what a masked LM predicts, which it loads at the first part.

    backbone (str): As for `TextReader`. gpu_id (int): The GPU, -1 for the CPU.
    """

    backbone: str
    top_k: int
    gpu_id: int = -1
    _reader: Optional[Any] = field(default=None, repr=False)

    def __call__(self, item: Dict[str, Any]) -> List[Any]:
        """Count in Docs. item: "docs", a DocBin's bytes; "labels".
        RETURNS (List[Any]): Pairs of a prediction and its count."""
        from ..label_words.lm_counts import count_chunk
        from ..model.search_reader import TextReader

        reader: Any = self._reader
        if reader is None:
            if self.gpu_id >= 0:
                spacy.require_gpu(self.gpu_id)
            self._reader = reader = TextReader(self.backbone)
        vocab = spacy.blank("xx").vocab
        docs = list(DocBin().from_bytes(item["docs"]).get_docs(vocab))
        tally = count_chunk(reader, docs, item["labels"], self.top_k)
        return [[list(prediction), count] for prediction, count in tally.items()]


def count_with(
    engine: Engine,
    backbone: str,
    reader: Any,
    docs: List[Doc],
    *,
    top_k: int = LM_TOP_K,
) -> Counts:
    """As `count_predictions`, with the same counts.

    backbone (str): Name or folder of what `reader` is; the folder lies at the same
        place for all workers.
    RAISES (DataError): If the engine is not there, or a worker cannot load it.
    """
    from ..label_words.lm_counts import add_counts, check_top_k, chunk_docs

    check_top_k(reader, top_k)
    labels, chunks = chunk_docs(docs)
    items = [
        {"docs": DocBin(docs=chunk).to_bytes(), "labels": labels} for chunk in chunks
    ]
    place = str(Path(backbone).resolve()) if Path(backbone).exists() else backbone
    counter = ChunkCounter(place, top_k, gpu_id=0 if engine.gpus else -1)
    results = engine.run_all(counter, items)
    tallies = (
        Counter({tuple(prediction): count for prediction, count in result})
        for result in results
    )
    return add_counts(tallies, labels, reader.tokenizer)
