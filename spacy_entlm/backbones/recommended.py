"""What a backbone's folder recommends for few-shot training with it."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Optional

from ..files.errors import DataError
from ..files.json_lines import read_json
from ..label_words.words import LabelWordError, LabelWords, check_label_words
from .names import resolve_backbone

# `pretrain` writes it beside the model.
PRETRAIN_FILE = "pretrain.json"
LEARN_RATE_KEY, LABEL_WORDS_KEY = "learn_rate", "label_words"
# A saved component's folder is a backbone too, and holds its label words.
LABEL_WORDS_FILE = "label_words.json"
LABEL_ROWS_FILE = "label_rows.safetensors"


@dataclass(frozen=True)
class Recommended:
    """learn_rate (Optional[float]): Initial learning rate. label_words (Dict[str,
    List[str]]): The words that the model learned to say at names of a class.
    label_rows (Optional[Path]): File of the rows that these classes then had, in the
    order of their words."""

    learn_rate: Optional[float] = None
    label_words: LabelWords = field(default_factory=dict)
    label_rows: Optional[Path] = None


def read_recommended(backbone: str) -> Recommended:
    """Read what a backbone recommends: its pretrain.json, or the label words of the
    component that was trained with it.

    backbone (str): As the component's setting `name`.
    RETURNS (Recommended): Empty if it is no folder, or says nothing.
    RAISES (ValueError): If what it says is broken.
    """
    source = path = Path(resolve_backbone(backbone)) / PRETRAIN_FILE
    facts = _read_json(path)
    rate, words = facts.get(LEARN_RATE_KEY), facts.get(LABEL_WORDS_KEY)
    if words is None:
        source = path.with_name(LABEL_WORDS_FILE)
        words = _read_json(source)
    try:
        words = check_label_words(words, tags=False)
    except LabelWordError as err:
        raise ValueError(f"{source}: {err}") from err
    rows = path.with_name(LABEL_ROWS_FILE)
    label_rows = rows if words and rows.is_file() else None
    # type() and not isinstance(): true is no rate.
    if rate is not None and not (type(rate) in (int, float) and 0 < rate <= 1):
        problem = f"cannot be read: {LEARN_RATE_KEY}: {rate!r:.100} is not from 0 to 1"
        raise DataError(problem, path=path)
    return Recommended(None if rate is None else float(rate), words, label_rows)


def knows_classes(backbone: str) -> bool:
    """Whether a backbone has rows of classes that it learned to recognise. It then has
    something to lose in a training. backbone (str): As for `read_recommended`."""
    return Path(resolve_backbone(backbone), LABEL_ROWS_FILE).is_file()


def _read_json(path: Path) -> Any:
    if not path.is_file():
        return {}
    data = read_json(path)
    if not isinstance(data, dict):
        raise DataError("is no JSON object", path=path)
    return data
