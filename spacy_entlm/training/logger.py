"""`spacy-entlm.TrainingLogger.v1`: spaCy's console logger, and a last look."""

import logging
import sys
from itertools import islice
from typing import IO, Any, Callable, Dict, Optional, Tuple

from spacy.language import Language
from spacy.training.loggers import console_logger_v3

from .check import (
    EXAMPLES_CHECKED,
    entlm_names,
    training_examples,
    warn_if_nothing_learned,
)
from .summary import measures_itself, scored_on, summary_lines

logger = logging.getLogger("spacy.entlm")

Printer = Tuple[Callable[[Optional[Dict[str, Any]]], None], Callable[[], None]]


def build_training_logger(
    progress_bar: Optional[str] = None, console_output: bool = True
) -> Callable[[Language, IO, IO], Printer]:
    """spaCy's console logger, which at the end warns if an `entlm_ner` component finds
    no entity in its own training examples, and shows what it has learned.

    progress_bar (Optional[str]): None, "train" or "eval", as in
        spacy.ConsoleLogger.v3.
    console_output (bool): Whether the table and the summary are printed.
    """
    make_console = console_logger_v3(
        progress_bar=progress_bar, console_output=console_output
    )

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
    for name in entlm_names(nlp):
        examples = islice(training_examples(nlp), EXAMPLES_CHECKED)
        warn_if_nothing_learned(nlp, name, examples)
        if stdout is not None:
            # Scores of the training examples say nothing about what is to be done.
            types = None if measures_itself(nlp) else scores.get("ents_per_type")
            lines = summary_lines(nlp, name, training_examples(nlp), types)
            stdout.write("".join(f"{line}\n" for line in lines))
