"""Pipelines, loaded with other settings than they were saved with."""

from typing import Optional

import spacy
from spacy.language import Language

from .base import MaskedLMNER


def load_pipeline(name: str, threshold: Optional[float] = None) -> Language:
    """Load a pipeline.

    name (str): Of its folder or package. threshold (Optional[float]): Entities of less
        confidence are dropped; None: as it was saved.
    RAISES (ValueError): If a threshold is given, and none of its components has one.
    """
    nlp = spacy.load(name)
    if threshold is not None:
        pipes = [pipe for _, pipe in nlp.pipeline if isinstance(pipe, MaskedLMNER)]
        if not pipes:
            raise ValueError(f"{name} has no component with a threshold")
        for pipe in pipes:
            pipe.threshold = threshold
    return nlp
