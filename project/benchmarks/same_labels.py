"""Labels and confidences of `nlp.pipe` against those of a dense float32 softmax.

    python project/benchmarks/same_labels.py OUT.json --test test.jsonl --model PIPELINE
    python project/benchmarks/same_labels.py OUT.json --test test.jsonl \\
        --train 5shot/1.jsonl --label-words label_words.json --backbone LM

EntLM decides most words by their own piece and scores only the others against the
vocabulary, in batches of like length. The dense path reads the same sentences in their
order, padded in batches of 32, and takes the softmax over the whole vocabulary and all
labels at each word. With --train a pipeline is trained first; with --precision its
labels are compared with float32's. Words whose two best scores differ by less than
rounding are counted among the differences, and how close they were is said.
"""

import json
import time
from pathlib import Path
from typing import Any, Dict, Iterator, List, Optional, Tuple

import numpy
import spacy
import torch
import typer
from spacy.tokens import Doc
from tqdm import tqdm

import spacy_entlm
from spacy_entlm.cli._util import one_line_errors
from spacy_entlm.corpus.readers import read_docs
from spacy_entlm.files.file import write_file
from spacy_entlm.label_words.words import read_label_words

COMPONENT = "entlm_ner"
# Docs of a call of `predict`, and windows of a padded batch of the dense path.
PIPE_BATCH, DENSE_BATCH = 256, 32


def main(
    out: Path,
    test: Path = typer.Option(..., help="Sentences of any form that convert reads"),
    model: Optional[Path] = typer.Option(None, help="Trained pipeline"),
    train: Optional[Path] = typer.Option(None, help="Or examples to train on first"),
    label_words: Optional[Path] = typer.Option(None),
    backbone: str = typer.Option("", help="With --train: the masked LM"),
    precision: str = typer.Option("float32", help="Of the labels that are compared"),
    limit: int = typer.Option(0, help="Most sentences, 0: all"),
    threads: int = typer.Option(0, help="0: PyTorch's choice"),
) -> None:
    """Compare all words and write the counts to OUT."""
    if threads:
        torch.set_num_threads(threads)
    with one_line_errors():
        if model is not None:
            nlp = spacy.load(model)
        else:
            nlp = _train(train, label_words, backbone)
        gold, _ = read_docs(test, nlp)
        docs = [_unannotated(doc) for doc in gold][: limit or None]
        results = compare(nlp, docs, precision)
    results["sentences"], results["precision"] = len(docs), precision
    with write_file(out) as path:
        path.write_text(json.dumps(results, indent=1) + "\n", encoding="utf8")
    print(
        f"{results['sentences']:,} sentences, {results['words']:,} words, of which "
        f"{results['entity_words']:,} in entities: {results['differing']:,} labels "
        f"differ; confidences by at most {results['max_confidence_difference']:.2e}; "
        f"closest two best scores {results['smallest_margin']:.2e} "
        f"({results['seconds']:.0f} s, dense {results['dense_seconds']:.0f} s)"
    )


def compare(nlp: Any, docs: List[Doc], precision: str = "float32") -> Dict[str, Any]:
    """Label each word both ways.

    nlp (Language): With a trained `entlm_ner`. docs (List[Doc]): The sentences.
    precision (str): Of the component's own path; the dense one is float32.
    RETURNS (Dict[str, Any]): Counts of words and of differences.
    """
    start = time.perf_counter()
    best, confidence = _component(nlp, docs, precision)
    middle = time.perf_counter()
    dense_best, dense_confidence, margin = _dense(nlp, docs)
    end = time.perf_counter()
    same = best == dense_best
    difference = numpy.abs(confidence - dense_confidence)[same]
    return {
        "words": len(best),
        "entity_words": int((dense_best >= 0).sum()),
        "differing": int((~same).sum()),
        "margins_of_differing": margin[~same].tolist(),
        "smallest_margin": float(margin.min(initial=numpy.inf)),
        "max_confidence_difference": float(difference.max(initial=0.0)),
        "seconds": middle - start,
        "dense_seconds": end - middle,
    }


def _component(
    nlp: Any, docs: List[Doc], precision: str
) -> Tuple[numpy.ndarray, numpy.ndarray]:
    """Class of each word or -1, int64 (n_words), and its confidence, float32."""
    pipe = nlp.get_pipe(COMPONENT)
    view, label_bias = pipe.label_model, pipe.cfg.get("label_bias", 0.0)
    view.shim._precision, before = precision, view.shim._precision
    best, confidence = [], []
    for begin in tqdm(range(0, len(docs), PIPE_BATCH), desc="lazy", disable=None):
        pieces = pipe.model.predict(docs[begin : begin + PIPE_BATCH])
        # Without probabilities of all words: what scores as little as it can.
        scores = view.score(pieces, label_bias=label_bias)
        best.append(scores.best)
        confidence.append(scores.confidence)
    view.shim._precision = before
    return numpy.concatenate(best), numpy.concatenate(confidence)


@torch.no_grad()
def _dense(
    nlp: Any, docs: List[Doc]
) -> Tuple[numpy.ndarray, numpy.ndarray, numpy.ndarray]:
    """The same, and by how much the best score exceeds the best one that would have
    changed the label, float32 (n_words)."""
    pipe = nlp.get_pipe(COMPONENT)
    network = pipe.label_model.network.eval()
    windows = pipe.label_model.windows(docs)
    best = numpy.full(windows.n_words, -1)
    confidence = numpy.zeros(windows.n_words, dtype="float32")
    margin = numpy.full(windows.n_words, numpy.inf, dtype="float32")
    vocabulary, labels = network.vocabulary, network.label_rows
    label_bias = pipe.cfg.get("label_bias", 0.0)
    for words, features in _dense_features(network, windows):
        vocab = vocabulary.scores(features)
        label = labels.scores(features) + label_bias
        probs = torch.cat([vocab, label], dim=1).softmax(1)
        top, index = probs.max(1)
        found = index - vocab.shape[1]
        best[words] = torch.where(found >= 0, found, -1).numpy()
        confidence[words] = torch.where(found >= 0, top, 0.0).numpy()
        # Of the vocabulary only the best word counts: all of it is "no entity".
        kinds = torch.cat([vocab.amax(1, keepdim=True), label], dim=1)
        first, second = kinds.topk(2, dim=1).values.T
        margin[words] = (first - second).numpy()
    return best, confidence, margin


def _dense_features(
    network: Any, windows: Any
) -> Iterator[Tuple[numpy.ndarray, torch.Tensor]]:
    """Words and the features of their first pieces, float32 (n, width), from padded
    batches in the order of the text."""
    word_rows = windows.word_rows
    for begin in tqdm(
        range(0, len(windows.sizes), DENSE_BATCH), desc="dense", disable=None
    ):
        sizes = windows.sizes[begin : begin + DENSE_BATCH]
        starts = windows.starts[begin : begin + DENSE_BATCH]
        ids = numpy.zeros((len(sizes), int(sizes.max())), dtype="int64")
        mask = numpy.zeros_like(ids)
        for row, (start, size) in enumerate(zip(starts, sizes)):
            ids[row, :size] = windows.ids[start : start + size]
            mask[row, :size] = 1
        here = (word_rows >= starts[0]) & (word_rows < starts[-1] + sizes[-1])
        words = numpy.flatnonzero(here)
        rows = numpy.searchsorted(starts, word_rows[words], side="right") - 1
        features = network.masked_lm(torch.from_numpy(ids), torch.from_numpy(mask))
        yield words, features[rows, word_rows[words] - starts[rows]]


def _train(train: Optional[Path], label_words: Optional[Path], backbone: str) -> Any:
    if train is None or not backbone:
        raise ValueError("Give a trained pipeline (--model), or --train and --backbone")
    nlp = spacy.blank("en")
    nlp.add_pipe(COMPONENT, config={"model": {"name": backbone}})
    docs, _ = read_docs(train, nlp)
    words = None if label_words is None else read_label_words(label_words)
    spacy_entlm.train(nlp, docs, label_words=words)
    return nlp


def _unannotated(doc: Doc) -> Doc:
    words = [token.text for token in doc]
    spaces = [bool(token.whitespace_) for token in doc]
    return Doc(doc.vocab, words=words, spaces=spaces)


if __name__ == "__main__":
    typer.run(main)
