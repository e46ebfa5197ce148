"""Files of a model beside those of its masked LM."""

from pathlib import Path
from typing import Any, NamedTuple, Optional, Tuple

import torch

from ..files.errors import DataError
from ..files.json_lines import dump_json, read_json
from ..files.tensors import load_tensors, save_tensors
from ..label_words.rows import Rows

TRAINING_FILE = "training.json"
# In a file of rows.
ROWS_KEY, BIASES_KEY = "rows", "biases"


class TrainingFacts(NamedTuple):
    """What a training that goes on has to know.

    train_vocabulary (Optional[bool]): Whether the vocabulary learns; None: not
        known. n_updates (int): How often the weights were updated.
    learn_rate (Optional[float]): The initial one that suits the backbone; None: not
        known.

    The defaults are those of a model that an earlier version saved, which was trained.
    """

    train_vocabulary: Optional[bool] = None
    n_updates: int = 1
    learn_rate: Optional[float] = None


def save_facts(folder: Path, facts: TrainingFacts) -> None:
    """Write the file of a model's folder."""
    (folder / TRAINING_FILE).write_bytes(dump_json(facts._asdict()))


def read_facts(folder: Path) -> TrainingFacts:
    """Read the file of a model's folder; earlier versions wrote less, or none.
    RAISES (DataError): If it holds something else."""
    path = folder / TRAINING_FILE
    if not path.exists():
        return TrainingFacts()
    found: Any = read_json(path)
    known = {"train_vocabulary": None, **found} if isinstance(found, dict) else {}
    if set(known) <= set(TrainingFacts._fields):
        facts = TrainingFacts(**known)
        # type() and not isinstance(): true is no number.
        if (
            type(facts.train_vocabulary) is bool
            and type(facts.n_updates) is int
            and facts.n_updates >= 0
            and (facts.learn_rate is None or type(facts.learn_rate) in (int, float))
            and (facts.learn_rate is None or 0 < facts.learn_rate <= 1)
        ):
            return facts
    raise DataError(
        'holds no facts of a training, such as {"train_vocabulary": true, '
        '"n_updates": 60, "learn_rate": 0.0001}',
        path=path,
    )


def save_rows(path: Path, rows: Rows) -> None:
    """Write rows and their biases, in the order of their labels."""
    bias = rows.weight.new_zeros(0) if rows.bias is None else rows.bias
    save_tensors(path, {ROWS_KEY: rows.weight, BIASES_KEY: bias})


def load_rows(path: Path, n_rows: int, width: int) -> Tuple[torch.Tensor, torch.Tensor]:
    """Read what `save_rows` wrote: rows, (n_rows, width), and biases, (n_rows).
    RAISES (DataError): If the file is missing or broken, or there are other rows."""
    shapes = {ROWS_KEY: (n_rows, width), BIASES_KEY: (n_rows,)}
    tensors = load_tensors(path, shapes)
    if not all(tensor.is_floating_point() for tensor in tensors.values()):
        raise DataError("does not fit the model: its rows are whole numbers", path=path)
    return tensors[ROWS_KEY], tensors[BIASES_KEY]
