"""A backbone's own label words against words that are searched with a lexicon.

    python project/benchmarks/own_words.py OUT.json --train train.jsonl \
        --test dev.jsonl --annotated distant.jsonl [--backbone LM] [--samples 6]

For each sample of K examples a class, two trainings with the same seed: one with words
that the backbone brings, one with those that `search` finds in the annotated text (data
and LM, smoothed). F1 on the test part for IO gold, and their paired difference.
"""

import statistics
import subprocess
import sys
from pathlib import Path
from typing import Dict, List, Optional

import spacy
import srsly
import typer
from spacy.tokens import Doc
from spacy.training import Example

import spacy_entlm
from spacy_entlm.cli._util import one_line_errors
from spacy_entlm.corpus.readers import read_docs
from spacy_entlm.corpus.sampling import sample_exact
from spacy_entlm.evaluation.scoring import score_entities
from spacy_entlm.files.file import write_file
from spacy_entlm.label_words.words import read_label_words


def main(
    out: Path = typer.Argument(..., help="JSON file to write"),
    train: Path = typer.Option(..., help="Annotated sentences, from which are drawn"),
    test: Path = typer.Option(..., help="Annotated sentences, not used otherwise"),
    annotated: Path = typer.Option(..., help="Text annotated with a lexicon"),
    backbone: str = "entlm-mini",
    shots: int = 5,
    samples: int = 6,
) -> None:
    """Write the words that were found, and F1 of each sample with both."""
    with one_line_errors():
        nlp = spacy.blank("en")
        sentences, gold = read_docs(train, nlp)[0], read_docs(test, nlp)[0]
        searched = search(annotated, out.with_suffix(".words.json"), backbone)
        rows = []
        for seed in range(1, samples + 1):
            drawn = sample_exact(sentences, shots, seed=seed)
            scores = [
                f1(drawn, gold, words, backbone, seed) for words in (None, searched)
            ]
            rows.append(dict(zip(("own", "searched"), scores)))
            typer.echo(f"sample {seed}: {rows[-1]}")
        gains = [row["own"] - row["searched"] for row in rows]
        error = statistics.stdev(gains) / len(gains) ** 0.5 if samples > 1 else None
        result = {
            "searched": searched,
            "samples": rows,
            "own": statistics.mean(row["own"] for row in rows),
            "found": statistics.mean(row["searched"] for row in rows),
            "gain": statistics.mean(gains),
            "standard_error": error,
        }
        with write_file(out) as temporary:
            srsly.write_json(temporary, result)
        typer.echo(f"own words: {result['gain']:+.2f} (standard error {error})")


def search(annotated: Path, target: Path, backbone: str) -> Dict[str, List[str]]:
    """Label words that the command `search` finds."""
    command = ["-m", "spacy", "entlm", "search", str(annotated), str(target)]
    options = ["--method", "data-lm", "--smoothing", "--backbone", backbone]
    subprocess.run([sys.executable, *command, *options], check=True)
    return read_label_words(target, tags=False)


def f1(
    drawn: List[Doc],
    gold: List[Doc],
    words: Optional[Dict[str, List[str]]],
    backbone: str,
    seed: int,
) -> float:
    """F1 of a training, from 0 to 100.

    words (Optional[Dict[str, List[str]]]): None: those that the backbone brings.
    """
    nlp = spacy.blank("en")
    nlp.add_pipe("entlm_ner", config={"model": {"name": backbone}})
    spacy_entlm.train(nlp, drawn, label_words=words, seed=seed)
    bare = [
        Doc(nlp.vocab, words=[t.text for t in doc], spaces=[t.whitespace_ for t in doc])
        for doc in gold
    ]
    pairs = zip(nlp.pipe(bare), gold)
    return 100 * score_entities(Example(x, doc) for x, doc in pairs)["io"]["f"]


if __name__ == "__main__":
    typer.run(main)
