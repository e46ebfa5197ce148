"""Words per second and peak memory of prediction, side by side in one run.

    python project/benchmarks/speed.py OUT.json --model PIPELINE

The methods run in turn, round after round, on the same texts, each in a process of its
own, so that memory is its own; ratios are those of the medians. PIPELINE is a trained
`entlm_ner` pipeline; the masked LM in its folder is the encoder of all methods. Then
all is measured again with random weights of bert-base's size, since time does not
depend on values. With "entlm_vocabulary", a label has to outscore all pieces of the
vocabulary, as in the paper, and not the word's own alone.

So that all of it takes some 20 minutes on two cores, a part of each text is read:
documents taken evenly over all, as many as make --words; the slowest methods read a
part of those. OUT.json and OUT.md (tables) grow with each text; a run that was cut off
goes on where it ended, and --fresh begins anew. All of one text:

    python project/benchmarks/speed.py OUT.json --model PIPELINE --words 0 \\
        --peer-words 0 --no-random --texts CoNLL=../shared/data/conll03/test.jsonl
"""

import json
import multiprocessing
import os
import platform
import statistics
import sys
import tempfile
from dataclasses import asdict, dataclass
from importlib.metadata import distributions, version
from pathlib import Path
from typing import Any, Dict, Iterator, List, Optional

import typer
from tqdm import tqdm

# Found by the processes of the methods, too.
sys.path.insert(0, str(Path(__file__).resolve().parent))
import speed_methods
from plain_backbone import plain_backbone
from speed_methods import Job, work
from speed_table import markdown
from speed_texts import Source, count_words, some_of
from thinc.compat import has_cupy_gpu

from spacy_entlm.cli._util import one_line_errors
from spacy_entlm.files.file import write_file

METHODS = ["entlm", "entlm_vocabulary", "tagger", "hf", "spacy", "encoder"]
ONNX_METHODS = ["onnx_float32", "onnx_int8"]
HALF_METHODS = ["entlm_bfloat16", "tagger_bfloat16", "encoder_bfloat16"]
TEXTS = [
    "CoNLL=../shared/data/conll03/test.jsonl",
    "OntoNotes=../shared/data/ontonotes/test.jsonl",
    "Wikipedia=../shared/data/text/wikipedia.txt.xz:2000",
    "one document=../shared/data/text/wikipedia.txt.xz:50000w",
]
TRAINED, RANDOM = "trained", "random"
PEERS = ("hf", "spacy")
FLAGS = ("avx2", "avx512f", "avx512_bf16", "amx_bf16")
LIBRARIES = ("torch", "transformers", "spacy", "spacy-transformers")


@dataclass
class Settings:
    """What the figures of a text depend on, beside the text.

    words, long_words (int): Words of several documents together, and of a single one;
        0: all. random_words, random_long_words (int): The same with random weights.
    peer_words (int): Most words for transformers and spaCy; 0: all.
    """

    methods: List[str]
    model: str
    backbone: str
    words: int
    long_words: int
    random_words: int
    random_long_words: int
    peer_words: int
    rounds: int

    def words_of(self, kind: str, n_documents: int) -> int:
        """Words that are read of a text."""
        if kind == RANDOM:
            return self.random_words if n_documents > 1 else self.random_long_words
        return self.words if n_documents > 1 else self.long_words

    def words_for(self, method: str) -> int:
        """Most of them that a method reads."""
        return self.peer_words if method in PEERS else 0


def main(
    out: Path,
    model: Optional[Path] = typer.Option(None, help="Trained EntLM pipeline"),
    backbone: str = typer.Option(
        "", help="Without --model: a masked LM, with biases as if it were trained"
    ),
    texts: List[str] = typer.Option(TEXTS, help="NAME=FILE[:N documents | :Nw words]"),
    words: int = typer.Option(8000, help="Words of each text, 0: all"),
    long_words: int = typer.Option(50_000, help="Of a single document, 0: all"),
    random_words: int = typer.Option(500, help="--words with random weights"),
    random_long_words: int = typer.Option(1500, help="--long-words with them"),
    peer_words: int = typer.Option(12_500, help="Most words for the peers"),
    random: bool = typer.Option(True, help="Measure random weights, too"),
    trained: bool = typer.Option(True, help="Measure the pipeline or backbone itself"),
    bfloat16: bool = typer.Option(False, help='Measure precision = "bfloat16", too'),
    methods: str = ",".join(METHODS),
    rounds: int = typer.Option(5, min=1),
    threads: int = typer.Option(0, help="0: as many as there are cores"),
    gpu: bool = typer.Option(False, help="On the first CUDA device"),
    fresh: bool = typer.Option(False, help="Measure again what OUT.json holds"),
) -> None:
    """Measure and write all figures to OUT.json, and tables to OUT.md."""
    with one_line_errors():
        settings = Settings(
            methods=_methods(methods, bfloat16),
            model=str(model or ""),
            backbone=_masked_lm(model, backbone),
            words=words,
            long_words=long_words,
            random_words=random_words,
            random_long_words=random_long_words,
            peer_words=peer_words,
            rounds=rounds,
        )
        kinds = [kind for kind, on in ((TRAINED, trained), (RANDOM, random)) if on]
        sources = [Source.parse(given) for given in texts]
        machine = machine_facts(threads or len(os.sched_getaffinity(0)), gpu)
        results = measure_all(out, settings, kinds, sources, machine, fresh)
    print(markdown(results))


def measure_all(
    out: Path,
    settings: Settings,
    kinds: List[str],
    sources: List[Source],
    machine: Dict[str, Any],
    fresh: bool = False,
) -> Dict[str, Any]:
    """Measure each text with each kind of weights, unless that was done before."""
    results = _earlier(out, machine, fresh)
    parts = results["parts"]
    with tempfile.TemporaryDirectory() as folder:
        for kind in kinds:
            backbone = ""
            for source in sources:
                name = f"{source.name}, {kind} weights"
                wanted = {**asdict(settings), "file": str(source.path)}
                wanted |= {"limits": [source.documents, source.words]}
                if parts.get(name, {}).get("settings") == wanted:
                    print(f"{name}: measured before")
                    continue
                if not backbone:
                    make = _random_backbone if kind == RANDOM else plain_backbone
                    backbone = make(settings.backbone, f"{folder}/{kind}")
                jobs = _jobs(settings, kind, backbone, source, machine)
                part = {"settings": wanted, "backbone": _describe(backbone, kind)}
                parts[name] = {**part, **_measure(name, jobs, settings.rounds)}
                _write(out, results)
    return results


def _jobs(
    settings: Settings,
    kind: str,
    backbone: str,
    source: Source,
    machine: Dict[str, Any],
) -> Iterator[Any]:
    """Facts on the text, then the job of each method."""
    everything = source.read()
    texts = some_of(everything, settings.words_of(kind, len(everything)))
    yield {
        "documents": len(texts),
        "words": count_words(texts),
        "all_documents": len(everything),
        "all_words": count_words(everything),
    }
    for method in settings.methods:
        yield Job(
            method=method,
            texts=some_of(texts, settings.words_for(method)),
            backbone=backbone,
            model=settings.model if kind == TRAINED else "",
            threads=machine["threads"],
            gpu=bool(machine["gpu"]),
        )


def _measure(title: str, jobs: Iterator[Any], rounds: int) -> Dict[str, Any]:
    """Rounds of all methods, each in its own process that stays loaded."""
    part = {**next(jobs), "rounds": rounds}
    figures: Dict[str, Dict[str, Any]] = {}
    workers: Dict[str, Any] = {}
    loading: List[str] = []
    context = _context()
    for job in jobs:
        ours, theirs = context.Pipe()
        process = context.Process(target=work, args=(theirs, job), daemon=True)
        process.start()
        theirs.close()  # so that a worker that dies ends the wait for it
        workers[job.method] = (process, ours)
        figures[job.method] = {"words": count_words(job.texts), "seconds": []}
        loading.append(job.method)
        if not job.gpu:  # warm, before the next one takes the processor
            _receive(workers, figures, loading.pop())
    for method in loading:
        _receive(workers, figures, method)
    for _ in tqdm(range(rounds), desc=title, unit="round"):
        for method in list(workers):
            workers[method][1].send("run")
            _receive(workers, figures, method)
    for process, pipe in workers.values():
        pipe.send("stop")
        process.join()
    for found in figures.values():
        if "error" not in found:
            median = statistics.median(found["seconds"])
            found["words_per_second"] = found["words"] / median
    return {**part, "methods": figures}


def _receive(workers: Dict[str, Any], figures: Dict[str, Any], method: str) -> None:
    """Note what a worker says; one that fails is left out from then on."""
    process, pipe = workers[method]
    try:
        message = pipe.recv()
    except (EOFError, ConnectionError):
        process.join()
        code = process.exitcode
        message = ("error", f"its process ended with code {code}: out of memory?")
    if message[0] == "error":
        figures[method] = {"words": figures[method]["words"], "error": message[1]}
        del workers[method]
        print(f"{method} failed: {message[1]}", file=sys.stderr)
    elif message[0] != "ready":
        figures[method]["seconds"].append(message[0])
        figures[method]["peak_mib"] = message[1]


def _context() -> Any:
    """Processes that need not import everything again, where there are such: a device
    that was asked for, as Thinc does when it is imported, does not outlive a fork."""
    forks = "forkserver" in multiprocessing.get_all_start_methods()
    if has_cupy_gpu or not forks:
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(speed_methods.PRELOADED)
    return context


def _methods(given: str, bfloat16: bool) -> List[str]:
    chosen = given.split(",") + (HALF_METHODS if bfloat16 else [])
    known = METHODS + HALF_METHODS + ONNX_METHODS
    unknown = sorted(set(chosen) - set(known))
    if unknown:
        raise ValueError(f"There is no method {unknown}: {known}")
    return list(dict.fromkeys(chosen))


def _masked_lm(model: Optional[Path], backbone: str) -> str:
    """The encoder that all methods share."""
    if model is not None:
        folder = model / "entlm_ner" / "model"
        if not (folder / "config.json").is_file():
            raise ValueError(f"{model} is no trained pipeline: it has no {folder}")
        return str(folder)
    if not backbone:
        raise ValueError("Give a trained pipeline (--model) or a --backbone")
    return backbone


def _random_backbone(like: str, folder: str) -> str:
    """Save a BERT of the size of bert-base, which is the default, with the tokenizer
    of another one."""
    import transformers

    tokenizer = transformers.AutoTokenizer.from_pretrained(like)
    config = transformers.BertConfig(
        vocab_size=len(tokenizer), pad_token_id=tokenizer.pad_token_id
    )
    transformers.BertForMaskedLM(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def _describe(backbone: str, kind: str) -> str:
    import transformers

    config = transformers.AutoConfig.from_pretrained(backbone)
    return (
        f"{config.model_type}, {kind} weights, {config.num_hidden_layers} layers of "
        f"width {config.hidden_size}, {config.vocab_size:,} pieces"
    )


def machine_facts(threads: int, gpu: bool) -> Dict[str, Any]:
    """The processor and what the figures depend on beside it."""
    lines = []
    if Path("/proc/cpuinfo").exists():
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    values = dict(reversed([line.partition("\t")[::2] for line in lines]))
    values = {key: value.strip("\t: ") for key, value in values.items()}
    flags = values.get("flags", "").split()
    device = ""
    if gpu:
        import torch

        device = torch.cuda.get_device_name(0)
    return {
        "processor": values.get("model name", platform.processor()),
        "flags": [flag for flag in FLAGS if flag in flags],
        "threads": threads,
        "gpu": device,
        "versions": {name: version(name) for name in LIBRARIES if _installed(name)},
    }


def _installed(name: str) -> bool:
    return bool(list(distributions(name=name)))


def _earlier(out: Path, machine: Dict[str, Any], fresh: bool) -> Dict[str, Any]:
    """What was measured before on the same machine."""
    if not fresh and out.is_file():
        results = json.loads(out.read_text(encoding="utf8"))
        if results["machine"] == machine:
            return results
        print(f"{out} comes from another machine or versions: all is measured again")
    return {"machine": machine, "parts": {}}


def _write(out: Path, results: Dict[str, Any]) -> None:
    with write_file(out) as path:
        path.write_text(json.dumps(results, indent=1) + "\n", encoding="utf8")
    with write_file(out.with_suffix(".md")) as path:
        path.write_text(markdown(results), encoding="utf8")


if __name__ == "__main__":
    typer.run(main)
