"""How far confidences are shares of what is right: bins, and the error over them."""

from typing import Any, Dict, List, Optional, Sequence

from spacy.tokens import Doc

from ..scoring import merge_neighbours

N_BINS = 10

# {"count", "correct", "confidence"} per bin: entities, right ones among them, and the
# sum of their confidences. Bins of several runs add up.
Bins = List[Dict[str, Any]]


def calibration_bins(
    predicted: Sequence[Doc], gold: Sequence[Doc], spans_key: Optional[str]
) -> Optional[Bins]:
    """Sort predicted entities by their confidence into bins of equal width.

    predicted (Sequence[Doc]): With a span group and its `attrs["scores"]`.
    gold (Sequence[Doc]): The same sentences; neighbours of one class count as one.
    spans_key (Optional[str]): The span group.
    RETURNS (Optional[List[Dict[str, Any]]]): Ten bins from 0 to 1; None if there are no
        confidences.
    """
    bins: Bins = [{"count": 0, "correct": 0, "confidence": 0.0} for _ in range(N_BINS)]
    for doc, reference in zip(predicted, gold):
        if spans_key is None or spans_key not in doc.spans:
            return None
        group = doc.spans[spans_key]
        if "scores" not in group.attrs:
            return None
        right = {
            (ent.start, ent.end, ent.label_) for ent in merge_neighbours(reference).ents
        }
        for span, score in zip(group, group.attrs["scores"]):
            bin_ = bins[min(int(score * N_BINS), N_BINS - 1)]
            bin_["count"] += 1
            bin_["correct"] += (span.start, span.end, span.label_) in right
            bin_["confidence"] += float(score)
    return bins


def add_bins(parts: Sequence[Bins]) -> Bins:
    """Add the bins of several runs up.

    parts (Sequence[List[Dict[str, Any]]]): From `calibration_bins`.
    """
    return [
        {name: sum(bin_[name] for bin_ in column) for name in column[0]}
        for column in zip(*parts)
    ]


def expected_calibration_error(bins: Bins) -> float:
    """Mean distance of confidence and share of right ones, weighted by the entities of
    each bin; 0 if there are none.

    bins (List[Dict[str, Any]]): From `calibration_bins`.
    """
    total = sum(bin_["count"] for bin_ in bins)
    distances = (abs(bin_["confidence"] - bin_["correct"]) for bin_ in bins)
    return sum(distances) / total if total else 0.0
