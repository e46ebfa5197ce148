"""The command `adapt`: let a trained pipeline learn from plain text, too."""

import math
from functools import partial
from pathlib import Path
from typing import Any, List, Optional, Union

import spacy
from spacy.cli._util import setup_gpu
from spacy.tokens import Doc
from spacy.training import Example

from ..corpus.docs import unannotated
from ..corpus.readers import read_docbin
from ..corpus.texts import TEXT_EXTENSIONS, check_text_files, read_texts
from ..files.errors import DataError
from ..files.folder import check_output_folder, write_folder
from ..files.text import find_part, read_bytes
from ..scale.engines import RAY, Engine
from ._options import (
    ADDRESS,
    ENGINE,
    GPU_ID,
    GPUS,
    OVERWRITE,
    WORKERS,
    arg,
    command,
    opt,
)
from ._util import echo

EXAMPLES, MEAN, FULL = RECIPES = ("examples", "mean", "full")
# Of the recipe mean.
TRAININGS = 3


@command("adapt")
def adapt_cli(
    pipeline: Path = arg("PIPELINE", "Folder of a pipeline trained on --examples"),
    text: Path = arg("TEXT", "Plain text, or a folder with unlabeled.*"),
    out: Path = arg("OUT", "Folder for the adapted pipeline"),
    examples: Path = opt(..., "The .spacy file that the pipeline was trained on"),
    listed: Optional[Path] = opt(
        None, "The text as `annotate` marked it with a list of names; may be empty"
    ),
    recipe: str = opt(
        FULL, f"{FULL}; {MEAN}: no text; {EXAMPLES}: OUT is the pipeline as it is"
    ),
    max_texts: int = opt(4000, "Of more texts as many are drawn", min=1),
    learn_rate: str = opt("null", "Of the trainings; null: what suits the backbone"),
    seed: int = opt(1, "Of the draw and of the trainings", min=0),
    engine: str = ENGINE,
    workers: Optional[int] = WORKERS,
    gpus: float = GPUS,
    address: Optional[str] = ADDRESS,
    gpu_id: int = GPU_ID,
    overwrite: bool = OVERWRITE,
) -> None:
    """Let a trained pipeline learn from plain text of its field, too.

    A second training on the same examples reads the text as well; the mean of both
    learns what they agree on. Where they hardly agree, the pipeline stays as it is.
    That takes some minutes, and wants the pipeline's backbone. With --recipe mean the
    pipeline becomes the mean of three trainings on the examples, and no text is read.

    \b
    Example:
      python -m spacy entlm adapt model-last texts.txt adapted --examples train.spacy
    """
    chosen = Engine(engine, workers, gpus, address)
    if recipe not in RECIPES:
        raise DataError(f"--recipe is one of {', '.join(RECIPES)}, not {recipe!r}")
    rate = _read_rate(learn_rate)
    if recipe == EXAMPLES:
        if pipeline.resolve() != out.resolve():
            raise DataError(f"with --recipe {recipe} OUT is PIPELINE")
        echo(f"{pipeline} stays what its examples made of it (--recipe {FULL}: text)")
        return
    check_output_folder(out, source=pipeline, overwrite=overwrite)
    if not (pipeline / "config.cfg").is_file():
        raise DataError("is no trained pipeline: it has no config.cfg", path=pipeline)
    setup_gpu(gpu_id, silent=True)
    nlp = spacy.load(pipeline)
    texts = _read_texts(text, listed, nlp) if recipe == FULL else []
    gold = [doc for doc in read_docbin(examples, nlp) if len(doc)]
    if not gold:
        raise DataError("holds no examples", path=examples)

    pairs = [Example(unannotated(doc), doc) for doc in gold]
    if recipe == FULL:
        from ..scale.labelling import read_with
        from ..training.adaptation import adapt_trained

        result = adapt_trained(
            nlp,
            pairs,
            texts,
            max_texts=max_texts,
            learn_rate=rate,
            seed=seed,
            read=partial(read_with, chosen) if engine == RAY else None,
        )
        echo(*result.lines())
    else:
        from ..training.several import average_trained

        average_trained(nlp, pairs, trainings=TRAININGS, learn_rate=rate, seed=seed)
        echo(f"The mean of {TRAININGS} trainings on {len(pairs)} examples")
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


def _read_texts(text: Path, listed: Optional[Path], nlp: Any) -> List[Union[str, Doc]]:
    if not text.is_dir():
        check_text_files([text])
    if listed is not None and read_bytes(listed):  # empty without a list
        return [doc for doc in read_docbin(listed, nlp) if len(doc)]
    if text.is_dir():
        found = find_part(text, "unlabeled", TEXT_EXTENSIONS)
        if found is None:
            raise DataError(f"has no unlabeled.*: {FULL} wants plain text", path=text)
        text = found
    if not (texts := list(read_texts([text]))):
        raise DataError("holds no text", path=text)
    return [*texts]
