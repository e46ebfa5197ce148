"""F1 against gold as it is annotated (BIO) and with neighbours merged (IO).

An IO tagger cannot tell two neighbouring entities of one class apart. The paper scores
against gold in which such neighbours are one entity; spaCy's scorer does not. A tagger
that can tell them apart is no worse for it: in its predictions they are merged, too.
"""

from typing import Any, Dict, Iterable, List

from spacy.scorer import get_ner_prf
from spacy.tokens import Doc, Span
from spacy.training import Example

PRF = ("p", "r", "f")


def score_entities(examples: Iterable[Example]) -> Dict[str, Any]:
    """Precision, recall and F1 in both ways of counting.

    examples (Iterable[Example]): Predicted and gold entities.
    RETURNS (Dict[str, Any]): "io" and "bio", each with "p", "r", "f" and "per_type",
        as shares from 0 to 1; and "n_entities" of the gold as annotated.
    """
    examples = list(examples)
    merged = [
        Example(merge_neighbours(eg.predicted), merge_neighbours(eg.reference))
        for eg in examples
    ]
    return {
        "io": _prf(merged),
        "bio": _prf(examples),
        "n_entities": sum(len(eg.reference.ents) for eg in examples),
    }


def merge_neighbours(doc: Doc) -> Doc:
    """A copy in which neighbouring entities of one class are one."""
    merged: List[Span] = []
    copy = doc.copy()
    for ent in copy.ents:
        last = merged[-1] if merged else None
        if last is not None and last.end == ent.start and last.label == ent.label:
            merged[-1] = Span(copy, last.start, ent.end, label=ent.label)
        else:
            merged.append(ent)
    copy.set_ents(merged, default="unmodified")
    return copy


def _prf(examples: List[Example]) -> Dict[str, Any]:
    scores = get_ner_prf(examples)
    per_type = scores["ents_per_type"] or {}
    return {
        **{key: scores[f"ents_{key}"] or 0.0 for key in PRF},
        "per_type": {label: per_type[label] for label in sorted(per_type)},
    }
