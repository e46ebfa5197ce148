"""The command `adapt`: let a trained pipeline learn from plain text, too."""

import math
from pathlib import Path
from typing import List, Optional

import spacy
from spacy.cli._util import setup_gpu
from spacy.training import Example

from ..corpus.docs import unannotated
from ..corpus.readers import read_docbin
from ..corpus.texts import TEXT_EXTENSIONS, check_text_files, read_texts
from ..files.counts import count_of
from ..files.errors import DataError
from ..files.folder import check_output_folder, write_folder
from ..files.text import find_part
from ..pipeline.loading import check_pipeline
from ._options import GPU_ID, OVERWRITE, arg, command, opt
from ._util import echo

# Of converted data, in this order.
CORPUS_FILES = ("distant.spacy", "train.spacy")
EXAMPLES, MEAN, FULL = RECIPES = ("examples", "mean", "full")


@command("adapt")
def adapt_cli(
    pipeline: Path = arg("PIPELINE", "Folder of a pipeline trained on --examples"),
    text: Path = arg("TEXT", "Plain text, or a folder with unlabeled.*"),
    out: Path = arg("OUT", "Folder for the adapted pipeline"),
    examples: Path = opt(..., "The .spacy file that the pipeline was trained on"),
    corpus: Optional[Path] = opt(
        None, "Folder of converted data, whose text is read if TEXT has no unlabeled.*"
    ),
    recipe: str = opt(
        FULL,
        f"{FULL}: learn from the text and average three trainings; {MEAN}: only "
        f"average three trainings; {EXAMPLES}: leave the pipeline as it is",
    ),
    label_rows: Optional[Path] = opt(
        None, "File .rows.safetensors of `search`, if the pipeline began from it"
    ),
    max_texts: int = opt(
        4000, "If there are more texts, so many are drawn by chance", min=1
    ),
    learn_rate: str = opt(
        "null", "Learning rate of the trainings; null: what suits the backbone"
    ),
    seed: int = opt(1, "Seed of the draw and of the trainings", min=0),
    gpu_id: int = GPU_ID,
    overwrite: bool = OVERWRITE,
) -> None:
    """Let a trained pipeline learn from plain text of its field, too.

    First the backbone, the language model of the pipeline, guesses hidden words of the
    text. The result is averaged, half and half, with its original weights. Then three
    trainings on the examples follow, and their weights are averaged. This takes some
    minutes, and needs the backbone from which the pipeline was trained.

    With --recipe mean no text is read. Two more trainings are made, and averaged with
    the one that the pipeline had.

    \b
    Example:
      python -m spacy entlm adapt model-last texts.txt adapted --examples train.spacy
    """
    if recipe not in RECIPES:
        raise DataError(f"--recipe is one of {', '.join(RECIPES)}, not {recipe!r}")
    rate = _read_rate(learn_rate)
    if recipe == EXAMPLES:
        if pipeline.resolve() != out.resolve():
            raise DataError(f"with --recipe {recipe} OUT is PIPELINE")
        echo(
            f"{pipeline} is done: it learned from its examples alone. With --recipe "
            f"{FULL} it learns from the text, too"
        )
        return
    check_output_folder(out, source=pipeline, overwrite=overwrite)
    check_pipeline(pipeline)
    setup_gpu(gpu_id, silent=True)
    nlp = spacy.load(pipeline)
    gold = [doc for doc in read_docbin(examples, nlp) if len(doc)]
    if not gold:
        raise DataError("holds no examples", path=examples)
    from ..training.adaptation import draw_texts
    from ..training.recipe import TRAININGS
    from ..training.several import average_trained

    texts = None
    if recipe == FULL:
        texts = draw_texts(_read_texts(text, corpus), seed, max_texts)
        echo(f"The backbone reads {count_of(len(texts), 'texts')}")
    pairs = [Example(unannotated(doc), doc) for doc in gold]
    average_trained(
        nlp,
        pairs,
        trainings=TRAININGS,
        texts=texts,
        label_rows=label_rows,
        learn_rate=rate,
        seed=seed,
    )
    size = count_of(len(pairs), "examples")
    echo(f"The mean of {TRAININGS} trainings on {size}")
    with write_folder(out, overwrite=overwrite) as folder:
        nlp.to_disk(folder)
    echo(f"Wrote {out}")


def _read_rate(value: str) -> Optional[float]:
    if value == "null":
        return None
    try:
        rate = float(value)
    except ValueError:
        rate = 0.0
    if not 0.0 < rate < math.inf:
        raise DataError(f"--learn-rate is a number above 0, or null, not {value!r}")
    return rate


def _read_texts(text: Path, corpus: Optional[Path]) -> List[str]:
    if text.is_dir():
        own = [corpus / name for name in CORPUS_FILES] if corpus else []
        parts = [find_part(text, "unlabeled", TEXT_EXTENSIONS), *own]
        found = next((path for path in parts if path and path.is_file()), None)
        if found is None:
            raise DataError(f"has no unlabeled.*: {FULL} wants plain text", path=text)
        text = found
    check_text_files([text])
    if not (texts := list(read_texts([text]))):
        raise DataError("holds no text", path=text)
    return texts
