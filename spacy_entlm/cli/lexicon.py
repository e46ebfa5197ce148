"""The commands `lexicon ...`: build, merge, cut down and look at lexicons."""

from collections import Counter
from pathlib import Path
from random import Random
from typing import Annotated, Dict, List, Optional, Sequence

import typer

from ..corpus.report import format_counts
from ..corpus.texts import make_docs
from ..files.errors import DataError
from ..files.file import check_output, write_file
from ..files.text import read_lines
from ..lexicon.entries import Entry, LexiconReport, find_ambiguous, merge_entries
from ..lexicon.match import EXACT
from ..lexicon.readers import read_lexicon
from ..lexicon.subsample import FREQUENCY, WAYS, count_names, subsample
from ..lexicon.writers import check_lexicon_extension, write_lexicon
from ._lexicon import (
    CaseOption,
    LabelOption,
    LexiconFormatOption,
    MapOption,
    label_map,
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

lexicon_cli = typer.Typer(
    name="lexicon",
    help="Build lexicons (lists of names with labels), merge them, look at them.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
entlm_cli.add_typer(lexicon_cli)

LexiconArgument = Annotated[
    Path,
    typer.Argument(
        metavar="LEXICON",
        help=".jsonl, .tsv, .csv, .txt or entity-ruler patterns, packed (.xz .gz) or "
        "not",
        show_default=False,
    ),
]
LexiconOutputArgument = Annotated[
    Path,
    typer.Argument(
        metavar="OUT",
        help="Lexicon to write: .jsonl, .jsonl.xz or .jsonl.gz",
        show_default=False,
    ),
]


@lexicon_cli.command("merge")
def merge_cli(
    paths: Annotated[
        List[Path],
        typer.Argument(
            metavar="LEXICON... OUT",
            help="Lexicons of any form, and the file to write (.jsonl, packed or not)",
            show_default=False,
        ),
    ],
    map_: MapOption = None,
    label: LabelOption = None,
    lexicon_format: LexiconFormatOption = "auto",
) -> None:
    """Put lexicons together, or bring one into the form of JSON lines.

    A name that comes more than once under a label is kept once, with its largest
    weight.

    \b
    Example:
      python -m spacy entlm lexicon merge a.tsv.xz b.jsonl out.jsonl --map PERSON=PER
    """
    with one_line_errors():
        if len(paths) < 2:
            raise DataError("name at least one lexicon, and the file to write")
        *sources, out = paths
        check_lexicon_extension(out)
        for source in sources:
            check_output(out, source=source)
        mapped = label_map(map_)
        read = LexiconReport()
        lexicons = []
        for source in progress_bar(sources, unit="file"):
            entries, report = read_lexicon(
                source, format=lexicon_format, label=label, label_map=mapped
            )
            lexicons.append(entries)
            read.update(report)
        merged, report = merge_entries(lexicons)
        read.update(report)
        write_and_report(merged, out, read.problems())


@lexicon_cli.command("subsample")
def subsample_cli(
    path: LexiconArgument,
    output_path: LexiconOutputArgument,
    fraction: Annotated[
        float, typer.Option("--fraction", help="Share of the names of each label")
    ] = 0.05,
    by: Annotated[
        str,
        typer.Option(
            "--by",
            help=f"{' or '.join(WAYS)}: the names that come most often in --text "
            "(without it, those of the largest weights), or any",
        ),
    ] = FREQUENCY,
    text_path: Annotated[
        Optional[Path],
        typer.Option(
            "--text", help="Plain text to count names in, one sentence a line"
        ),
    ] = None,
    seed: Annotated[
        int, typer.Option("--seed", help="Seed: the same one gives the same names")
    ] = 1,
    case: CaseOption = EXACT,
    map_: MapOption = None,
    label: LabelOption = None,
    lexicon_format: LexiconFormatOption = "auto",
    lang: LangOption = "en",
) -> None:
    """Keep a share of the names of each label.

    \b
    Example:
      python -m spacy entlm lexicon subsample lexicon.jsonl small.jsonl --text news.txt
    """
    with one_line_errors():
        check_lexicon_extension(output_path)
        check_output(output_path, source=path)
        entries, report = read_lexicon(
            path, format=lexicon_format, label=label, label_map=label_map(map_)
        )
        counts: Optional[Dict[str, int]] = None
        if text_path is not None and by == FREQUENCY:
            lines = progress_bar(list(read_lines(text_path)), unit="line")
            docs = make_docs(lines, blank_pipeline(lang), text_path)
            counts = count_names(entries, docs, case=case)
            echo_lines([f"{len(counts):,} names occur in {text_path}"])
        kept = subsample(entries, fraction, by=by, counts=counts, seed=seed)
        write_and_report(kept, output_path, report.problems())


@lexicon_cli.command("show")
def show_cli(
    path: LexiconArgument,
    map_: MapOption = None,
    label: LabelOption = None,
    lexicon_format: LexiconFormatOption = "auto",
    examples: Annotated[
        int, typer.Option("--examples", help="Names to show of each label")
    ] = _N_EXAMPLES,
    seed: Annotated[
        int, typer.Option("--seed", help="Seed: another one shows other names")
    ] = 1,
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
        lines = _summarise(entries)
        rng = Random(seed)
        for shown in sorted(report.labels):
            names = [entry.name for entry in entries if entry.label == shown]
            chosen = rng.sample(names, min(examples, len(names)))
            lines.append(f"{shown}, e.g. {'; '.join(chosen)}")
        echo_lines([*lines, *_describe_ambiguous(entries), *report.problems()])


def _describe_ambiguous(entries: Sequence[Entry]) -> List[str]:
    ambiguous = find_ambiguous(entries)
    if not ambiguous:
        return ["No name is under several labels"]
    pairs = Counter(" and ".join(sorted(labels)) for labels in ambiguous.values())
    shown = [
        f"{name} ({', '.join(sorted(ambiguous[name]))})"
        for name in list(ambiguous)[:_N_EXAMPLES]
    ]
    return [
        f"{len(ambiguous):,} names are under several labels, e.g. {'; '.join(shown)}",
        *format_counts(pairs),
    ]


def _summarise(entries: Sequence[Entry]) -> List[str]:
    labels = Counter(entry.label for entry in entries)
    weighted = sum(entry.weight is not None for entry in entries)
    return [
        f"{len(entries):,} entries, {weighted:,} with a weight",
        *format_counts(labels),
    ]


def write_and_report(
    entries: Sequence[Entry], path: Path, problems: Sequence[str]
) -> None:
    """Write a lexicon and print what it holds.

    entries (Sequence[Entry]): The lexicon.
    path (Path): The file.
    problems (Sequence[str]): Lines on what was left out, printed first.
    """
    with write_file(path) as temporary:
        write_lexicon(entries, temporary)
    echo_lines([*problems, *_summarise(entries), f"Wrote {path}"])
