"""The commands `lexicon ...`: build, merge, cut down and look at lexicons."""

from collections import Counter
from itertools import chain
from pathlib import Path
from random import Random
from typing import Annotated, Dict, List, Optional

import typer
from typer import Argument, Option

from ..corpus.report import format_counts
from ..corpus.texts import make_docs
from ..files.errors import DataError
from ..files.text import read_lines
from ..lexicon.entries import Entry, LexiconReport, find_ambiguous, merge_entries
from ..lexicon.match import EXACT
from ..lexicon.mine import mine_names, read_patterns
from ..lexicon.readers import read_lexicon
from ..lexicon.subsample import FREQUENCY, WAYS, count_names, subsample
from ._lexicon import (
    CaseOption,
    LabelOption,
    LexiconFormatOption,
    MapOption,
    OverwriteOption,
    check_lexicon_output,
    label_map,
    summarise,
    write_and_report,
)
from ._util import (
    LangOption,
    blank_pipeline,
    echo_lines,
    entlm_cli,
    one_line_errors,
    progress_bar,
)

_N_EXAMPLES = 5
_FORMS = ".jsonl, .tsv, .csv, .txt or entity-ruler patterns, packed (.xz .gz) or not"
_BY = (
    f"{' or '.join(WAYS)}: the names that come most often in --text (without it, those "
    "of the largest weights), or any"
)
_OUT = "Lexicon to write: .jsonl, .jsonl.xz or .jsonl.gz"

lexicon_cli = typer.Typer(
    name="lexicon",
    help="Build lexicons (lists of names with labels), merge them, look at them.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
entlm_cli.add_typer(lexicon_cli)

LexiconArgument = Annotated[Path, Argument(metavar="LEXICON", help=_FORMS)]
LexiconOutputArgument = Annotated[Path, Argument(metavar="OUT", help=_OUT)]


@lexicon_cli.command("merge")
def merge_cli(
    paths: Annotated[List[Path], Argument(metavar="LEXICON...", help=_FORMS)],
    output_path: Annotated[Path, Option("--out", metavar="OUT", help=_OUT)],
    map_: MapOption = None,
    label: LabelOption = None,
    lexicon_format: LexiconFormatOption = "auto",
    overwrite: OverwriteOption = False,
) -> None:
    """Put lexicons together, or bring one into the form of JSON lines. A name that
    comes more than once under a label is kept once, with its largest weight.

    \b
    Example:
      python -m spacy entlm lexicon merge a.tsv.xz b.jsonl --out out.jsonl
    """
    with one_line_errors():
        check_lexicon_output(output_path, paths, overwrite)
        mapped = label_map(map_)
        lexicons = [
            read_lexicon(path, format=lexicon_format, label=label, label_map=mapped)
            for path in progress_bar(paths, unit="file")
        ]
        report = LexiconReport()
        merged = merge_entries(chain.from_iterable(e for e, _ in lexicons), report)
        for _, read in lexicons:
            report.update(read)
        write_and_report(merged, output_path, report.problems())


@lexicon_cli.command("subsample")
def subsample_cli(
    path: LexiconArgument,
    output_path: LexiconOutputArgument,
    fraction: Annotated[float, Option(help="Share of the names of each label")] = 0.05,
    by: Annotated[
        str,
        Option(
            help=f"{' or '.join(WAYS)}: the names that come most often in --text "
            "(without it, those of the largest weights), or any",
        ),
    ] = FREQUENCY,
    text: Annotated[
        Optional[Path],
        Option(help="Plain text to count names in, one sentence a line"),
    ] = None,
    seed: Annotated[int, Option(help="Seed: the same one gives the same names")] = 1,
    case: CaseOption = EXACT,
    map_: MapOption = None,
    label: LabelOption = None,
    lexicon_format: LexiconFormatOption = "auto",
    lang: LangOption = "en",
    overwrite: OverwriteOption = False,
) -> None:
    """Keep a share of the names of each label.

    \b
    Example:
      python -m spacy entlm lexicon subsample lexicon.jsonl small.jsonl --text news.txt
    """
    with one_line_errors():
        check_lexicon_output(output_path, [path, text], overwrite)
        entries, report = read_lexicon(
            path, format=lexicon_format, label=label, label_map=label_map(map_)
        )
        counts: Optional[Dict[str, int]] = None
        if text is not None and by == FREQUENCY:
            lines = progress_bar(list(read_lines(text)), unit="line")
            docs = make_docs(lines, blank_pipeline(lang), text)
            counts = count_names(entries, docs, case=case)
            echo_lines([f"{len(counts):,} names occur in {text}"])
        kept = subsample(entries, fraction, by=by, counts=counts, seed=seed)
        write_and_report(kept, output_path, report.problems())


@lexicon_cli.command("show")
def show_cli(
    path: LexiconArgument,
    map_: MapOption = None,
    label: LabelOption = None,
    lexicon_format: LexiconFormatOption = "auto",
    examples: Annotated[int, Option(help="Names of each label", min=0)] = _N_EXAMPLES,
    seed: Annotated[int, Option(help="Another one shows other names")] = 1,
) -> None:
    """Show how many names a lexicon has of each label, examples, ambiguous names.

    \b
    Example:
      python -m spacy entlm lexicon show lexicon.tsv.xz --map "PERSON=PER GPE=LOC"
    """
    with one_line_errors():
        entries, report = read_lexicon(
            path, format=lexicon_format, label=label, label_map=label_map(map_)
        )
        lines = summarise(entries)
        rng = Random(seed)
        for shown in sorted({entry.label for entry in entries}):
            names = [entry.name for entry in entries if entry.label == shown]
            chosen = rng.sample(names, min(examples, len(names)))
            lines.append(f"{shown}, e.g. {'; '.join(chosen)}")
        echo_lines([*lines, *_describe_ambiguous(entries), *report.problems()])


def _describe_ambiguous(entries: List[Entry]) -> List[str]:
    ambiguous = find_ambiguous(entries)
    if not ambiguous:
        return ["No name is under several labels"]
    shown = [
        f"{n} ({', '.join(of)})" for n, of in list(ambiguous.items())[:_N_EXAMPLES]
    ]
    return [
        f"{len(ambiguous):,} names are under several labels, e.g. {'; '.join(shown)}",
        *format_counts(Counter(" and ".join(of) for of in ambiguous.values())),
    ]


@lexicon_cli.command("mine")
def mine_cli(
    text_path: Annotated[
        Path, Argument(metavar="TEXT", help="Plain text, packed or not")
    ],
    output_path: LexiconOutputArgument,
    patterns: Annotated[Path, Option(help="JSON file of words of names, as below")],
    lexicon: Annotated[Optional[Path], Option(help="Names that are known")] = None,
    lang: LangOption = "en",
    overwrite: OverwriteOption = False,
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
        check_lexicon_output(output_path, [text_path, patterns, lexicon], overwrite)
        known = [] if lexicon is None else read_lexicon(lexicon)[0]
        read = read_patterns(patterns, known)
        nlp = blank_pipeline(lang)
        lines = progress_bar(list(read_lines(text_path)), unit="line")
        docs = make_docs(lines, nlp, text_path)
        entries = mine_names(docs, read, set(nlp.Defaults.stop_words))
        if not entries:
            raise DataError("no words look like these patterns", path=text_path)
        write_and_report(entries, output_path, [])
