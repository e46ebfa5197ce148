"""Label rows where no label word is one piece: the mean of pieces, or a prototype.

In a field whose words the backbone cannot say in one piece (chemistry, medicine), a
label word stands for the mean of its pieces' rows. Here that is compared with rows made
from what the masked LM does at the lexicon's matches:

  multi_piece  the mean of the pieces' rows (what the component does)
  features     the mean feature at the matches less that at all words, as long as a
               label row
  predictions  the mean of the rows of the words that the LM predicts there, weighted
               with their probabilities

Such a field is made from text with a lexicon's labels by taking away every label word
that is one piece. Prints F1 and the differences to multi_piece, paired over samples.

    python project/benchmarks/prototype_rows.py OUT.json --backbone LM \\
        --train train.jsonl --test dev.jsonl --annotated distant.jsonl
"""

import json
import statistics
from collections import Counter
from pathlib import Path
from typing import Any, Dict, List, Tuple

import numpy
import spacy
import torch
import typer
from spacy.tokens import Doc
from spacy.training import Example
from tqdm import tqdm

import spacy_entlm
from spacy_entlm.corpus.readers import read_docs
from spacy_entlm.corpus.sampling import sample_exact
from spacy_entlm.evaluation.scoring import score_entities
from spacy_entlm.label_words.search import OUTSIDE, search_data

SHOTS, MIN_WORDS = 5, 10
VARIANTS = ("multi_piece", "features", "predictions")
Rows = Dict[str, Tuple[torch.Tensor, torch.Tensor]]


def main(
    out: Path,
    backbone: str = typer.Option(...),
    train: Path = typer.Option(..., help="Gold, sampled from"),
    test: Path = typer.Option(..., help="Gold, measured on"),
    annotated: Path = typer.Option(..., help="Labels of a lexicon"),
    samples: int = 10,
    learn_rate: float = 3e-4,
) -> None:
    """Train every variant on every sample."""
    nlp = spacy.blank("en")
    pool, gold, marked = (read_docs(path, nlp)[0] for path in (train, test, annotated))
    words = _multi_piece_words(marked, _start(backbone, {"X": ["the"]}, pool[:1]))
    print(words)
    rows = _prototypes(marked, _start(backbone, words, pool[:1]))
    found: Dict[str, List[float]] = {variant: [] for variant in VARIANTS}
    for seed in tqdm(range(1, samples + 1), unit="sample"):
        shots = sample_exact(pool, SHOTS, seed=seed, min_words=MIN_WORDS)
        for variant in VARIANTS:
            trained = _start(backbone, words, shots)
            if variant != "multi_piece":
                _set_rows(trained, rows[variant])
            data = [_example(trained, doc) for doc in shots]
            spacy_entlm.train(trained, data, learn_rate=learn_rate, seed=seed)
            examples = [_example(trained, doc) for doc in gold]
            docs = trained.pipe([eg.predicted for eg in examples], batch_size=256)
            scored = [Example(x, eg.reference) for x, eg in zip(docs, examples)]
            found[variant].append(100 * score_entities(scored)["io"]["f"])
        out.write_text(json.dumps({"label_words": words, "f1": found}, indent=1) + "\n")
    for variant, scores in found.items():
        differences = [a - b for a, b in zip(scores, found["multi_piece"])]
        error = statistics.stdev(differences) / len(differences) ** 0.5
        print(
            f"{variant:12} {statistics.mean(scores):5.2f} "
            f"({statistics.stdev(scores):.2f})  {statistics.mean(differences):+.2f} "
            f"(s.e. {error:.2f})"
        )


def _start(backbone: str, words: Dict[str, List[str]], docs: List[Doc]) -> Any:
    nlp = spacy.blank("en")
    pipe: Any = nlp.add_pipe("entlm_ner", config={"model": {"name": backbone}})
    pipe.initialize(
        lambda: [_example(nlp, doc) for doc in docs], nlp=nlp, label_words=words
    )
    return nlp


def _example(nlp: Any, doc: Doc) -> Example:
    return Example(Doc(nlp.vocab, words=[token.text for token in doc]), doc)


def _multi_piece_words(marked: List[Doc], nlp: Any) -> Dict[str, List[str]]:
    """The label words by data that are more than one piece."""
    view = nlp.get_pipe("entlm_ner").label_model
    counts: Dict[str, Counter] = {}
    for doc in marked:
        for token in doc:
            if len(view.word_pieces(token.text)) != 1:
                counter = counts.setdefault(token.ent_type_ or OUTSIDE, Counter())
                counter[view.fold_word(token.text)] += 1
    return search_data(counts)


@torch.no_grad()
def _prototypes(marked: List[Doc], nlp: Any) -> Dict[str, Rows]:
    view = nlp.get_pipe("entlm_ner").label_model
    network, vocabulary = view.network, view.vocabulary
    docs = [Doc(nlp.vocab, words=[token.text for token in doc]) for doc in marked]
    types = numpy.array([token.ent_type_ for doc in marked for token in doc])
    pieces = view.read_words(docs)
    features, types = pieces.features, types[pieces.first_words]
    rows: Dict[str, Rows] = {"features": {}, "predictions": {}}
    for label, row, bias in zip(
        network.label_words, network.head.rows, network.head.biases
    ):
        here = features[torch.from_numpy(types == label)]
        direction = here.mean(0) - features.mean(0)
        length = row.norm() / direction.norm()
        rows["features"][label] = (direction * length, bias.clone())
        mean = torch.zeros(len(vocabulary))
        for block in here.split(256):
            mean += vocabulary.scores(block).softmax(1).sum(0) / len(here)
        rows["predictions"][label] = (
            mean @ vocabulary.weight,
            (mean @ vocabulary.bias).reshape(1),
        )
    return rows


@torch.no_grad()
def _set_rows(nlp: Any, rows: Rows) -> None:
    network = nlp.get_pipe("entlm_ner").label_model.network
    for place, label in enumerate(network.label_words):
        network.head.rows[place].copy_(rows[label][0])
        network.head.biases[place].copy_(rows[label][1])


if __name__ == "__main__":
    typer.run(main)
