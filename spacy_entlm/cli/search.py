"""The command `search`: label words from annotated text and a masked LM."""

from dataclasses import asdict, dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import Annotated, Any, Dict, List, Optional

from spacy.cli._util import setup_gpu
from spacy.tokens import Doc

from ..backbones.names import ENTLM_MINI
from ..backbones.recommended import LABEL_WORDS_FILE, read_recommended
from ..corpus.readers import read_docs
from ..evaluation.label_words.report import casing_advice, make_report, report_path
from ..files.errors import DataError
from ..files.file import check_output, replace_file, write_file
from ..files.folder import check_folder
from ..files.json_lines import dump_json
from ..files.text import check_file
from ..label_words import counts, search
from ..label_words.choice import choose_label_words
from ..label_words.words import LabelWordError, LabelWords, read_label_words
from ._options import GpuOption, OverwriteOption, arg, command, opt
from ._util import FormatOption, LangOption, blank_pipeline, echo_lines, progress_bar

# Words by data, and rows that start from features.
PROTOTYPE = "prototype"
ROWS_SUFFIX = ".rows.safetensors"
# Words of several pieces that a line about a class shows.
MAX_SHOWN = 5
_METHOD_HELP = f"What ranks words: {', '.join(search.METHODS)}; or {PROTOTYPE}"
_BACKBONE_HELP = 'Masked LM, a folder or a hub name; "" for none'
_SMOOTHING_HELP = "A word in one of the two counts only counts as 1 in the other"


@command("search")
def search_cli(
    annotated_path: Annotated[
        Path, arg("ANNOTATED", "Annotated file of any format that `convert` reads")
    ],
    output_path: Annotated[Path, arg("OUT.json", "Label words to write")],
    data: Annotated[
        Optional[Path], opt("--data", f"Folder that may hold {LABEL_WORDS_FILE}")
    ] = None,
    backbone: Annotated[str, opt("--backbone", _BACKBONE_HELP)] = ENTLM_MINI,
    own: Annotated[
        bool, opt("--own/--no-own", "Take words that the backbone has of its own")
    ] = True,
    method: Annotated[str, opt("--method", _METHOD_HELP)] = search.DATA_LM,
    top_k: Annotated[int, opt("--top-k", "Most words of a class")] = search.TOP_K,
    threshold: Annotated[
        float, opt("--threshold", "Least share of a word's occurrences in its class")
    ] = search.CONFLICT_THRESHOLD,
    smoothing: Annotated[
        bool, opt("--smoothing/--no-smoothing", _SMOOTHING_HELP)
    ] = True,
    lm_counts: Annotated[
        Optional[List[Path]], opt("--lm-counts", "LM counts, in place of counting")
    ] = None,
    save_counts: Annotated[
        Optional[Path], opt("--save-counts", "File to write the LM counts to")
    ] = None,
    lm_top_k: Annotated[
        int, opt("--lm-top-k", "Predictions that count at each word")
    ] = search.LM_TOP_K,
    gpu_id: GpuOption = -1,
    lang: LangOption = "en",
    format: FormatOption = "auto",
    overwrite: OverwriteOption = False,
) -> None:
    """Choose label words for the classes of a text that a lexicon annotated.

    They are those in the data folder's label_words.json, if there is one; else the
    backbone's own, where it has some; else words that the text has in a class (data)
    and that a masked LM predicts there (lm), ranked by the product (data-lm). Words
    are counted as the backbone reads them; those of a single piece come first.

    OUT.report.json tells how words were found. OUT.rows.safetensors holds the rows of
    the method prototype (words by data, rows from features at the words), else none.

    \b
    Example:
      python -m spacy entlm search annotated.jsonl label_words.json \\
        --backbone bert-base-cased
    """
    ranking = search.DATA if method == PROTOTYPE else method
    smoothing = smoothing and ranking == search.DATA_LM
    settings = search.SearchSettings(ranking, top_k, threshold, smoothing)
    given = [counts.read_counts(path) for path in lm_counts or []]
    asked: Dict[str, Any] = {**asdict(settings), "method": method}
    asked.update(annotated=str(annotated_path), backbone=backbone or None)
    asked.update(lm_top_k=lm_top_k, lm_counts=[str(path) for path in lm_counts or []])
    _check_options(asked, save_counts is not None)
    outputs = [output_path, report_path(output_path), _rows_path(output_path)]
    outputs += [] if save_counts is None else [save_counts]
    _check_outputs(outputs, [annotated_path, *(lm_counts or [])], overwrite)
    words = None if data is None else _words_at_hand(data, annotated_path)
    if words is not None:
        _write(output_path, words)
        return
    docs, corpus = read_docs(
        annotated_path, blank_pipeline(lang), format=format, progress=progress_bar
    )
    if not corpus.entities:
        raise DataError("no entity in it: annotate it first", path=annotated_path)
    setup_gpu(gpu_id, silent=True)
    found = _Search(docs, settings, backbone, lm_top_k, given)
    if save_counts is not None:
        with write_file(save_counts) as temporary:
            counts.write_counts(found.lm_counts, temporary)
    brought = read_recommended(backbone).label_words if own and backbone else {}
    wanted: LabelWords = {ent.label_: [] for doc in docs for ent in doc.ents}
    words = choose_label_words(wanted, brought, found.words)
    taken = {label: words[label] for label in words if label not in found.labels}
    end = ", which are taken" if found.labels else ": nothing is searched"
    if taken:
        echo_lines([f"The backbone has words of its own for {', '.join(taken)}{end}"])
    echo_lines(f"  {label} {', '.join(taken[label])}" for label in taken)
    echo_lines(corpus.problems())
    if not found.labels:
        _write(output_path, words)
        return
    searched = {label: found.found[label] for label in found.labels}
    classes = make_report(searched, settings, found.data, found.lm)
    echo_lines(_lines(classes, top_k))
    rows = found.rows() if method == PROTOTYPE else {}
    size = {"sentences": corpus.docs, "words": corpus.words}
    _write(output_path, words, {"settings": asked, **size, "classes": classes}, rows)


def _check_options(asked: Dict[str, Any], save: bool) -> None:
    method, given = asked["method"], asked["lm_counts"]
    counts_lm = method not in (search.DATA, PROTOTYPE)
    if asked["backbone"] is None and method != search.DATA and not given:
        instead = ", or --lm-counts" if counts_lm else ""
        raise LabelWordError(f"--method {method} needs --backbone{instead}")
    if not counts_lm and (given or save):
        raise LabelWordError(
            "--lm-counts and --save-counts belong to the methods lm and data-lm"
        )


def _check_outputs(paths: List[Path], sources: List[Path], overwrite: bool) -> None:
    for path in paths:
        for source in sources:
            check_output(path, source=source, overwrite=overwrite)
    if len({path.resolve() for path in paths}) < len(paths):
        names = ", ".join(map(str, paths))
        raise LabelWordError(f"Two of the outputs are one file: {names}")


def _words_at_hand(data: Path, annotated: Path) -> Optional[LabelWords]:
    """Words of the data, or none where no text is annotated. None: search."""
    check_folder(data)
    check_file(annotated)
    given = data / LABEL_WORDS_FILE
    if given.exists():
        echo_lines([f"Label words from {given}"])
        return read_label_words(given)
    if annotated.stat().st_size:
        return None
    echo_lines(["Label words will be the backbone's, or taken from the examples"])
    return {}


@dataclass
class _Search:
    """Searches words of all classes, once somebody asks for those of some.

    docs (List[Doc]): The text. settings (SearchSettings): Ranking and filters.
    backbone (str): The masked LM, empty for none. lm_top_k (int): How many of
    its predictions are counted. given (List[Counts]): What stands in their place.
    """

    docs: List[Doc]
    settings: search.SearchSettings
    backbone: str
    lm_top_k: int
    given: List[search.Counts]
    labels: List[str] = field(default_factory=list)

    def words(self, labels: List[str]) -> LabelWords:
        """Words of some classes, which are noted."""
        self.labels += labels
        return {label: self.found[label].words for label in labels}

    @cached_property
    def reader(self) -> Any:
        """The backbone, None if there is none."""
        from ..model.entlm import load_reader  # torch takes seconds

        return load_reader(self.backbone) if self.backbone else None

    @cached_property
    def lm_counts(self) -> search.Counts:
        """What the backbone predicts, or what is given in place of it."""
        from ..label_words.lm_counts import count_predictions

        if self.given or not self.settings.uses_lm:
            labels = {ent.label_ for doc in self.docs for ent in doc.ents}
            return counts.merge_counts(counts.strip_tags(c, labels) for c in self.given)
        count = partial(count_predictions, progress=partial(progress_bar, unit="batch"))
        return count(self.reader, self.docs, top_k=self.lm_top_k)

    @cached_property
    def found(self) -> Dict[str, search.ClassSearch]:
        """What was found for all classes."""
        self.data, self.lm = counts.count_docs(self.docs), self.lm_counts
        pieces = getattr(self.reader, "word_pieces", None)
        if self.reader is not None:
            self.data = counts.fold_counts(self.data, self.reader.fold_word)
            self.lm = counts.fold_counts(self.lm, self.reader.fold_word)
        choose = partial(search.search_label_words, get_pieces=pieces)
        found = choose(self.data, self.lm, self.settings)
        if advice := casing_advice(self.data, self.lm):
            echo_lines([advice])
        if not any(entry.chosen for entry in found.values()):
            report = make_report(found, self.settings, self.data, self.lm)
            reasons = "; ".join(f"{key}: {report[key]['advice']}" for key in found)
            raise LabelWordError(f"Found no label word for any class. {reasons}")
        return found

    def rows(self) -> Dict[str, Any]:
        """Rows from features at the classes' words."""
        from ..label_words.prototypes import find_prototypes

        words = {label: self.found[label].words for label in self.labels}
        bar = partial(progress_bar, unit="batch")
        return find_prototypes(self.reader, self.docs, words, progress=bar)


def _lines(classes: Dict[str, Any], top_k: int) -> List[str]:
    """The words that were searched, and what is lacking. classes: As reported."""
    width = max(len(label) for label in classes)
    lines, more = [], []
    for label, entry in classes.items():
        words = [word["word"] for word in entry["words"]]
        lines.append(f"  {label:<{width}} {', '.join(words) or '-'}")
        if entry["advice"]:
            more.append(f"{label} has {len(words)} of {top_k} words: {entry['advice']}")
        pieces = {word["word"]: word.get("pieces", "1") for word in entry["words"]}
        several = [f"{w} [{' '.join(pieces[w])}]" for w in words if len(pieces[w]) > 1]
        if several:
            shown = ", ".join(
                several[:MAX_SHOWN] + ["..."] * (len(several) > MAX_SHOWN)
            )
            several_pieces = (
                f"{len(several)} words are no single piece of the vocabulary"
            )
            more.append(f"{label}: {several_pieces}: {shown}")
    return lines + more


def _rows_path(path: Path) -> Path:
    return path.with_suffix(ROWS_SUFFIX)


def _write(
    path: Path, words: LabelWords, report: Any = None, rows: Optional[Dict] = None
) -> None:
    """Write the words and what belongs to them; nothing of an earlier search stays."""
    from ..files.tensors import save_tensors

    with write_file(_rows_path(path)) as temporary:
        save_tensors(temporary, rows or {})
    report_path(path).unlink(missing_ok=True)
    if report is not None:
        replace_file(report_path(path), dump_json(report))
    replace_file(path, dump_json(words))
    echo_lines([f"Wrote {path}" + (f"; rows of {', '.join(rows)}" if rows else "")])
