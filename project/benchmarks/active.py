"""A simulated annotator: F1 after some sentences that `active.rank` chose, beside as
many that came by chance.

    python project/benchmarks/active.py run RECORDS --gold conll=gold.jsonl --repeats 3
    python project/benchmarks/active.py table RECORDS
    python project/benchmarks/active.py plot RECORDS active.svg

Each repeat draws a test part and a pool from the gold anew; both orders get the same.
Sentences are given their gold annotation, a few at a time, and a pipeline is trained
anew on all so far; the next ones are ranked with it, the first ones with a pipeline
that knows no more than the names of the classes. A run that was ended goes on.
"""

import random
from collections import defaultdict
from pathlib import Path
from statistics import fmean
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
# F1 by repeat, of a data set, a method and a number of sentences.
Figures = Dict[Tuple[str, str, int], Dict[Tuple[int, int], float]]
# By chance: whether half as many that are chosen, or fewer, have the same F1.
HALVED = 50
# Of a plot: a panel's place and size in pixels, and the colours of the methods.
PANEL, HEIGHT, LEFT, TOP = 190, 150, 30, 24
COLOURS = {CHANCE: "#888888", RANKED: "#1f5fbf"}
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
    backbone: str = "entlm-base",
    mixed_precision: bool = False,
) -> None:
    """Train and measure what RECORDS does not hold yet."""
    model = {"name": backbone, "mixed_precision": mixed_precision}
    steps = [int(size) for size in sizes.split(",")]
    parts = dict(pair.split("=", 1) for pair in gold)
    docs = {name: _read(Path(path)) for name, path in parts.items()}
    with Records(records, FORM) as file_:
        done = {_key(record): record for record in file_.read()}
        for repeat in range(1, repeats + 1):
            for name, every in docs.items():
                drawn = random.Random(repeat).sample(every, len(every))
                test, pool = drawn[:n_test], drawn[n_test : n_test + n_pool]
                start = untrained(every, model)
                for method in methods.split(","):
                    known: List[int] = []
                    nlp = start
                    for size in steps:
                        key = (name, repeat, method, size)
                        if key not in done:
                            if known and nlp is start and method != CHANCE:
                                nlp = trained(start, [pool[i] for i in known], repeat)
                            known += _next(nlp, pool, known, method, size, repeat)
                            gold_ = [pool[i] for i in known]
                            nlp = trained(start, gold_, repeat)
                            done[key] = _record(key, nlp, test, gold_, known)
                            file_.append([done[key]])
                            print(key, done[key]["f1"], flush=True)
                        known = list(done[key]["chosen"])


@app.command("table")
def table(records: Path) -> None:
    """Print means and paired differences, a row for each data set and size."""
    f1s, words = _figures(records)
    print("| data, sentences | method | repeats | F1 | difference | words |")
    print("|---|---|---:|---:|---:|---:|")
    for name, method, size in sorted(f1s, key=lambda c: (c[0], c[2], c[1] != CHANCE)):
        own = f1s[name, method, size]
        ends = "" if method == CHANCE else _difference(own, f1s[name, CHANCE, size])
        mean, n_words = fmean(own.values()), fmean(words[name, method, size])
        cells = (f"{name}, {size}", method, len(own), f"{mean:.1f}", ends)
        print("|", *(f"{cell} |" for cell in cells), f"{n_words:.0f} |")
    names = sorted({cell[0] for cell in f1s})
    sizes = sorted({cell[2] for cell in f1s})
    pairs = [(size, size) for size in sizes]
    pairs += [(size, HALVED) for size in sizes if size < HALVED and HALVED in sizes]
    for ours, theirs in pairs:
        print(f"\n{ours} chosen, less {theirs} by chance:")
        every: List[Dict[Tuple[int, int], float]] = [{}, {}]
        for i, name in enumerate(names):
            pair = f1s[name, RANKED, ours], f1s[name, CHANCE, theirs]
            print(f"- {name}: {_difference(*pair)}")
            for own, one in zip(every, pair):
                own |= {(i, repeat): f1 for (repeat, _), f1 in one.items()}
        print(f"- mean of them: {_difference(*every)}")


@app.command("plot")
def plot(records: Path, out: Path) -> None:
    """Draw F1 by the number of sentences, a panel for each data set, as SVG: means of
    the repeats, which are dots."""
    f1s, _ = _figures(records)
    names = sorted({cell[0] for cell in f1s})
    most = max(cell[2] for cell in f1s)
    low = min(min(own.values()) for own in f1s.values()) // 10 * 10
    parts = []
    for at, name in enumerate(names):
        left = LEFT + at * (PANEL + LEFT)

        def place(size: int, f1: float, left: int = left) -> Tuple[float, float]:
            x = left + PANEL * size / most
            return x, TOP + HEIGHT * (100 - f1) / (100 - low)

        parts.append(f'<text x="{left}" y="14">{name}</text>')
        for f1 in range(int(low), 101, 20):
            y = place(0, f1)[1]
            line = f'x1="{left}" x2="{left + PANEL}" y1="{y:.0f}" y2="{y:.0f}"'
            parts.append(f'<line {line} stroke="#bbb"/>')
            parts.append(f'<text x="{left - 24}" y="{y + 4:.0f}">{f1}</text>')
        for method, colour in COLOURS.items():
            cells = sorted(c for c in f1s if c[:2] == (name, method))
            means = [place(c[2], fmean(f1s[c].values())) for c in cells]
            path = " ".join(f"{x:.0f},{y:.1f}" for x, y in means)
            style = f'fill="none" stroke="{colour}" stroke-width="2"'
            parts.append(f'<polyline points="{path}" {style}/>')
            dots = [place(c[2], f1) for c in cells for f1 in f1s[c].values()]
            for x, y in dots:
                circle = f'cx="{x:.0f}" cy="{y:.1f}" r="2.5" fill="{colour}"'
                parts.append(f"<circle {circle}/>")
        for size in sorted({c[2] for c in f1s}):
            x, y = place(size, low)
            parts.append(f'<text x="{x - 8:.0f}" y="{y + 16:.0f}">{size}</text>')
    width, height = len(names) * (PANEL + LEFT) + LEFT, TOP + HEIGHT + 24
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}"'
    style = 'font-family="sans-serif" font-size="11" fill="#777"'
    out.write_text(f"{head} {style}>\n" + "\n".join(parts) + "\n</svg>\n", "utf8")


def _figures(records: Path) -> Tuple[Figures, Dict[Any, List[int]]]:
    """F1 by repeat, and the words that were annotated."""
    f1s: Figures = defaultdict(dict)
    words: Dict[Any, List[int]] = defaultdict(list)
    with Records(records, FORM) as file_:
        for row in file_.read():
            cell = (row["data"], row["method"], row["size"])
            f1s[cell][row["repeat"], 1] = row["f1"]
            words[cell].append(row["words"])
    return f1s, words


def _difference(
    ours: Dict[Tuple[int, int], float], theirs: Dict[Tuple[int, int], float]
) -> str:
    found = paired_difference(ours, theirs)
    if found is None or found.low is None:
        return "" if found is None else f"{found.mean:+.1f}"
    return f"{found.mean:+.1f} ({found.low:+.1f} to {found.high:+.1f})"


def untrained(docs: Sequence[Doc], model: Dict[str, Any]) -> Language:
    """A pipeline that knows the names of the classes and nothing else.
    model: Settings of its model, its `name` among them."""
    nlp = spacy.blank("en")
    nlp.add_pipe("entlm_ner", config={"model": model})
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


def _record(
    key: Key, nlp: Language, test: List[Doc], gold: List[Doc], chosen: List[int]
) -> Dict[str, Any]:
    """Measure a pipeline that was trained on what was chosen."""
    name, repeat, method, size = key
    found = nlp.pipe(unannotated(doc, nlp.vocab) for doc in test)
    scores = score_entities(Example(*pair) for pair in zip(found, test))
    return {
        **{"data": name, "repeat": repeat, "method": method, "size": size},
        "f1": round(100 * scores["io"]["f"], 2),
        "words": sum(map(len, gold)),
        "entities": sum(len(doc.ents) for doc in gold),
        "chosen": list(chosen),
    }


def _next(
    nlp: Language,
    pool: List[Doc],
    chosen: List[int],
    method: str,
    size: int,
    seed: int,
) -> List[int]:
    """Indices in the pool of what is annotated next.
    nlp (Language): Trained on what was chosen so far."""
    left = [i for i in range(len(pool)) if i not in set(chosen)]
    n = size - len(chosen)
    if method == CHANCE:
        return left[:n]  # the pool is drawn
    known = [pool[i] for i in chosen]
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
