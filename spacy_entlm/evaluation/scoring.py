"""F1 against gold as it is annotated (BIO) and with neighbours merged (IO).

An IO tagger cannot tell two neighbouring entities of one class apart. The paper scores
against gold in which such neighbours are one entity; spaCy's scorer does not. A tagger
that can tell them apart is no worse for it: in its predictions they are merged, too.
"""

from typing import Any, Dict, Iterable, List, Optional, Sequence, Tuple

from spacy.scorer import get_ner_prf
from spacy.tokens import Doc, Span
from spacy.training import Example

PRF = ("p", "r", "f")
MISSING = 0  # `ent_iob` of a word without annotation

# First word, end, and class.
LabelledSpan = Tuple[int, int, str]


def score_entities(examples: Iterable[Example]) -> Dict[str, Any]:
    """Precision, recall and F1 in both ways of counting.

    examples (Iterable[Example]): Predicted and gold entities.
    RETURNS (Dict[str, Any]): "io" and "bio", each with "p", "r", "f" and "per_type",
        as shares from 0 to 1; and "n_entities" of the gold as annotated.
    """
    examples = list(examples)
    merged = [
        Example(
            merge_neighbours(eg.predicted, eg.get_aligned("ENT_IOB")),
            merge_neighbours(eg.reference),
        )
        for eg in examples
    ]
    n_entities = sum(len(eg.reference.ents) for eg in examples)
    return {"io": _prf(merged), "bio": _prf(examples), "n_entities": n_entities}


def merge_neighbours(doc: Doc, known: Optional[Sequence[Any]] = None) -> Doc:
    """A copy in which neighbouring entities of one class are one.

    known (Optional[Sequence[int]]): The gold's `ent_iob` of each word. Entities on
        words without annotation are left out: they are neither right nor wrong, and
        must not be merged with others.
    """
    spans = entity_spans(doc)
    if known is not None:
        spans = [span for span in spans if MISSING not in known[span[0] : span[1]]]
    copy = doc.copy()
    default = "unmodified" if known is None else "outside"
    merged = [Span(copy, *span) for span in merge_spans(spans)]
    copy.set_ents(merged, default=default)
    return copy


def entity_spans(doc: Doc) -> List[LabelledSpan]:
    """The entities of a Doc."""
    return [(ent.start, ent.end, ent.label_) for ent in doc.ents]


def merge_spans(spans: Iterable[LabelledSpan]) -> List[LabelledSpan]:
    """Spans, of which no two overlap, with neighbours of one class as one."""
    merged: List[LabelledSpan] = []
    for start, end, label in sorted(spans):
        if merged and merged[-1][1:] == (start, label):
            start = merged.pop()[0]
        merged.append((start, end, label))
    return merged


def _prf(examples: List[Example]) -> Dict[str, Any]:
    scores = get_ner_prf(examples)
    per_type = scores["ents_per_type"] or {}
    return {
        **{key: scores[f"ents_{key}"] or 0.0 for key in PRF},
        "per_type": {label: per_type[label] for label in sorted(per_type)},
    }
