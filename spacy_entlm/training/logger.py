"""`spacy-entlm.TrainingLogger.v1`: spaCy's console logger, and a last look: what the
training was about, on one screen."""

import logging
import sys
from collections import Counter
from filecmp import cmp
from itertools import islice
from pathlib import Path
from typing import IO, Any, Callable, Dict, Iterable, List, Optional, Tuple

from spacy.language import Language
from spacy.training import Example
from spacy.training.loggers import console_logger_v3

from ..pipeline.examples import annotated_copies, annotating_pipes
from ..pipeline.lexicon import find_lexicon
from . import check

logger = logging.getLogger("spacy.entlm")

# Of the examples that are counted.
FEW = 5
MAX_F1 = 100.0
Scores = Optional[Dict[str, Dict[str, float]]]
Printer = Tuple[Callable[[Optional[Dict[str, Any]]], None], Callable[[], None]]


def build_training_logger(
    progress_bar: Optional[str] = None, console_output: bool = True
) -> Callable[[Language, IO, IO], Printer]:
    """spaCy's console logger, which at the end warns if an `entlm_ner` component finds
    no entity in its own training examples, and shows what it has learned.

    progress_bar (Optional[str]): As in spacy.ConsoleLogger.v3.
    console_output (bool): Whether the table and the summary are printed.
    """
    make_console = console_logger_v3(progress_bar, console_output)

    def setup(nlp: Language, stdout: IO = sys.stdout, stderr: IO = sys.stderr):
        if console_output:
            stdout.write(f"{scored_on(nlp)}\n")
        log_step, finalize_console = make_console(nlp, stdout, stderr)
        steps_logged = 0
        last_scores: Dict[str, Any] = {}

        def log(info: Optional[Dict[str, Any]]) -> None:
            nonlocal steps_logged
            steps_logged += 1
            last_scores.update((info or {}).get("other_scores", {}))
            log_step(info)

        def finalize() -> None:
            finalize_console()
            # A training that was stopped at once has nothing to be judged by.
            if steps_logged > 1 and sys.exc_info()[0] is None:
                try:
                    _last_look(nlp, last_scores, stdout if console_output else None)
                except Exception as err:  # the trained model is yet to be saved
                    logger.warning("The last look at the training failed: %s", err)

        return log, finalize

    return setup


def _last_look(nlp: Language, scores: Dict[str, Any], stdout: Optional[IO]) -> None:
    training = nlp.config.interpolate()["training"]
    is_stream = training["max_epochs"] < 0  # it may have no end
    for name, pipe in check.entlm_pipes(nlp).items():
        if name in training["frozen_components"]:
            continue
        corpus = check.training_examples(nlp)
        examples: Iterable[Example] = islice(corpus, check.EXAMPLES_CHECKED)
        examples = annotated_copies(examples, annotating_pipes(nlp, name))
        check.warn_if_nothing_learned(name, pipe, examples)
        if stdout is not None and not is_stream:
            # Scores of the training examples say nothing about what is to be done.
            types = None if measures_itself(nlp) else scores.get("ents_per_type")
            lines = summary_lines(nlp, name, check.training_examples(nlp), types)
            stdout.write("".join(f"{line}\n" for line in lines))


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

    name (str): Of the trained component. examples (Iterable[Example]): Of the training.
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
    lines += _known_names(nlp, pipe.labels)
    rarest = min(pipe.labels, key=lambda label: counts[label])
    weakest = min(pipe.labels, key=lambda label: f1s[label])
    if counts[rarest] < FEW:
        advice = f"more examples of {rarest}, which has {counts[rarest]}"
    elif scores is None:
        advice = "measure each class, with `evaluate` on a test part or with `crossval`"
        return [*lines, f"Next: {advice}"]
    elif round(f1s[weakest], 1) == MAX_F1:
        advice = "nothing was missed here: find entities in texts of your own, with "
        return [*lines, f"Next: {advice}`predict`, and mark those that are wrong"]
    else:
        advice = f"more examples or names of {weakest}, or other label words: its F1 "
        advice += f"is {f1s[weakest]:.1f}"
    return [*lines, f"What would help most: {advice}"]


def _known_names(nlp: Language, labels: Iterable[str]) -> List[str]:
    ruler = find_lexicon(nlp)
    if ruler is None:
        return []
    counts = Counter(pattern["label"] for pattern in ruler.patterns)
    known = [f"{label} {counts[label]:,}" for label in labels if counts[label]]
    return [f"Names that are known: {', '.join(known) or 'none of these classes'}"]


def _corpus_path(nlp: Language, part: str) -> Optional[Path]:
    path = nlp.config.interpolate().get("corpora", {}).get(part, {}).get("path")
    return Path(path) if isinstance(path, (str, Path)) else None
