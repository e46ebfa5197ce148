"""The command `search`: label words from annotated text and a masked LM."""

from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any, Callable, Dict, List, Optional, Tuple

from spacy.cli._util import setup_gpu
from spacy.tokens import Doc

from ..backbones.names import ENTLM_BASE
from ..backbones.recommended import LABEL_WORDS_FILE
from ..evaluation.label_words.search_report import make_report, report_path
from ..files.counts import sentence_of
from ..files.errors import DataError
from ..files.file import replace_file, write_file
from ..files.folder import check_folder
from ..files.json_lines import dump_json
from ..files.text import check_file
from ..label_words import search
from ..label_words.names import read_names
from ..label_words.words import LabelWordError, LabelWords, read_label_words
from ..scale.counts import count_with
from ..scale.engines import RAY, Engine
from ._options import (
    ADDRESS,
    ENGINE,
    FORMAT,
    GPU_ID,
    GPUS,
    LANG,
    OVERWRITE,
    WORKERS,
    arg,
    command,
    opt,
)
from ._util import check_outputs, echo, load_docs, progress_bar

# Words by data, and rows that start from features.
PROTOTYPE = "prototype"
ROWS_SUFFIX = ".rows.safetensors"
# Words of several pieces that a line about a class shows.
MAX_SHOWN = 5
_METHOD_HELP = (
    f"How words are chosen (see above): {', '.join(search.METHODS)}, {PROTOTYPE}"
)
_THRESHOLD_HELP = (
    "Leave out words of whose occurrences a smaller share than this is in their class"
)
_batches = partial(progress_bar, unit="batch")


@command("search")
def search_cli(
    annotated_path: Path = arg("ANNOTATED", "Annotated file that `convert` reads"),
    output_path: Path = arg("OUT.json", "Label words to write"),
    data: Optional[Path] = opt(
        None, f"Data folder: if it has {LABEL_WORDS_FILE}, its words are taken"
    ),
    backbone: str = opt(
        ENTLM_BASE,
        "Masked language model: a folder, or a name on the Hugging Face hub; "
        '"" for none',
    ),
    method: str = opt(search.DATA_LM, _METHOD_HELP),
    top_k: int = opt(search.TOP_K, "Most words that a class gets"),
    threshold: float = opt(search.CONFLICT_THRESHOLD, _THRESHOLD_HELP),
    smoothing: bool = opt(
        True, "With data-lm, a count of 0 is taken as 1, so that the product is not 0"
    ),
    lm_top_k: int = opt(
        search.LM_TOP_K, "How many guesses of the model count at each word"
    ),
    gpu_id: int = GPU_ID,
    engine: str = ENGINE,
    workers: Optional[int] = WORKERS,
    gpus: float = GPUS,
    address: Optional[str] = ADDRESS,
    lang: str = LANG,
    format: str = FORMAT,
    overwrite: bool = OVERWRITE,
) -> None:
    """Choose label words, which stand for the classes, from annotated text.

    --method says which words a class gets: those that are marked with it most often
    (data), those that the language model guesses most often at its words (lm), or those
    with the largest product of both counts (data-lm). prototype finds words as data
    does, and makes the rows of the classes from the model's features at these words.
    Words that are a single piece for the model come first.

    A backbone that reads the names of classes, as entlm-base does, needs label words
    only if a training asks for them (the setting `start`).

    OUT.report.json tells how words were found. OUT.rows.safetensors holds the rows of
    the method prototype.

    \b
    Example:
      python -m spacy entlm search annotated.jsonl label_words.json \\
        --backbone bert-base-cased
    """
    chosen = Engine(engine, workers, gpus, address)
    ranking = search.DATA if method == PROTOTYPE else method
    smoothing = smoothing and ranking == search.DATA_LM
    settings = search.SearchSettings(ranking, top_k, threshold, smoothing)
    if not backbone and method != search.DATA:
        raise LabelWordError(f"--method {method} needs --backbone")
    asked: Dict[str, Any] = {**asdict(settings), "method": method}
    asked.update(annotated=str(annotated_path), backbone=backbone or None)
    asked.update(lm_top_k=lm_top_k)
    rows_path = output_path.with_suffix(ROWS_SUFFIX)
    outputs = [output_path, report_path(output_path), rows_path]
    check_outputs(outputs, [annotated_path], overwrite)
    words = None if data is None else _words_at_hand(data, annotated_path)
    if words is not None:
        _write(output_path, overwrite, words)
        return
    docs, corpus = load_docs(annotated_path, lang, format)
    if not corpus.entities:
        raise DataError("no entity in it: annotate it first", path=annotated_path)
    setup_gpu(gpu_id, silent=True)
    reader: Any = None
    if backbone:
        from ..model.search_reader import TextReader  # torch takes seconds

        reader = TextReader(backbone)
    count = partial(count_with, chosen, backbone) if engine == RAY else None
    found, report = _search(reader, docs, settings, lm_top_k, count)
    _check_found(found, report)
    words = {label: found[label].words for label in corpus.entities}
    classes = {label: report[label] for label in words}
    echo(*corpus.problems())
    echo(*_lines(classes, top_k))
    if reader is not None and reader.network.name_map is not None:
        echo(*_lines_of_names(reader, list(words)))
    rows: Dict[str, Any] = {}
    if method == PROTOTYPE:
        from ..label_words.prototypes import find_prototypes

        rows = find_prototypes(reader, docs, words, progress=_batches)
    size = {"sentences": corpus.docs, "words": corpus.words}
    _write(
        output_path,
        overwrite,
        words,
        {"settings": asked, **size, "classes": classes},
        rows,
    )


def _words_at_hand(data: Path, annotated: Path) -> Optional[LabelWords]:
    """Words of the data, or none where no text is annotated. None: search."""
    check_folder(data)
    check_file(annotated)
    given = data / LABEL_WORDS_FILE
    if given.exists():
        words = read_label_words(given, tags=False)
        echo(f"Label words from {given}")
        return words
    if annotated.stat().st_size:
        return None
    echo("There is no annotated text: no label words are searched")
    return {}


def _lines_of_names(reader: Any, labels: List[str]) -> List[str]:
    """The words nearest to what the classes' names say."""
    from ..label_words.nearest import nearest_words

    vocabulary = reader.vocabulary.weight.cpu().numpy()
    lines = [
        "By their names the classes are near to these words, and start from there "
        "(## stands before a part of a word):"
    ]
    for label, name in read_names(labels).items():
        text = name.text
        row = reader.network.row_of_name(text)[0].cpu().numpy()
        near = nearest_words(row, vocabulary, reader.tokenizer, MAX_SHOWN)
        lines.append(f"  {label} ({text}): {', '.join(each.word for each in near)}")
    return lines


def _search(
    reader: Any,
    docs: List[Doc],
    settings: search.SearchSettings,
    lm_top_k: int,
    count: Optional[Callable[..., search.Counts]],
) -> Tuple[Dict[str, search.ClassSearch], Dict[str, Any]]:
    """What is found for each class, and the report on it. count: Counts predictions on
    a cluster."""
    data, lm, pieces = search.count_docs(docs), {}, None
    if settings.uses_lm:
        from ..label_words.lm_counts import count_predictions

        here = partial(count_predictions, progress=_batches)
        lm = (count or here)(reader, docs, top_k=lm_top_k)
    if reader is not None:
        pieces = reader.word_pieces
        data, lm = (search.fold_counts(x, reader.fold_word) for x in (data, lm))
    found = search.search_label_words(data, lm, settings, get_pieces=pieces)
    report = make_report(found, settings, data, lm)
    return found, report


def _check_found(found: Dict[str, search.ClassSearch], report: Dict[str, Any]) -> None:
    if not any(entry.chosen for entry in found.values()):
        reasons = "; ".join(f"{label}: {report[label]['advice']}" for label in found)
        raise LabelWordError(f"Found no label word for any class. {reasons}")


def _lines(classes: Dict[str, Any], top_k: int) -> List[str]:
    """The words that were searched, and what is lacking. classes: As reported."""
    width = max(len(label) for label in classes)
    lines, more = [], []
    for label, entry in classes.items():
        pieces = {word["word"]: word.get("pieces", "1") for word in entry["words"]}
        lines.append(f"  {label:<{width}} {', '.join(pieces) or '-'}")
        if entry["advice"]:
            few = f"{label} has {len(pieces)} of {top_k} words"
            more.append(f"{few}: {entry['advice']}")
        several = [f"{w} [{' '.join(p)}]" for w, p in pieces.items() if len(p) > 1]
        if several:
            shown = several[:MAX_SHOWN] + ["..."] * (len(several) > MAX_SHOWN)
            words = sentence_of(len(several), "word is", "words are")
            count = f"{words} no single piece of the vocabulary"
            more.append(f"{label}: {count}: {', '.join(shown)}")
    return lines + more


def _write(
    path: Path,
    overwrite: bool,
    words: LabelWords,
    report: Any = None,
    rows: Optional[Dict] = None,
) -> None:
    """Write the words and what belongs to them; nothing of an earlier search stays."""
    from ..files.tensors import save_tensors

    # Another process may have written them in the meantime.
    check_outputs([path, report_path(path)], [], overwrite)
    with write_file(path.with_suffix(ROWS_SUFFIX)) as temporary:
        save_tensors(temporary, rows or {})
    report_path(path).unlink(missing_ok=True)
    if report is not None:
        replace_file(report_path(path), dump_json(report))
    replace_file(path, dump_json(words))
    echo(f"Wrote {path}" + (f"; rows of {', '.join(rows)}" if rows else ""))
