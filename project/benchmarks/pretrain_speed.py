"""Word pieces per second of `pretrain` and of transformers.Trainer, in one run.

Both train the same model on the same full sequences, in batches of the same size, at
the same precision, with the same dropout; the Trainer with its defaults and
DataCollatorForLanguageModeling. They take turns, some updates each, round after round;
the ratio is that of the medians. CPU seconds are printed too: with one thread they do
not depend on what else the machine does.

    pip install accelerate  # which the Trainer needs, and spacy-entlm does not
    python project/benchmarks/pretrain_speed.py --backbone LM --text TEXT.txt \\
        --threads 1 --precision bfloat16
"""

import json
import platform
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any, Callable, Dict, List, Optional, Tuple

import torch
import typer
from plain_backbone import plain_backbone
from transformers import (
    DataCollatorForLanguageModeling,
    Trainer,
    TrainerCallback,
    TrainingArguments,
)

from spacy_entlm.backbones.loading import load_masked_lm
from spacy_entlm.corpus.texts import read_texts
from spacy_entlm.pretraining.batches import PackedSequences
from spacy_entlm.pretraining.checkpoint import State, make_optimizer
from spacy_entlm.pretraining.loop import Training
from spacy_entlm.pretraining.pieces import split_text
from spacy_entlm.pretraining.settings import Settings

# Updates of a round that are not counted.
WARM_UP = 1
LEARN_RATE = 1e-4
Times = List[Tuple[float, float]]

app = typer.Typer(help=__doc__)


@app.command()
def main(
    backbone: str = typer.Option("entlm-base", help="A masked LM, or its folder"),
    text: List[Path] = typer.Option(..., help="Plain text"),
    batch_size: int = 32,
    length: int = 128,
    steps: int = typer.Option(5, help="Updates of a round that count"),
    rounds: int = 3,
    threads: int = 1,
    precision: str = "float32",
    out: Optional[Path] = typer.Option(None, help="JSON file for all figures"),
) -> None:
    """Print pieces per second of both, and their ratio."""
    torch.set_num_threads(threads)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    settings = Settings(
        steps=WARM_UP + steps,
        batch_size=batch_size,
        length=length,
        precision=precision,
        checkpoint_minutes=1e9,
    )
    with tempfile.TemporaryDirectory() as folder:
        backbone = plain_backbone(backbone, f"{folder}/backbone")
        sequences = _sequences(backbone, text, settings)
        runs = {
            "pretrain": _ours(backbone, sequences, settings, device),
            "Trainer": _trainer(backbone, sequences, settings, device, folder),
        }
        seconds: Dict[str, List[Tuple[float, float]]] = {name: [] for name in runs}
        for number in range(rounds):
            for name, run in runs.items():
                seconds[name].append(run())
                print(f"round {number + 1} {name}: {_show(seconds[name][-1])}")
    pieces = steps * batch_size * length
    results = {name: _summary(times, pieces) for name, times in seconds.items()}
    ratios = {
        key: results["pretrain"][key] / results["Trainer"][key]
        for key in ("pieces_per_second", "pieces_per_cpu_second")
    }
    print(f"{platform.machine()} {device}, {threads} threads, {precision}")
    for name, figures in results.items():
        print(f"{name:9} {figures['pieces_per_second']:9.0f} pieces/s")
    print(f"ratio {ratios['pieces_per_second']:.2f}", end="")
    print(f" (of CPU time {ratios['pieces_per_cpu_second']:.2f})")
    if out is not None:
        found = {"results": results, "ratios": ratios, "precision": precision}
        out.write_text(json.dumps(found, indent=1) + "\n", encoding="utf8")


def _sequences(backbone: str, text: List[Path], settings: Settings) -> PackedSequences:
    masked_lm = load_masked_lm(backbone)
    stream = split_text(read_texts(text), masked_lm, held_out=0.0).train
    prefix, suffix = masked_lm.special_pieces()
    return PackedSequences(stream, settings.length, prefix, suffix, settings.seed)


def _ours(
    backbone: str, sequences: PackedSequences, settings: Settings, device: str
) -> Callable[[], Tuple[float, float]]:
    masked_lm = load_masked_lm(backbone).to(device)
    times: Times = []
    batches: List[int] = []

    def timed_mask(*arguments: Any) -> Any:
        # A batch is masked where its update begins.
        batches.append(1)
        if len(batches) == WARM_UP + 1:
            times.append(_now())
        return mask(*arguments)

    training = Training(
        masked_lm=masked_lm,
        optimizer=make_optimizer(masked_lm),
        sequences=sequences,
        settings=settings.model_copy(update={"learn_rate": LEARN_RATE}),
        save=lambda state: times.append(_now()),
        report=lambda *report: None,
    )
    mask = training.masker.mask
    training.masker.mask = timed_mask  # type: ignore[method-assign]

    def run() -> Tuple[float, float]:
        times.clear()
        batches.clear()
        training.run(State())
        return _difference(times)

    return run


def _trainer(
    backbone: str,
    sequences: PackedSequences,
    settings: Settings,
    device: str,
    folder: str,
) -> Callable[[], Tuple[float, float]]:
    masked_lm = load_masked_lm(backbone)
    tokenizer = masked_lm.tokenizer
    from transformers import AutoModelForMaskedLM

    model = AutoModelForMaskedLM.from_pretrained(backbone, torch_dtype=torch.float32)
    needed = settings.steps * settings.batch_size
    data = [{"input_ids": row.tolist()} for row in sequences.batch(0, needed)]
    times: Times = []

    class Clock(TrainerCallback):
        def on_step_end(self, args: Any, state: Any, control: Any, **rest: Any) -> None:
            if state.global_step in (WARM_UP, settings.steps):
                times.append(_now())

    arguments = TrainingArguments(
        output_dir=folder,
        per_device_train_batch_size=settings.batch_size,
        max_steps=settings.steps,
        learning_rate=LEARN_RATE,
        weight_decay=0.01,
        bf16=settings.precision == "bfloat16",
        use_cpu=device == "cpu",
        report_to=[],
        save_strategy="no",
        logging_strategy="no",
        disable_tqdm=True,
    )
    trainer = Trainer(
        model=model,
        args=arguments,
        train_dataset=data,
        data_collator=DataCollatorForLanguageModeling(
            tokenizer, mlm_probability=settings.mask_share
        ),
        callbacks=[Clock()],
    )

    def run() -> Tuple[float, float]:
        times.clear()
        trainer.train()
        return _difference(times)

    return run


def _now() -> Tuple[float, float]:
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    return time.perf_counter(), time.process_time()


def _difference(times: Times) -> Tuple[float, float]:
    (start, cpu_start), (end, cpu_end) = times
    return end - start, cpu_end - cpu_start


def _show(seconds: Tuple[float, float]) -> str:
    return f"{seconds[0]:.2f} s ({seconds[1]:.2f} CPU s)"


def _summary(times: Times, pieces: int) -> Dict[str, Any]:
    wall, cpu = (statistics.median(part) for part in zip(*times))
    return {
        "pieces_per_second": pieces / wall,
        "pieces_per_cpu_second": pieces / cpu,
        "seconds": times,
    }


if __name__ == "__main__":
    app()
