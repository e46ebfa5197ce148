"""The command `lexicon mine`: names that plain text holds, by how they look."""

from pathlib import Path
from typing import Annotated, List, Optional

import typer

from ..corpus.texts import make_docs
from ..files.errors import DataError
from ..files.file import check_output
from ..files.text import read_lines
from ..lexicon.entries import Entry
from ..lexicon.mine import mine_names, read_patterns
from ..lexicon.readers import read_lexicon
from ..lexicon.writers import check_lexicon_extension
from ._util import LangOption, blank_pipeline, one_line_errors, progress_bar
from .lexicon import LexiconOutputArgument, lexicon_cli, write_and_report


@lexicon_cli.command("mine")
def mine_cli(
    text_path: Annotated[
        Path,
        typer.Argument(
            metavar="TEXT",
            help="Plain text, a sentence or a paragraph a line, packed (.xz .gz) or "
            "not",
            show_default=False,
        ),
    ],
    output_path: LexiconOutputArgument,
    patterns_path: Annotated[
        Path,
        typer.Option(
            "--patterns",
            help="JSON file of the words that names begin and end with",
            show_default=False,
        ),
    ],
    lexicon_path: Annotated[
        Optional[Path],
        typer.Option(
            "--lexicon", help="Names that are known: they are not found again"
        ),
    ] = None,
    lang: LangOption = "en",
) -> None:
    """Find names in plain text by the words that they begin or end with.

    Capitalised words in a row are a name where the last one is a word such as
    "University", the first ones are "Bank of", a title stands before them, or a given
    name of the lexicon begins them. The weight of a name is the number of its places.

    \b
    Example:
      python -m spacy entlm lexicon mine news.txt mined.jsonl --patterns patterns.json

    \b
    patterns.json:
      {"ORG": {"last": ["University", "Inc."], "first": ["Bank of"]},
       "PER": {"before": ["Dr.", "President"], "first_from": "given name"}}
    """
    with one_line_errors():
        check_lexicon_extension(output_path)
        for source in (text_path, patterns_path, lexicon_path):
            if source is not None:
                check_output(output_path, source=source)
        lexicon: List[Entry] = []
        if lexicon_path is not None:
            lexicon, _ = read_lexicon(lexicon_path)
        patterns = read_patterns(patterns_path, lexicon)
        nlp = blank_pipeline(lang)
        lines = progress_bar(list(read_lines(text_path)), unit="line")
        docs = make_docs(lines, nlp, text_path)
        entries = mine_names(docs, patterns, set(nlp.Defaults.stop_words))
        if not entries:
            raise DataError("no words look like these patterns", path=text_path)
        write_and_report(entries, output_path, [])
