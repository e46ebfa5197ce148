"""A pipeline that reads batches of texts."""

from dataclasses import dataclass
from typing import Any, Dict, List, Union

import spacy
from spacy.language import Language

from ..files.errors import shorten
from ..pipeline.confidence import scored_entities

# Read after loading: a pipeline that cannot predict is not taken.
_TRIAL = "Anna lives in Berlin."

Entity = Dict[str, Any]


@dataclass(frozen=True)
class Failure:
    """Why a text could not be read."""

    problem: str


# What is said of a text.
Answer = Union[List[Entity], Failure]


class Reader:
    """Reads texts with the pipeline of a folder or package. For one thread."""

    def __init__(self, pipeline: str, gpu_id: int = -1) -> None:
        """pipeline (str): Folder or name of a package.
        gpu_id (int): The GPU, -1 for the CPU.
        RAISES (OSError, ValueError): If it cannot be loaded."""
        if gpu_id >= 0:
            spacy.require_gpu(gpu_id)
        self.nlp = spacy.load(pipeline)
        _read(self.nlp, [_TRIAL])

    def read(self, texts: List[str]) -> List[Answer]:
        """Find entities.

        texts (List[str]): Read in one batch; if that fails, one by one.
        RETURNS (List[Answer]): Of each text its entities, which have a start and an end
            in characters, a label, and a score from 0 to 1 or None; or why it failed.
        """
        try:
            return [*_read(self.nlp, texts)]
        except Exception:
            return [_read_alone(self.nlp, text) for text in texts]


def _read_alone(nlp: Language, text: str) -> Answer:
    try:
        return _read(nlp, [text])[0]
    except Exception as error:
        return Failure(shorten(f"{type(error).__name__}: {error}"))


def _read(nlp: Language, texts: List[str]) -> List[List[Entity]]:
    # The words of the texts are forgotten at the end: else memory would grow for ever.
    with nlp.memory_zone():
        docs = nlp.pipe(texts, batch_size=max(1, len(texts)))
        return [
            [{"score": None, **entity} for entity in scored_entities(doc)]
            for doc in docs
        ]
