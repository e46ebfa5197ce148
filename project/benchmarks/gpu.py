"""What holds on a GPU: a training, labels, words per second, and where the time goes.

    python project/benchmarks/gpu.py OUT.json --test ../shared/data/conll03/test.jsonl \
        --train ../shared/data/conll03/5shot/1.jsonl

OUT.json grows with each step. The machine has PyTorch, cupy and transformers; what else
the package wants may lie in a folder of PYTHONPATH, without spacy-transformers, and
spacy_entlm.egg-info (`python setup.py egg_info`) beside spacy_entlm, since it names the
component to spaCy. `--device cpu --quick` tries the script itself.
"""

import cProfile
import pstats
import statistics
import tempfile
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Callable, Dict, List

import spacy
import torch
import typer
from engines import first_docs, quality
from spacy.language import Language
from spacy.tokens import Doc
from speed import machine_facts
from speed_methods import forget_peak, peak_mib, seconds_of
from thinc.api import require_cpu, require_gpu
from thinc.compat import has_cupy_gpu

import spacy_entlm
from spacy_entlm.cli._util import one_line_errors
from spacy_entlm.corpus.docs import unannotated
from spacy_entlm.corpus.readers import read_docs
from spacy_entlm.files.file import replace_file
from spacy_entlm.files.json_lines import dump_json
from spacy_entlm.model.batches import doc_groups, iter_batches
from spacy_entlm.model.layer import shim_of
from spacy_entlm.model.precision import DTYPES, autocast
from spacy_entlm.model.reading import read_windows
from spacy_entlm.pipeline.base import MAX_WORDS
from spacy_entlm.pipeline.export import OUR_SPANS

NAME = "entlm_ner"
VITERBI = {"@misc": "spacy-entlm.viterbi_decoder.v1"}
PIPE_BATCH, PROFILED_DOCS, PROFILE_ROWS = 256, 1024, 15
QUICK_WORDS, QUICK_EPOCHS = 100, 2


@dataclass
class Bench:
    """What the steps share.

    gpu (bool): Whether the device is one. quick (bool): Only whether the script works.
    model (Path): For the trained pipeline. examples (List[Doc]): What it learns from.
    gold (List[Doc]): The test text.
    """

    gpu: bool
    quick: bool
    backbone: str
    model: Path
    examples: List[Doc]
    gold: List[Doc]

    def load(self, precision: str = "float32", on_device: bool = True) -> Language:
        """The trained pipeline on the device, or on the CPU."""
        (require_gpu if self.gpu and on_device else require_cpu)()
        settings = {f"components.{NAME}.model.precision": precision}
        return spacy.load(self.model, config=settings)


def main(
    out: Path,
    test: Path = typer.Option(..., help="Annotated text"),
    train: Path = typer.Option(..., help="Annotated examples, five a class"),
    backbone: str = typer.Option("entlm-base", help="A masked LM, or its folder"),
    device: str = typer.Option("cuda", help="cuda or cpu"),
    quick: bool = typer.Option(False, help="Little of all: does the script work?"),
) -> None:
    """Measure, write all figures to OUT.json and print them."""
    with one_line_errors(), tempfile.TemporaryDirectory() as folder:
        gpu = device == "cuda"
        if device not in ("cpu", "cuda"):
            raise ValueError(f"--device is cuda or cpu, not {device!r}")
        if gpu and not (torch.cuda.is_available() and has_cupy_gpu):
            raise ValueError("There is no GPU, or no cupy: try --device cpu --quick")
        examples, gold = (read_docs(x, spacy.blank("en"))[0] for x in (train, test))
        gold = first_docs(gold, QUICK_WORDS) if quick else gold
        bench = Bench(gpu, quick, backbone, Path(folder, "model"), examples, gold)
        machine = machine_facts(torch.get_num_threads(), gpu)
        results: Dict[str, Any] = {"machine": machine, "backbone": backbone}
        results |= {"test": test.name, "quick": quick}
        for step in (training, labels, speed, profile):
            results[step.__name__] = step(bench)
            replace_file(out, dump_json(results))
            print(step.__name__, results[step.__name__], flush=True)


def training(bench: Bench) -> Dict[str, Any]:
    """Seconds and peak memory of trainings, with the loading of the masked LM; the
    first one begins to use the device, the last one is kept."""
    (require_gpu if bench.gpu else require_cpu)()
    epochs = QUICK_EPOCHS if bench.quick else None
    figures: Dict[str, Any] = {}
    for title in ("first", "mixed precision", "second"):
        nlp = spacy.blank("en")
        model: Dict[str, Any] = {"name": bench.backbone, "get_spans": OUR_SPANS}
        model["mixed_precision"] = title == "mixed precision"
        nlp.add_pipe(NAME, config={"model": model, "decoder": VITERBI})
        run = partial(spacy_entlm.train, nlp, bench.examples, epochs=epochs)
        forget_peak(bench.gpu)
        seconds = seconds_of(run, bench.gpu)
        figures[title] = {"seconds": seconds, "peak_mib": peak_mib(bench.gpu)}
        nlp.to_disk(bench.model)
    return figures


def labels(bench: Bench) -> Dict[str, Any]:
    """F1, and how many entities are others than on the CPU in float32."""
    engines = {"CPU float32": bench.load(on_device=False)}
    engines |= {f"device {each}": bench.load(each) for each in DTYPES}
    return quality(engines, bench.gold)


def speed(bench: Bench) -> Dict[str, Any]:
    """Words per second of the component, and of the bare encoder on the same batches:
    medians of rounds in turn."""
    figures: Dict[str, Any] = {}
    for precision in DTYPES:
        nlp = bench.load(precision)
        docs = [unannotated(doc, nlp.vocab) for doc in bench.gold]
        runs = [_component(nlp, docs), _encoder(nlp, docs, precision)]
        for run in runs:
            run()  # what happens the first time only is not meant
        rounds = [
            [sum(map(len, docs)) / seconds_of(run, bench.gpu) for run in runs]
            for _ in range(1 if bench.quick else 5)
        ]
        component, encoder = map(statistics.median, zip(*rounds))
        figures[precision] = {"component": component, "encoder": encoder}
        figures[precision]["ratio"] = component / encoder
    return figures


def profile(bench: Bench) -> Dict[str, Any]:
    """Milliseconds and calls of what takes most of the time of a prediction: operations
    of PyTorch, on the device if it is a GPU, and functions of the host."""
    nlp = bench.load()
    some = bench.gold[:PROFILED_DOCS]
    run = _component(nlp, [unannotated(doc, nlp.vocab) for doc in some])
    run()
    kinds = torch.profiler.ProfilerActivity
    wanted = [kinds.CPU, *([kinds.CUDA] if bench.gpu else [])]
    with torch.profiler.profile(activities=wanted) as profiler:
        seconds_of(run, bench.gpu)
    time_of = "self_device_time_total" if bench.gpu else "self_cpu_time_total"
    averages = profiler.key_averages()
    operations = [(getattr(x, time_of) / 1000, x.count, x.key) for x in averages]
    host = cProfile.Profile()
    host.runcall(seconds_of, run, bench.gpu)
    stats: Any = pstats.Stats(host)
    functions = [
        (1000 * own, calls, f"{'/'.join(Path(file).parts[-2:])}:{line} {name}")
        for (file, line, name), (_, calls, own, *_) in stats.stats.items()
    ]
    found = {"operations": operations, "functions": functions}
    return {key: sorted(rows)[: -PROFILE_ROWS - 1 : -1] for key, rows in found.items()}


def _component(nlp: Language, docs: List[Doc]) -> Callable[[], None]:
    def run() -> None:
        for _ in nlp.pipe(docs, batch_size=PIPE_BATCH):
            pass

    return run


def _encoder(nlp: Language, docs: List[Doc], precision: str) -> Callable[[], None]:
    pipe: Any = nlp.get_pipe(NAME)
    network, reading = pipe.network.eval(), pipe.layer.attrs["reading"]
    limits = shim_of(pipe.layer).batch_limits
    groups = doc_groups(docs, MAX_WORDS, PIPE_BATCH)
    windows = (read_windows(group, network.pieces, reading) for group in groups)
    batches = [batch for each in windows for batch in iter_batches(each, *limits)]

    @torch.no_grad()
    def run() -> None:
        with autocast(network.device, DTYPES[precision]):
            for batch in batches:
                inputs = map(torch.from_numpy, (batch.input_ids, batch.attention_mask))
                network.masked_lm.hidden(*(each.to(network.device) for each in inputs))

    return run


if __name__ == "__main__":
    typer.run(main)
