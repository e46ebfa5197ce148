"""A masked LM that reads the plain text of a field before it is trained for that."""

from typing import Iterable

from tqdm import tqdm

from ..backbones.masked_lm import MaskedLM
from ..backbones.suitable import learn_rate_for_width
from ..model.precision import has_fast_bfloat16
from .batches import PackedSequences
from .checkpoint import State, make_optimizer
from .loop import Training
from .pieces import split_text
from .settings import DEFAULT_LENGTH, Settings

# benchmarks/RESULTS.md, "Plain text of the field".
EPOCHS, BATCH_SIZE = 3, 16
# Texts may be books: a million pieces in all.
MAX_STEPS = 500
# Of the rate of a pre-training: what the model knows is to stay.
GENTLE_RATE = 1 / 3


def guess_hidden(masked_lm: MaskedLM, texts: Iterable[str], seed: int) -> None:
    """Let a masked LM guess hidden pieces of a field's text; its weights are changed.
    Products are in bfloat16 where the processor has it, which takes half of the time.

    masked_lm (MaskedLM): In float32.
    texts (Iterable[str]): Plain text; what holds no piece is left out.
    seed (int): Of masks, order and dropout.
    RAISES (DataError): If there is no text.
    """
    pieces = split_text(texts, masked_lm, held_out=0.0)
    length = min(DEFAULT_LENGTH, masked_lm.max_pieces)
    on_cpu = masked_lm.decoder.weight.device.type == "cpu"
    settings = Settings(
        steps=MAX_STEPS,
        epochs=EPOCHS,
        batch_size=BATCH_SIZE,
        learn_rate=GENTLE_RATE * learn_rate_for_width(masked_lm.width),
        seed=seed,
        precision="bfloat16" if on_cpu and has_fast_bfloat16() else "float32",
    )
    around = masked_lm.special_pieces()
    sequences = PackedSequences(pieces.train, length, *around, seed)
    with tqdm(unit="step") as progress:

        def show(step: int, done: float, loss: float, speed: float) -> None:
            progress.set_postfix(loss=f"{loss:.3f}")
            progress.update(step - progress.n)

        optimizer = make_optimizer(masked_lm)
        training = Training(
            masked_lm, optimizer, sequences, settings, lambda state: None, show
        )
        progress.reset(training.steps)
        training.run(State())
