"""F1 of a trained pipeline on a test set, for IO gold and for BIO gold.

python project/scripts/evaluate.py MODEL TEST.spacy OUT.json [--gpu-id 0]
"""

import json
import time
from pathlib import Path
from typing import Any, Dict, Optional

import spacy
import typer
from spacy.tokens import DocBin
from spacy.training import Example
from tqdm import tqdm
from wasabi import msg

from spacy_entlm.cli._util import one_line_errors
from spacy_entlm.evaluation.scoring import score_entities
from spacy_entlm.files.file import write_file


def main(model: Path, test: Path, out: Path, gpu_id: int = -1) -> None:
    """Print and save precision, recall and F1."""
    with one_line_errors():
        if not test.exists():
            msg.warn(f"{test} is not there: F1 is not measured")
            _save(None, out)
            return
        if gpu_id >= 0:
            spacy.require_gpu(gpu_id)
        nlp = spacy.load(model)
        gold = list(DocBin().from_disk(test).get_docs(nlp.vocab))
        examples = [Example(eg.x, eg.y) for eg in map(_example, gold)]
        start = time.perf_counter()
        stream = nlp.pipe((eg.predicted for eg in examples), batch_size=256)
        predicted = list(tqdm(stream, total=len(gold), unit="doc", disable=None))
        seconds = time.perf_counter() - start
        examples = [Example(x, eg.reference) for x, eg in zip(predicted, examples)]
        scores = score_entities(examples)
        words = sum(len(doc) for doc in gold)
        scores["words_per_second"] = round(words / max(seconds, 1e-9))
        _save(scores, out)
        _show(scores, len(gold), out)


def _save(scores: Optional[Dict[str, Any]], out: Path) -> None:
    with write_file(out) as temporary:
        temporary.write_text(json.dumps(scores, indent=2) + "\n", encoding="utf8")


def _example(doc: Any) -> Example:
    words = [token.text for token in doc]
    spaces = [bool(token.whitespace_) for token in doc]
    return Example(type(doc)(doc.vocab, words=words, spaces=spaces), doc)


def _show(scores: Dict[str, Any], n_docs: int, out: Path) -> None:
    rows = []
    for way, name in (("io", "all, IO gold"), ("bio", "all, BIO gold")):
        rows.append((name, *_percent(scores[way])))
    for label, prf in scores["io"]["per_type"].items():
        rows.append((f"{label}, IO gold", *_percent(prf)))
    for label, prf in scores["bio"]["per_type"].items():
        rows.append((f"{label}, BIO gold", *_percent(prf)))
    msg.table(rows, header=("", "P", "R", "F1"), aligns=("l", "r", "r", "r"))
    msg.good(
        f"F1 {100 * scores['io']['f']:.2f} (IO gold), {100 * scores['bio']['f']:.2f} "
        f"(BIO gold) on {n_docs} sentences, {scores['words_per_second']:,} words per "
        f"second; saved to {out}"
    )


def _percent(prf: Dict[str, float]) -> tuple:
    return tuple(f"{100 * prf[key]:.2f}" for key in ("p", "r", "f"))


if __name__ == "__main__":
    typer.run(main)
