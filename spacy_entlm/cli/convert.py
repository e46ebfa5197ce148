"""The command `convert`: annotated files to .spacy or JSON lines."""

from pathlib import Path
from typing import Annotated

import typer

from ..corpus.readers import read_docs
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


@entlm_cli.command("convert")
def convert_cli(
    input_path: Annotated[
        Path, typer.Argument(metavar="IN", help="Annotated file", show_default=False)
    ],
    output_path: OutputArgument,
    format: FormatOption = "auto",
    lang: LangOption = "en",
) -> None:
    """Convert annotated data to spaCy's .spacy format.

    Reads columns (.conll .iob .bio .tsv .txt; IO, BIO, BILUO and BIOES tags), JSON
    lines of words and tags or of a text and spans (.jsonl, Prodigy's too), inline
    markup (.txt .md) and .spacy. What does not align with words is counted and shown.

    \b
    Example:
      python -m spacy entlm convert train.conll train.spacy

    \b
    Inline markup is one sentence a line:
      [Angela Ruiz](PER) flew to [Lima](LOC).
    """
    with one_line_errors():
        check_extension(output_path)
        check_output(output_path, source=input_path)
        nlp = blank_pipeline(lang)
        docs, report = read_docs(input_path, nlp, format=format, progress=progress_bar)
        with write_file(output_path) as temporary:
            write_docs(docs, temporary)
        echo_lines([*report.lines(), f"Wrote {output_path}"])
