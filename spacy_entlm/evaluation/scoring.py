"""F1 against gold as it is annotated (BIO) and with neighbours merged (IO).

An IO tagger cannot tell two neighbouring entities of one class apart. The paper scores
against gold in which such neighbours are one entity; spaCy's scorer does not. A tagger
that can tell them apart is no worse for it: in its predictions they are merged, too.
"""

from collections import defaultdict
from typing import Any, Callable, Dict, Iterable, List, Sequence, Tuple

from spacy.scorer import PRFScore
from spacy.tokens import Doc
from spacy.training import Example

MISSING = 0  # `ent_iob` of a word without annotation

# First word, end, and class.
LabelledSpan = Tuple[int, int, str]
Spans = Sequence[LabelledSpan]


def score_entities(examples: Iterable[Example]) -> Dict[str, Any]:
    """Precision, recall and F1 in both ways of counting.

    examples (Iterable[Example]): Predicted and gold entities, on the same words.
    RETURNS (Dict[str, Any]): "io" and "bio", each with "p", "r", "f" and "per_type",
        as shares from 0 to 1; and "n_entities" of the gold as annotated.
    """
    examples = list(examples)
    scores: Dict[str, Any] = {}
    for way, merged in (("io", True), ("bio", False)):
        per_type = _score(examples, entity_spans, merged)
        by_label = {label: per_type[label].to_dict() for label in sorted(per_type)}
        total = sum(per_type.values(), PRFScore()).to_dict()
        scores[way] = {**total, "per_type": by_label}
    return {**scores, "n_entities": sum(len(eg.reference.ents) for eg in examples)}


def score_words(examples: Iterable[Example]) -> Dict[str, PRFScore]:
    """Score per class how many words are found in entities of it: a given name alone
    is no person's name, yet the word is right.

    examples (Iterable[Example]): As in `score_entities`.
    """

    def words(doc: Doc) -> Spans:
        return [(t.i, t.i + 1, t.ent_type_) for t in doc if t.ent_type]

    return _score(examples, words, False)


def _score(
    examples: Iterable[Example], spans_of: Callable[[Doc], Spans], merged: bool
) -> Dict[str, PRFScore]:
    per_type: Dict[str, PRFScore] = defaultdict(PRFScore)
    for eg in examples:
        gold, both = eg.reference, map(spans_of, (eg.reference, eg.predicted))
        right, found = (judged_entities(gold, x, merged=merged) for x in both)
        for label in {label for _, _, label in right + found}:
            own = ({span for span in s if span[2] == label} for s in (found, right))
            per_type[label].score_set(*own)
    return per_type


def entity_spans(doc: Doc) -> List[LabelledSpan]:
    """The entities of a Doc."""
    return [(ent.start, ent.end, ent.label_) for ent in doc.ents]


def judged_entities(doc: Doc, entities: Spans, *, merged: bool) -> List[LabelledSpan]:
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
