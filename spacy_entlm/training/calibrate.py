"""Confidences that held-out examples make mean what they say."""

from typing import Any, Iterable, List

import numpy
from spacy.language import Language
from spacy.training import Example

from ..pipeline.calibration import Calibration, fit_calibration
from ..pipeline.examples import aligned_tags
from .check import check_enabled, docs_before, masked_lm_pipes
from .examples import Annotated, to_examples


def calibrate(nlp: Language, examples: Iterable[Annotated]) -> List[Calibration]:
    """Let the confidences of a trained pipeline be the shares that are right.

    examples (Iterable): As those of `train`, which it was not trained on: fifty
        entities say enough, more say it better. The threshold, which is one of
        confidence, stays, so that less or more may be found than before.
    RETURNS (List[Calibration]): Of its `entlm_ner` components, and of their peers.
    RAISES (ValueError): If it has none, or there is no example.
    EXAMPLE:
        spacy_entlm.calibrate(nlp, held_out)
    """
    check_enabled(nlp)
    pipes = masked_lm_pipes(nlp)
    if not pipes:
        raise ValueError("There is no entlm_ner, nor a peer of it, to calibrate")
    data = to_examples(nlp, examples)
    if not data:
        raise ValueError("There is nothing to calibrate with: no examples were given")
    return [_calibrate(nlp, name, pipe, data) for name, pipe in pipes.items()]


def _calibrate(
    nlp: Language, name: str, pipe: Any, examples: List[Example]
) -> Calibration:
    confidences: List[float] = []
    right: List[bool] = []
    docs = docs_before(nlp, name, (eg.predicted.copy() for eg in examples))
    for doc, eg, found in zip(docs, examples, pipe.predict(docs)):
        tags = aligned_tags(Example(doc, eg.reference))
        for (start, end, label), sure in zip(found.spans.tolist(), found.confidences):
            if None not in tags[start:end]:  # not annotated, or of other words
                confidences.append(float(sure))
                right.append(tags[start:end] == _tags(pipe.labels[label], end - start))
    pipe.calibration = fit_calibration(
        numpy.array(confidences), numpy.array(right, dtype=bool), pipe.calibration
    )
    return pipe.calibration


def _tags(label: str, n_words: int) -> List[str]:
    """BILUO tags of an entity."""
    if n_words == 1:
        return [f"U-{label}"]
    return [f"B-{label}", *[f"I-{label}"] * (n_words - 2), f"L-{label}"]
