"""What holds on a GPU: tests, labels, time, memory and waits for the device.

    python project/benchmarks/gpu.py OUT.json --test ../shared/data/conll03/test.jsonl \
        --train ../shared/data/conll03/5shot/1.jsonl

A pipeline is trained, and read on the CPU and on the device. OUT.json and OUT.md (one
page) grow with each step; one that fails is noted, and the others go on. --steps
measures some of them again. `gpu.sh` says what the machine needs: cupy, PyTorch and
transformers, and no spacy-transformers. `--device cpu --quick` tries the script itself.
"""

import datetime
import json
import subprocess
import sys
import tempfile
import traceback
import warnings
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable, Dict, List, Optional

import spacy
import torch
import typer
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example
from thinc.api import require_cpu, require_gpu
from thinc.compat import cupy

# Found by the processes of the methods, too.
sys.path.insert(0, str(Path(__file__).resolve().parent))
import speed
from engines import first_docs, quality
from gpu_page import page
from speed_methods import forget_peak, peak_mib, seconds_of
from speed_texts import Source

import spacy_entlm
from spacy_entlm.backbones.names import resolve_backbone
from spacy_entlm.cli._util import one_line_errors
from spacy_entlm.corpus.docs import unannotated
from spacy_entlm.corpus.readers import read_docs
from spacy_entlm.files.file import write_file
from spacy_entlm.label_words.words import read_label_words
from spacy_entlm.model.precision import DTYPES
from spacy_entlm.pipeline.decoders import build_io_decoder, build_viterbi_decoder
from spacy_entlm.pipeline.export import OUR_SPANS

NAME = "entlm_ner"
TESTS = ("tests/pipeline/test_gpu.py", "tests/contracts/test_devices.py")
DECODERS = {"IO": build_io_decoder, "Viterbi": build_viterbi_decoder}
METHODS = [
    "_".join(part for part in (method, precision) if part)
    for precision in ("", "bfloat16", "float16")
    for method in ("entlm", "encoder")
]
ALL_STEPS = "tests,labels,training,speed,base_speed,waits,profile"
QUICK_WORDS = 100
# Of the texts whose waits and operations are counted: four groups of batches.
PIPE_BATCH, TRACED_DOCS = 256, 1024
TRAINING_BATCH, TRACED_STEPS = 4, 5
PROFILE_ROWS = 15
# Lines of pytest that are kept on why tests failed.
MOST_REASONS = 40
# What PyTorch says where it waits for the device, in `set_sync_debug_mode`.
SYNC_MESSAGE = "synchronizing CUDA operation"
# Parts of names of what a profile counts, waits of cupy among them.
WAITS = ("Synchronize", "DtoH")


@dataclass
class Bench:
    """What the steps share.

    device (str): "cuda" or "cpu". quick (bool): Only whether the script works.
    model (Path): The trained pipeline. examples (List[Doc]): What it learned from.
    label_words (Optional[Dict]): None: those that the package finds.
    """

    device: str
    quick: bool
    threads: int
    backbone: str
    test: Path
    model: Path
    examples: List[Doc]
    label_words: Optional[Dict[str, List[str]]]

    @property
    def gpu(self) -> bool:
        """Whether the device is one."""
        return self.device == "cuda"

    def gold(self) -> List[Doc]:
        """The test text."""
        docs, _ = read_docs(self.test, spacy.blank("en"))
        return first_docs(docs, QUICK_WORDS) if self.quick else docs


def main(
    out: Path,
    test: Path = typer.Option(..., help="Annotated text"),
    train: Path = typer.Option(..., help="Annotated examples, five a class"),
    label_words: Optional[Path] = typer.Option(None, help="JSON; none: found"),
    backbone: str = typer.Option("entlm-mini", help="A masked LM, or its folder"),
    device: str = typer.Option("cuda", help="cuda or cpu"),
    quick: bool = typer.Option(False, help="Little of all: does the script work?"),
    threads: int = typer.Option(0, help="Of the CPU; 0: as many as PyTorch takes"),
    steps: str = typer.Option(ALL_STEPS, help="Which to measure"),
) -> None:
    """Measure and write all figures to OUT.json, and a page to OUT.md."""
    with one_line_errors(), tempfile.TemporaryDirectory() as folder:
        chosen = _chosen(steps)
        activate(device)
        torch.set_num_threads(threads or torch.get_num_threads())
        examples, _ = read_docs(train, spacy.blank("en"))
        bench = Bench(
            device=device,
            quick=quick,
            threads=torch.get_num_threads(),
            backbone=resolve_backbone(backbone),
            test=test,
            model=Path(folder, "trained"),
            examples=examples,
            label_words=None if label_words is None else read_label_words(label_words),
        )
        trained(bench).to_disk(bench.model)
        results = _earlier(out, _facts(bench))
        for name in chosen:
            print(f"{name} ...", file=sys.stderr)
            results["steps"][name] = _result(STEPS[name], bench)
            _write(out, results)
    print(page(results))
    if any("error" in step for step in results["steps"].values()):
        raise typer.Exit(code=1)


def activate(device: str) -> None:
    """Let what is made from here on be on a device.
    RAISES (ValueError): If there is none, or no cupy."""
    if device not in ("cpu", "cuda"):
        raise ValueError(f"--device is cuda or cpu, not {device!r}")
    if device == "cpu":
        require_cpu()
    elif not torch.cuda.is_available() or cupy is None:
        raise ValueError("There is no GPU, or no cupy: try --device cpu --quick")
    else:
        require_gpu()


def trained(bench: Bench, mixed_precision: bool = False) -> Language:
    """A pipeline that learned from the examples, on the active device."""
    nlp = spacy.blank("en")
    model = {"name": bench.backbone, "get_spans": OUR_SPANS}
    model |= {"mixed_precision": mixed_precision}
    nlp.add_pipe(NAME, config={"model": model})
    epochs = 2 if bench.quick else None
    spacy_entlm.train(
        nlp, _examples(nlp, bench), label_words=bench.label_words, epochs=epochs
    )
    return nlp


def run_tests(bench: Bench) -> Dict[str, Any]:
    """The suite's tests that ask for a GPU; --quick: whether they are found."""
    options = ["-q", "-p", "no:cacheprovider", "-o", "filterwarnings=default"]
    options += ["--collect-only"] if bench.quick else []
    line = [sys.executable, "-m", "pytest", *options, *TESTS]
    root = Path(__file__).resolve().parents[2]
    done = subprocess.run(line, cwd=root, capture_output=True, text=True, check=False)
    lines = done.stdout.strip().splitlines() or done.stderr.strip().splitlines()
    failed = [x for x in lines if x.startswith(("FAILED", "ERROR"))]
    reasons = [x for x in lines if x.startswith("E  ")][:MOST_REASONS]
    figures = {"status": done.returncode, "summary": lines[-1]}
    return {**figures, "failed": failed, "reasons": reasons}


def labels(bench: Bench) -> Dict[str, Any]:
    """F1 on the CPU and the device, and entities that only one of both finds."""
    figures: Dict[str, Any] = {}
    gold = bench.gold()
    for decoder, build in DECODERS.items():
        activate("cpu")
        engines = {"CPU float32": _loaded(bench)}
        activate(bench.device)
        for precision in DTYPES:
            engines[f"{bench.device} {precision}"] = _loaded(bench, precision)
        for nlp in engines.values():
            pipe: Any = nlp.get_pipe(NAME)
            pipe.decoder = build()
            examples = _examples(nlp, bench)
            pipe.decoder.initialize(lambda found=examples: found, pipe.labels)
        figures[decoder] = quality(engines, gold)
    return figures


def training(bench: Bench) -> Dict[str, Any]:
    """Seconds and peak memory of a training, with the loading of the masked LM."""
    figures: Dict[str, Any] = {}
    for name, device, mixed in (
        (f"{bench.device} float32", bench.device, False),
        (f"{bench.device} mixed precision", bench.device, True),
        ("CPU float32", "cpu", False),
    ):
        activate(device)
        gpu = device == "cuda"
        forget_peak(gpu)
        seconds = [
            seconds_of(lambda mixed=mixed: trained(bench, mixed), gpu)
            for _ in range(1 if bench.quick else 2)
        ]
        figures[name] = {"seconds": seconds, "peak_mib": peak_mib(gpu)}
    activate(bench.device)
    return figures


def prediction(bench: Bench, kind: str = speed.TRAINED) -> Dict[str, Any]:
    """Words per second and peak memory of the pipeline and of the bare encoder, for
    each number format. kind (str): Of weights, see speed.py."""
    n_words = QUICK_WORDS if bench.quick else 0
    settings = speed.Settings(
        methods=METHODS,
        model=str(bench.model),
        backbone=str(bench.model / NAME / "model"),
        words=n_words,
        long_words=n_words,
        random_words=n_words,
        random_long_words=n_words,
        peer_words=0,
        dense_words=0,
        open_share=0.12,
        rounds=1 if bench.quick else 5,
    )
    sources = [Source(bench.test.stem, bench.test)]
    machine = speed.machine_facts(bench.threads, bench.gpu)
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder, "speed.json")
        return speed.measure_all(out, settings, [kind], sources, machine)


def base_prediction(bench: Bench) -> Dict[str, Any]:
    """`prediction` with random weights of bert-base's size."""
    return prediction(bench, speed.RANDOM)


def waits(bench: Bench) -> Dict[str, Any]:
    """How often PyTorch makes the host wait for the device, and where."""
    return {name: _counted(run, bench.gpu) for name, run in _traced(bench).items()}


def _counted(run: Callable[[], None], gpu: bool) -> Dict[str, Any]:
    run()  # what happens the first time only is not meant
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        if gpu:
            torch.cuda.set_sync_debug_mode("warn")
        try:
            run()
        finally:
            if gpu:
                torch.cuda.set_sync_debug_mode("default")
    found = [each for each in caught if SYNC_MESSAGE in str(each.message)]
    places = Counter(
        f"{'/'.join(Path(x.filename).parts[-2:])}:{x.lineno}" for x in found
    )
    return {"n": len(found), "places": dict(places.most_common())}


def profile(bench: Bench) -> Dict[str, Any]:
    """Operations that take most of the time, and waits of all libraries."""
    figures: Dict[str, Any] = {}
    kinds = torch.profiler.ProfilerActivity
    for name, run in _traced(bench).items():
        run()
        with torch.profiler.profile(
            activities=[kinds.CPU, *([kinds.CUDA] if bench.gpu else [])]
        ) as profiler:
            run()
            if bench.gpu:
                torch.cuda.synchronize()
        rows = [
            {
                "operation": row.key,
                "calls": row.count,
                "host_ms": round(row.self_cpu_time_total / 1000, 2),
                "device_ms": round(row.self_device_time_total / 1000, 2),
            }
            for row in profiler.key_averages()
        ]
        by = "device_ms" if bench.gpu else "host_ms"
        rows.sort(key=lambda row: row[by], reverse=True)
        counted = {
            row["operation"]: row["calls"]
            for row in rows
            if any(part in row["operation"] for part in WAITS)
        }
        total = {key: sum(row[key] for row in rows) for key in ("host_ms", "device_ms")}
        figures[name] = {**total, "rows": rows[:PROFILE_ROWS], "waits": counted}
    return figures


def _traced(bench: Bench) -> Dict[str, Callable[[], None]]:
    """What is looked at closely: some steps of a training, and some groups of
    batches in prediction, by what they are."""
    nlp = _loaded(bench)
    examples = _examples(nlp, bench)[:TRAINING_BATCH]
    optimizer = nlp.resume_training()
    docs = bench.gold()[:TRACED_DOCS]
    n_groups = -(-len(docs) // PIPE_BATCH)

    def steps() -> None:
        for _ in range(TRACED_STEPS):
            nlp.update(examples, sgd=optimizer)

    def groups() -> None:
        texts = [unannotated(doc, nlp.vocab) for doc in docs]
        for _ in nlp.pipe(texts, batch_size=PIPE_BATCH):
            pass

    return {
        f"prediction, {n_groups} group(s) of {PIPE_BATCH} documents": groups,
        f"training, {TRACED_STEPS} steps of {len(examples)} examples": steps,
    }


STEPS: Dict[str, Callable[[Bench], Dict[str, Any]]] = {
    "tests": run_tests,
    "labels": labels,
    "training": training,
    "speed": prediction,
    "base_speed": base_prediction,
    "waits": waits,
    "profile": profile,
}


def _chosen(steps: str) -> List[str]:
    chosen = steps.split(",")
    if unknown := sorted(set(chosen) - set(STEPS)):
        raise ValueError(f"There is no step {unknown}: {list(STEPS)}")
    return chosen


def _loaded(bench: Bench, precision: str = "float32") -> Language:
    """The trained pipeline on the active device."""
    settings = {f"components.{NAME}.model.precision": precision}
    return spacy.load(bench.model, config=settings)


def _examples(nlp: Language, bench: Bench) -> List[Example]:
    return [Example(unannotated(doc, nlp.vocab), doc) for doc in bench.examples]


def _facts(bench: Bench) -> Dict[str, Any]:
    """The machine, and what else the figures of all steps depend on."""
    machine = speed.machine_facts(bench.threads, bench.gpu)
    machine["versions"]["spacy-entlm"] = spacy_entlm.__version__
    if bench.gpu:
        machine["versions"] |= {"cupy": cupy.__version__, "CUDA": torch.version.cuda}
    given = {"backbone": Path(bench.backbone).name, "test": bench.test.name}
    return {"machine": machine, "quick": bench.quick, **given}


def _earlier(out: Path, facts: Dict[str, Any]) -> Dict[str, Any]:
    """Steps that were measured before under the same conditions."""
    date = datetime.date.today().isoformat()
    steps: Dict[str, Any] = {}
    if out.is_file():
        before = json.loads(out.read_text(encoding="utf8"))
        if all(before.get(key) == value for key, value in facts.items()):
            steps = before["steps"]
        else:
            print(f"{out} is of other conditions: begun anew", file=sys.stderr)
    return {"date": date, **facts, "steps": steps}


def _result(step: Callable[[Bench], Dict[str, Any]], bench: Bench) -> Dict[str, Any]:
    try:
        return step(bench)
    except Exception:
        activate(bench.device)
        return {"error": traceback.format_exc(limit=-3)}


def _write(out: Path, results: Dict[str, Any]) -> None:
    with write_file(out) as path:
        path.write_text(json.dumps(results, indent=1) + "\n", encoding="utf8")
    with write_file(out.with_suffix(".md")) as path:
        path.write_text(page(results), encoding="utf8")


if __name__ == "__main__":
    typer.run(main)
