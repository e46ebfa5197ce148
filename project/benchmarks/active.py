"""A simulated annotator: F1 after some sentences that `active.rank` chose, beside as
many that came by chance.

    python project/benchmarks/active.py run RECORDS --gold conll=gold.jsonl --repeats 3
    python project/benchmarks/active.py table RECORDS

Each repeat draws a test part and a pool from the gold anew; both orders get the same.
Sentences are given their gold annotation, a few at a time, and a pipeline is trained
anew on all so far; the next ones are ranked with it, the first ones with a pipeline
that knows no more than the names of the classes. A run that was ended goes on.
"""

import random
from collections import defaultdict
from pathlib import Path
from typing import Any, Dict, List, Sequence, Tuple

import spacy
import typer
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example

import spacy_entlm
from spacy_entlm.active import rank
from spacy_entlm.corpus.docs import unannotated
from spacy_entlm.corpus.readers import read_docs
from spacy_entlm.evaluation.scoring import score_entities
from spacy_entlm.evaluation.statistics import paired_difference
from spacy_entlm.files.records import Records

FORM = "spacy-entlm active 1"
CHANCE, RANKED = "random", "ranked"
Key = Tuple[str, int, str, int]
app = typer.Typer()


@app.command("run")
def run(
    records: Path,
    gold: List[str] = typer.Option(..., help="NAME=FILE"),
    methods: str = typer.Option(
        f"{CHANCE},{RANKED}",
        help=f"{CHANCE}, {RANKED}, or doubt/rare/density/likeness such as 1/0/0/0.5",
    ),
    sizes: str = "10,25,50",
    repeats: int = 3,
    n_pool: int = 1000,
    n_test: int = 300,
    backbone: str = "entlm-mini",
) -> None:
    """Train and measure what RECORDS does not hold yet."""
    steps = [int(size) for size in sizes.split(",")]
    parts = dict(pair.split("=", 1) for pair in gold)
    docs = {name: _read(Path(path)) for name, path in parts.items()}
    with Records(records, FORM) as file_:
        done = {_key(record): record for record in file_.read()}
        for repeat in range(1, repeats + 1):
            for name, every in docs.items():
                drawn = random.Random(repeat).sample(every, len(every))
                test, pool = drawn[:n_test], drawn[n_test : n_test + n_pool]
                start = untrained(every, backbone)
                for method in methods.split(","):
                    chosen: List[int] = []
                    for size in steps:
                        key = (name, repeat, method, size)
                        if key not in done:
                            done[key] = _step(start, pool, test, chosen, key)
                            file_.append([done[key]])
                            print(key, done[key]["f1"], flush=True)
                        chosen = done[key]["chosen"]


@app.command("table")
def table(records: Path) -> None:
    """Print means and paired differences, a row for each data set and size."""
    with Records(records, FORM) as file_:
        found = file_.read()
    f1s: Dict[Any, Dict[Tuple[int, int], float]] = defaultdict(dict)
    words: Dict[Any, List[int]] = defaultdict(list)
    for row in found:
        cell = (row["data"], row["method"], row["size"])
        f1s[cell][row["repeat"], 1] = row["f1"]
        words[cell].append(row["words"])
    print("| data, sentences | method | repeats | F1 | difference | words |")
    print("|---|---|---:|---:|---:|---:|")
    for name, method, size in sorted(f1s, key=lambda c: (c[0], c[2], c[1] != CHANCE)):
        own = f1s[name, method, size]
        difference = paired_difference(own, f1s[name, CHANCE, size])
        ends = ""
        if method != CHANCE and difference is not None:
            ends = f"{difference.mean:+.1f}"
            if difference.low is not None:
                ends += f" ({difference.low:+.1f} to {difference.high:+.1f})"
        mean = sum(own.values()) / len(own)
        n_words = sum(words[name, method, size]) / len(own)
        cells = (f"{name}, {size}", method, len(own), f"{mean:.1f}", ends)
        print("|", *(f"{cell} |" for cell in cells), f"{n_words:.0f} |")


def untrained(docs: Sequence[Doc], backbone: str) -> Language:
    """A pipeline that knows the names of the classes and nothing else."""
    nlp = spacy.blank("en")
    nlp.add_pipe("entlm_ner", config={"model": {"name": backbone}})
    labels = sorted({ent.label_ for doc in docs for ent in doc.ents})
    pipe: Any = nlp.get_pipe("entlm_ner")
    example = Example(nlp.make_doc("."), nlp.make_doc("."))
    pipe.initialize(lambda: [example], nlp=nlp, labels=labels)
    return nlp


def _read(path: Path) -> List[Doc]:
    docs, _ = read_docs(path, spacy.blank("en"))
    return list({doc.text: doc for doc in docs}.values())


def _key(record: Dict[str, Any]) -> Key:
    return record["data"], record["repeat"], record["method"], record["size"]


def _step(
    start: Language, pool: List[Doc], test: List[Doc], chosen: List[int], key: Key
) -> Dict[str, Any]:
    """Choose up to a size, train anew, and measure."""
    name, repeat, method, size = key
    chosen = [*chosen, *_next(start, pool, chosen, method, size, repeat)]
    gold = [pool[i] for i in chosen]
    nlp = trained(start, gold, seed=repeat)
    found = nlp.pipe(unannotated(doc, nlp.vocab) for doc in test)
    scores = score_entities(Example(*pair) for pair in zip(found, test))
    return {
        **{"data": name, "repeat": repeat, "method": method, "size": size},
        "f1": round(100 * scores["io"]["f"], 2),
        "words": sum(map(len, gold)),
        "entities": sum(len(doc.ents) for doc in gold),
        "chosen": chosen,
    }


def _next(
    start: Language,
    pool: List[Doc],
    chosen: List[int],
    method: str,
    size: int,
    seed: int,
) -> List[int]:
    """Indices in the pool of what is annotated next."""
    left = [i for i in range(len(pool)) if i not in set(chosen)]
    n = size - len(chosen)
    if method == CHANCE:
        return left[:n]  # the pool is drawn
    known = [pool[i] for i in chosen]
    nlp = trained(start, known, seed=seed) if known else start
    docs = [unannotated(pool[i], nlp.vocab) for i in left]
    settings = rank_settings(method)
    found = rank(nlp, docs, n=n, annotated=known, seed=seed, **settings)
    return [left[one.index] for one in found]


def rank_settings(method: str) -> Dict[str, Any]:
    """What `rank` gets for the name of a method."""
    if method == RANKED:
        return {}
    doubt, rare, density, likeness = map(float, method.split("/"))
    weights = {"doubt": doubt, "rare": rare, "density": density}
    return {"weights": weights, "likeness": likeness}


def trained(start: Language, gold: List[Doc], seed: int) -> Language:
    """A copy of a pipeline, trained on sentences as a new one would be."""
    nlp: Language = spacy.util.load_model_from_config(start.config)
    nlp.from_bytes(start.to_bytes())
    examples = [Example(unannotated(doc, nlp.vocab), doc) for doc in gold]
    spacy_entlm.train(nlp, examples, share=1, seed=seed)
    return nlp


if __name__ == "__main__":
    app()
