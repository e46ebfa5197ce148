"""The commands `lexicon ...`: build, merge and look at lexicons."""

from collections import Counter
from pathlib import Path
from random import Random
from typing import List, Optional, Sequence

from ..corpus.report import format_counts
from ..corpus.texts import make_docs
from ..files.errors import DataError
from ..files.file import write_file
from ..files.text import read_lines
from ..lexicon import entries as lexicon_entries
from ..lexicon.entries import Entry, LexiconReport, merge_entries
from ..lexicon.mine import mine_names, read_patterns
from ..lexicon.readers import read_lexicon
from . import _options as opts
from ._options import arg, command, entlm_cli, group, opt
from ._util import blank_pipeline, check_outputs, echo, load_lexicon, progress_bar

_N_EXAMPLES = 5
_FORMS = ".jsonl, .tsv, .csv, .txt or entity-ruler patterns, packed (.xz .gz) or not"
_OUT = "Lexicon to write: .jsonl, .jsonl.xz or .jsonl.gz"
LEXICON = arg("LEXICON", _FORMS)
OUT = arg("OUT", _OUT)

_HELP = "Build lexicons (lists of names with labels), merge them, look at them."
lexicon_cli = group("lexicon", _HELP, entlm_cli)


@command("merge", lexicon_cli)
def merge_cli(
    paths: List[Path] = arg("LEXICON...", _FORMS),
    output_path: Path = opt(..., _OUT, "--out", metavar="OUT"),
    map_: Optional[List[str]] = opts.MAP,
    label: Optional[str] = opts.LABEL,
    lexicon_format: str = opts.LEXICON_FORMAT,
    overwrite: bool = opts.OVERWRITE,
) -> None:
    """Put lexicons together, or bring one into the form of JSON lines. A name that
    comes more than once under a label is kept once, with its largest weight.

    \b
    Example:
      python -m spacy entlm lexicon merge a.tsv.xz b.jsonl --out out.jsonl
    """
    check_lexicon_output(output_path, paths, overwrite)
    entries, report = [], LexiconReport()
    for path in progress_bar(paths, unit="file"):
        read, read_report = load_lexicon(path, lexicon_format, label, map_)
        entries += read
        report.update(read_report)
    merged = merge_entries(entries, report)
    write_and_report(merged, output_path, report.problems())


@command("show", lexicon_cli)
def show_cli(
    path: Path = LEXICON,
    map_: Optional[List[str]] = opts.MAP,
    label: Optional[str] = opts.LABEL,
    lexicon_format: str = opts.LEXICON_FORMAT,
    examples: int = opt(_N_EXAMPLES, "Names of each label", min=0),
    seed: int = opt(1, "Another one shows other names"),
) -> None:
    """Show how many names a lexicon has of each label, examples, ambiguous names.

    \b
    Example:
      python -m spacy entlm lexicon show lexicon.tsv.xz --map "PERSON=PER GPE=LOC"
    """
    entries, report = load_lexicon(path, lexicon_format, label, map_)
    lines = summarise(entries)
    rng = Random(seed)
    for shown in sorted({entry.label for entry in entries}):
        names = [entry.name for entry in entries if entry.label == shown]
        chosen = rng.sample(names, min(examples, len(names)))
        lines.append(f"{shown}, e.g. {'; '.join(chosen)}")
    echo(*lines, *_describe_ambiguous(entries), *report.problems())


@command("mine", lexicon_cli)
def mine_cli(
    text_path: Path = arg("TEXT", "Plain text, packed or not"),
    output_path: Path = OUT,
    patterns: Path = opt(..., "JSON file of words of names, as below"),
    lexicon: Optional[Path] = opt(None, "Names that are known"),
    lang: str = opts.LANG,
    overwrite: bool = opts.OVERWRITE,
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


def check_lexicon_output(
    path: Path, sources: Sequence[Optional[Path]], overwrite: bool
) -> None:
    """RAISES (DataError): If a lexicon may not be written, or is one of its sources."""
    lexicon_entries.check_lexicon_extension(path)
    check_outputs([path], sources, overwrite)


def write_and_report(
    entries: Sequence[Entry], path: Path, problems: Sequence[str]
) -> None:
    """Write a lexicon, and print what was left out and what it holds."""
    with write_file(path) as temporary:
        lexicon_entries.write_lexicon(entries, temporary)
    echo(*problems, *summarise(entries), f"Wrote {path}")


def summarise(entries: Sequence[Entry]) -> List[str]:
    """Count the entries of a lexicon, in lines for people."""
    weighted = sum(entry.weight is not None for entry in entries)
    total = f"{len(entries):,} entries, {weighted:,} with a weight"
    return [total, *format_counts(Counter(entry.label for entry in entries))]


def _describe_ambiguous(entries: List[Entry]) -> List[str]:
    ambiguous = lexicon_entries.find_ambiguous(entries)
    if not ambiguous:
        return ["No name is under several labels"]
    shown = [f"{name} ({', '.join(of)})" for name, of in ambiguous.items()]
    some = "; ".join(shown[:_N_EXAMPLES])
    return [
        f"{len(ambiguous):,} names are under several labels, e.g. {some}",
        *format_counts(Counter(" and ".join(of) for of in ambiguous.values())),
    ]
