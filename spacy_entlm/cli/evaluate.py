"""The command `evaluate`: F1 of a pipeline, for IO gold and for BIO gold."""

import time
from dataclasses import asdict
from datetime import date
from pathlib import Path
from typing import Any, Dict, List, Optional

import spacy
from spacy.cli._util import setup_gpu
from spacy.training import Example

from ..corpus.docs import unannotated
from ..corpus.formats import EXTENSIONS
from ..corpus.readers import read_docs
from ..evaluation.reliability import reliability
from ..evaluation.scoring import score_entities
from ..files.errors import DataError
from ..files.file import replace_file
from ..files.json_lines import dump_json
from ..files.text import find_part
from ._options import FORMAT, GPU_ID, OVERWRITE, arg, command, opt
from ._util import check_outputs, echo, progress_bar, score_table


@command("evaluate")
def evaluate_cli(
    pipeline: Path = arg("PIPELINE", "Folder of a trained pipeline"),
    data: Path = arg("DATA", "Annotated file, or folder with test.*, else no figures"),
    out: Optional[Path] = opt(None, "JSON file for the figures"),
    gpu_id: int = GPU_ID,
    format: str = FORMAT,
    overwrite: bool = OVERWRITE,
) -> None:
    """Measure precision, recall and F1 of entities.

    IO gold: neighbouring entities of one class are one, as the paper counts them. BIO
    gold: entities as they are annotated. `report reliability` draws how far confidences
    can be trusted, from OUT.

    \b
    Example:
      python -m spacy entlm evaluate model-last test.spacy --out metrics.json
    """
    test = find_part(data, "test", EXTENSIONS) if data.is_dir() else data
    if out is not None:
        check_outputs([out], [data, test], overwrite)
    if not (pipeline / "config.cfg").is_file():
        raise DataError("is no trained pipeline: it has no config.cfg", path=pipeline)
    figures = None
    if test is None:
        echo(f"{data} has no test part: F1 is not measured")
    else:
        setup_gpu(gpu_id, silent=True)
        figures = _measure(pipeline, test, format)
        echo(*_lines(figures))
    if out is not None:
        replace_file(out, dump_json(figures), overwrite=overwrite)
        echo(f"Wrote {out}")


def _measure(pipeline: Path, test: Path, format: str) -> Dict[str, Any]:
    nlp = spacy.load(pipeline)
    gold, _ = read_docs(test, nlp, format=format)
    start = time.perf_counter()
    docs = nlp.pipe(unannotated(doc) for doc in gold)
    predicted = list(progress_bar(docs))
    seconds = time.perf_counter() - start
    examples = [Example(*pair) for pair in zip(predicted, gold)]
    figures = score_entities(examples)
    figures["confidence"] = asdict(reliability(examples))
    figures["sentences"] = len(gold)
    figures["words_per_second"] = round(sum(map(len, gold)) / max(seconds, 1e-9))
    return {**figures, "date": date.today().isoformat()}


def _lines(figures: Dict[str, Any]) -> List[str]:
    rows, totals = {}, []
    for way, gold in (("io", "IO gold"), ("bio", "BIO gold")):
        for label, row in {"all": figures[way], **figures[way]["per_type"]}.items():
            rows[f"{label}, {gold}"] = row
        totals.append(f"{100 * figures[way]['f']:.2f} ({gold})")
    summary = f"F1 {', '.join(totals)} on {figures['sentences']} sentences"
    speed = f"{figures['words_per_second']:,} words per second"
    lines = score_table(rows)
    if (error := figures["confidence"]["error"]) is not None:
        lines.append(f"Confidences miss what is right by {error:.2f} in the mean")
    return [*lines, f"{summary}, {speed}"]
