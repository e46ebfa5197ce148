"""Seconds for a whole test set, method by method in turn in one run (the paper's
Table 4), and milliseconds for a sentence over its length.

    python project/benchmarks/decoding_time.py OUT.json --backbone LM --data DIR \\
        [--label-words WORDS.json] [--annotated distant.jsonl] [--random base]
    python -m spacy entlm report benchmark --times OUT.json --paper --layout table4

The five methods of the runner are trained first, on one few-shot split. Each is
measured with batches of 8 sentences, as in the paper, and with those that suit it best
(found on a part of the test set). TemplateNER scores hundreds of templates for a
sentence: it is measured on some sentences, from short to long, and scaled by the number
of templates; with 45 at a time, which its authors' code is bound to, and with those
that suit it best.

Time does not depend on what the weights are. So TemplateNER's may be random, of the
size of bart-large, unless --template-model names a model; and --random base takes an
encoder of bert-base's size with random weights, trained for one pass. How many words
EntLM must score against the whole vocabulary does depend on them: its `label_bias` is
then chosen so that as many words are found to be entities as the test set has.
"""

import json
import random
import statistics
import tempfile
import time
from pathlib import Path
from typing import (
    Any,
    Callable,
    Dict,
    Iterable,
    List,
    NamedTuple,
    Optional,
    Sequence,
    Tuple,
)

import spacy
import torch
import typer
from spacy.language import Language
from spacy.tokens import Doc
from template_ner import TemplateNER, Templates, count_queries
from template_ner import load as load_template_model

from spacy_entlm.cli._util import one_line_errors
from spacy_entlm.evaluation.compare.cells import Planner, make_jobs
from spacy_entlm.evaluation.compare.config import make_config
from spacy_entlm.evaluation.compare.data import DatasetReader
from spacy_entlm.evaluation.compare.times import BEST, PAPER_BATCH, decoding_table
from spacy_entlm.evaluation.compare.train import adopt_training, train_cell
from spacy_entlm.files.file import write_file

METHODS = ["bert_tagger", "nnshot", "structshot", "entlm", "entlm_struct"]
TEMPLATE = "template_ner"
PAPER_SENTENCES, PAPER_TEMPLATES = 8, 45
BATCHES = (8, 32, 128, 512)
TEMPLATE_BATCHES = (16, 45, 128)
# Sentences on which the best batches are looked for.
N_TRIED = 256
# Words of a sentence: the buckets of the plot, up to and including.
LENGTHS = (5, 10, 15, 20, 30, 40, 60)
N_PER_LENGTH = 32
BASE = {"hidden_size": 768, "num_hidden_layers": 12, "intermediate_size": 3072}
RANDOM_BASE = "bert-base's size, random weights"
RANDOM_LARGE = "bart-large's size, random weights"
BIAS_STEPS = 12
BIAS_RANGE = 20.0

Run = Callable[[int], None]


class Sample(NamedTuple):
    """Sentences for TemplateNER, the number of their templates, and that of the whole
    test set."""

    sentences: List[List[str]]
    queries: int
    queries_all: int
    ner: TemplateNER


def main(
    out: Path,
    backbone: Path = typer.Option(..., help="Folder of a masked LM"),
    data: Path = typer.Option(..., help="Folder with test.* and {K}shot/{split}.*"),
    label_words: Optional[str] = typer.Option(None, help="JSON"),
    annotated: Optional[Path] = typer.Option(None, help="Text for the transitions"),
    dataset: str = typer.Option("conll03", help="Its name, which finds the paper's"),
    shots: int = 5,
    split: int = 1,
    epochs: int = 20,
    learn_rate: float = 3e-4,
    random_weights: Optional[str] = typer.Option(
        None, "--random", help="base: an encoder of bert-base's size"
    ),
    template_model: Optional[str] = typer.Option(
        None, help="Folder or hub name; else bart-large's size with random weights"
    ),
    template_sentences: int = typer.Option(3, help="0: without TemplateNER"),
    limit: Optional[int] = typer.Option(None, help="First test sentences only"),
    rounds: int = 2,
    threads: int = 2,
) -> None:
    """Train, measure, and write all figures to OUT."""
    torch.set_num_threads(threads)
    with one_line_errors(), tempfile.TemporaryDirectory() as folder:
        if random_weights not in (None, "base"):
            raise ValueError(f"--random is base, not {random_weights!r}")
        chosen = random_backbone(backbone, Path(folder)) if random_weights else backbone
        config = make_config(
            {
                "datasets": {
                    dataset: {
                        "data": str(data),
                        "label_words": label_words,
                        "annotated": annotated and str(annotated),
                        "limit": limit,
                    }
                },
                "shots": [shots],
                "splits": [split],
                "backbones": {"lm": {"path": str(chosen), "learn_rate": learn_rate}},
                "methods": METHODS,
                "settings": {"epochs": 1 if random_weights else epochs},
            },
            "these options",
        )
        encoder = RANDOM_BASE if random_weights else backbone.name
        reader = DatasetReader(dataset, config.datasets[dataset])
        pipelines = train_all(Planner(config).cells(), reader)
        if random_weights:
            match_share(pipelines, reader.test_docs())
        templates = (template_model, str(backbone), template_sentences)
        result = measure_all(pipelines, reader.test_docs(), templates, rounds)
        result["notes"].insert(
            0, f"Encoder: {encoder}. Time does not depend on the values of weights."
        )
        result |= {
            "dataset": dataset,
            "machine": f"{processor()}, {threads} threads, float32",
            "rounds": rounds,
            "versions": {"torch": torch.__version__, "spacy": spacy.__version__},
        }
        with write_file(out) as temporary:
            text = json.dumps(result, indent=1) + "\n"
            temporary.write_text(text, encoding="utf8")
        print(decoding_table(result).to_markdown())


def measure_all(
    pipelines: Dict[str, Language],
    gold: Sequence[Doc],
    templates: Tuple[Optional[str], str, int],
    rounds: int,
) -> Dict[str, Any]:
    """Times of the pipelines, and of TemplateNER. templates: its model (None: random
    weights), a tokenizer for these, and the number of sentences (0: leave it out)."""
    model, tokenizer, n_sentences = templates
    if not n_sentences:
        return {**measure(pipelines, gold, None, rounds), "notes": []}
    labels = sorted({ent.label_ for doc in gold for ent in doc.ents})
    torch.manual_seed(1)
    lm, pieces = load_template_model(model, None if model else tokenizer, model is None)
    ner = TemplateNER(lm.eval(), pieces, Templates.create(labels, {}))
    sample = choose_sample(gold, n_sentences, ner)
    lengths = ", ".join(str(len(words)) for words in sample.sentences)
    note = (
        f"{TEMPLATE}: {model or RANDOM_LARGE}, measured on {len(sample.sentences)} of "
        f"{len(gold):,} sentences ({lengths} words; {sample.queries:,} templates) and "
        f"scaled to {sample.queries_all:,} templates; its batches are templates."
    )
    return {**measure(pipelines, gold, sample, rounds), "notes": [note]}


def train_all(cells: Any, reader: DatasetReader) -> Dict[str, Language]:
    """Pipelines of all methods; those that can share a training do."""
    found: Dict[str, Language] = {}
    for job in make_jobs(cells):
        first, *others = job.cells
        examples = reader.split(first.name.shots, first.name.split)
        lang = reader.config.lang
        trained = train_cell(first, examples, lang)
        found[first.name.method] = trained
        for cell in others:
            found[cell.name.method] = adopt_training(cell, trained, examples, lang)
    return {method: found[method] for method in METHODS}


def random_backbone(like: Path, folder: Path) -> Path:
    """A masked LM of bert-base's size with the tokenizer of another."""
    import transformers

    config = transformers.AutoConfig.from_pretrained(like, **BASE)
    model = transformers.AutoModelForMaskedLM.from_config(config)
    model.float().save_pretrained(folder)
    transformers.AutoTokenizer.from_pretrained(like).save_pretrained(folder)
    return folder


def match_share(pipelines: Dict[str, Language], gold: Sequence[Doc]) -> None:
    """Set EntLM's `label_bias` so that as many words as in the gold are entities."""
    part = gold[:N_TRIED]
    wanted = share_of_entities(part)
    for method in ("entlm", "entlm_struct"):
        nlp = pipelines[method]
        pipe: Any = nlp.get_pipe(nlp.pipe_names[-1])
        low, high = -BIAS_RANGE, BIAS_RANGE
        for _ in range(BIAS_STEPS):
            pipe.cfg["label_bias"] = (low + high) / 2
            found = share_of_entities(list(nlp.pipe(bare(nlp, part))))
            if found > wanted:
                high = pipe.cfg["label_bias"]
            else:
                low = pipe.cfg["label_bias"]


def share_of_entities(docs: Sequence[Doc]) -> float:
    """The share of words that are inside an entity."""
    inside = sum(bool(token.ent_type_) for doc in docs for token in doc)
    return inside / sum(map(len, docs))


def bare(nlp: Language, docs: Iterable[Doc]) -> List[Doc]:
    """The words of Docs."""
    return [Doc(nlp.vocab, words=[token.text for token in doc]) for doc in docs]


def choose_sample(gold: Sequence[Doc], n: int, ner: TemplateNER) -> Sample:
    """Sentences in the middle of equal parts of the test set, sorted by length."""
    n_templates = len(ner.templates.endings)
    ordered = sorted(gold, key=len)
    n = min(n, len(ordered))
    places = [(2 * i + 1) * len(ordered) // (2 * n) for i in range(n)]
    chosen = [ordered[place] for place in places]
    queries = [
        sum(count_queries(len(doc), n_templates) for doc in docs)
        for docs in (chosen, gold)
    ]
    return Sample([[token.text for token in doc] for doc in chosen], *queries, ner)


def measure(
    pipelines: Dict[str, Language],
    gold: Sequence[Doc],
    sample: Optional[Sample],
    rounds: int,
) -> Dict[str, Any]:
    """Times of all methods in turn, round after round."""
    runs = {method: runner(nlp, gold) for method, nlp in pipelines.items()}
    tried = {m: runner(nlp, gold[:N_TRIED]) for m, nlp in pipelines.items()}
    scale = dict.fromkeys(pipelines, 1.0)
    if sample is not None:
        runs[TEMPLATE] = template_runner(sample.ner, sample.sentences)
        middle = sample.sentences[len(sample.sentences) // 2]
        tried[TEMPLATE] = template_runner(sample.ner, [middle])
        scale[TEMPLATE] = sample.queries_all / sample.queries
    methods = {method: choose_batches(method, run) for method, run in tried.items()}
    for number in range(rounds):
        for name in (PAPER_BATCH, BEST):
            for method, run in runs.items():
                cell, plain = methods[method][name], methods[method][PAPER_BATCH]
                if name == BEST and cell["batch_size"] == plain["batch_size"]:
                    seconds = plain["seconds"][-1]
                else:
                    seconds = timed(run, cell["batch_size"]) * scale[method]
                cell["seconds"].append(seconds)
        print(f"round {number + 1} of {rounds} done", flush=True)
    if sample is not None:
        fields = {name: getattr(sample, name) for name in Sample._fields[:-1]}
        methods[TEMPLATE]["sample"] = fields
    return {
        "sentences": len(gold),
        "words": sum(map(len, gold)),
        "methods": methods,
        "lengths": measure_lengths(pipelines, gold, methods, sample),
    }


def choose_batches(method: str, run: Run) -> Dict[str, Any]:
    """The batch sizes of a method, the paper's and the fastest. run: of a part."""
    plain, candidates = PAPER_SENTENCES, BATCHES
    if method == TEMPLATE:
        plain, candidates = PAPER_TEMPLATES, TEMPLATE_BATCHES
    else:
        run(plain)  # to warm up
    taken = {size: timed(run, size) for size in candidates}
    best = min(taken, key=lambda size: taken[size])
    sizes = {PAPER_BATCH: plain, BEST: best}
    return {name: {"batch_size": size, "seconds": []} for name, size in sizes.items()}


def runner(nlp: Language, gold: Sequence[Doc]) -> Run:
    """Predicts sentences with a batch size."""
    docs = bare(nlp, gold)

    def run(batch_size: int) -> None:
        for _ in nlp.pipe(docs, batch_size=batch_size):
            pass

    return run


def template_runner(ner: TemplateNER, sentences: List[List[str]]) -> Run:
    """Scores all templates of sentences, a number of them at a time."""

    def run(batch_size: int) -> None:
        for words in sentences:
            ner.predict(words, batch_size)

    return run


def timed(run: Run, batch_size: int) -> float:
    """Seconds of a run."""
    start = time.perf_counter()
    run(batch_size)
    return time.perf_counter() - start


def measure_lengths(
    pipelines: Dict[str, Language],
    gold: Sequence[Doc],
    methods: Dict[str, Any],
    sample: Optional[Sample],
) -> List[Dict[str, Any]]:
    """Milliseconds for a sentence by its length, in batches of 8; those of TemplateNER
    from its time for a template."""
    found = []
    for low, high in zip((0, *LENGTHS), LENGTHS):
        docs = [doc for doc in gold if low < len(doc) <= high]
        docs = random.Random(1).sample(docs, min(len(docs), N_PER_LENGTH))
        if not docs:
            continue
        runs = {method: runner(nlp, docs) for method, nlp in pipelines.items()}
        taken = {m: timed(run, PAPER_SENTENCES) / len(docs) for m, run in runs.items()}
        if sample is not None:
            seconds = statistics.median(methods[TEMPLATE][PAPER_BATCH]["seconds"])
            n_templates = len(sample.ner.templates.endings)
            queries = [count_queries(len(doc), n_templates) for doc in docs]
            taken[TEMPLATE] = seconds / sample.queries_all * statistics.fmean(queries)
        found.append(
            {
                "words": [low + 1, high],
                "mean_words": statistics.fmean(map(len, docs)),
                "sentences": len(docs),
                "milliseconds": {m: 1000 * value for m, value in taken.items()},
            }
        )
    return found


def processor() -> str:
    """The name of this processor."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf8").splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if "model name" in line]
    return names[0] if names else "an unknown processor"


if __name__ == "__main__":
    typer.run(main)
