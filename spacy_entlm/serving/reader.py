"""A pipeline that reads batches of texts, and may be replaced between two of them."""

from dataclasses import dataclass
from queue import SimpleQueue
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
    """Reads texts with the pipeline of a folder or package.

    As many threads as there are copies may call `read`, and another one `load`.
    """

    def __init__(self, pipeline: str, gpu_id: int = -1, n_copies: int = 1) -> None:
        """pipeline (str): Folder or name of a package.
        gpu_id (int): The GPU, -1 for the CPU.
        n_copies (int): Of the pipeline; each reads a batch at a time.
        RAISES (OSError, ValueError): If it cannot be loaded."""
        self.pipeline = pipeline
        self.gpu_id = gpu_id
        self.n_copies = n_copies
        self.load()

    def load(self) -> None:
        """Load the pipeline, which takes the place of the earlier one. That stays if an
        error is raised, and for a batch that is being read."""
        self._use_gpu()
        copies = [spacy.load(self.pipeline) for _ in range(self.n_copies)]
        free: SimpleQueue[Language] = SimpleQueue()
        for nlp in copies:
            _read(nlp, [_TRIAL])
            free.put(nlp)
        self.copies, self._free = copies, free

    def read(self, texts: List[str]) -> List[Answer]:
        """Find entities.

        texts (List[str]): Read in one batch; if that fails, one by one.
        RETURNS (List[Answer]): Of each text its entities, which have a start and an end
            in characters, a label, and a score from 0 to 1 or None; or why it failed.
        """
        self._use_gpu()
        free = self._free  # a copy of an earlier pipeline goes back to those
        nlp = free.get()
        try:
            return [*_read(nlp, texts)]
        except Exception:
            return [_read_alone(nlp, text) for text in texts]
        finally:
            free.put(nlp)

    def _use_gpu(self) -> None:
        # Of each thread on its own.
        if self.gpu_id >= 0:
            spacy.require_gpu(self.gpu_id)


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
