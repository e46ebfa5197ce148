"""The command `annotate`: the names of a lexicon as entities of a text."""

from itertools import islice
from pathlib import Path
from typing import Any, Dict, Iterator, List, Optional, Set, Tuple

import typer
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example

from ..corpus.docs import OUTPUT_EXTENSIONS, write_docs
from ..corpus.file_format import EXTENSIONS, FORMATS, SPACY, format_from_content
from ..corpus.readers import read_docbin, read_docs
from ..corpus.texts import make_docs
from ..evaluation.scoring import score_entities, score_words
from ..files import text as files
from ..files.counts import count_of, sentence_of
from ..files.errors import DataError
from ..files.file import check_extension, check_output, replace_file, write_file
from ..files.folder import check_folder
from ..lexicon.match import LexiconMatcher, annotate
from ..lexicon.match_report import MatchReport
from ..lexicon.readers import LEXICON_EXTENSIONS
from ..pipeline.loading import blank_pipeline
from ..scale.engines import Engine
from ..scale.lexicon import LexiconReader
from . import _options as opts
from . import _util as util
from ._options import arg, command, flag, opt
from ._util import echo

# One sentence a line, which no other command reads.
TEXT = "text"
# Value of --stop-words for the language's own list.
_LANGUAGES_OWN = "auto"
_STOP_HELP = (
    "Leave out names that are in this file of words; "
    f"{_LANGUAGES_OWN}: the most frequent words of --lang"
)
_ENGINE_HELP = (
    "local or ray: divide the work, and make OUT a folder of JSON lines, as `predict` "
    "does"
)
# Enough to tell columns and markup from prose.
_N_LINES_SEEN = 1000


@command("annotate")
def annotate_cli(
    lexicon_path: Path = arg("LEXICON", "Any file that `lexicon` reads"),
    input_path: Path = arg(
        "IN", "File that `convert` reads, or text, a sentence a line"
    ),
    output_path: Optional[Path] = arg("OUT", "New .spacy, or .jsonl of BIO tags", None),
    corpus: Optional[Path] = opt(None, "Folder that `convert` wrote (see above)"),
    case: str = opts.CASE,
    map_: Optional[List[str]] = opts.MAP,
    label: Optional[str] = opts.LABEL,
    min_length: int = opt(1, "Leave out names of fewer characters"),
    stop_words: Optional[str] = opt(None, _STOP_HELP),
    skip_initial: bool = flag(
        "--skip-initial", "Leave out single words that start a sentence"
    ),
    join: bool = flag("--join", "Make one entity of neighbouring names of one label"),
    open_: bool = flag(
        "--open", "Leave it open whether other capitalised words are names"
    ),
    only_matches: bool = flag("--only-matches", "Leave out texts without a name"),
    gold: Optional[bool] = opt(
        None, "Measure what was marked against the entities that IN has"
    ),
    engine: Optional[str] = opt(None, _ENGINE_HELP),
    workers: Optional[int] = opts.WORKERS,
    address: Optional[str] = opts.ADDRESS,
    lexicon_format: str = opts.LEXICON_FORMAT,
    format: str = opt("auto", f"Format of IN: auto, {TEXT}, {', '.join(FORMATS)}"),
    lang: str = opts.LANG,
    overwrite: bool = opts.OVERWRITE,
) -> None:
    """Mark the names of a lexicon, a list of names with labels, in a text.

    Names are marked from left to right, and the longest where several fit. If a name
    has several labels, it gets the one with the largest weight. If their weights are
    equal, the name is not marked, and its places are counted.

    With --corpus give only a folder of data and OUT. The folder's lexicon.* is applied
    to its unlabeled.*, or to its train part if it has none. If the folder has text that
    is marked already (distant.*), OUT is this text. If it has no lexicon, OUT is empty.

    \b
    Example:
      python -m spacy entlm annotate lexicon.jsonl unlabeled.txt out.spacy --join
      python -m spacy entlm annotate my_data out.spacy --corpus corpus --join
    """
    output = output_path if corpus is None else input_path
    if output is None or (corpus and output_path):
        raise DataError("name LEXICON, IN and OUT, or a data folder, OUT and --corpus")
    if engine is None:
        check_extension(output, OUTPUT_EXTENSIONS)
    elif corpus or gold or only_matches or format not in ("auto", TEXT):
        problem = "--engine has no --corpus, --gold, --only-matches and --format"
        raise DataError(problem)
    if corpus is not None:
        check_output(output, overwrite=overwrite)
        lexicon_path, input_path = _find_in_folders(lexicon_path, corpus, output)
    files.check_file(lexicon_path)
    if engine is None:
        files.check_file(input_path)
        util.check_outputs([output], [lexicon_path, input_path], overwrite)
    nlp = blank_pipeline(lang)
    entries, read = util.load_lexicon(lexicon_path, lexicon_format, label, map_)
    matching: Dict[str, Any] = {
        "case": case,
        "min_length": min_length,
        "stop_words": _read_stop_words(stop_words, nlp),
        "skip_initial": skip_initial,
    }
    matcher = LexiconMatcher(entries, **matching)
    if engine is not None:
        reader = LexiconReader(entries, lang, matching, {"join": join, "open_": open_})
        chosen = Engine(engine, workers, address=address)
        paths = (str(input_path), str(output))
        echo(*read.problems(), *_describe(matcher))
        util.apply_on(chosen, reader, *paths, overwrite=overwrite)
        return
    docs, gold_docs = _read_input(input_path, nlp, format, gold)
    report, examples = MatchReport(), []

    def marked() -> Iterator[Doc]:
        pairs = annotate(docs, matcher, join=join, open_=open_)
        for i, (doc, matches) in enumerate(pairs):
            report.add(len(doc), matches)
            if gold_docs:
                examples.append(Example(doc, gold_docs[i]))
            if doc.ents or not only_matches:
                yield doc

    with write_file(output, overwrite=overwrite) as temporary:
        write_docs(marked(), temporary)
        if not report.docs:
            raise DataError("the file is empty: add sentences", path=input_path)
    echo(*read.problems(), *_describe(matcher), *report.lines())
    if gold_docs:
        scores = score_entities(examples)
        rows = {"all": scores["bio"], **scores["bio"]["per_type"]}
        words = score_words(examples)
        rows.update({f"words of {k}": v.to_dict() for k, v in words.items()})
        n_before = sentence_of(scores["n_entities"], "entity was", "entities were")
        told = "What the list alone finds of them, and of their words, in percent:"
        echo(f"{n_before} marked before. {told}")
        echo(*util.score_table(rows))
    echo(f"Wrote {output}")


def _find_in_folders(data: Path, corpus: Path, output: Path) -> Tuple[Path, Path]:
    """The lexicon and the text. Where one is lacking, the output is written and the
    command ends: empty, or text of the data that is annotated already."""
    check_folder(data)
    lexicon = files.find_part(data, "lexicon", LEXICON_EXTENSIONS)
    text = files.find_part(data, "unlabeled", EXTENSIONS) or corpus / "train.spacy"
    distant = corpus / "distant.spacy"
    if distant.is_file():
        replace_file(output, files.read_bytes(distant))
        echo(f"Wrote {output}: the data's {distant}")
    elif lexicon is not None and text.is_file():
        return lexicon, text
    else:
        lacking = "unlabeled.* and no train part" if lexicon else "lexicon.*"
        replace_file(output, b"")
        echo(f"Wrote {output}: empty, no {lacking}")
    raise typer.Exit()


def _read_input(
    path: Path, nlp: Language, format: str, gold: Optional[bool]
) -> Tuple[Iterator[Doc], List[Doc]]:
    """Read the Docs, and copies with the gold entities, none if nothing is measured."""
    if _is_plain_text(path, format):
        if gold:
            raise DataError("plain text has no entities: leave out --gold", path=path)
        lines = util.progress_bar(files.read_lines(path), unit="line")
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
    return iter(util.progress_bar(docs)), copies


def _is_plain_text(path: Path, format: str) -> bool:
    if format != "auto" or files.unpacked_extension(path) != ".txt":
        return format == TEXT
    if path.suffix.lower() in files.PACKED:
        return True
    try:
        lines = islice(files.read_lines(path), _N_LINES_SEEN)
        format_from_content(lines, path)
        return False
    except DataError:
        # Neither columns nor markup, or no file that can be read, which comes up again.
        return True


def _read_stop_words(value: Optional[str], nlp: Language) -> Set[str]:
    if value is None:
        return set()
    if value == _LANGUAGES_OWN:
        return set(nlp.Defaults.stop_words)
    return {line.strip() for _, line in files.read_lines(Path(value)) if line.strip()}


def _describe(matcher: LexiconMatcher) -> List[str]:
    lines = [f"{count_of(len(matcher), 'names')} to match"]
    if n := matcher.n_excluded:
        lines.append(f"Entries left out as stop words or as too short: {n:,}")
    if n := len(matcher.ambiguous_names):
        several = "Names that get no label, as several labels have equal weight"
        lines.append(f"{several}: {n:,}")
    return lines
