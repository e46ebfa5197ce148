"""Words per second and peak memory of prediction, side by side in one run.

    python project/benchmarks/speed.py OUT.json --backbone LM \\
        --texts conll=test.jsonl --texts wiki=wikipedia.txt.xz:2000 \\
        --texts long=wikipedia.txt.xz:50000w

The methods run in turn, round after round, on the same texts; ratios are those of the
medians. Each runs in a process of its own, so that memory is its own. `--random`
takes an architecture of bert-base's size with random weights in place of a backbone:
time does not depend on their values, except for the share of words that EntLM must
score against the whole vocabulary, which is set to that of a trained model
(--open-share).
"""

import json
import lzma
import multiprocessing
import platform
import resource
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, Optional, Tuple

import spacy
import torch
import typer
from spacy.training import Example
from tqdm import tqdm

METHODS = [
    "entlm",
    "hf_pipeline",
    "spacy_transformer_ner",
    "dense_8",
    "dense_32",
    "encoder",
]
LABEL_WORDS = {
    "PER": ["John", "David", "Maria"],
    "LOC": ["England", "Germany", "Paris"],
    "ORG": ["Inc", "University", "Company"],
    "MISC": ["Russian", "English", "Dutch"],
}
BASE = {"hidden_size": 768, "num_hidden_layers": 12, "intermediate_size": 3072}
app = typer.Typer(no_args_is_help=True, help=__doc__)


@app.command()
def main(
    out: Path,
    backbone: Path = typer.Option(..., help="Folder of a BERT masked LM"),
    texts: List[str] = typer.Option(..., help="NAME=FILE[:N sentences | :Nw words]"),
    model: Optional[Path] = typer.Option(None, help="Trained EntLM pipeline"),
    random: Optional[str] = typer.Option(
        None, help="base: bert-base with random weights"
    ),
    open_share: float = 0.12,
    methods: str = ",".join(METHODS),
    precision: str = "float32",
    rounds: int = 5,
    threads: int = 2,
) -> None:
    """Measure and write all figures to OUT."""
    chosen = methods.split(",")
    unknown = sorted(set(chosen) - set(METHODS))
    if unknown:
        raise typer.BadParameter(f"unknown methods {unknown}; there are {METHODS}")
    results: Dict[str, Any] = {"machine": _machine(threads), "precision": precision}
    with tempfile.TemporaryDirectory() as folder:
        if random:
            backbone = _random_backbone(backbone, Path(folder))
        for named in texts:
            name, _, source = named.partition("=")
            lines = _read(source)
            settings = (str(backbone), str(model or ""), precision, threads, open_share)
            results[name] = _measure(chosen, lines, settings, rounds)
            _show(name, results[name])
    out.write_text(json.dumps(results, indent=1) + "\n", encoding="utf8")


def _measure(
    methods: List[str], texts: List[str], settings: Tuple, rounds: int
) -> Dict[str, Any]:
    """Rounds of all methods in turn, each in its own process that stays loaded."""
    context = multiprocessing.get_context("spawn")
    workers = {}
    for method in methods:
        ours, theirs = context.Pipe()
        arguments = (theirs, method, texts, settings)
        process = context.Process(target=_worker, args=arguments, daemon=True)
        process.start()
        theirs.close()  # so that a worker that fails ends the wait for it
        workers[method] = (process, ours)
        ours.recv()  # loaded and warm, before the next one starts
    seconds: Dict[str, List[float]] = {method: [] for method in methods}
    peak: Dict[str, float] = {}
    for _ in tqdm(range(rounds), unit="round"):
        for method, (_, pipe) in workers.items():
            pipe.send("run")
            taken, peak[method] = pipe.recv()
            seconds[method].append(taken)
    for process, pipe in workers.values():
        pipe.send("stop")
        process.join()
    words = sum(len(text.split()) for text in texts)
    return {
        method: {
            "words_per_second": words / statistics.median(seconds[method]),
            "seconds": seconds[method],
            "peak_mib": peak[method],
        }
        for method in methods
    }


def _worker(pipe: Any, method: str, texts: List[str], settings: Tuple) -> None:
    torch.set_num_threads(settings[3])
    run = BUILDERS[method.split("_")[0]](method, texts, settings)
    run()  # warm-up
    pipe.send("ready")
    while pipe.recv() == "run":
        start = time.perf_counter()
        run()
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        pipe.send((time.perf_counter() - start, peak))


def _entlm(method: str, texts: List[str], settings: Tuple) -> Callable[[], None]:
    backbone, model, precision, _, open_share = settings
    if model:
        config = {"components.entlm_ner.model.precision": precision}
        nlp = spacy.load(model, config=config)
    else:
        nlp = spacy.blank("en")
        options = {"model": {"name": backbone, "precision": precision}}
        pipe: Any = nlp.add_pipe("entlm_ner", config=options)
        pipe.initialize(lambda: [_example(nlp)], nlp=nlp, label_words=LABEL_WORDS)
        pipe.cfg["label_bias"] = _bias_for_share(pipe, nlp, texts, open_share)

    def run() -> None:
        for _ in nlp.pipe(texts, batch_size=256):
            pass

    return run


def _example(nlp: Any) -> Example:
    return Example.from_dict(nlp.make_doc("a text without entities"), {})


def _bias_for_share(pipe: Any, nlp: Any, texts: List[str], share: float) -> float:
    """The label bias at which a share of the words is not settled by its own piece."""
    docs = [nlp.make_doc(text) for text in texts[:50]]
    pieces, _ = pipe.model.begin_update(docs)
    network = pipe.model.shims[0].network
    features = torch.from_numpy(pieces.features)
    with torch.no_grad():
        ids = torch.from_numpy(pieces.piece_ids)
        rows = network.decoder_rows
        own = (features * rows.weight[ids]).sum(1) + rows.bias[ids]
        top = network.head.stacked().scores(features).amax(1)
        return float(torch.quantile((own - top)[:4000], share))


def _hf(method: str, texts: List[str], settings: Tuple) -> Callable[[], None]:
    import transformers

    transformers.logging.set_verbosity_error()
    backbone = settings[0]
    classes = {"num_labels": 2 * len(LABEL_WORDS) + 1, "torch_dtype": torch.float32}
    load = transformers.AutoModelForTokenClassification.from_pretrained
    tokenizer = transformers.AutoTokenizer.from_pretrained(backbone)
    tokenizer.model_max_length = 512
    options: Dict[str, Any] = {"batch_size": 32}
    if max(len(text.split()) for text in texts) > 1000:
        options |= {"stride": 128, "aggregation_strategy": "first"}
    pipe = transformers.pipeline(
        "token-classification",
        load(backbone, **classes),
        tokenizer=tokenizer,
        **options,
    )

    def run() -> None:
        with torch.no_grad():
            pipe(texts)

    return run


def _spacy(method: str, texts: List[str], settings: Tuple) -> Callable[[], None]:
    nlp = spacy.blank("en")
    architecture = "spacy-transformers.TransformerModel.v3"
    strided = {"@span_getters": "spacy-transformers.strided_spans.v1"}
    get_spans = {**strided, "window": 128, "stride": 96}
    model = {
        "@architectures": architecture,
        "name": settings[0],
        "get_spans": get_spans,
    }
    nlp.add_pipe("transformer", config={"model": model})
    listener = {
        "@architectures": "spacy-transformers.TransformerListener.v1",
        "grad_factor": 1.0,
        "pooling": {"@layers": "reduce_mean.v1"},
    }
    parser = {"@architectures": "spacy.TransitionBasedParser.v2", "state_type": "ner"}
    parser |= {"extra_state_tokens": False, "hidden_width": 64, "maxout_pieces": 2}
    parser |= {"use_upper": False, "tok2vec": listener}
    ner: Any = nlp.add_pipe("ner", config={"model": parser})
    for label in LABEL_WORDS:
        ner.add_label(label)
    nlp.initialize()

    def run() -> None:
        for _ in nlp.pipe(texts, batch_size=256):
            pass

    return run


def _windows(texts: List[str], backbone: str) -> Tuple[Any, Any]:
    """The word pieces of the texts as EntLM reads them, and the network."""
    nlp = spacy.blank("en")
    pipe: Any = nlp.add_pipe("entlm_ner", config={"model": {"name": backbone}})
    pipe.initialize(lambda: [_example(nlp)], nlp=nlp, label_words=LABEL_WORDS)
    docs = [nlp.make_doc(text) for text in texts]
    windows = pipe.model.attrs["get_windows"](pipe.model, docs)
    return windows, pipe.model.shims[0].network.eval()


def _dense(method: str, texts: List[str], settings: Tuple) -> Callable[[], None]:
    """Batches in the order of the texts, the whole vocabulary scored everywhere."""
    windows, network = _windows(texts, settings[0])
    size = int(method.split("_")[1])
    ids = [
        torch.from_numpy(windows.ids[start : start + length])
        for start, length in zip(windows.starts, windows.sizes)
    ]

    @torch.no_grad()
    def run() -> None:
        for begin in range(0, len(ids), size):
            batch = torch.nn.utils.rnn.pad_sequence(ids[begin : begin + size], True)
            features = network.masked_lm(batch, (batch != 0).long())
            vocab, labels = (
                torch.nn.functional.linear(features, rows.weight, rows.bias)
                for rows in (network.decoder_rows, network.head.stacked())
            )
            torch.cat([vocab, labels], dim=-1).argmax(-1).numpy()

    return run


def _encoder(method: str, texts: List[str], settings: Tuple) -> Callable[[], None]:
    """The bare encoder on batches of equal length: the limit."""
    windows, network = _windows(texts, settings[0])
    batches = list(_equal_lengths(windows, 4096))
    dtype = torch.bfloat16 if settings[2] == "bfloat16" else torch.float32

    @torch.no_grad()
    def run() -> None:
        with torch.autocast("cpu", dtype=dtype, enabled=dtype != torch.float32):
            for batch in batches:
                network.masked_lm.body.base_model(batch)

    return run


def _equal_lengths(windows: Any, max_pieces: int) -> Iterator[torch.Tensor]:
    by_length: Dict[int, List[Any]] = {}
    for start, length in zip(windows.starts.tolist(), windows.sizes.tolist()):
        ids = windows.ids[start : start + length]
        by_length.setdefault(length, []).append(torch.from_numpy(ids))
    for length, group in by_length.items():
        count = max(1, max_pieces // length)
        for begin in range(0, len(group), count):
            yield torch.stack(group[begin : begin + count])


BUILDERS = {
    "entlm": _entlm,
    "hf": _hf,
    "spacy": _spacy,
    "dense": _dense,
    "encoder": _encoder,
}


def _random_backbone(like: Path, folder: Path) -> Path:
    import transformers

    config = transformers.AutoConfig.from_pretrained(like, **BASE)
    transformers.BertForMaskedLM(config).float().save_pretrained(folder)
    transformers.AutoTokenizer.from_pretrained(like).save_pretrained(folder)
    return folder


def _read(source: str) -> List[str]:
    name, _, limit = source.partition(":")
    path = Path(name)
    opener: Any = lzma.open if path.suffix == ".xz" else open
    with opener(path, "rt", encoding="utf8") as file:
        if ".jsonl" in path.name:
            lines = [" ".join(json.loads(line)["text"]) for line in file]
        else:
            wanted = int(limit.rstrip("w")) if limit else None
            lines = [line.strip() for _, line in zip(range(wanted or 10**9), file)]
    if limit.endswith("w"):
        words = " ".join(lines).split()[: int(limit[:-1])]
        return [" ".join(words)]
    return [line for line in lines if line][: int(limit) if limit else None]


def _machine(threads: int) -> Dict[str, Any]:
    flags = ""
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        flags = next(x for x in cpuinfo.read_text().splitlines() if "flags" in x)
    wanted = ("avx2", "avx512f", "avx512_bf16", "amx_bf16")
    found = [flag for flag in wanted if flag in flags.split()]
    return {"processor": platform.machine(), "flags": found, "threads": threads}


def _show(name: str, results: Dict[str, Any]) -> None:
    print(f"{name}:")
    base = results.get("hf_pipeline", next(iter(results.values())))
    for method, figures in results.items():
        ratio = figures["words_per_second"] / base["words_per_second"]
        print(
            f"  {method:24} {figures['words_per_second']:9.0f} words/s  {ratio:5.2f}  "
            f"{figures['peak_mib']:6.0f} MiB"
        )


if __name__ == "__main__":
    app()
