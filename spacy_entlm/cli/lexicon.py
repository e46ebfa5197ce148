"""The commands `lexicon ...`: build, merge and look at lexicons."""

from collections import Counter
from pathlib import Path
from random import Random
from typing import Iterator, List, Optional, Sequence

from ..corpus.reading_report import format_counts
from ..corpus.texts import make_docs
from ..files.counts import count_of, sentence_of
from ..files.errors import DataError
from ..files.file import check_extension, write_file
from ..files.text import read_lines
from ..lexicon import entries as lexicon_entries
from ..lexicon import wikidata as wd
from ..lexicon.entries import Entry, LexiconReport, merge_entries
from ..lexicon.mine import mine_names, read_patterns
from ..lexicon.readers import read_lexicon
from ..lexicon.sparql import USER_AGENT, EndpointError, SparqlClient
from ..pipeline.loading import blank_pipeline
from . import _options as opts
from ._options import arg, command, entlm_cli, group, opt
from ._util import GOES_ON, check_outputs, echo, load_lexicon, progress_bar

_N_EXAMPLES = 5
_FORMS = (
    "List of names: .jsonl, .tsv, .csv, .txt or patterns of spaCy's entity ruler, "
    "packed (.xz .gz) or not"
)
_OUT = "Lexicon to write: .jsonl, .jsonl.xz or .jsonl.gz"
_PAGING = (
    "How answers are divided: slice, which is fast for millions and works with "
    "Wikidata; offset, which works with any endpoint"
)
_USER_AGENT = "How you call yourself; Wikidata asks for an address to write to"
_CACHE = "Folder of the answers that were fetched; delete it to fetch them anew"
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
    _check_output(output_path, paths, overwrite)
    entries, report = [], LexiconReport()
    for path in progress_bar(paths, unit="file"):
        read, read_report = load_lexicon(path, lexicon_format, label, map_)
        entries += read
        report.update(read_report)
    merged = merge_entries(entries, report)
    _write(merged, output_path, report.problems(), overwrite)


@command("show", lexicon_cli)
def show_cli(
    path: Path = LEXICON,
    map_: Optional[List[str]] = opts.MAP,
    label: Optional[str] = opts.LABEL,
    lexicon_format: str = opts.LEXICON_FORMAT,
    examples: int = opt(_N_EXAMPLES, "Names of each label", min=0),
    seed: int = opt(1, "Seed of the draw: another one shows other names"),
) -> None:
    """Show how many names a lexicon has of each label, some examples, and the names
    that have several labels.

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
    patterns: Path = opt(..., "JSON file that says what a name looks like, as below"),
    lexicon: Optional[Path] = opt(
        None, "Lexicon of names that are known, as given names"
    ),
    lang: str = opts.LANG,
    overwrite: bool = opts.OVERWRITE,
) -> None:
    """Find names in plain text by the words that they begin or end with.

    Capitalised words in a row are taken for a name in four cases: they end with a word
    such as "University", begin with words such as "Bank of", follow a title, or begin
    with a given name of the lexicon. The weight of a name is the number of places at
    which it was found.

    \b
    Example:
      python -m spacy entlm lexicon mine news.txt mined.jsonl --patterns patterns.json

    \b
    patterns.json:
      {"ORG": {"last": ["University", "Inc."], "first": ["Bank of"]},
       "PER": {"before": ["Dr.", "President"], "first_from": "given name"}}
    """
    _check_output(output_path, [text_path, patterns, lexicon], overwrite)
    known = [] if lexicon is None else read_lexicon(lexicon)[0]
    read = read_patterns(patterns, known)
    nlp = blank_pipeline(lang)
    lines = progress_bar(list(read_lines(text_path)), unit="line")
    docs = make_docs(lines, nlp, text_path)
    entries = mine_names(docs, read, set(nlp.Defaults.stop_words))
    if not entries:
        raise DataError("no words look like these patterns", path=text_path)
    _write(entries, output_path, [], overwrite)


@command("wikidata", lexicon_cli, stopped=GOES_ON)
def wikidata_cli(
    output_path: Path = OUT,
    config: Path = opt(..., "JSON file of labels and Wikidata classes"),
    language: Optional[List[str]] = opt(
        None,
        "Language of the names; may be given several times",
        show_default=", ".join(wd.LANGUAGES),
    ),
    limit: Optional[int] = opt(None, "Most items of a class that are fetched"),
    min_sitelinks: int = opt(0, "Leave out items with pages in fewer wikis than this"),
    page_size: int = opt(
        wd.PAGE_SIZE, "Items of a query; halved if the query takes too long"
    ),
    paging: str = opt(wd.SLICE, _PAGING),
    cache: Optional[Path] = opt(None, _CACHE, show_default="OUT.pages"),
    endpoint: str = opt(wd.ENDPOINT, "Address for SPARQL queries"),
    user_agent: str = opt(USER_AGENT, _USER_AGENT),
    timeout: float = opt(wd.TIMEOUT_SECONDS, "Most seconds to wait for an answer"),
    attempts: int = opt(wd.ATTEMPTS, "How often a query is tried"),
    overwrite: bool = opts.OVERWRITE,
) -> None:
    """Fetch the names, and other names, of all items of some classes of Wikidata.

    The config says which classes of Wikidata get which label, and whether their
    subclasses count, too. The number of wikis with a page about an item is the weight
    of its names. Answers are kept: a run that was stopped goes on where it was.

    \b
    Example:
      python -m spacy entlm lexicon wikidata lexicon.jsonl --config map.json

    \b
    map.json:
      {"PER": ["Q5"], "LOC": ["Q6256", {"class": "Q515", "subclasses": true}]}
    """
    _check_output(output_path, [config], overwrite)
    classes = wd.read_config(config)
    settings = wd.WikidataSettings(language or wd.LANGUAGES, page_size, paging, limit)
    cache = cache or output_path.with_name(f"{output_path.name}.pages")
    client = SparqlClient(
        endpoint, cache, user_agent=user_agent, timeout=timeout, attempts=attempts
    )
    report = LexiconReport()

    def fetched() -> Iterator[Entry]:
        for wanted in classes:
            n_items = 0
            pages = wd.fetch_pages(wanted, client, settings)
            for rows in progress_bar(pages, unit="page"):
                yield from wd.read_page(wanted, rows, min_sitelinks, report)
                n_items += len({row.get("item") for row in rows})
            notice = "" if n_items else ": no instances, check the class"
            items = count_of(n_items, "items")
            echo(f"{wanted.label} {wanted.class_id}: {items}{notice}")

    try:
        entries = merge_entries(fetched(), report)
    except EndpointError as error:
        kept = f"What was fetched is kept in {cache}"
        raise DataError(f"{error}. {kept}: the same command goes on there") from error
    if not entries:
        text = "no names found: check the classes, the languages and --min-sitelinks"
        raise DataError(text, path=config)
    _write(entries, output_path, report.problems(), overwrite)


def _check_output(
    path: Path, sources: Sequence[Optional[Path]], overwrite: bool
) -> None:
    """RAISES (DataError): If a lexicon may not be written, or is one of its sources."""
    check_extension(path, lexicon_entries.EXTENSIONS)
    check_outputs([path], sources, overwrite)


def _write(
    entries: Sequence[Entry], path: Path, problems: Sequence[str], overwrite: bool
) -> None:
    """Write a lexicon, and print what was left out and what it holds."""
    with write_file(path, overwrite=overwrite) as temporary:
        lexicon_entries.write_lexicon(entries, temporary)
    echo(*problems, *summarise(entries), f"Wrote {path}")


def summarise(entries: Sequence[Entry]) -> List[str]:
    """Count the entries of a lexicon, in lines for people."""
    weighted = sum(entry.weight is not None for entry in entries)
    total = f"{count_of(len(entries), 'entries')}, {weighted:,} with a weight"
    return [total, *format_counts(Counter(entry.label for entry in entries))]


def _describe_ambiguous(entries: List[Entry]) -> List[str]:
    ambiguous = lexicon_entries.find_ambiguous(entries)
    if not ambiguous:
        return ["No name is under several labels"]
    shown = [f"{name} ({', '.join(of)})" for name, of in ambiguous.items()]
    some = "; ".join(shown[:_N_EXAMPLES])
    names = sentence_of(len(ambiguous), "name is", "names are")
    return [
        f"{names} under several labels, e.g. {some}",
        *format_counts(Counter(" and ".join(of) for of in ambiguous.values())),
    ]
