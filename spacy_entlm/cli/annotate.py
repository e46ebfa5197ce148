"""The command `annotate`: the names of a lexicon as entities of a text."""

from itertools import islice
from pathlib import Path
from typing import Annotated, Any, Dict, Iterator, List, Optional, Set, Tuple

import typer
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example

from ..corpus.formats import FORMATS, SPACY, format_from_content
from ..corpus.readers import read_docbin, read_docs
from ..corpus.texts import make_docs
from ..corpus.writers import check_extension, write_docs
from ..evaluation.scoring import score_entities
from ..files.errors import DataError
from ..files.file import check_output, write_file
from ..files.text import PACKED, check_file, read_lines, unpacked_extension
from ..lexicon.match import EXACT, LexiconMatcher, annotate
from ..lexicon.readers import read_lexicon
from ..lexicon.report import MatchReport, WordScores
from ._lexicon import (
    CaseOption,
    LabelOption,
    LexiconFormatOption,
    MapOption,
    label_map,
)
from ._util import (
    LangOption,
    OutputArgument,
    blank_pipeline,
    echo_lines,
    entlm_cli,
    one_line_errors,
    progress_bar,
)

# One sentence a line, which no other command reads.
TEXT = "text"
# Value of --stop-words for the language's own list.
_LANGUAGES_OWN = "auto"


# Enough to tell columns and markup from prose.
_N_LINES_SEEN = 1000


@entlm_cli.command("annotate")
def annotate_cli(
    lexicon_path: Annotated[
        Path,
        typer.Argument(
            metavar="LEXICON",
            help=".jsonl, .tsv, .csv, .txt or entity-ruler patterns, packed (.xz .gz) "
            "or not",
            show_default=False,
        ),
    ],
    input_path: Annotated[
        Path,
        typer.Argument(
            metavar="IN",
            help="Any file that `convert` reads, or plain text, one sentence a line "
            "(.txt, .txt.xz, .txt.gz)",
            show_default=False,
        ),
    ],
    output_path: OutputArgument,
    case: CaseOption = EXACT,
    map_: MapOption = None,
    label: LabelOption = None,
    min_length: Annotated[
        int, typer.Option("--min-length", help="Leave out names of fewer characters")
    ] = 1,
    stop_words: Annotated[
        Optional[str],
        typer.Option(
            "--stop-words",
            help="Leave out names that are such a word: a file, one word a line, or "
            f"{_LANGUAGES_OWN} for the stop words of --lang",
        ),
    ] = None,
    skip_initial: Annotated[
        bool,
        typer.Option(
            "--skip-initial", help="Leave out single words at the start of a sentence"
        ),
    ] = False,
    join: Annotated[
        bool,
        typer.Option(
            "--join",
            help="Make one entity of neighbouring names of one label, eg of a given "
            "name and a surname",
        ),
    ] = False,
    open_: Annotated[
        bool,
        typer.Option(
            "--open",
            help="Leave other capitalised words without annotation, since they may be "
            "names that the lexicon lacks, in place of calling them no entities",
        ),
    ] = False,
    only_matches: Annotated[
        bool,
        typer.Option(
            "--only-matches", help="Leave out texts in which no name was found"
        ),
    ] = False,
    gold: Annotated[
        Optional[bool],
        typer.Option(
            "--gold/--no-gold",
            help="Measure precision and recall against the entities in IN",
            show_default="if there are some",
        ),
    ] = None,
    lexicon_format: LexiconFormatOption = "auto",
    format: Annotated[
        str,
        typer.Option(
            "--format",
            help=f"Format of the input: auto (from its name and content), {TEXT}, "
            f"{', '.join(FORMATS)}",
        ),
    ] = "auto",
    lang: LangOption = "en",
) -> None:
    """Mark the names of a lexicon in a text, the longest ones, from left to right.

    A name under several labels gets that of the largest weight; if there is none, its
    places are left without a label and counted.

    \b
    Example:
      python -m spacy entlm annotate lexicon.jsonl unlabeled.txt out.spacy --join
    """
    with one_line_errors():
        check_extension(output_path)
        check_file(input_path)
        for source in (lexicon_path, input_path):
            check_output(output_path, source=source)
        nlp = blank_pipeline(lang)
        stops = _read_stop_words(stop_words, nlp)
        docs, gold_docs = _read_input(input_path, nlp, format, gold)
        entries, lexicon_report = read_lexicon(
            lexicon_path, format=lexicon_format, label=label, label_map=label_map(map_)
        )
        matcher = LexiconMatcher(
            entries,
            case=case,
            min_length=min_length,
            stop_words=stops,
            skip_initial=skip_initial,
        )
        report = MatchReport()
        examples: List[Example] = []
        words = WordScores()

        def annotated() -> Iterator[Doc]:
            for i, (doc, matches) in enumerate(
                annotate(docs, matcher, join=join, open_=open_)
            ):
                report.add(len(doc), matches)
                if gold_docs:
                    words.add(doc, gold_docs[i])
                    examples.append(Example(doc, gold_docs[i]))
                if doc.ents or not only_matches:
                    yield doc

        with write_file(output_path) as temporary:
            write_docs(annotated(), temporary)
            if not report.docs:
                raise DataError("the file is empty: add sentences", path=input_path)
        lines = [*lexicon_report.problems(), *_describe(matcher), *report.lines()]
        if gold_docs:
            lines += format_scores(score_entities(examples), words)
        echo_lines([*lines, f"Wrote {output_path}"])


def _read_input(
    path: Path, nlp: Language, format: str, gold: Optional[bool]
) -> Tuple[Iterator[Doc], List[Doc]]:
    """Read the Docs, and copies with the gold entities, none if nothing is measured."""
    if _is_plain_text(path, format):
        if gold:
            raise DataError("plain text has no entities: leave out --gold", path=path)
        lines = progress_bar(read_lines(path), unit="line")
        return make_docs(lines, nlp, path), []
    if format == SPACY or (format == "auto" and path.suffix.lower() == ".spacy"):
        # Not read_docs: text to be annotated need not be annotated yet.
        docs = [doc for doc in read_docbin(path, nlp) if len(doc)]
    else:
        docs, _ = read_docs(path, nlp, format=format)
    has_gold = any(doc.ents for doc in docs)
    if gold and not has_gold:
        raise DataError("holds no entities to measure against", path=path)
    measured = has_gold if gold is None else gold
    copies = [doc.copy() for doc in docs] if measured else []
    return iter(progress_bar(docs)), copies


def _is_plain_text(path: Path, format: str) -> bool:
    if format != "auto":
        return format == TEXT
    if unpacked_extension(path) != ".txt":
        return False
    if path.suffix.lower() in PACKED:
        return True
    try:
        head = [line for _, line in islice(read_lines(path), _N_LINES_SEEN)]
        format_from_content(head, path)
    except DataError:
        # Neither columns nor markup, or no file that can be read, which comes up again.
        return True
    return False


def _read_stop_words(value: Optional[str], nlp: Language) -> Set[str]:
    if value is None:
        return set()
    if value == _LANGUAGES_OWN:
        return set(nlp.Defaults.stop_words)
    return {line.strip() for _, line in read_lines(Path(value)) if line.strip()}


def _describe(matcher: LexiconMatcher) -> List[str]:
    lines = [f"{len(matcher):,} names to match"]
    if matcher.n_excluded:
        lines.append(
            f"{matcher.n_excluded:,} entries that are stop words or too short: left out"
        )
    n_ambiguous = len(matcher.ambiguous_names)
    if n_ambiguous:
        lines.append(
            f"{n_ambiguous:,} names are under several labels of equal weight: they get "
            "no label"
        )
    return lines


def format_scores(scores: Dict[str, Any], words: WordScores) -> List[str]:
    """Render precision, recall and F1 of matches per class.

    scores (Dict[str, Any]): From score_entities; entities count as they are annotated.
    words (WordScores): The same of words.
    RETURNS (List[str]): One line per class and one for all, in percent.
    """
    rows = {**scores["bio"]["per_type"], "all": scores["bio"]}
    width = max(len(label) for label in rows)
    lines = [f"Against {scores['n_entities']:,} gold entities, in percent:"]
    for label, row in rows.items():
        line = f"  {label:<{width}} " + _format_prf(row["p"], row["r"], row["f"])
        if label in words.labels:
            word = words.labels[label]
            line += "; of words " + _format_prf(
                word.precision, word.recall, word.fscore
            )
        lines.append(line)
    return lines


def _format_prf(p: float, r: float, f: float) -> str:
    return f"precision {100 * p:5.1f} recall {100 * r:5.1f} F1 {100 * f:5.1f}"
