"""The command `search`: label words from annotated text and a masked LM."""

import json
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Dict, List, Optional, Tuple

import typer
from spacy.cli._util import setup_gpu
from spacy.tokens import Doc

from ..corpus.readers import CorpusReport, read_docs
from ..evaluation.label_words.report import casing_advice, make_report, report_path
from ..files.errors import DataError
from ..files.file import check_output, write_file
from ..label_words.counts import (
    count_docs,
    fold_counts,
    merge_counts,
    read_counts,
    strip_tags,
    write_counts,
)
from ..label_words.search import (
    CONFLICT_THRESHOLD,
    DATA,
    DATA_LM,
    LM_TOP_K,
    METHODS,
    OUTSIDE,
    TOP_K,
    ClassSearch,
    Counts,
    SearchSettings,
    search_label_words,
)
from ..label_words.words import LabelWordError
from ._util import (
    FormatOption,
    LangOption,
    blank_pipeline,
    echo_lines,
    entlm_cli,
    one_line_errors,
    progress_bar,
)

# Words by data, and rows that start from features.
PROTOTYPE = "prototype"
ROWS_SUFFIX = ".rows.safetensors"
# Words of several pieces that a line about a class shows.
MAX_SHOWN = 5

AnnotatedArgument = Annotated[
    Path,
    typer.Argument(
        metavar="ANNOTATED",
        help="Annotated file of any format that `convert` reads",
        show_default=False,
    ),
]
WordsArgument = Annotated[
    Path,
    typer.Argument(
        metavar="OUT.json",
        help="Label words to write; OUT.report.json tells how they were found",
        show_default=False,
    ),
]
MethodOption = Annotated[
    str,
    typer.Option(
        "--method",
        help=f"What ranks the words: {', '.join(METHODS)}; or {PROTOTYPE}: words by "
        f"data, and rows from features at the classes' words, OUT{ROWS_SUFFIX}",
    ),
]
TopKOption = Annotated[
    int, typer.Option("--top-k", help="Most words of a class; 1: discrete label words")
]
ThresholdOption = Annotated[
    float,
    typer.Option(
        "--threshold",
        help="A word is out unless more than this share of its occurrences, those "
        "outside entities counted, has the class",
    ),
]
SmoothingOption = Annotated[
    bool,
    typer.Option(
        "--smoothing",
        help="data-lm: a word in only one of the two counts counts as 1 in the other",
    ),
]
MaskedOption = Annotated[
    bool, typer.Option("--masked", help="Mask the word at which the LM predicts")
]
BackboneOption = Annotated[
    Optional[str],
    typer.Option(
        "--backbone",
        help="Masked LM, a folder or a hub name. Words are counted as it reads them, "
        "and those that it says in one piece come first",
        show_default=False,
    ),
]
CountsOption = Annotated[
    Optional[List[Path]],
    typer.Option(
        "--lm-counts",
        metavar="COUNTS.json",
        help="LM counts, in place of counting; several are added up",
        show_default=False,
    ),
]
SaveOption = Annotated[
    Optional[Path],
    typer.Option(
        "--save-counts",
        metavar="COUNTS.json",
        help="File to write the LM counts to",
        show_default=False,
    ),
]
LmTopKOption = Annotated[
    int, typer.Option("--lm-top-k", help="Predictions that count at each word")
]
GpuOption = Annotated[int, typer.Option("--gpu-id", help="GPU, or -1 for the CPU")]


@entlm_cli.command("search")
def search_cli(
    annotated_path: AnnotatedArgument,
    output_path: WordsArgument,
    method: MethodOption = DATA_LM,
    top_k: TopKOption = TOP_K,
    threshold: ThresholdOption = CONFLICT_THRESHOLD,
    smoothing: SmoothingOption = False,
    masked: MaskedOption = False,
    backbone: BackboneOption = None,
    lm_counts: CountsOption = None,
    save_counts: SaveOption = None,
    lm_top_k: LmTopKOption = LM_TOP_K,
    gpu_id: GpuOption = -1,
    lang: LangOption = "en",
    format: FormatOption = "auto",
) -> None:
    """Search label words: words that a text annotated with a lexicon has in a class,
    and words that a masked LM predicts there.

    \b
    Example:
      python -m spacy entlm search annotated.jsonl label_words.json \\
        --method data-lm --backbone bert-base-cased
    """
    with one_line_errors():
        by_features = method == PROTOTYPE
        ranking = DATA if by_features else method
        settings = SearchSettings(ranking, top_k, threshold, smoothing)
        if by_features and backbone is None:
            raise LabelWordError(f"--method {PROTOTYPE} needs --backbone")
        given = [read_counts(path) for path in lm_counts or []]
        _check_options(settings, masked, backbone, bool(given), save_counts is not None)
        outputs = [output_path, report_path(output_path), save_counts]
        rows_path = output_path.with_suffix(ROWS_SUFFIX) if by_features else None
        outputs.append(rows_path)
        _check_outputs(outputs, [annotated_path, *(lm_counts or [])])
        reader = None if backbone is None else _load(backbone, gpu_id)
        docs, corpus = read_docs(
            annotated_path, blank_pipeline(lang), format=format, progress=progress_bar
        )
        data, lm = _count(docs, given, annotated_path)
        if settings.uses_lm and not given:
            lm = _count_lm(reader, docs, top_k=lm_top_k, masked=masked)
        if save_counts is not None:
            with write_file(save_counts) as temporary:
                write_counts(lm, temporary)
        found, classes = _search(data, lm, settings, reader)
        asked = {
            **{**asdict(settings), "method": method},
            **{"annotated": annotated_path, "backbone": backbone, "masked": masked},
            **{"lm_top_k": lm_top_k, "lm_counts": lm_counts or []},
        }
        report = {"settings": asked, **_size(corpus), "classes": classes}
        if rows_path is not None:
            words = {label: search.words for label, search in found.items()}
            _write_rows(reader, docs, words, rows_path)
        _write(found, report, output_path)
        echo_lines([*corpus.problems(), *_lines(found, classes, top_k)])
        echo_lines([f"Wrote {output_path} and {report_path(output_path)}"])


def _check_options(
    settings: SearchSettings, masked: bool, backbone: Any, given: bool, save: bool
) -> None:
    """given: whether there are LM counts; save: whether they shall be written."""
    if settings.uses_lm and not given and backbone is None:
        raise LabelWordError(
            f"--method {settings.method} needs --backbone, to count what it predicts, "
            f"or --lm-counts"
        )
    if not settings.uses_lm and (given or save or masked):
        raise LabelWordError(
            "--lm-counts, --save-counts and --masked belong to the methods lm and "
            "data-lm"
        )
    if given and masked:
        raise LabelWordError("--masked is about counting: leave out --lm-counts")


def _check_outputs(outputs: List[Optional[Path]], sources: List[Path]) -> None:
    paths = [path for path in outputs if path is not None]
    for path in paths:
        for source in sources:
            check_output(path, source=source)
    if len({path.resolve() for path in paths}) < len(paths):
        raise LabelWordError(
            f"Two of the outputs are one file: {', '.join(map(str, paths))}"
        )


def _load(backbone: str, gpu_id: int) -> Any:
    """A backbone that reads texts."""
    from ..model.entlm import load_reader  # torch takes seconds

    setup_gpu(gpu_id, silent=True)
    return load_reader(backbone)


def _count(docs: List[Doc], given: List[Counts], path: Path) -> Tuple[Counts, Counts]:
    """Data counts, and the LM counts that are given, added up."""
    data = count_docs(docs)
    labels = [label for label in data if label != OUTSIDE]
    if not labels:
        raise DataError("no entity in it: annotate it first", path=path)
    return data, merge_counts(strip_tags(counts, labels) for counts in given)


def _count_lm(reader: Any, docs: List[Doc], *, top_k: int, masked: bool) -> Counts:
    from ..label_words.lm_counts import count_predictions

    progress = partial(progress_bar, unit="batch")
    return count_predictions(
        reader, docs, top_k=top_k, masked=masked, progress=progress
    )


def _search(
    data: Counts, lm: Counts, settings: SearchSettings, reader: Any
) -> Tuple[Dict[str, ClassSearch], Dict[str, Any]]:
    """The words, and the report on them.

    reader (Optional[Reader]): The backbone, in whose form words are compared.
    RAISES (LabelWordError): If no class has a word.
    """
    get_pieces = None
    if reader is not None:
        data = fold_counts(data, reader.fold_word)
        lm = fold_counts(lm, reader.fold_word)
        get_pieces = reader.word_pieces
    found = search_label_words(data, lm, settings, get_pieces=get_pieces)
    classes = make_report(found, settings, data, lm)
    casing = casing_advice(data, lm) if settings.uses_lm else ""
    if casing:
        echo_lines([casing])
    if not any(search.chosen for search in found.values()):
        reasons = "; ".join(f"{key}: {classes[key]['advice']}" for key in found)
        raise LabelWordError(f"Found no label word for any class. {reasons}")
    return found, classes


def _size(corpus: CorpusReport) -> Dict[str, int]:
    return {"sentences": corpus.docs, "words": corpus.words}


def _write(found: Dict[str, ClassSearch], report: Dict[str, Any], path: Path) -> None:
    words = {label: search.words for label, search in found.items()}
    for value, target in ((report, report_path(path)), (words, path)):
        text = json.dumps(value, ensure_ascii=False, indent=1, default=str)
        with write_file(target) as temporary:
            temporary.write_text(text + "\n", encoding="utf8")


def _write_rows(
    reader: Any, docs: List[Doc], words: Dict[str, List[str]], path: Path
) -> None:
    from ..label_words.prototypes import find_prototypes, write_label_rows

    progress = partial(progress_bar, unit="batch")
    rows = find_prototypes(reader, docs, words, progress=progress)
    with write_file(path) as temporary:
        write_label_rows(rows, temporary)
    echo_lines([f"Wrote {path}: rows of {', '.join(rows)}"])


def _lines(
    found: Dict[str, ClassSearch], classes: Dict[str, Any], top_k: int
) -> List[str]:
    """The words of each class, and what is lacking, for people."""
    width = max(len(label) for label in found)
    lines = [
        f"  {label:<{width}} {', '.join(search.words) or '-'}"
        for label, search in found.items()
    ]
    for label, search in found.items():
        if classes[label]["advice"]:
            lines.append(
                f"{label} has {len(search.chosen)} of {top_k} words: "
                f"{classes[label]['advice']}"
            )
        several = [word for word in search.chosen if len(word.pieces or "1") > 1]
        if several:
            shown = [f"{w.word} [{' '.join(w.pieces or [])}]" for w in several]
            more = ", ..." if len(shown) > MAX_SHOWN else ""
            lines.append(
                f"{label}: {len(several)} words are no single piece of the "
                f"vocabulary: {', '.join(shown[:MAX_SHOWN])}{more}"
            )
    return lines
