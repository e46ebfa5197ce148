"""How sure a pipeline is of an entity."""

from typing import Optional

from spacy.tokens import Span


def confidence(ent: Span, spans_key: Optional[str] = None) -> Optional[float]:
    """The confidence of an entity.

    spans_key (Optional[str]): The span group in which a component notes its entities;
        None: any that holds confidences.
    RETURNS (Optional[float]): From 0 to 1; None if no component found this span.
    """
    groups = ent.doc.spans
    for key in groups if spans_key is None else [spans_key]:
        group = groups.get(key, [])
        scores = getattr(group, "attrs", {}).get("scores")
        if scores is None:
            continue
        for span, score in zip(group, scores):
            if (span.start, span.end, span.label) == (ent.start, ent.end, ent.label):
                return float(score)
    return None
