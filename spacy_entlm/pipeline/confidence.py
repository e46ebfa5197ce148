"""How sure a pipeline is of an entity."""

from typing import Any, Dict, Iterator, List, Optional, Tuple

from spacy.tokens import Doc, Span, SpanGroup

# First and last character, exclusive, and label.
Place = Tuple[int, int, str]


def scored_group(doc: Doc, name: str, spans: List[Span], confidences: Any) -> SpanGroup:
    """A span group of entities with their confidences, "scores". Their "places", in
    characters, stay right where a later component merges or splits words."""
    attrs = {"scores": confidences, "places": [list(_place(span)) for span in spans]}
    return SpanGroup(doc, name=name, spans=spans, attrs=attrs)


def confidence(ent: Span, spans_key: Optional[str] = None) -> Optional[float]:
    """The confidence of an entity.

    spans_key (Optional[str]): The span group in which a component notes its entities;
        None: any that holds confidences.
    RETURNS (Optional[float]): From 0 to 1; None if no component found this span.
    EXAMPLE:
        sure = [ent for ent in doc.ents if spacy_entlm.confidence(ent) > 0.8]
    """
    return _confidences(ent.doc, spans_key).get(_place(ent))


def found_spans(doc: Doc) -> List[Span]:
    """The entities, or the span groups' where only these are annotated."""
    if doc.ents:
        return list(doc.ents)
    places = [place for key in doc.spans for place, _ in _scored(doc, key)]
    found = [doc.char_span(start, end, label) for start, end, label in places]
    return [span for span in found if span is not None]


def scored_entities(doc: Doc) -> List[Dict[str, Any]]:
    """`found_spans` for JSON: "start" and "end" in characters, "label", and "score"
    where a component gave one."""
    known, entities = _confidences(doc), []
    for ent in found_spans(doc):
        span = {"start": ent.start_char, "end": ent.end_char, "label": ent.label_}
        score = known.get(_place(ent))
        entities.append(span if score is None else {**span, "score": round(score, 4)})
    return entities


def entities_of(doc: Doc, entry: Dict[str, Any]) -> Dict[str, Any]:
    """A text as a JSON object: its entities, and what the input says of it."""
    return {**entry, "text": doc.text, "spans": scored_entities(doc)}


def _confidences(doc: Doc, spans_key: Optional[str] = None) -> Dict[Place, float]:
    """Of all spans of the groups that hold some; of two the first one's."""
    known: Dict[Place, float] = {}
    for key in doc.spans if spans_key is None else [spans_key]:
        for place, score in _scored(doc, key):
            known.setdefault(place, float(score))
    return known


def _scored(doc: Doc, key: str) -> Iterator[Tuple[Place, float]]:
    """Of a span group that holds confidences, also one of another component."""
    group: Any = doc.spans.get(key)
    scores = None if group is None else group.attrs.get("scores")
    if scores is None:
        return
    # In files they are lists. A group that was changed by hand has others.
    noted = [tuple(place) for place in group.attrs.get("places", ())]
    if [place[-1] for place in noted] != [span.label_ for span in group]:
        noted = list(map(_place, group))
    yield from zip(noted, scores)


def _place(span: Span) -> Place:
    return span.start_char, span.end_char, span.label_
