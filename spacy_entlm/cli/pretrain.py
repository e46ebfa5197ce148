"""The command `pretrain`: a backbone that knows a field's text."""

from pathlib import Path
from typing import List, Optional

from ..backbones.names import ENTLM_BASE
from ._options import arg, command, flag, opt
from ._util import echo

TEXT = arg(
    "TEXT...",
    'Text: .txt, .jsonl with a "text" a line, packed (.xz .gz) or not, .spacy; or a '
    "data folder with unlabeled.*; several are one text",
)
OUT = arg("OUT", "Model folder")
BACKBONE = opt(ENTLM_BASE, "Masked LM, a folder or a hub name")
SEED = opt(0, "Of everything random")


@command("pretrain")
def pretrain_cli(
    text: List[Path] = TEXT,
    out: Path = OUT,
    backbone: str = BACKBONE,
    minutes: Optional[float] = opt(None, "End after this time"),
    steps: Optional[int] = opt(None, "End then; 0: only measure"),
    epochs: Optional[float] = opt(None, "Passes, else one"),
    batch_size: int = opt(32, "Sequences of an update"),
    length: Optional[int] = opt(None, "Pieces a sequence, or 128"),
    learn_rate: Optional[float] = opt(
        None, "The highest", show_default="by width: 1e-4 at 768, 3e-4 at 384"
    ),
    mask_share: float = opt(0.15, "Share of pieces that is masked"),
    add_vocab: int = opt(0, "Frequent words of three or more pieces to make pieces of"),
    lexicon: Optional[List[Path]] = opt(
        None, "Names whose words are added first; repeatable", metavar="FILE"
    ),
    held_out: float = opt(0.01, "Share of lines to measure on"),
    seed: int = SEED,
    precision: str = opt("float32", "Or bfloat16, on some processors much faster"),
    device: str = opt("auto", "auto, cpu or a GPU as cuda:0"),
    half: bool = flag("--half", "Store half precision"),
    few_shot_learn_rate: Optional[float] = opt(
        None, "For few-shot training with it", show_default="the backbone's"
    ),
    resume: bool = flag("--resume", "Go on with an unfinished run, if there is one"),
    overwrite: bool = flag("--overwrite", "Replace OUT and an unfinished run"),
) -> None:
    """Pre-train a masked LM further on plain text.

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
