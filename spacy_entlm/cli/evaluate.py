"""The command `evaluate`: F1 of a pipeline on annotated text."""

import time
from dataclasses import asdict
from datetime import date
from pathlib import Path
from typing import Any, Dict, List, Optional

import spacy
from spacy.cli._util import setup_gpu
from spacy.language import Language
from spacy.training import Example

from ..corpus.docs import unannotated
from ..corpus.file_format import EXTENSIONS
from ..corpus.readers import read_docs
from ..evaluation.calibration import calibration_curve
from ..evaluation.scoring import score_entities
from ..files.counts import count_of
from ..files.file import replace_file
from ..files.json_lines import dump_json
from ..files.text import find_part
from ..pipeline.loading import check_pipeline
from ._options import FORMAT, GPU_ID, OVERWRITE, arg, command, opt
from ._util import check_outputs, echo, progress_bar, score_table


@command("evaluate")
def evaluate_cli(
    pipeline: Path = arg("PIPELINE", "Folder of a trained pipeline"),
    data: Path = arg(
        "DATA",
        "Annotated file, or a folder with test.*; without it nothing is measured",
    ),
    out: Optional[Path] = opt(None, "JSON file for the figures"),
    gpu_id: int = GPU_ID,
    format: str = FORMAT,
    overwrite: bool = OVERWRITE,
) -> None:
    """Measure precision, recall and F1 of entities.

    Entities count as they are annotated. The paper counts neighbouring entities of one
    class as one: these figures are in OUT, too, as "io". `report calibration` reads OUT
    and draws how far confidences can be trusted.

    \b
    Example:
      python -m spacy entlm evaluate model-last test.spacy --out metrics.json
    """
    test = find_part(data, "test", EXTENSIONS) if data.is_dir() else data
    if out is not None:
        check_outputs([out], [data, test], overwrite)
    check_pipeline(pipeline)
    figures = None
    if test is None:
        echo(f"{data} has no test part: F1 is not measured")
    else:
        setup_gpu(gpu_id, silent=True)
        nlp = spacy.load(pipeline)
        figures = _measure(nlp, test, format)
        echo(*_lines(figures), *_hints(nlp, figures))
    if out is not None:
        replace_file(out, dump_json(figures), overwrite=overwrite)
        echo(f"Wrote {out}")


def _measure(nlp: Language, test: Path, format: str) -> Dict[str, Any]:
    gold, report = read_docs(test, nlp, format=format)
    report.check_marks(test)
    echo(*report.lines())
    start = time.perf_counter()
    docs = nlp.pipe(unannotated(doc) for doc in gold)
    predicted = list(progress_bar(docs))
    seconds = time.perf_counter() - start
    examples = [Example(*pair) for pair in zip(predicted, gold)]
    figures = score_entities(examples)
    figures["confidence"] = asdict(calibration_curve(examples))
    figures["sentences"] = len(gold)
    figures["words_per_second"] = round(sum(map(len, gold)) / max(seconds, 1e-9))
    return {**figures, "date": date.today().isoformat()}


def _lines(figures: Dict[str, Any]) -> List[str]:
    bio, io = figures["bio"], figures["io"]
    lines = score_table({"all": bio, **bio["per_type"]})
    if (error := figures["confidence"]["error"]) is not None:
        lines.append(f"Confidences are off by {error:.2f} on average")
    size = count_of(figures["sentences"], "sentences")
    summary = f"F1 {100 * bio['f']:.2f} on {size}"
    lines.append(f"{summary}, {figures['words_per_second']:,} words per second")
    if io["f"] != bio["f"]:
        merged = "where neighbouring entities of one class count as one (IO gold)"
        lines.append(f"F1 {100 * io['f']:.2f} {merged}")
    return lines


def _hints(nlp: Language, figures: Dict[str, Any]) -> List[str]:
    """What explains an F1 of 0: classes of the text that the pipeline does not have,
    as it calls them otherwise."""
    known = {label for labels in nlp.pipe_labels.values() for label in labels}
    per_type = figures["bio"]["per_type"]
    lacking = sorted(set(per_type) - known)
    if not lacking:
        return []
    own = ", ".join(sorted(known)) or "none"
    return [
        f"The pipeline has no class {', '.join(lacking)}, so that it finds none of "
        f"these entities. It has: {own}. Where only the names differ, rename the "
        f"classes of one of the two"
    ]
