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
        help='Text: .txt, .jsonl with a "text" a line, packed (.xz .gz) or not, '
        ".spacy; or a data folder with unlabeled.*; several are one text",
    ),
]
OutArgument = Annotated[Path, typer.Argument(metavar="OUT", help="Model folder")]
BackboneOption = Annotated[str, Option(help="Masked LM, a folder or a hub name")]
SeedOption = Annotated[int, Option(help="Of everything random")]


@entlm_cli.command("pretrain")
def pretrain_cli(
    text: TextArgument,
    out: OutArgument,
    backbone: BackboneOption = ENTLM_MINI,
    minutes: Annotated[Optional[float], Option(help="End after this time")] = None,
    steps: Annotated[Optional[int], Option(help="End then; 0: only measure")] = None,
    epochs: Annotated[Optional[float], Option(help="Passes, else one")] = None,
    batch_size: Annotated[int, Option(help="Sequences of an update")] = 32,
    length: Annotated[Optional[int], Option(help="Pieces a sequence, or 128")] = None,
    learn_rate: Annotated[
        Optional[float],
        Option(help="The highest", show_default="by width: 1e-4 at 768, 3e-4 at 384"),
    ] = None,
    mask_share: Annotated[float, Option(help="Share of pieces that is masked")] = 0.15,
    add_vocab: Annotated[
        int, Option(help="Frequent words of three or more pieces to make pieces of")
    ] = 0,
    lexicon: Annotated[
        Optional[List[Path]],
        Option(metavar="FILE", help="Names whose words are added first; repeatable"),
    ] = None,
    held_out: Annotated[float, Option(help="Share of lines to measure on")] = 0.01,
    seed: SeedOption = 0,
    precision: Annotated[
        str, Option(help="float32 or bfloat16, on some processors much faster")
    ] = "float32",
    device: Annotated[str, Option(help="auto, cpu or a GPU as cuda:0")] = "auto",
    half: Annotated[bool, Option("--half", help="Store half precision")] = False,
    few_shot_learn_rate: Annotated[
        Optional[float],
        Option(help="For few-shot training with it", show_default="the backbone's"),
    ] = None,
    resume: Annotated[
        bool, Option("--resume", help="Go on with an unfinished run, if there is one")
    ] = False,
    overwrite: Annotated[
        bool, Option("--overwrite", help="Replace OUT and an unfinished run")
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


@entlm_cli.command("learn-names")
def learn_names_cli(
    lexicon: Annotated[
        Path,
        typer.Argument(
            metavar="LEXICON",
            help="Names with their classes, in any form that `lexicon` reads",
        ),
    ],
    text: TextArgument,
    out: OutArgument,
    backbone: BackboneOption = ENTLM_MINI,
    sentences: Annotated[
        int,
        Option(help="Most sentences to learn from, about 1,000 a minute on a laptop"),
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

        from ..pretraining.names import learn_names

        setup_gpu(gpu_id, silent=True)
        learn_names(
            lexicon,
            text,
            out,
            backbone=backbone,
            sentences=sentences,
            label=label,
            lang=lang,
            seed=seed,
            mixed_precision=gpu_id >= 0,  # on a CPU it may be many times slower
            overwrite=overwrite,
            echo=_echo,
        )


def _echo(line: str) -> None:
    echo_lines([line])
