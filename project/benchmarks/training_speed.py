"""Time of few-shot training: the component against the paper's loop, written again.

The loop is a masked LM whose vocabulary has one more token per class, logits over the
whole vocabulary at every position of padded batches, PyTorch's cross-entropy and AdamW,
all in float32. The component is as shipped: with a backbone that makes rows of classes
from their names, the vocabulary does not learn. Both take the same examples, batches
and number of steps, in turn, each in a process of its own.

    python project/benchmarks/training_speed.py OUT.json --backbone LM \\
        --train 5shot/1.jsonl --label-words label_words.json
"""

import json
import multiprocessing
import platform
import random
import resource
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any, Callable, Dict, List

import spacy
import torch
import typer
from plain_backbone import plain_backbone
from spacy.tokens import Doc
from spacy.training import Example
from spacy.util import minibatch
from thinc.api import fix_random_seed
from tqdm import tqdm

from spacy_entlm.corpus.docs import unannotated
from spacy_entlm.corpus.readers import read_docs
from spacy_entlm.label_words.words import read_label_words
from spacy_entlm.training.adam import build_adam
from spacy_entlm.training.schedule import StepsToZero

EPOCHS, BATCH_SIZE, LEARN_RATE = 20, 4, 3e-4
NO_LOSS = -100
# Only if asked for: without support in the processor it takes many times longer.
MIXED = "component_mixed"
app = typer.Typer(no_args_is_help=True, help=__doc__)


@app.command()
def main(
    out: Path,
    backbone: str = typer.Option("entlm-base", help="A masked LM, or its folder"),
    train: Path = typer.Option(..., help="Examples, in a format that convert reads"),
    label_words: Path = typer.Option(...),
    rounds: int = 3,
    threads: int = 2,
    mixed: bool = typer.Option(False, help="The component in mixed precision, too"),
) -> None:
    """Measure and write seconds of the training loop alone to OUT."""
    methods = ["component", *([MIXED] if mixed else []), "loop"]
    context = multiprocessing.get_context("spawn")
    results: Dict[str, Dict[str, Any]] = {
        method: {"seconds": [], "peak_mib": 0.0} for method in methods
    }
    with tempfile.TemporaryDirectory() as folder:
        backbones = dict.fromkeys(methods, backbone)
        backbones["loop"] = plain_backbone(backbone, folder)
        for _ in tqdm(range(rounds), unit="round"):
            for method, name in backbones.items():
                ours, theirs = context.Pipe()
                arguments = (theirs, method, name, train, label_words, threads)
                process = context.Process(target=_worker, args=arguments)
                process.start()
                theirs.close()
                seconds, peak = ours.recv()
                process.join()
                results[method]["seconds"].append(seconds)
                results[method]["peak_mib"] = peak
    slowest = statistics.median(results["loop"]["seconds"])
    for method, figures in results.items():
        median = statistics.median(figures["seconds"])
        figures["ratio_to_loop"] = median / slowest
        print(
            f"{method:16} {median:6.1f} s  {median / slowest:5.2f} of the loop  "
            f"{figures['peak_mib']:6.0f} MiB"
        )
    results["machine"] = {"processor": platform.machine(), "threads": threads}
    out.write_text(json.dumps(results, indent=1) + "\n", encoding="utf8")


def _worker(
    pipe: Any, method: str, backbone: str, train: Path, words: Path, threads: int
) -> None:
    torch.set_num_threads(threads)
    nlp = spacy.blank("en")
    docs, _ = read_docs(train, nlp)
    label_words = read_label_words(words)
    fix_random_seed(1)
    build = _loop if method == "loop" else _component
    run = build(nlp, docs, label_words, backbone, method == MIXED)
    start = time.perf_counter()
    run()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    pipe.send((time.perf_counter() - start, peak))


def _batches(data: List[Any]) -> List[List[Any]]:
    """The batches of all epochs."""
    order = random.Random(1)
    batches: List[List[Any]] = []
    for _ in range(EPOCHS):
        order.shuffle(data)
        batches += minibatch(data, BATCH_SIZE)
    return batches


def _component(
    nlp: Any, docs: List[Doc], words: Dict[str, List[str]], backbone: str, mixed: bool
) -> Callable[[], None]:
    model = {"name": backbone, "mixed_precision": mixed}
    pipe = nlp.add_pipe("entlm_ner", config={"model": model})
    examples = [Example(unannotated(doc, nlp.vocab), doc) for doc in docs]
    pipe.initialize(lambda: examples, nlp=nlp, label_words=words)
    batches = _batches(examples)
    optimizer = build_adam(StepsToZero(LEARN_RATE, len(batches)))

    def run() -> None:
        for batch in batches:
            nlp.update(batch, sgd=optimizer)
            optimizer.step_schedules()

    return run


def _loop(
    nlp: Any, docs: List[Doc], words: Dict[str, List[str]], backbone: str, mixed: bool
) -> Callable[[], None]:
    from transformers import AutoModelForMaskedLM, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(backbone)
    lm = AutoModelForMaskedLM.from_pretrained(backbone, torch_dtype=torch.float32)
    tokenizer.add_tokens([f"I-{label}" for label in words])
    lm.resize_token_embeddings(len(tokenizer), mean_resizing=False)
    data = [_encode(tokenizer, doc) for doc in docs]
    batches = _batches(data)
    optimizer = torch.optim.AdamW(lm.parameters(), lr=LEARN_RATE, weight_decay=0.0)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: 1 - step / len(batches)
    )
    lm.train()

    def run() -> None:
        for batch in batches:
            padded = tokenizer.pad(
                [{"input_ids": ids} for ids, _ in batch], return_tensors="pt"
            )
            targets = torch.nn.utils.rnn.pad_sequence(
                [torch.tensor(target) for _, target in batch], True, NO_LOSS
            )
            loss = lm(**padded, labels=targets).loss
            loss.backward()
            optimizer.step()
            schedule.step()
            optimizer.zero_grad()

    return run


def _encode(tokenizer: Any, doc: Doc) -> Any:
    """Pieces of a sentence, and for each its class's token or itself."""
    encoded = tokenizer([token.text for token in doc], is_split_into_words=True)
    targets = []
    for piece, word in zip(encoded["input_ids"], encoded.word_ids()):
        if word is None:
            targets.append(NO_LOSS)
        elif doc[word].ent_type_:
            label = f"I-{doc[word].ent_type_}"
            targets.append(tokenizer.convert_tokens_to_ids(label))
        else:
            targets.append(piece)
    return encoded["input_ids"], targets


if __name__ == "__main__":
    app()
