"""Classes that are named on the command line, and a pipeline that begins with them."""

from pathlib import Path
from typing import Any, List, Optional

from spacy.language import Language

from ..backbones.names import ENTLM_BASE
from ..backbones.recommended import NAME_MAP_FILE, reads_names
from ..files.errors import DataError, located
from ..files.json_lines import read_json
from ..label_words.words import LabelWords
from ..pipeline.classes import label_texts
from ._util import blank_pipeline

JSON = ".json"
NAME = "entlm_ner"
EXAMPLE = '["person", "city"] or {"VEH": "vehicle", "WoA": ["song", "film"]}'
LABELS_HELP = (
    "Names of classes with commas between them, or a .json file: a list of names, or "
    "an object of each name with a word, a description, or several"
)


def read_classes(value: str) -> LabelWords:
    """The classes of an option or argument: names with commas between them, or a JSON
    file of a list or an object.
    RETURNS (Dict[str, List[str]]): With the texts that are given for each.
    RAISES (DataError): If these are no classes."""
    if not value.strip().lower().endswith(JSON):
        names = [name.strip() for name in value.split(",")]
        if not any(names):
            raise DataError(f"no name of a class in {value!r}: person,city,disease")
        return label_texts([name for name in names if name])
    path = Path(value.strip())
    classes = read_json(path)
    form = f"holds no classes: write {EXAMPLE}"
    if not isinstance(classes, (list, dict)) or not classes:
        raise DataError(form, path=path)
    if isinstance(classes, dict):
        values = classes.values()
        if not all(x is None or isinstance(x, (str, list)) for x in values):
            raise DataError(form, path=path)
    elif not all(isinstance(label, str) for label in classes):
        raise DataError(form, path=path)
    with located(path):
        return label_texts(classes)


def pipeline_of_names(classes: LabelWords, lang: str, backbone: str) -> Language:
    """A pipeline that finds classes by their names, ready to predict.

    classes (Dict[str, List[str]]): From `read_classes`. lang (str): Of the tokenizer.
    backbone (str): As the component's setting `name`.
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
    pipe: Any = nlp.add_pipe(NAME, config=config)
    pipe.begin()
    return nlp


def lines_of_reading(read: LabelWords, most: Optional[int] = None) -> List[str]:
    """How the names of classes were read, in lines for people.
    read (Dict[str, List[str]]): The texts by which each class began."""
    shown = list(read.items())[:most]
    width = max((len(label) for label, _ in shown), default=0)
    return [f"  {label:<{width}}  {' | '.join(texts)}" for label, texts in shown]
