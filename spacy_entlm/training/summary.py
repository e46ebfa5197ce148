"""What a training was about, on one screen."""

from collections import Counter
from filecmp import cmp
from pathlib import Path
from typing import Any, Dict, Iterable, List, Optional

from spacy.language import Language
from spacy.training import Example

# Of the examples that are counted.
FEW = 5
Scores = Optional[Dict[str, Dict[str, float]]]


def scored_on(nlp: Language) -> str:
    """Say on what the scores of a training are measured, from the pipeline's config."""
    if measures_itself(nlp):
        return "Scores are of the training examples themselves: there is no dev part"
    return f"Scores are of {_corpus_path(nlp, 'dev') or 'the dev corpus'}"


def measures_itself(nlp: Language) -> bool:
    """Whether a training is scored on its own examples."""
    train, dev = _corpus_path(nlp, "train"), _corpus_path(nlp, "dev")
    if train is None or dev is None:
        return False
    both = train.is_file() and dev.is_file()
    return train == dev or (both and cmp(train, dev, shallow=False))


def summary_lines(
    nlp: Language, name: str, examples: Iterable[Example], scores: Scores = None
) -> List[str]:
    """Label words and entities of each class, and what would help most.

    nlp (Language): The trained pipeline. name (str): The component's name.
    examples (Iterable[Example]): The training examples.
    scores (Scores): "p", "r", "f" per class, from 0 to 1, on other examples than
        these; None: there are none.
    """
    pipe: Any = nlp.get_pipe(name)
    counts = Counter(ent.label_ for eg in examples for ent in eg.reference.ents)
    f1s = {x: 100 * (scores or {}).get(x, {}).get("f", 0.0) for x in pipe.labels}
    width = max(map(len, pipe.labels), default=0)
    lines = [f"[{name}] classes, entities in the examples, label words:"]
    for label, words in pipe.label_data.items():
        f1 = "" if scores is None else f"  F1 {f1s[label]:5.1f}"
        lines.append(f"  {label:<{width}} {counts[label]:>5}{f1}  {', '.join(words)}")
    if not pipe.labels:
        return lines
    rarest = min(pipe.labels, key=lambda label: counts[label])
    weakest = min(pipe.labels, key=lambda label: f1s[label])
    if counts[rarest] < FEW:
        advice = f"more examples of {rarest}, which has {counts[rarest]}"
    elif scores is None:
        advice = "a dev part, or `crossval`, to see which class is found least"
    else:
        advice = f"more examples of {weakest}, or other label words for it: its F1 is "
        advice += f"{f1s[weakest]:.1f}"
    return [*lines, f"What would help most: {advice}"]


def _corpus_path(nlp: Language, part: str) -> Optional[Path]:
    path = nlp.config.interpolate().get("corpora", {}).get(part, {}).get("path")
    return Path(path) if isinstance(path, (str, Path)) else None
