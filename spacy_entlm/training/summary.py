"""What a training was about, on one screen."""

from collections import Counter
from pathlib import Path
from typing import Any, Dict, Iterable, List, Optional

from spacy.language import Language
from spacy.training import Example

from ..files.errors import DataError
from ..files.text import read_bytes

# Of the examples that are counted.
FEW = 5


def scored_on(nlp: Language) -> str:
    """Say on what the scores of a training are measured.

    nlp (Language): With the config of the training.
    """
    if measures_itself(nlp):
        return "Scores are of the training examples themselves: there is no dev part"
    return f"Scores are of {_corpus_path(nlp, 'dev') or 'the dev corpus'}"


def measures_itself(nlp: Language) -> bool:
    """Whether a training is scored on its own examples."""
    train, dev = _corpus_path(nlp, "train"), _corpus_path(nlp, "dev")
    return train is not None and dev is not None and _same_file(train, dev)


def summary_lines(
    nlp: Language,
    name: str,
    examples: Iterable[Example],
    scores: Optional[Dict[str, Dict[str, float]]] = None,
) -> List[str]:
    """Label words and entities of each class, and what would help most.

    nlp (Language): The trained pipeline. name (str): The component's name.
    examples (Iterable[Example]): The training examples.
    scores (Optional[Dict[str, Dict[str, float]]]): "p", "r", "f" per class, from 0 to
        1, on other examples than these; None: there are none.
    """
    pipe: Any = nlp.get_pipe(name)
    counts = Counter(ent.label_ for eg in examples for ent in eg.reference.ents)
    width = max(map(len, pipe.labels), default=0)
    lines = [f"[{name}] classes, entities in the examples, label words:"]
    for label, words in pipe.label_data.items():
        f1 = "" if scores is None else f"  F1 {_percent(scores, label):5.1f}"
        said = ", ".join(words)
        lines.append(f"  {label:<{width}} {counts[label]:>5}{f1}  {said}")
    advice = _advice(list(pipe.labels), counts, scores)
    return [*lines, f"What would help most: {advice}"] if advice else lines


def _advice(
    labels: List[str],
    counts: "Counter[str]",
    scores: Optional[Dict[str, Dict[str, float]]],
) -> str:
    if not labels:
        return ""
    rarest = min(labels, key=lambda label: counts[label])
    if counts[rarest] < FEW:
        return f"more examples of {rarest}, which has {counts[rarest]}"
    if scores is None:
        return "a dev part, or `crossval`, to see which class is found least"
    weakest = min(labels, key=lambda label: _percent(scores, label))
    return (
        f"more examples of {weakest}, or other label words for it: its F1 is "
        f"{_percent(scores, weakest):.1f}"
    )


def _percent(scores: Dict[str, Dict[str, float]], label: str) -> float:
    return 100 * scores.get(label, {}).get("f", 0.0)


def _corpus_path(nlp: Language, part: str) -> Optional[Path]:
    corpora = nlp.config.interpolate().get("corpora", {})
    path = corpora.get(part, {}).get("path")
    return Path(path) if isinstance(path, (str, Path)) else None


def _same_file(left: Path, right: Path) -> bool:
    try:
        return left == right or read_bytes(left) == read_bytes(right)
    except DataError:  # folders of files
        return False
