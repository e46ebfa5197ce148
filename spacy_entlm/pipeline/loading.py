"""Pipelines: loaded with other settings than they were saved with, empty, or begun by
the names of classes."""

from pathlib import Path
from typing import Any, Optional

import spacy
from spacy.language import Language

from ..backbones.names import ENTLM_BASE
from ..backbones.recommended import NAME_MAP_FILE, reads_names
from ..files.errors import DataError
from ..label_words.words import LabelWords
from .base import MaskedLMNER

ENTLM_NER = "entlm_ner"
# In the folder of a pipeline, and the one that a training leaves in its output.
CONFIG_FILE, TRAINED = "config.cfg", "model-last"


def check_pipeline(folder: Path) -> None:
    """RAISES (DataError): If a folder holds no pipeline; one in it is named."""
    if not (folder / CONFIG_FILE).is_file():
        within = folder / TRAINED
        hint = f", but {within} is one" if (within / CONFIG_FILE).is_file() else ""
        problem = f"is no trained pipeline: it has no {CONFIG_FILE}{hint}"
        raise DataError(problem, path=folder)


def load_pipeline(name: str, threshold: Optional[float] = None) -> Language:
    """Load a pipeline.

    name (str): Of its folder or package. threshold (Optional[float]): Entities of less
        confidence are dropped; None: as it was saved.
    RAISES (ValueError): If a threshold is given, and none of its components has one, or
        a folder of the name is no pipeline.
    """
    if Path(name).is_dir():
        check_pipeline(Path(name))
    nlp = spacy.load(name)
    if threshold is not None and not set_threshold(nlp, threshold):
        raise ValueError(f"{name} has no component with a threshold")
    return nlp


def set_threshold(nlp: Language, threshold: float) -> bool:
    """Set the least confidence of entities in all components that have one.
    RETURNS (bool): Whether there are any."""
    pipes = [pipe for _, pipe in nlp.pipeline if isinstance(pipe, MaskedLMNER)]
    for pipe in pipes:
        pipe.threshold = threshold
    return bool(pipes)


def blank_pipeline(lang: str) -> Language:
    """Make an empty pipeline with the tokenizer of a language, eg "en".
    RAISES (DataError): If spaCy lacks the language, or it needs another package."""
    try:
        return spacy.blank(lang)
    except ImportError as error:
        raise DataError(f"cannot make a pipeline for --lang {lang}: {error}") from error


def pipeline_of_names(
    classes: LabelWords, lang: str, backbone: str, threshold: Optional[float] = None
) -> Language:
    """A pipeline that finds classes by their names, ready to predict.

    classes (Dict[str, List[str]]): With the texts that are given for each.
    lang (str): Of the tokenizer. backbone (str): As the component's setting `name`.
    threshold (Optional[float]): As of `load_pipeline`.
    RAISES (ValueError): If the backbone cannot be loaded, or reads no names.
    """
    nlp = blank_pipeline(lang)
    if not reads_names(backbone):
        raise DataError(
            f"--backbone {backbone} is no folder of a masked LM that reads names of "
            f"classes (it has no {NAME_MAP_FILE}): leave the option out for "
            f"{ENTLM_BASE}, or make such a folder with `teach`"
        )
    config = {"labels": classes, "model": {"name": backbone}}
    pipe: Any = nlp.add_pipe(ENTLM_NER, config=config)
    pipe.begin()
    if threshold is not None:
        set_threshold(nlp, threshold)
    return nlp
