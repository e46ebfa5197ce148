"""The component `bert_tagger`: a new linear layer on the encoder of a masked LM.

What the paper calls BERT-tagger. Windows, batches, training and files are those of
EntLM; the features are the encoder's, not those of the masked LM's head.
"""

from pathlib import Path
from typing import Any, Callable, Iterable, List, Optional, Sequence, Tuple

import numpy
import srsly
import torch
from spacy.errors import Errors
from spacy.language import Language
from spacy.training import Example, validate_get_examples

from ...backbones.errors import BackboneError
from ...backbones.masked_lm import MaskedLM
from ...backbones.recommended import reads_names
from ...backbones.suitable import learn_rate_for_width
from ...files.errors import DataError
from ...files.json_lines import read_json
from ...label_words.rows import Rows
from ...model.files import load_rows, save_rows
from ...model.network import LabelNetwork
from ...model.objective import label_cross_entropy
from ...model.types import PieceScores
from ..base import MaskedLMNER
from ..calibration import UNCHANGED
from ..examples import entity_labels, word_targets

TAGS_FILE = "tags.json"
ROWS_FILE = "tag_rows.safetensors"
# Settings of backbones for dropout before a linear layer and for initial values, as
# transformers' models for token classification take them.
DROPOUT_SETTINGS = ("classifier_dropout", "hidden_dropout_prob", "dropout")
RANGE_SETTING, DEFAULT_RANGE = "initializer_range", 0.02


class TaggerNetwork(LabelNetwork):
    """The encoder of a masked LM with one row for each tag and one for no entity, which
    is what a tag has to outscore. All rows are new."""

    def __init__(self, masked_lm: MaskedLM):
        """masked_lm (MaskedLM): Its head stays as it is, and is not used.
        RAISES (BackboneError): If it has no encoder of its own."""
        super().__init__(masked_lm)
        config = masked_lm.body.config
        if masked_lm.body.base_model is masked_lm.body:
            raise BackboneError(
                f"{type(masked_lm.body).__name__}: the encoder cannot be told from the "
                f"head. Use another masked LM, for instance one of the BERT, RoBERTa, "
                f"DistilBERT, XLM-R or ModernBERT family"
            )
        rates = (getattr(config, name, None) for name in DROPOUT_SETTINGS)
        self.dropout = next((rate for rate in rates if rate is not None), 0.0)
        self.outside = torch.nn.Linear(config.hidden_size, 1)
        self.outside.weight.data, self.outside.bias.data = self.new_row()

    @classmethod
    def of_backbone(cls, name: str, **settings: Any) -> "TaggerNetwork":
        """A backbone without tags. settings: As of `load_masked_lm`."""
        network: TaggerNetwork = super().of_backbone(name, **settings)
        if reads_names(name):  # what it recommends is for rows that begin by a name
            network.learn_rate = learn_rate_for_width(network.width)
        return network

    def new_row(self) -> Tuple[torch.Tensor, torch.Tensor]:
        """Random weight (1, width) and zero bias (1)."""
        config = self.masked_lm.body.config
        weight = self.outside.weight
        spread = getattr(config, RANGE_SETTING, None) or DEFAULT_RANGE
        return torch.randn_like(weight) * spread, weight.new_zeros(1)

    def add_labels(self, tags: Iterable[str]) -> None:
        """Add tags with new rows; the others stay as they are."""
        for tag in tags:
            weight, bias = self.new_row()
            self.add_row(tag, weight[0], bias)

    def read(
        self, ids: torch.Tensor, mask: torch.Tensor, positions: torch.Tensor
    ) -> torch.Tensor:
        """The encoder's features."""
        features = self.masked_lm.hidden(ids, mask).flatten(0, 1)[positions].float()
        return torch.nn.functional.dropout(features, self.dropout, self.training)

    def no_features(self) -> torch.Tensor:
        """Features of no piece."""
        return self.outside.weight.detach()[:0]

    def rival_scores(
        self, features: torch.Tensor, piece_ids: torch.Tensor
    ) -> torch.Tensor:
        """The score of "no entity"."""
        return self.outside(features)[:, 0]

    def rivals(
        self, piece_ids: numpy.ndarray, rival_ids: Optional[numpy.ndarray] = None
    ) -> Tuple[Rows, torch.Tensor, Optional[numpy.ndarray]]:
        """The row of "no entity", which is that of each piece outside."""
        own = torch.zeros(len(piece_ids), dtype=torch.int64, device=self.device)
        return Rows(self.outside.weight, self.outside.bias), own, None

    def save_rows(self, folder: Path) -> None:
        """Write the tags and their rows, after that of "no entity"."""
        srsly.write_json(folder / TAGS_FILE, self.labels)
        weight = torch.cat([self.outside.weight, *(row[None] for row in self.rows)])
        bias = torch.cat([self.outside.bias, *self.biases])
        save_rows(folder / ROWS_FILE, Rows(weight, bias))

    def load_rows(self, folder: Path) -> None:
        """Read what `save_rows` wrote."""
        tags = _read_tags(folder / TAGS_FILE)
        width = self.outside.weight.shape[1]
        weight, bias = load_rows(folder / ROWS_FILE, 1 + len(tags), width)
        self.outside.weight.data, self.outside.bias.data = weight[:1], bias[:1]
        for tag, row, its_bias in zip(tags, weight[1:], bias[1:]):
            self.add_row(tag, row, its_bias)


def _read_tags(path: Path) -> List[str]:
    try:
        tags = read_json(path)
    except DataError as err:
        raise BackboneError(f"Cannot read the tags {err}") from err
    are_text = isinstance(tags, list) and all(isinstance(tag, str) for tag in tags)
    if not are_text or len({*tags}) < len(tags):
        raise BackboneError(f"Cannot read the tags {path}: it is no list of them")
    return tags


class BertTagger(MaskedLMNER):
    """Finds entities with a new linear layer on the encoder of a masked LM."""

    @property
    def label_data(self) -> List[str]:
        """The classes, as `initialize` takes them."""
        return list(self.labels)

    def add_label(self, label: str) -> int:
        """Add a class. On a trained pipeline its rows are new, the others stay.
        RETURNS (int): 1, or 0 if the class is there already."""
        if not isinstance(label, str):
            raise ValueError(Errors.E187)
        if label in self.labels:
            return 0
        if self.is_initialized:
            self.network.add_labels([label])
            self.new_labels.add(label)
        else:
            self._added[label] = []
        self._note_labels()
        return 1

    def get_loss(
        self, examples: Iterable[Example], scores: PieceScores
    ) -> Tuple[float, PieceScores]:
        """Loss and gradient, of the first piece of each word, as the paper's authors
        train their tagger; nothing is changed.

        scores (PieceScores): From `model.begin_update`.
        RETURNS: Mean loss per first piece, and the gradient of its sum.
        RAISES (ValueError): If an entity's label is none of the classes.
        """
        pieces = scores.pieces
        _, first = numpy.unique(pieces.first_words, return_index=True)
        targets = word_targets(examples, self.labels, self.name)
        return label_cross_entropy(scores, targets, only=first)

    def initialize(
        self,
        get_examples: Callable[[], Iterable[Example]],
        *,
        nlp: Optional[Language] = None,
        labels: Optional[Sequence[str]] = None,
    ) -> None:
        """Load the backbone and give each class a new row.

        labels (Optional[Sequence[str]]): The classes; None: those added before and
            those of the examples.
        RAISES (ValueError): If there is no class.
            (BackboneError): If the backbone cannot be loaded.
        """
        validate_get_examples(get_examples, f"{type(self).__name__}.initialize")
        added = [] if self.is_initialized else self.labels
        found = labels or [*added, *entity_labels(get_examples())]
        wanted = list(dict.fromkeys(found))
        if not wanted:
            raise ValueError(
                f"[{self.name}] There is no class to learn: no example has an entity, "
                f"and no labels are given."
            )
        self.calibration = UNCHANGED
        with self._initializing(nlp):
            self.network.add_labels(wanted)
            self._note_labels()  # examples may have another vocabulary
            self._learn(get_examples, nlp)

    def _learn(
        self, get_examples: Callable[[], Iterable[Example]], nlp: Optional[Language]
    ) -> None:
        """What is learned from examples before the training."""
        self.decoder.initialize(get_examples, self.labels)
