"""F1 against gold as it is annotated (BIO) and with neighbours merged (IO).

An IO tagger cannot tell two neighbouring entities of one class apart. The paper scores
against gold in which such neighbours are one entity; spaCy's scorer does not. A tagger
that can tell them apart is no worse for it: in its predictions they are merged, too.
"""

from collections import defaultdict
from typing import Any, Dict, Iterable, List, Sequence, Tuple

from spacy.scorer import PRFScore
from spacy.tokens import Doc
from spacy.training import Example

MISSING = 0  # `ent_iob` of a word without annotation

# First word, end, and class.
LabelledSpan = Tuple[int, int, str]


def score_entities(examples: Iterable[Example]) -> Dict[str, Any]:
    """Precision, recall and F1 in both ways of counting.

    examples (Iterable[Example]): Predicted and gold entities, on the same words.
    RETURNS (Dict[str, Any]): "io" and "bio", each with "p", "r", "f" and "per_type",
        as shares from 0 to 1; and "n_entities" of the gold as annotated.
    """
    golds: List[Tuple[Doc, Doc]] = [(eg.reference, eg.predicted) for eg in examples]
    scores: Dict[str, Any] = {}
    for way, merged in (("io", True), ("bio", False)):
        per_type: Dict[str, PRFScore] = defaultdict(PRFScore)
        for gold, predicted in golds:
            right = judged_entities(gold, entity_spans(gold), merged=merged)
            found = judged_entities(gold, entity_spans(predicted), merged=merged)
            for label in {label for _, _, label in right + found}:
                own = ({span for span in s if span[2] == label} for s in (found, right))
                per_type[label].score_set(*own)
        by_label = {label: per_type[label].to_dict() for label in sorted(per_type)}
        total = sum(per_type.values(), PRFScore()).to_dict()
        scores[way] = {**total, "per_type": by_label}
    return {**scores, "n_entities": sum(len(gold.ents) for gold, _ in golds)}


def entity_spans(doc: Doc) -> List[LabelledSpan]:
    """The entities of a Doc."""
    return [(ent.start, ent.end, ent.label_) for ent in doc.ents]


def judged_entities(
    doc: Doc, entities: Sequence[LabelledSpan], *, merged: bool
) -> List[LabelledSpan]:
    """Entities of a sentence, sorted, without those on words that are not annotated in
    it, which are neither right nor wrong. merged (bool): Whether neighbours of one
    class become one (IO)."""
    known = [token.ent_iob != MISSING for token in doc]
    judged: List[LabelledSpan] = []
    for start, end, label in sorted(entities):
        if all(known[start:end]):
            if merged and judged and judged[-1][1:] == (start, label):
                start = judged.pop()[0]
            judged.append((start, end, label))
    return judged
