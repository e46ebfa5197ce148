"""What names that are known bring in prediction (`spacy_entlm.add_lexicon`).

    python project/benchmarks/known_names.py OUT.jsonl TRAIN --test TEST \
        --lexicon names.jsonl --samples 1,2,3
    python project/benchmarks/known_names.py OUT.jsonl TRAIN --names 20,200

For each sample of TRAIN one pipeline is trained and measured without names and with
them: those of a lexicon, or as many of each class as --names says, drawn from what
neither the sample nor the measured sentences hold. Without --test 300 other sentences
of TRAIN are measured. TRAIN may be a folder of samples, 1.jsonl and so on.
"""

import json
import random
import sys
from collections import Counter
from pathlib import Path
from typing import Any, Dict, Iterator, List, Optional, Tuple

import spacy
import torch
import typer
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example

import spacy_entlm
from spacy_entlm.cli._util import one_line_errors
from spacy_entlm.corpus.docs import unannotated
from spacy_entlm.corpus.readers import read_docs
from spacy_entlm.corpus.sampling import SamplingError, sample_at_least, sample_exact
from spacy_entlm.evaluation.scoring import score_entities
from spacy_entlm.lexicon.readers import read_lexicon

MEASURED, MIN_WORDS = 300, 5
VITERBI = {"@misc": "spacy-entlm.viterbi_decoder.v1"}

Names = Dict[str, List[str]]


def main(
    out: Path,
    train: Path,
    test: Optional[Path] = typer.Option(None, help="Annotated text, measured whole"),
    lexicon: Optional[Path] = typer.Option(None, help="Names"),
    names: str = typer.Option("20,200", help="How many of each class, if no lexicon"),
    shots: int = typer.Option(5, help="Examples of each class"),
    samples: str = typer.Option("1,2", help="Seeds of the draws, or files of TRAIN"),
    backbone: str = typer.Option("entlm-base", help="A masked LM, or its folder"),
    threads: int = typer.Option(1, help="Of PyTorch"),
) -> None:
    """Add a line for each sample to OUT."""
    with one_line_errors():
        torch.set_num_threads(threads)
        for sample in map(int, samples.split(",")):
            examples, measured, rest = parts(train, test, shots, sample)
            nlp = trained(examples, backbone)
            row: Dict[str, Any] = {"train": str(train), "shots": shots}
            row |= {"sample": sample, "without": f1(nlp, measured)}
            for key, known in lists(rest, examples, lexicon, names, sample):
                spacy_entlm.add_lexicon(nlp, known)
                row[key] = f1(nlp, measured)
                nlp.remove_pipe("entlm_lexicon")
            with out.open("a", encoding="utf8") as file:
                file.write(json.dumps(row) + "\n")
            print(row, file=sys.stderr)


def parts(
    train: Path, test: Optional[Path], shots: int, sample: int
) -> Tuple[List[Doc], List[Doc], List[Doc]]:
    """Examples, sentences that are measured, and the others. Of a pool, a class with
    too few names for a sample is none."""
    nlp = spacy.blank("en")
    gold = [] if test is None else read_docs(test, nlp)[0]
    if train.is_dir():
        examples, rest = read_docs(train / f"{sample}.jsonl", nlp)[0], []
    else:
        pool = {doc.text: doc for doc in read_docs(train, nlp)[0] if len(doc) > 1}
        rest = list(pool.values())
        counts = Counter(ent.label_ for doc in rest for ent in doc.ents)
        for doc in [*rest, *gold]:
            doc.ents = [ent for ent in doc.ents if counts[ent.label_] >= shots]
        try:
            examples = sample_exact(rest, shots, seed=sample, min_words=MIN_WORDS)
        except SamplingError:
            examples = sample_at_least(rest, shots, seed=sample)
    taken = {doc.text for doc in examples}
    rest = [doc for doc in rest if doc.text not in taken]
    random.Random(sample).shuffle(rest)
    if test is not None:
        return examples, gold, rest
    return examples, rest[:MEASURED], rest[MEASURED:]


def trained(examples: List[Doc], backbone: str) -> Language:
    """A pipeline that learned from the examples."""
    nlp = spacy.blank("en")
    model = {"name": backbone, "mixed_precision": True}
    nlp.add_pipe("entlm_ner", config={"model": model, "decoder": VITERBI})
    spacy_entlm.train(nlp, examples, seed=1)
    return nlp


def f1(nlp: Language, gold: List[Doc]) -> float:
    """In percent, neighbours of one class as one entity."""
    found = nlp.pipe(unannotated(doc, nlp.vocab) for doc in gold)
    scores = score_entities([Example(*pair) for pair in zip(found, gold)])
    return round(100 * scores["io"]["f"], 2)


def lists(
    rest: List[Doc],
    examples: List[Doc],
    lexicon: Optional[Path],
    names: str,
    sample: int,
) -> Iterator[Tuple[str, Names]]:
    """What is known, by what it is called: for each class of the examples that many
    names of the rest, a frequent one more likely."""
    if lexicon is not None:
        known: Names = {}
        for entry in read_lexicon(lexicon)[0]:
            known.setdefault(entry.label, []).append(entry.name)
        yield lexicon.name, known
        return
    drawn: Names = {}
    labels = sorted({ent.label_ for doc in examples for ent in doc.ents})
    for label in labels:
        found = [e.text for doc in rest for e in doc.ents if e.label_ == label]
        random.Random(sample).shuffle(found)
        drawn[label] = list(dict.fromkeys(found))
    for n in names.split(","):
        yield n, {label: found[: int(n)] for label, found in drawn.items()}


if __name__ == "__main__":
    typer.run(main)
