"""What a training says of plain text, by the workers of an engine (for `adapt`)."""

from dataclasses import dataclass, field
from typing import Any, Dict, List, Optional

import spacy
from spacy.language import Language
from spacy.tokens import Doc, DocBin
from spacy.util import minibatch

from ..training.adaptation import Opinion, Reading, read_docs
from .engines import Engine


@dataclass
class Labeller:
    """Reads Docs with a pipeline, which is made of its bytes at the first batch.

    config (Dict): Of the pipeline. name (str): Of the component that is asked.
    gpu_id (int): The GPU, -1 for the CPU.
    """

    config: Dict[str, Any]
    content: bytes
    name: str
    gpu_id: int = -1
    _nlp: Optional[Language] = field(default=None, repr=False)

    def __call__(self, item: bytes) -> List[Any]:
        """Read a DocBin's Docs. RETURNS (List[Any]): Of each its opinions as lists."""
        if self._nlp is None:
            if self.gpu_id >= 0:
                spacy.require_gpu(self.gpu_id)
            self._nlp = spacy.util.load_model_from_config(self.config)
            self._nlp.from_bytes(self.content)
        docs = list(DocBin().from_bytes(item).get_docs(self._nlp.vocab))
        readings = read_docs(self._nlp, self.name, docs)
        return [[_pack(opinion) for opinion in reading] for reading in readings]


def read_with(
    engine: Engine, nlp: Language, name: str, docs: List[Doc]
) -> List[Reading]:
    """As `read_docs`, with the same result.
    RAISES (DataError): If the engine is not there."""
    gpu_id = 0 if engine.gpus else -1
    labeller = Labeller(nlp.config, nlp.to_bytes(), name, gpu_id)
    items = [DocBin(docs=batch).to_bytes() for batch in minibatch(docs, nlp.batch_size)]
    return [
        Reading(*map(_unpack, reading))
        for batch in engine.run_all(labeller, items)
        for reading in batch
    ]


def _pack(opinion: Opinion) -> List[Any]:
    return [[*entity, confidence] for entity, confidence in opinion.items()]


def _unpack(opinion: List[Any]) -> Opinion:
    return {
        (start, end, label): confidence for start, end, label, confidence in opinion
    }
