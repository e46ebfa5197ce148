"""The command `pretrain`: a backbone that knows a field's text."""

from pathlib import Path
from typing import List, Optional

from ._options import BACKBONE, arg, command, flag, opt
from ._util import RESUMED, echo


@command("pretrain", stopped=RESUMED)
def pretrain_cli(
    text: List[Path] = arg(
        "TEXT...",
        'Text: .txt, .jsonl with a "text" a line, packed (.xz .gz) or not, .spacy; or '
        "a data folder with unlabeled.*; several files are read as one text",
    ),
    out: Path = arg("OUT", "New folder for the model"),
    backbone: str = BACKBONE,
    minutes: Optional[float] = opt(None, "End after so many minutes"),
    steps: Optional[int] = opt(
        None, "End after so many updates; 0: only measure the backbone"
    ),
    epochs: Optional[float] = opt(
        None, "End after so many passes over the text; one if no end is given"
    ),
    batch_size: int = opt(32, "Stretches of text in each update"),
    length: Optional[int] = opt(
        None, "Word pieces of such a stretch", show_default="128"
    ),
    learn_rate: Optional[float] = opt(
        None,
        "Highest learning rate",
        show_default="by width: 1e-4 at 768, 3e-4 at 384",
    ),
    mask_share: float = opt(0.15, "Share of the pieces that are hidden"),
    add_vocab: int = opt(
        0, "So many frequent words of three or more pieces get a piece of their own"
    ),
    lexicon: Optional[List[Path]] = opt(
        None,
        "List of names whose words get a piece first; may be given several times",
        metavar="FILE",
    ),
    held_out: float = opt(0.01, "Share of the lines that is kept for measuring"),
    seed: int = opt(0, "Seed of all random numbers"),
    precision: str = opt(
        "float32", "float32, or bfloat16, which is much faster on some processors"
    ),
    device: str = opt("auto", "auto, cpu, or a GPU such as cuda:0"),
    half: bool = flag("--half", "Save the weights in half precision"),
    few_shot_learn_rate: Optional[float] = opt(
        None,
        "Learning rate that later trainings on examples take with this model",
        show_default="the backbone's",
    ),
    resume: bool = flag("--resume", "Go on with an unfinished run, if there is one"),
    overwrite: bool = flag("--overwrite", "Replace OUT and an unfinished run"),
) -> None:
    """Let a masked language model read plain text of your field: it guesses hidden
    words of it. The result is a backbone for later trainings.

    \b
    Example:
      python -m spacy entlm pretrain chemistry.txt chem-lm \\
        --backbone bert-base-cased --minutes 60
    """
    from ..pretraining.run import Pretraining  # torch takes seconds
    from ..pretraining.settings import Settings

    settings = Settings(
        steps=steps,
        epochs=epochs,
        minutes=minutes,
        batch_size=batch_size,
        length=length,
        learn_rate=learn_rate,
        mask_share=mask_share,
        add_vocab=add_vocab,
        lexicon=lexicon or [],
        held_out=held_out,
        seed=seed,
        precision=precision,
        device=device,
        half=half,
        few_shot_learn_rate=few_shot_learn_rate,
    )
    pretraining = Pretraining(text, out, backbone, settings, echo)
    pretraining.run(resume=resume, overwrite=overwrite)
