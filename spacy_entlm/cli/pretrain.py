"""The command `pretrain`: (further) pre-training of a masked LM on plain text."""

from pathlib import Path
from typing import Annotated, List, Optional

import typer

from ._util import echo_lines, entlm_cli, one_line_errors

TextArgument = Annotated[
    List[Path],
    typer.Argument(
        metavar="TEXT...",
        help="Plain text, a sentence or paragraph a line (.txt), JSON lines with a "
        '"text" (.jsonl), packed (.xz .gz) or not, or .spacy; several files are one '
        "text",
        show_default=False,
    ),
]
OutArgument = Annotated[
    Path,
    typer.Argument(
        metavar="OUT",
        help="Model folder to write; it must not exist",
        show_default=False,
    ),
]
BackboneOption = Annotated[
    Optional[str],
    typer.Option(
        "--backbone",
        help="Masked LM to start from, a folder or a hub name",
        show_default=False,
    ),
]
NewOption = Annotated[
    Optional[Path],
    typer.Option(
        "--new",
        metavar="CONFIG.json",
        help="Start from scratch: a config.json with the architecture",
        show_default=False,
    ),
]
StepsOption = Annotated[
    Optional[int],
    typer.Option(
        "--steps",
        help="Updates; 0: only measure the model on the held-out lines",
        show_default="one pass over the text",
    ),
]
MinutesOption = Annotated[
    Optional[float],
    typer.Option(
        "--minutes",
        help="Time for the training; the learning rate decays to its end",
        show_default=False,
    ),
]
BatchOption = Annotated[int, typer.Option("--batch-size", help="Sequences of a batch")]
AccumulateOption = Annotated[
    int, typer.Option("--accumulate", help="Batches of an update")
]
LengthOption = Annotated[
    Optional[int],
    typer.Option(
        "--length",
        help="Pieces of a sequence",
        show_default="128, or what the model takes",
    ),
]
RateOption = Annotated[
    Optional[float],
    typer.Option(
        "--learn-rate",
        help="Highest learning rate",
        show_default="by the model's width: 1e-4 at 768, 3e-4 at 384",
    ),
]
WholeWordOption = Annotated[
    bool, typer.Option("--whole-word", help="Mask words in place of pieces")
]
DropoutOption = Annotated[
    Optional[float],
    typer.Option(
        "--dropout",
        help="Dropout of this training; the model's own setting stays",
        show_default="the model's",
    ),
]
KeepOption = Annotated[
    Optional[int],
    typer.Option(
        "--keep-vocab",
        help="Cut the vocabulary to this many pieces, those that the text uses most",
        show_default=False,
    ),
]
AddOption = Annotated[
    Optional[int],
    typer.Option(
        "--add-vocab",
        help="Add this many words to the vocabulary, the most frequent of those that "
        "fall into pieces",
        show_default=False,
    ),
]
NewVocabOption = Annotated[
    Optional[int],
    typer.Option(
        "--new-vocab",
        help="Learn a new vocabulary of this size from the text",
        show_default="16000 with --new",
    ),
]
CasedOption = Annotated[
    Optional[bool],
    typer.Option(
        "--cased/--uncased",
        help="Whether a new vocabulary tells capitals",
        show_default="as the backbone; uncased with --new",
    ),
]
LexiconOption = Annotated[
    Optional[List[Path]],
    typer.Option(
        "--lexicon",
        metavar="FILE",
        help="Names that the vocabulary should know, a file of any form that "
        "`lexicon` reads; repeatable",
        show_default=False,
    ),
]
WeightOption = Annotated[
    int,
    typer.Option(
        "--lexicon-weight", help="Occurrences in the text that a name counts for"
    ),
]
HeldOutOption = Annotated[
    float,
    typer.Option(
        "--held-out",
        help="Share of the lines on which the model is measured and not trained, the "
        "same lines for every run and model",
    ),
]
CheckpointOption = Annotated[
    float, typer.Option("--checkpoint-minutes", help="Time between checkpoints")
]
PrecisionOption = Annotated[
    str,
    typer.Option(
        "--precision",
        help="float32 or bfloat16 (weights stay float32; many times as fast on some "
        "processors, as many times as slow on others)",
    ),
]
DeviceOption = Annotated[
    str, typer.Option("--device", help="auto: the GPU if there is one; cpu, cuda:1")
]
HalfOption = Annotated[
    bool, typer.Option("--half", help="Store the weights as float16, in half the space")
]
FewShotOption = Annotated[
    Optional[float],
    typer.Option(
        "--few-shot-learn-rate",
        help="Recommend this rate in OUT/pretrain.json for few-shot training with "
        "the model",
        show_default="what the backbone's says, if it does",
    ),
]
ResumeOption = Annotated[
    bool, typer.Option("--resume", help="Go on with an unfinished run, if there is one")
]
OverwriteOption = Annotated[
    bool, typer.Option("--overwrite", help="Replace OUT and any unfinished run")
]


@entlm_cli.command("pretrain")
def pretrain_cli(
    text: TextArgument,
    out: OutArgument,
    backbone: BackboneOption = None,
    new: NewOption = None,
    steps: StepsOption = None,
    minutes: MinutesOption = None,
    batch_size: BatchOption = 32,
    accumulate: AccumulateOption = 1,
    length: LengthOption = None,
    learn_rate: RateOption = None,
    whole_word: WholeWordOption = False,
    dropout: DropoutOption = None,
    keep_vocab: KeepOption = None,
    add_vocab: AddOption = None,
    new_vocab: NewVocabOption = None,
    cased: CasedOption = None,
    lexicon: LexiconOption = None,
    lexicon_weight: WeightOption = 1,
    held_out: HeldOutOption = 0.01,
    seed: Annotated[int, typer.Option(help="Of masks, order and dropout")] = 0,
    precision: PrecisionOption = "float32",
    device: DeviceOption = "auto",
    checkpoint_minutes: CheckpointOption = 5.0,
    half: HalfOption = False,
    few_shot_learn_rate: FewShotOption = None,
    resume: ResumeOption = False,
    overwrite: OverwriteOption = False,
) -> None:
    """Pre-train a masked LM further on plain text, or from scratch; perhaps with a
    vocabulary that fits the text better.

    \b
    Example:
      python -m spacy entlm pretrain chemistry.txt chem-lm \\
        --backbone bert-base-cased --add-vocab 4000 --minutes 60
    """
    with one_line_errors():
        from ..pretraining.run import Pretraining  # torch takes seconds
        from ..pretraining.settings import Settings

        settings = Settings(
            steps=steps,
            minutes=minutes,
            batch_size=batch_size,
            accumulate=accumulate,
            length=length,
            learn_rate=learn_rate,
            whole_word=whole_word,
            dropout=dropout,
            keep_vocab=keep_vocab,
            add_vocab=add_vocab,
            new_vocab=new_vocab,
            cased=cased,
            lexicon=[str(path) for path in lexicon or []],
            lexicon_weight=lexicon_weight,
            held_out=held_out,
            seed=seed,
            precision=precision,
            device=device,
            checkpoint_minutes=checkpoint_minutes,
            half=half,
        )
        pretraining = Pretraining(
            text=text,
            out=out,
            backbone=backbone,
            new=new,
            settings=settings,
            few_shot_learn_rate=few_shot_learn_rate,
            echo=lambda line: echo_lines([line]),
        )
        pretraining.run(resume=resume, overwrite=overwrite)
        echo_lines([f"Wrote {out}"])
