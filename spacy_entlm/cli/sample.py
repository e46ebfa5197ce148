"""The command `sample`: exact K-shot sampling."""

from collections import Counter
from pathlib import Path
from typing import Annotated

import typer

from ..corpus.readers import read_docs
from ..corpus.report import format_counts
from ..corpus.sampling import sample_exact
from ..corpus.writers import check_extension, write_docs
from ..files.file import check_output, write_file
from ._util import (
    FormatOption,
    LangOption,
    OutputArgument,
    blank_pipeline,
    echo_lines,
    entlm_cli,
    one_line_errors,
    progress_bar,
)


@entlm_cli.command("sample")
def sample_cli(
    train_path: Annotated[
        Path,
        typer.Argument(
            metavar="TRAIN",
            help="Annotated file of any format that `convert` reads",
            show_default=False,
        ),
    ],
    output_path: OutputArgument,
    shots: Annotated[
        int, typer.Option("--shots", help="Entities of every class, exactly")
    ] = 5,
    seed: Annotated[
        int, typer.Option("--seed", help="Seed: the same one gives the same sample")
    ] = 1,
    keep_negatives: Annotated[
        bool,
        typer.Option(
            "--keep-negatives",
            help="Also take sentences without entities, as they come",
        ),
    ] = False,
    min_words: Annotated[
        int, typer.Option("--min-words", help="Leave out sentences of fewer words")
    ] = 0,
    lang: LangOption = "en",
    format: FormatOption = "auto",
) -> None:
    """Draw sentences that hold exactly K entities of every class.

    \b
    Example:
      python -m spacy entlm sample train.spacy train-5shot.spacy --shots 5 --seed 1
    """
    with one_line_errors():
        check_extension(output_path)
        check_output(output_path, source=train_path)
        nlp = blank_pipeline(lang)
        docs, report = read_docs(train_path, nlp, format=format, progress=progress_bar)
        sample = sample_exact(
            docs,
            shots,
            seed=seed,
            keep_negatives=keep_negatives,
            min_words=min_words,
        )
        with write_file(output_path) as temporary:
            write_docs(sample, temporary)
        counts = Counter(ent.label_ for doc in sample for ent in doc.ents)
        echo_lines(
            [
                *report.problems(),
                f"{len(sample):,} sentences, {counts.total():,} entities",
                *format_counts(counts),
                f"Wrote {output_path}",
            ]
        )
