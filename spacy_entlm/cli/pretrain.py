"""The commands `pretrain` and `learn-names`: backbones that know a field's text."""

from pathlib import Path
from typing import Annotated, List, Optional

import typer
from typer import Option

from ..backbones.names import ENTLM_MINI
from ._lexicon import LabelOption
from ._util import LangOption, echo_lines, entlm_cli, one_line_errors

TextArgument = Annotated[
    List[Path],
    typer.Argument(
        metavar="TEXT...",
        help="Plain text, a sentence or paragraph a line (.txt), JSON lines with a "
        '"text" (.jsonl), packed (.xz .gz) or not, or .spacy; or a data folder, for '
        "its unlabeled.*; several are one text",
        show_default=False,
    ),
]
OutArgument = Annotated[
    Path,
    typer.Argument(metavar="OUT", help="Model folder to write", show_default=False),
]
BackboneOption = Annotated[str, Option(help="Masked LM, a folder or a hub name")]
SeedOption = Annotated[int, Option(help="Of everything random")]


@entlm_cli.command("pretrain")
def pretrain_cli(
    text: TextArgument,
    out: OutArgument,
    backbone: BackboneOption = ENTLM_MINI,
    minutes: Annotated[Optional[float], Option(help="End after this time")] = None,
    steps: Annotated[Optional[int], Option(help="End after these updates")] = None,
    epochs: Annotated[
        Optional[float],
        Option(help="End after these passes", show_default="1, if nothing is given"),
    ] = None,
    batch_size: Annotated[int, Option(help="Sequences of an update")] = 32,
    length: Annotated[
        Optional[int],
        Option(help="Pieces of a sequence", show_default="128, if they fit"),
    ] = None,
    learn_rate: Annotated[
        Optional[float],
        Option(help="The highest", show_default="by width: 1e-4 at 768, 3e-4 at 384"),
    ] = None,
    mask_share: Annotated[float, Option(help="Share of pieces that is masked")] = 0.15,
    add_vocab: Annotated[
        int,
        Option(
            help="Words to add to the vocabulary, the most frequent of those that fall "
            "into three or more pieces"
        ),
    ] = 0,
    lexicon: Annotated[
        Optional[List[Path]],
        Option(metavar="FILE", help="Names whose words are added first; repeatable"),
    ] = None,
    held_out: Annotated[
        float,
        Option(
            help="Share of the lines on which the model is measured and not trained, "
            "the same lines for every run and model"
        ),
    ] = 0.01,
    seed: SeedOption = 0,
    precision: Annotated[
        str,
        Option(
            help="float32 or bfloat16 (weights stay float32; many times as fast on "
            "some processors, as many times as slow on others)"
        ),
    ] = "float32",
    device: Annotated[
        str, Option(help="auto: the GPU if there is one; cpu, cuda:1")
    ] = "auto",
    half: Annotated[
        bool, Option("--half", help="Store the weights as float16")
    ] = False,
    few_shot_learn_rate: Annotated[
        Optional[float],
        Option(
            help="Recommend this rate in OUT/pretrain.json for few-shot training",
            show_default="what the backbone's says, if it does",
        ),
    ] = None,
    resume: Annotated[
        bool, Option("--resume", help="Go on with an unfinished run, if there is one")
    ] = False,
    overwrite: Annotated[
        bool,
        Option(
            "--overwrite",
            help="Replace OUT and any unfinished run; with --resume only those that "
            "were given something else",
        ),
    ] = False,
) -> None:
    """Pre-train a masked LM further on plain text.

    \b
    Example:
      python -m spacy entlm pretrain chemistry.txt chem-lm \\
        --backbone bert-base-cased --minutes 60
    """
    given = dict(locals())
    with one_line_errors():
        from ..pretraining.run import Pretraining  # torch takes seconds
        from ..pretraining.settings import Settings

        # Its fields have the names of the options.
        values = {name: given[name] for name in Settings.model_fields if name in given}
        settings = Settings(**{**values, "lexicon": lexicon or []})
        pretraining = Pretraining(text, out, backbone, settings, _echo)
        pretraining.run(resume=resume, overwrite=overwrite)
        _echo(f"Wrote {out}")


@entlm_cli.command("learn-names")
def learn_names_cli(
    lexicon: Annotated[
        Path,
        typer.Argument(
            metavar="LEXICON",
            help="Names with their classes, in any form that `lexicon` reads",
            show_default=False,
        ),
    ],
    text: TextArgument,
    out: OutArgument,
    backbone: BackboneOption = ENTLM_MINI,
    sentences: Annotated[
        int,
        Option(
            help="Most sentences with names to learn from; about 1,000 a minute on "
            "two cores with a small backbone"
        ),
    ] = 10_000,
    label: LabelOption = None,
    lang: LangOption = "en",
    seed: SeedOption = 0,
    gpu_id: Annotated[int, Option(help="GPU, or -1 for the CPU")] = -1,
    overwrite: Annotated[bool, Option("--overwrite", help="Replace OUT")] = False,
) -> None:
    """Let a masked LM learn to say a label word at each name of a lexicon in plain
    text: a backbone that knows what such names look like.

    \b
    Example:
      python -m spacy entlm learn-names names.jsonl chemistry.txt names-lm
    """
    with one_line_errors():
        from spacy.cli._util import setup_gpu

        from ..pretraining.names import NameLearning

        setup_gpu(gpu_id, silent=True)
        learning = NameLearning(
            lexicon=lexicon,
            text=text,
            out=out,
            backbone=backbone,
            sentences=sentences,
            label=label,
            lang=lang,
            seed=seed,
            mixed_precision=gpu_id >= 0,  # on a CPU it may be many times slower
        )
        learning.run(overwrite=overwrite, echo=_echo)
        _echo(f"Wrote {out}")


def _echo(line: str) -> None:
    echo_lines([line])
