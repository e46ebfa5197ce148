"""Classes that are named on the command line."""

from pathlib import Path
from typing import List, Optional

from ..corpus.tags import check_label
from ..files.errors import DataError, located
from ..files.json_lines import read_json
from ..files.text import read_lines
from ..label_words.words import LabelWords
from ..pipeline.classes import label_texts

JSON, TEXT = ".json", ".txt"
_NAMES = "person,city,disease"
EXAMPLE = '["person", "city"] or {"VEH": "vehicle", "WoA": ["song", "film"]}'
LABELS_HELP = (
    "Names of classes with commas between them, or a .txt file with a name on each "
    "line, or a .json file: a list of names, or an object of each name with a word, a "
    "description, or several"
)


def read_classes(value: str) -> LabelWords:
    """The classes of an option or argument: names with commas between them, or a file:
    JSON of a list or an object, or text with a name on each line.
    RETURNS (Dict[str, List[str]]): With the texts that are given for each.
    RAISES (DataError): If these are no classes."""
    path = Path(value.strip())
    if path.suffix.lower() == JSON:
        return _read_json(path)
    if path.suffix.lower() == TEXT:
        listed = ",".join(line for _, line in read_lines(path))
        return _named(listed, f"{path}: no name of a class in it: write one a line")
    if _is_file(path):
        problem = f"is no list of names: write a {TEXT} file with a name on each line"
        raise DataError(f"{problem}, or a {JSON} file: {EXAMPLE}", path=path)
    return _named(value, f"no name of a class in {value!r}: {_NAMES}")


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:  # longer than the name of a file may be
        return False


def names_in(listed: Optional[str]) -> List[str]:
    """Names that stand between commas."""
    return [name.strip() for name in (listed or "").split(",") if name.strip()]


def _named(listed: str, problem: str) -> LabelWords:
    names = names_in(listed)
    if not names:
        raise DataError(problem)
    for name in names:
        check_label(name)
        if "=" in name or ";" in name:
            raise DataError(
                f"{name!r:.60} as the name of a class: names have commas between them "
                f"({_NAMES}), and what they mean stands in a {JSON} file: {EXAMPLE}"
            )
    begun, inner = ({x[2:] for x in names if x.startswith(p)} for p in ("B-", "I-"))
    if both := begun & inner:
        example = min(both)
        raise DataError(
            f"B-{example} and I-{example} are tags of one class: name it {example}"
        )
    return label_texts(names)


def _read_json(path: Path) -> LabelWords:
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


def lines_of_reading(read: LabelWords) -> List[str]:
    """How the names of classes were read, in lines for people.
    read (Dict[str, List[str]]): The texts by which each class began."""
    width = max(map(len, read), default=0)
    return [f"  {label:<{width}}  {' | '.join(texts)}" for label, texts in read.items()]
