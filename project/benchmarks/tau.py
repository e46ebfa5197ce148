"""F1 of the Viterbi decoder against the weight of the transitions, on a dev set.

One training for each sample; its probabilities of all words of the dev set are kept in
OUT, so that a second run, and every other decoder, needs no training. Differences are
paired over the samples with the decoder that looks at each word alone.

    python project/benchmarks/tau.py OUT --backbone LM --train train.jsonl \\
        --dev dev.jsonl --annotated distant.jsonl --label-words WORDS.json \\
        [--method entlm_ner] [--shots 5] [--samples 10] [--learn-rate 3e-4]
"""

import math
import statistics
from dataclasses import replace
from pathlib import Path
from typing import Any, Dict, List, Optional

import numpy
import spacy
import typer
from spacy.language import Language
from spacy.tokens import Doc, Span
from spacy.training import Example
from tqdm import tqdm

import spacy_entlm
from spacy_entlm.cli._util import one_line_errors
from spacy_entlm.corpus.readers import read_docs
from spacy_entlm.corpus.sampling import sample_exact
from spacy_entlm.decoding.io import IODecoder
from spacy_entlm.decoding.transitions import TransitionCounts, count_transitions
from spacy_entlm.decoding.types import Decoder, LabelScores
from spacy_entlm.decoding.viterbi import OFFICIAL_TAU, ViterbiDecoder
from spacy_entlm.evaluation.scoring import score_entities
from spacy_entlm.files.file import write_file
from spacy_entlm.label_words.words import read_label_words

ENTLM = "entlm_ner"
TAUS = (0.0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.7, 1.0)
# As in the other benchmarks: the sampler of the paper's authors takes no shorter ones.
MIN_WORDS = 10
TRAIN_SEED = 1


def main(
    out: Path,
    backbone: str = typer.Option(...),
    train: Path = typer.Option(..., help="To sample from"),
    dev: Path = typer.Option(..., help="Evaluated on"),
    annotated: Optional[Path] = typer.Option(None, help="To count transitions in, too"),
    label_words: Optional[Path] = None,
    method: str = typer.Option(ENTLM, help="entlm_ner, or a tagger such as nnshot"),
    shots: int = 5,
    samples: int = 10,
    learn_rate: Optional[float] = None,
) -> None:
    """Train what OUT does not have yet, and print a table."""
    with one_line_errors():
        reader = spacy.blank("en")
        pool, _ = read_docs(train, reader)
        gold, _ = read_docs(dev, reader)
        words = read_label_words(label_words) if label_words else None
        chosen = range(1, samples + 1)
        drawn = [sample_exact(pool, shots, seed=i, min_words=MIN_WORDS) for i in chosen]
        scores = []
        for number, docs in zip(tqdm(chosen, unit="training"), drawn):
            path = out / f"{method}-{shots}-{number}.npz"
            if not path.exists():
                settings = {"label_words": words, "learn_rate": learn_rate}
                nlp = _trained(method, backbone, docs, settings)
                with write_file(path) as temporary:
                    _save_scores(nlp, gold, temporary)
            scores.append(numpy.load(path))
        labels = scores[0]["labels"].tolist()
        sources = {"sample": [count_transitions(docs, labels) for docs in drawn]}
        if annotated is not None:
            text, _ = read_docs(annotated, reader)
            sources["annotated"] = [count_transitions(text, labels)] * samples
        _report(scores, gold, sources)


def _trained(
    method: str, backbone: str, docs: List[Doc], settings: Dict[str, Any]
) -> Language:
    nlp = spacy.blank("en")
    nlp.add_pipe(method, config={"model": {"name": backbone}})
    if method != ENTLM:
        del settings["label_words"]
    spacy_entlm.train(nlp, docs, seed=TRAIN_SEED, **settings)
    return nlp


def _save_scores(nlp: Language, gold: List[Doc], path: Path) -> None:
    pipe: Any = nlp.get_pipe(nlp.pipe_names[-1])
    docs = [_bare(nlp, doc) for doc in gold]
    pipe.predict(docs)  # which makes the index, where there is one
    scores = pipe.label_model.score(pipe.model.predict(docs), need_probs=True)
    numpy.savez(
        path,
        best=scores.best,
        confidence=scores.confidence,
        probs=scores.probs,
        word_prob=scores.word_prob,
        labels=numpy.array(pipe.labels),
    )


def _bare(nlp: Language, doc: Doc) -> Doc:
    spaces = [bool(token.whitespace_) for token in doc]
    return Doc(nlp.vocab, words=[token.text for token in doc], spaces=spaces)


class AllWordsDecoder(ViterbiDecoder):
    """What speaks for no entity is the probability of all words of the vocabulary
    together, not of the best one."""

    def __call__(self, scores: LabelScores, docs: List[Doc]) -> Any:
        others: Any = 1 - scores.probs.sum(axis=1)
        return super().__call__(replace(scores, word_prob=others), docs)


def _report(
    scores: List[Any], gold: List[Doc], sources: Dict[str, List[TransitionCounts]]
) -> None:
    plain = [_f1(IODecoder(), each, gold) for each in scores]
    print("| emission of no entity | tau | " + " | ".join(sources) + " |")
    print("| --- | ---: |" + " ---: |" * len(sources))
    print(f"| each word alone | | {_mean_sd(plain)} |" + " |" * (len(sources) - 1))
    rows = [("best word", ViterbiDecoder, tau, False) for tau in TAUS]
    rows += [("all words", AllWordsDecoder, tau, False) for tau in TAUS]
    rows.append(("official", ViterbiDecoder, OFFICIAL_TAU, True))
    for name, decoder_class, tau, official in rows:
        cells = []
        for counts in sources.values():
            found = []
            for each, count in zip(scores, counts):
                decoder = decoder_class(tau=tau, official=official)
                decoder.counts = count
                found.append(_f1(decoder, each, gold))
            cells.append(f"{_mean_sd(found)}, {_difference(found, plain)}")
        print(f"| {name} | {tau} | " + " | ".join(cells) + " |", flush=True)


def _f1(decoder: Decoder, saved: Any, gold: List[Doc]) -> float:
    scores = LabelScores(
        best=saved["best"],
        confidence=saved["confidence"],
        probs=saved["probs"],
        lengths=[len(doc) for doc in gold],
        word_prob=saved["word_prob"],
    )
    labels = saved["labels"].tolist()
    examples = []
    for doc, found in zip(gold, decoder(scores, gold)):
        predicted = Doc(doc.vocab, words=[token.text for token in doc])
        predicted.set_ents(
            [Span(predicted, a, b, labels[c]) for a, b, c in found.spans.tolist()]
        )
        examples.append(Example(predicted, doc))
    return 100 * score_entities(examples)["io"]["f"]


def _mean_sd(values: List[float]) -> str:
    return f"{statistics.mean(values):.2f} ({_sd(values):.2f})"


def _difference(values: List[float], others: List[float]) -> str:
    """Mean of paired differences and its standard error."""
    pairs = [value - other for value, other in zip(values, others)]
    return f"{statistics.mean(pairs):+.2f} ({_sd(pairs) / math.sqrt(len(pairs)):.2f})"


def _sd(values: List[float]) -> float:
    return statistics.stdev(values) if len(values) > 1 else 0.0


if __name__ == "__main__":
    typer.run(main)
