"""Predict the test part of a dataset, and score what was predicted."""

import time
from typing import Any, Callable, Dict, Iterable, List, Optional, Sequence

from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example
from spacy.util import minibatch

from ..scoring import score_entities
from .calibration import calibration_bins
from .cells import Cell
from .config import Lexicon

PREDICT_BATCH = 256

Predict = Callable[[Iterable[Doc]], Iterable[Doc]]


def bare_doc(nlp: Language, doc: Doc) -> Doc:
    """The words of a Doc without their annotation, in a pipeline's vocabulary."""
    words = [token.text for token in doc]
    spaces = [bool(token.whitespace_) for token in doc]
    return Doc(nlp.vocab, words=words, spaces=spaces)


def last_component(nlp: Language) -> Any:
    """The component that finds the entities."""
    return nlp.get_pipe(nlp.pipe_names[-1])


def lexicon_matches(cell: Cell, nlp: Language) -> Predict:
    """A way to predict: what a lexicon matches.

    cell (Cell): Whose settings name the lexicon. nlp (Language): For the vocabulary.
    """
    from ...lexicon.match import LexiconMatcher, annotate
    from ...lexicon.readers import read_lexicon

    settings = Lexicon.model_validate(cell.method.config)
    entries, _ = read_lexicon(
        settings.path, label=settings.label, label_map=settings.map
    )
    stops = nlp.Defaults.stop_words if settings.stop_words else ()
    matcher = LexiconMatcher(
        entries,
        case=settings.case,
        min_length=settings.min_length,
        stop_words=stops,
    )

    def predict(docs: Iterable[Doc]) -> Iterable[Doc]:
        bare = (bare_doc(nlp, doc) for doc in docs)
        return (doc for doc, _ in annotate(bare, matcher, join=settings.join))

    return predict


def evaluate_pipelines(
    pipelines: Sequence[Language], gold: List[Doc]
) -> List[Dict[str, Any]]:
    """Predict and score, with one pass over the text for all pipelines.

    pipelines (Sequence[Language]): Several only if they differ in nothing but their
        decoders; none of them then has seconds of its own.
    gold (List[Doc]): The test part.
    RETURNS (List[Dict[str, Any]]): What the records say of each pipeline.
    """
    if len(pipelines) == 1:
        (nlp,) = pipelines
        key = _spans_key(last_component(nlp))

        def predict(docs: Iterable[Doc]) -> Iterable[Doc]:
            bare = (bare_doc(nlp, doc) for doc in docs)
            return nlp.pipe(bare, batch_size=PREDICT_BATCH)

        return [evaluate(predict, gold, key)]
    components = [last_component(nlp) for nlp in pipelines]
    # Where one decoder wants the probabilities, the others need not ask again.
    scorer = max(components, key=lambda pipe: pipe.decoder.needs_probs)
    predicted: List[List[Doc]] = [[] for _ in pipelines]
    for docs in minibatch(gold, PREDICT_BATCH):
        scores = scorer.score_words([bare_doc(pipelines[0], doc) for doc in docs])
        for nlp, pipe, done in zip(pipelines, components, predicted):
            own = [bare_doc(nlp, doc) for doc in docs]
            pipe.set_annotations(own, pipe.decoder(scores, own))
            done += own
    return [
        {**score_docs(docs, gold, _spans_key(pipe)), "seconds_test": None}
        for docs, pipe in zip(predicted, components)
    ]


def evaluate(
    predict: Predict, gold: List[Doc], spans_key: Optional[str] = None
) -> Dict[str, Any]:
    """Predict and score.

    predict (Predict): What is to be measured. gold (List[Doc]): The test part.
    spans_key (Optional[str]): Span group with confidences.
    RETURNS (Dict[str, Any]): What a record says of it.
    """
    start = time.perf_counter()
    predicted = list(predict(gold))
    seconds = time.perf_counter() - start
    return {**score_docs(predicted, gold, spans_key), "seconds_test": round(seconds, 3)}


def score_docs(
    predicted: List[Doc], gold: List[Doc], spans_key: Optional[str]
) -> Dict[str, Any]:
    """Scores of what was predicted.

    predicted, gold (List[Doc]): The same words. spans_key (Optional[str]): As above.
    """
    examples = [Example(x, doc) for x, doc in zip(predicted, gold)]
    scores = score_entities(examples)
    return {
        "io": scores["io"],
        "bio": scores["bio"],
        "n_test": len(gold),
        "calibration": calibration_bins(predicted, gold, spans_key),
    }


def _spans_key(pipe: Any) -> Optional[str]:
    """The span group in which a component leaves its confidences."""
    return getattr(pipe, "spans_key", None)
