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
    if threshold is not None and not set_threshold(nlp, threshold):
        raise ValueError(f"{name} has no component with a threshold")
    return nlp


def set_threshold(nlp: Language, threshold: float) -> bool:
    """Set the least confidence of entities in all components that have one.
    RETURNS (bool): Whether there are any."""
    pipes = [pipe for _, pipe in nlp.pipeline if isinstance(pipe, MaskedLMNER)]
    for pipe in pipes:
        pipe.threshold = threshold
    return bool(pipes)
