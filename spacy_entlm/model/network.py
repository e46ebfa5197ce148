"""Masked LM and label head as one PyTorch module, with its files."""

from pathlib import Path
from typing import Any, Callable, Dict, Optional, cast

import torch

from ..backbones.loading import load_masked_lm
from ..backbones.masked_lm import MaskedLM
from ..backbones.recommended import LABEL_ROWS_FILE, LABEL_WORDS_FILE, Recommended
from ..files.errors import DataError
from ..files.json_lines import dump_json, read_json
from ..files.tensors import load_tensors, save_tensors
from ..label_words.rows import Rows, initial_row
from ..label_words.words import (
    LabelWords,
    check_label_words,
    label_word_pieces,
    read_label_words,
)

# In a file of rows.
ROWS_KEY, BIASES_KEY = "rows", "biases"
# Whether the vocabulary of a component learns.
TRAINING_FILE, LEARNS_KEY = "training.json", "train_vocabulary"


class LabelHead(torch.nn.Module):
    """One row and one bias a class, each a parameter of its own, so that an optimizer
    that has seen the others takes a new class in."""

    def __init__(self) -> None:
        super().__init__()
        self.rows = torch.nn.ParameterList()
        self.biases = torch.nn.ParameterList()

    def __len__(self) -> int:
        return len(self.rows)

    def add(self, row: torch.Tensor, bias: torch.Tensor) -> None:
        """Add a class. row: (width); bias: (1)."""
        self.rows.append(torch.nn.Parameter(row))
        self.biases.append(torch.nn.Parameter(bias))

    def extend(self, rows: Rows) -> None:
        """Add classes with rows in new memory."""
        for row, bias in zip(rows.weight, cast(torch.Tensor, rows.bias)):
            self.add(row.clone(), bias.reshape(1).clone())

    def stacked(self, like: torch.Tensor) -> Rows:
        """The rows of all classes, without gradients.
        like: (n, width), gives the width and the device where there is no class."""
        if not len(self):
            return Rows(like.new_zeros(0, like.shape[1]), like.new_zeros(0))
        weight = torch.stack([row.detach() for row in self.rows])
        return Rows(weight, torch.cat([bias.detach() for bias in self.biases]))

    def add_gradients(self, d_rows: Rows) -> None:
        """Add to the gradients of the classes. d_rows: of all label rows."""
        gradients = zip(d_rows.weight, cast(torch.Tensor, d_rows.bias))
        for row, bias, (d_row, d_bias) in zip(self.rows, self.biases, gradients):
            add_gradient(row, d_row)
            add_gradient(bias, d_bias.reshape(1))


def add_gradient(parameter: torch.Tensor, gradient: torch.Tensor) -> None:
    """Add to a parameter's gradient, which may not be there yet: then this tensor
    becomes it."""
    if parameter.grad is None:
        parameter.grad = gradient
    else:
        parameter.grad.add_(gradient)


class LabelNetwork(torch.nn.Module):
    """A masked LM with one row for each label. A subclass has `read`, which `forward`
    calls for one piece or more, the rows that stand for no label as `vocabulary`, and
    `save_rows` and `load_rows`, for the files beside the masked LM's."""

    vocabulary: Any
    read: Callable[..., torch.Tensor]
    save_rows: Callable[[Path], None]
    load_rows: Callable[[Path], None]

    def __init__(self, masked_lm: MaskedLM):
        super().__init__()
        self.masked_lm = masked_lm
        self.head = LabelHead()

    @property
    def tokenizer(self) -> Any:
        """The fast tokenizer."""
        return self.masked_lm.tokenizer

    def forward(
        self, ids: torch.Tensor, mask: torch.Tensor, positions: torch.Tensor
    ) -> torch.Tensor:
        """Features of chosen pieces.

        ids, mask: int64 (n_windows, longest).
        positions: int64 (n), rows of the flattened windows.
        RETURNS: float32 (n, width).
        """
        if not len(positions):
            return self.no_features()
        return self.read(ids, mask, positions)

    @property
    def label_rows(self) -> Rows:
        """The rows of all labels, without gradients."""
        return self.head.stacked(self.vocabulary.weight)

    def no_features(self) -> torch.Tensor:
        """Features of no piece: not every backbone takes an empty batch."""
        return self.vocabulary.weight[:0].float()

    def save(self, folder: Path) -> None:
        """Write the masked LM's files, and those of the rows."""
        self.masked_lm.save(folder)
        self.save_rows(folder)

    @classmethod
    def load(cls, folder: Path, **configs: Optional[Dict[str, Any]]) -> Any:
        """Read what `save` wrote.

        transformer_config, tokenizer_config (Optional[Dict[str, Any]]): Replace
            settings of the saved configurations.
        RAISES (BackboneError, LabelWordError): If a file is missing or broken, or
            they do not fit each other.
        """
        network = cls(load_masked_lm(folder, strict=True, **configs))
        network.load_rows(folder)
        return network


class EntLMNetwork(LabelNetwork):
    """A masked LM whose output matrix has one more row for each class.

    The label rows live beside the output matrix only: the tokenizer and the input
    embeddings never learn of them.
    """

    def __init__(self, masked_lm: MaskedLM):
        super().__init__(masked_lm)
        self.label_words: LabelWords = {}

    def read(
        self, ids: torch.Tensor, mask: torch.Tensor, positions: torch.Tensor
    ) -> torch.Tensor:
        """What the masked LM's head multiplies with the output matrix."""
        return self.masked_lm(ids, mask, positions=positions).float()

    def train_vocabulary(self, learns: bool) -> None:
        """Whether word embeddings and output matrix learn, too."""
        embeddings = self.masked_lm.body.get_input_embeddings()
        for module in (self.masked_lm.decoder, embeddings):
            module.requires_grad_(learns)

    @property
    def vocabulary(self) -> Rows:
        """The output matrix."""
        return Rows(self.masked_lm.decoder.weight, self.masked_lm.decoder.bias)

    def add_labels(
        self, label_words: LabelWords, rows: Optional[Dict[str, Rows]] = None
    ) -> None:
        """Add classes with their rows at initial values.

        rows (Optional[Dict[str, Rows]]): One row each, in place of what the words of a
            class say; without a bias, that is theirs.
        RAISES (LabelWordError): If a class has no usable word; then none is added.
        """
        new = check_label_words(label_words, tags=False)
        pieces = label_word_pieces(new, self.masked_lm.tokenizer)
        for label, words in pieces.items():
            row, bias = initial_row(self.vocabulary, words)
            given = (rows or {}).get(label)
            if given is not None:
                row = given.weight[0].to(row)
                bias = bias if given.bias is None else given.bias.to(bias)
            self.head.add(row, bias)
            self.label_words[label] = new[label]

    def save_rows(self, folder: Path) -> None:
        """Write the label words, the label rows, and what learns."""
        (folder / LABEL_WORDS_FILE).write_bytes(dump_json(self.label_words))
        learns = {LEARNS_KEY: self.vocabulary.weight.requires_grad}
        (folder / TRAINING_FILE).write_bytes(dump_json(learns))
        save_rows(folder / LABEL_ROWS_FILE, self.label_rows)

    def load_rows(self, folder: Path) -> None:
        """Read what `save_rows` wrote."""
        self.label_words = read_label_words(folder / LABEL_WORDS_FILE, tags=False)
        n_labels, width = len(self.label_words), self.masked_lm.width
        self.head.extend(load_rows(folder / LABEL_ROWS_FILE, n_labels, width))
        if (folder / TRAINING_FILE).exists():  # earlier versions had none
            self.train_vocabulary(_read_learns(folder / TRAINING_FILE))


def _read_learns(path: Path) -> bool:
    found = read_json(path)
    learns = found.get(LEARNS_KEY) if isinstance(found, dict) else None
    if not isinstance(learns, bool):
        raise DataError(f'holds no {{"{LEARNS_KEY}": true}}', path=path)
    return learns


def save_rows(path: Path, rows: Rows) -> None:
    """Write rows and their biases, in the order of their labels."""
    save_tensors(
        path, {ROWS_KEY: rows.weight, BIASES_KEY: cast(torch.Tensor, rows.bias)}
    )


def load_rows(path: Path, n_rows: int, width: int) -> Rows:
    """Read what `save_rows` wrote.
    RAISES (DataError): If the file is missing or broken, or there are other rows."""
    shapes = {ROWS_KEY: (n_rows, width), BIASES_KEY: (n_rows,)}
    tensors = load_tensors(path, shapes)
    if not all(tensor.is_floating_point() for tensor in tensors.values()):
        raise DataError("does not fit the model: its rows are whole numbers", path=path)
    return Rows(tensors[ROWS_KEY], tensors[BIASES_KEY])


def read_learned_rows(learned: Recommended, width: int) -> Optional[Rows]:
    """Rows of the classes that a backbone brings words for, in their order.
    RAISES (DataError): If their file is broken, or has others."""
    if learned.label_rows is None:
        return None
    return load_rows(learned.label_rows, len(learned.label_words), width)
