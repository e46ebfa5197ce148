"""The command `teach`: a backbone that makes rows of classes from their names."""

from pathlib import Path
from typing import List, Optional

from ._options import BACKBONE, arg, command, flag, opt
from ._util import RESUMED, echo, told_when_stopped


@command("teach", stopped=RESUMED)
def teach_cli(
    lines: List[Path] = arg(
        "LINES...",
        'Marked lines, packed (.xz .gz) or not: {"text", "spans": [{"start", "end", '
        '"kinds": ["city", "place"]}]}, and "labels" where these are fixed',
    ),
    out: Path = arg("OUT", "New folder for the model"),
    backbone: str = BACKBONE,
    text: Optional[List[Path]] = opt(
        None,
        "Plain text to read in between; may be given several times",
        metavar="FILE",
    ),
    label_sets: Optional[Path] = opt(None, "Labels that people use together (.json)"),
    types: Optional[Path] = opt(None, "Types of kinds, for --label-sets (.tsv)"),
    wordings: Optional[Path] = opt(None, "Other words for kinds (.tsv)"),
    minutes: Optional[float] = opt(None, "End after so many minutes"),
    steps: Optional[int] = opt(None, "End after so many updates"),
    lines_per_step: int = opt(32, "Marked lines in each update"),
    texts_per_step: int = opt(8, "Stretches of plain text in each update"),
    learn_rate: float = opt(2e-4, "Highest learning rate"),
    dropout: float = opt(0.1, "Share of features that is left out by chance"),
    start_share: float = opt(
        0.0, "Share of the weights of before in those at the end; 0.5: their mean"
    ),
    held_out: float = opt(0.0125, "Share of the lines that is kept for measuring"),
    half: bool = opt(
        True, "Teach the first half of the layers to be a model by itself, too"
    ),
    seed: int = opt(0, "Seed of all random numbers"),
    precision: str = opt(
        "float32", "float32, or bfloat16, which is much faster on some processors"
    ),
    device: str = opt("auto", "auto, cpu, or a GPU such as cuda:0"),
    workers: int = opt(0, "Processes that prepare lines; a GPU needs some"),
    resume: bool = flag("--resume", "Go on with an unfinished run, if there is one"),
    overwrite: bool = flag("--overwrite", "Replace OUT and an unfinished run"),
) -> None:
    """Teach a masked language model kinds of names, so that a class can begin from its
    name alone. docs/teaching.md says what a file of lines looks like.

    \b
    Example:
      python -m spacy entlm teach marked.jsonl my-lm --minutes 30
    """
    from ..teaching.run import Teaching  # torch takes seconds
    from ..teaching.settings import Settings

    settings = Settings(
        steps=steps,
        minutes=minutes,
        lines=lines_per_step,
        texts=texts_per_step,
        learn_rate=learn_rate,
        dropout=dropout,
        start_share=start_share,
        half=half,
        held_out=held_out,
        label_sets=label_sets,
        types=types,
        wordings=wordings,
        seed=seed,
        precision=precision,
        device=device,
        workers=workers,
    )
    teaching = Teaching(lines, out, backbone, text or [], settings, echo)
    try:
        teaching.run(resume=resume, overwrite=overwrite)
    except KeyboardInterrupt:
        if teaching.folder.is_begun:
            raise
        with told_when_stopped("Stopped: nothing was learned yet."):
            raise
