"""F1 of few-shot training over splits or samples, seeds and settings.

Each cell (shots x split x seed x setting) is one training and one evaluation; it is
written as one line of JSON, and a second run goes on where the first one stopped.

    python project/benchmarks/fewshot.py run OUT.jsonl --backbone LM --data DIR \\
        --shots 5 --splits 1,2,3 --seeds 1,2,3,4 --label-words WORDS.json
    python project/benchmarks/fewshot.py run OUT.jsonl --backbone LM --shots 5 \\
        --train train.jsonl --test dev.jsonl --splits 1,2,3 --label-words WORDS.json \\
        --set label_row_bias=zero --set shape=cosine
    python project/benchmarks/fewshot.py report OUT.jsonl --peer official.json
"""

import hashlib
import itertools
import json
import math
import platform
import random
import resource
import statistics
import time
from pathlib import Path
from typing import Any, Dict, Iterable, List, Optional, Tuple

import spacy
import typer
from spacy.tokens import Doc
from spacy.training import Example
from spacy.util import minibatch
from thinc.api import Adam, fix_random_seed
from tqdm import tqdm

from spacy_entlm.corpus.readers import read_docs
from spacy_entlm.corpus.sampling import sample_exact
from spacy_entlm.label_words.words import read_label_words
from spacy_entlm.scoring import score_entities
from spacy_entlm.training.schedule import steps_to_zero, suitable_learn_rate

app = typer.Typer(no_args_is_help=True, help=__doc__)
DEFAULTS: Dict[str, Any] = {
    "label_row_bias": "mean",
    "shape": "linear",
    "learn_rate": None,
    "epochs": 20,
    "batch_size": 4,
}


@app.command()
def run(
    out: Path,
    backbone: str = typer.Option(...),
    data: Optional[Path] = typer.Option(None, help="{K}shot/{split}.jsonl, test.jsonl"),
    train: Optional[Path] = typer.Option(None, help="To sample from, without --data"),
    test: Optional[Path] = typer.Option(None, help="Evaluated on, without --data"),
    shots: str = "5",
    splits: str = "1,2,3",
    seeds: str = "1",
    label_words: Optional[Path] = None,
    settings: List[str] = typer.Option([], "--set", help="setting=value, repeatable"),
) -> None:
    """Train and evaluate every cell that OUT does not have yet."""
    chosen = {**DEFAULTS, **dict(_parse(setting) for setting in settings)}
    reader = spacy.blank("en")
    test_path = data / "test.jsonl" if data else test
    test_docs, _ = read_docs(test_path, reader)
    pool = None if data else read_docs(train, reader)[0]
    words = read_label_words(label_words) if label_words else None
    done = {_key(cell) for cell in _read(out)}
    grid = itertools.product(_ints(shots), _ints(splits), _ints(seeds))
    for k, split, seed in tqdm(list(grid), unit="cell"):
        name = {"shots": k, "split": split, "seed": seed, "settings": chosen}
        if _key(name) in done:
            continue
        if data:
            docs, _ = read_docs(data / f"{k}shot" / f"{split}.jsonl", reader)
        else:
            docs = sample_exact(pool, k, seed=split, min_words=10)
        cell = {**name, **_run_cell(docs, test_docs, words, backbone, seed, chosen)}
        cell |= {"test": str(test_path), "backbone": backbone}
        cell["split_hash"] = _hash(docs)
        out.parent.mkdir(parents=True, exist_ok=True)
        with out.open("a", encoding="utf8") as file:
            file.write(json.dumps(cell) + "\n")


@app.command()
def report(
    out: List[Path],
    peer: Optional[Path] = typer.Option(None, help="A JSON file with cells of F1"),
    peer_method: str = "entlm",
    baseline: Optional[str] = typer.Option(None, help="Settings to pair with, as JSON"),
) -> None:
    """Mean and standard deviation of F1 per setting; differences paired by split (with
    --peer) or by split and seed (with --baseline)."""
    cells = [cell for path in out for cell in _read(path)]
    groups: Dict[Tuple[int, str], List[Dict[str, Any]]] = {}
    for cell in cells:
        changed = {k: v for k, v in cell["settings"].items() if DEFAULTS.get(k) != v}
        groups.setdefault((cell["shots"], json.dumps(changed)), []).append(cell)
    for (k, changed), group in sorted(groups.items()):
        scores = [100 * cell["io"]["f"] for cell in group]
        line = f"K={k} {changed}: F1 {_mean_sd(scores)} over {len(scores)} cells"
        if peer:
            line += _paired(group, _peer_cells(peer, peer_method, k), ("split",))
        base = groups.get((k, baseline or ""))
        if base:
            theirs = [(c["split"], c["seed"], 100 * c["io"]["f"]) for c in base]
            line += _paired(group, theirs, ("split", "seed"))
        seconds = [cell["seconds_train"] for cell in group]
        line += f"; training {statistics.median(seconds):.0f} s"
        print(line)


def _run_cell(
    docs: List[Doc],
    test_docs: List[Doc],
    words: Optional[Dict[str, List[str]]],
    backbone: str,
    seed: int,
    settings: Dict[str, Any],
) -> Dict[str, Any]:
    nlp = spacy.blank("en")
    model = {"name": backbone, "label_row_bias": settings["label_row_bias"]}
    pipe = nlp.add_pipe("entlm_ner", config={"model": model})
    train = [_example(nlp, doc) for doc in docs]
    start = time.perf_counter()
    fix_random_seed(seed)
    pipe.initialize(lambda: train, nlp=nlp, label_words=words)
    rate = settings["learn_rate"] or suitable_learn_rate(backbone)
    epochs, batch_size = settings["epochs"], settings["batch_size"]
    n_steps = epochs * math.ceil(len(train) / batch_size)
    rates = steps_to_zero(rate, n_steps, settings["shape"])
    optimizer = Adam(rates, L2=0.0, grad_clip=0.0, eps=1e-8, use_averages=False)
    order = random.Random(seed)
    for _ in range(epochs):
        order.shuffle(train)
        for batch in minibatch(train, batch_size):
            nlp.update(batch, sgd=optimizer)
            optimizer.step_schedules()
    trained = time.perf_counter()
    examples = [_example(nlp, doc) for doc in test_docs]
    predicted = nlp.pipe([eg.predicted for eg in examples], batch_size=256)
    examples = [Example(x, eg.reference) for x, eg in zip(predicted, examples)]
    scores = score_entities(examples)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {
        "io": scores["io"],
        "bio": scores["bio"],
        "seconds_train": trained - start,
        "seconds_test": time.perf_counter() - trained,
        "peak_mib": peak,
        "machine": platform.processor() or platform.machine(),
    }


def _example(nlp: Any, doc: Doc) -> Example:
    words = [token.text for token in doc]
    spaces = [bool(token.whitespace_) for token in doc]
    return Example(Doc(nlp.vocab, words=words, spaces=spaces), doc)


def _paired(
    group: List[Dict[str, Any]], theirs: List[Tuple], keys: Tuple[str, ...]
) -> str:
    """Mean difference over what the cells are paired by, and its standard error."""
    ours: Dict[Tuple, List[float]] = {}
    for cell in group:
        key = tuple(cell[name] for name in keys)
        ours.setdefault(key, []).append(100 * cell["io"]["f"])
    others: Dict[Tuple, List[float]] = {}
    for split, seed, f1 in theirs:
        key = (split,) if keys == ("split",) else (split, seed)
        others.setdefault(key, []).append(f1)
    differences = [
        statistics.mean(ours[key]) - statistics.mean(others[key])
        for key in sorted(ours)
        if key in others
    ]
    if not differences:
        return ""
    error = (
        statistics.stdev(differences) / math.sqrt(len(differences))
        if len(differences) > 1
        else 0.0
    )
    listed = ""
    if len(differences) < 6:
        listed = " " + ", ".join(f"{value:+.1f}" for value in differences)
    mean = statistics.mean(differences)
    return f"; {mean:+.2f} (s.e. {error:.2f}) paired over {len(differences)}{listed}"


def _peer_cells(path: Path, method: str, k: int) -> List[Tuple[int, int, float]]:
    cells = json.loads(path.read_text(encoding="utf8"))["cells"]
    return [
        (cell["split"], cell["seed"], cell["f1"])
        for cell in cells
        if cell["method"] == method and cell["K"] == k
    ]


def _mean_sd(values: List[float]) -> str:
    sd = statistics.stdev(values) if len(values) > 1 else 0.0
    return f"{statistics.mean(values):.2f} ({sd:.2f})"


def _parse(setting: str) -> Tuple[str, Any]:
    name, _, value = setting.partition("=")
    if name not in DEFAULTS:
        raise typer.BadParameter(f"{name!r} is none of {list(DEFAULTS)}")
    try:
        return name, json.loads(value)
    except json.JSONDecodeError:
        return name, value


def _ints(text: str) -> List[int]:
    return [int(part) for part in text.split(",")]


def _key(cell: Dict[str, Any]) -> str:
    return json.dumps(
        [cell["shots"], cell["split"], cell["seed"], cell["settings"]], sort_keys=True
    )


def _read(path: Path) -> Iterable[Dict[str, Any]]:
    if path.exists():
        for line in path.read_text(encoding="utf8").splitlines():
            yield json.loads(line)


def _hash(docs: List[Doc]) -> str:
    text = "\n".join(f"{doc.text} {[e.label_ for e in doc.ents]}" for doc in docs)
    return hashlib.sha256(text.encode("utf8")).hexdigest()[:12]


if __name__ == "__main__":
    app()
