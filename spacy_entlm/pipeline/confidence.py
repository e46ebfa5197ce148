"""How sure a pipeline is of an entity."""

from itertools import chain
from typing import Any, Dict, List, Optional, Tuple

from spacy.tokens import Doc, Span


def confidence(ent: Span, spans_key: Optional[str] = None) -> Optional[float]:
    """The confidence of an entity.

    spans_key (Optional[str]): The span group in which a component notes its entities;
        None: any that holds confidences.
    RETURNS (Optional[float]): From 0 to 1; None if no component found this span.
    """
    return _confidences(ent.doc, spans_key).get(_key(ent))


def found_spans(doc: Doc) -> List[Span]:
    """The entities, or the span groups' where only these are annotated."""
    groups = [] if doc.ents else doc.spans.values()
    scored = [list(group) for group in groups if "scores" in group.attrs]
    return [*doc.ents, *chain.from_iterable(scored)]


def scored_entities(doc: Doc) -> List[Dict[str, Any]]:
    """`found_spans` for JSON: "start" and "end" in characters, "label", and "score"
    where a component gave one."""
    known, entities = _confidences(doc), []
    for ent in found_spans(doc):
        span = {"start": ent.start_char, "end": ent.end_char, "label": ent.label_}
        score = known.get(_key(ent))
        entities.append(span if score is None else {**span, "score": round(score, 4)})
    return entities


def entities_of(doc: Doc, entry: Dict[str, Any]) -> Dict[str, Any]:
    """A text as a JSON object: its entities, and what the input says of it."""
    return {**entry, "text": doc.text, "spans": scored_entities(doc)}


def _confidences(
    doc: Doc, spans_key: Optional[str] = None
) -> Dict[Tuple[int, int, int], float]:
    """Of all spans of the groups that hold some; of two the first one's."""
    known: Dict[Tuple[int, int, int], float] = {}
    for key in doc.spans if spans_key is None else [spans_key]:
        group = doc.spans.get(key, [])
        scores = getattr(group, "attrs", {}).get("scores")
        for span, score in zip(group, () if scores is None else scores):
            known.setdefault(_key(span), float(score))
    return known


def _key(span: Span) -> Tuple[int, int, int]:
    return span.start, span.end, span.label
