"""The component `bert_tagger`: a new linear layer on the encoder of a masked LM.

What the paper calls BERT-tagger. Windows, batches, training and files are those of
EntLM; the features are the encoder's, not those of the masked LM's head.
"""

from pathlib import Path
from typing import Any, Callable, Iterable, List, Optional, Sequence, Tuple, cast

import numpy
import srsly
import torch
from spacy.language import Language
from spacy.training import Example, validate_get_examples

from ...backbones.errors import BackboneError
from ...backbones.masked_lm import MaskedLM
from ...decoding.types import LabelScores
from ...files.errors import DataError
from ...files.json_lines import read_json
from ...label_words.rows import Rows
from ...model.label_scores import WordScores
from ...model.network import LabelNetwork, load_rows, save_rows
from ...model.pytorch import MaskedLMModel, as_label_scores
from ...model.types import NO_TARGET, PieceFeatures, PieceGradient
from ..base import MaskedLMNER
from ..calibration import UNCHANGED
from ..examples import entity_labels

TAGS_FILE = "tags.json"
ROWS_FILE = "tag_rows.safetensors"
# Settings of backbones for dropout before a linear layer and for initial values, as
# transformers' models for token classification take them.
DROPOUT_SETTINGS = ("classifier_dropout", "hidden_dropout_prob", "dropout")
RANGE_SETTING, DEFAULT_RANGE = "initializer_range", 0.02


class TaggerNetwork(LabelNetwork):
    """The encoder of a masked LM with one row for each tag and one for no entity.

    All rows are new. Each tag's is a parameter of its own, so that tags can be added.
    """

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
        self.tags: List[str] = []

    def new_row(self) -> Tuple[torch.Tensor, torch.Tensor]:
        """Random weight (1, width) and zero bias (1)."""
        config = self.masked_lm.body.config
        weight = self.outside.weight
        spread = getattr(config, RANGE_SETTING, None) or DEFAULT_RANGE
        return torch.randn_like(weight) * spread, weight.new_zeros(1)

    def read(
        self, ids: torch.Tensor, mask: torch.Tensor, positions: torch.Tensor
    ) -> torch.Tensor:
        """The encoder's features."""
        encoder = self.masked_lm.body.base_model
        features = encoder(input_ids=ids, attention_mask=mask).last_hidden_state
        features = features.flatten(0, 1)[positions].float()
        return torch.nn.functional.dropout(features, self.dropout, self.training)

    @property
    def vocabulary(self) -> Rows:
        """The row of "no entity", in the place of the vocabulary's."""
        return Rows(self.outside.weight, self.outside.bias)

    def tag_scores(self, features: torch.Tensor) -> torch.Tensor:
        """Scores that a softmax turns into probabilities.

        features: float32 (n, width).
        RETURNS: float32 (n, 1 + n_tags), of no entity and of the tags.
        """
        parts = [rows.scores(features) for rows in (self.vocabulary, self.label_rows)]
        return torch.cat(parts, dim=1)

    def save_rows(self, folder: Path) -> None:
        """Write the tags and their rows, after that of "no entity"."""
        srsly.write_json(folder / TAGS_FILE, self.tags)
        weight = torch.cat([self.outside.weight, self.label_rows.weight])
        bias = torch.cat([self.outside.bias, *self.head.biases])
        save_rows(folder / ROWS_FILE, Rows(weight, bias))

    def load_rows(self, folder: Path) -> None:
        """Read what `save_rows` wrote."""
        self.tags = _read_tags(folder / TAGS_FILE)
        width = self.outside.weight.shape[1]
        rows = load_rows(folder / ROWS_FILE, 1 + len(self.tags), width)
        weight, bias = rows.weight, cast(torch.Tensor, rows.bias)
        self.outside.weight.data, self.outside.bias.data = weight[:1], bias[:1]
        self.head.extend(Rows(weight[1:], bias[1:]))


def _read_tags(path: Path) -> List[str]:
    try:
        tags = read_json(path)
    except DataError as err:
        raise BackboneError(f"Cannot read the tags {err}") from err
    are_text = isinstance(tags, list) and all(isinstance(tag, str) for tag in tags)
    if not are_text or len({*tags}) < len(tags):
        raise BackboneError(f"Cannot read the tags {path}: it is no list of them")
    return tags


class TaggerModel(MaskedLMModel):
    """Rows of tags on the encoder of a masked LM."""

    network_class = TaggerNetwork

    @property
    def labels(self) -> List[str]:
        """The tags, in the order of their rows."""
        return list(self.network.tags)

    def add_labels(self, tags: Iterable[str]) -> None:
        """Add tags with new rows; the others stay as they are."""
        for tag in tags:
            weight, bias = self.network.new_row()
            self.network.head.add(weight[0], bias)
            self.network.tags.append(tag)

    @torch.no_grad()
    def score(self, pieces: PieceFeatures, **settings: Any) -> LabelScores:
        """Scores of the words that `model.predict` read, with p of all tags; settings
        change nothing."""
        network, words = self.network, self.to_device(pieces.first_words)
        # A word that no piece stands for is no entity.
        shape = (sum(pieces.lengths), 1 + len(network.tags))
        probs = torch.zeros(shape, device=self.device)
        probs[:, 0] = 1
        scores = network.tag_scores(pieces.features)
        probs[words] = torch.softmax(scores, dim=1)
        top, best = probs.max(dim=1)
        found = WordScores(
            best - 1,
            torch.where(best > 0, top, 0.0),
            probs[:, 1:].contiguous(),
            probs[:, 0].contiguous(),
        )
        return as_label_scores(found, pieces.lengths)

    def loss(
        self, pieces: PieceFeatures, word_targets: numpy.ndarray
    ) -> Tuple[float, PieceGradient]:
        """Cross-entropy over "no entity" and the tags, on the first piece of each word,
        as the paper's authors train their tagger.

        word_targets: int64 (n_words), index of a tag, NO_ENTITY, or NO_TARGET where the
            annotation is missing.
        RETURNS: mean loss per first piece, and the gradient of its sum.
        """
        _, first = numpy.unique(pieces.first_words, return_index=True)
        targets = word_targets[pieces.first_words[first]]
        # A piece that reaches into a word with another target says nothing certain.
        clear = targets == word_targets[pieces.last_words[first]]
        clear &= targets != NO_TARGET
        # Row 0 is "no entity", and NO_ENTITY is -1.
        rows, tags = first[clear], targets[clear] + 1
        return self.cross_entropy(pieces, rows, tags, self.vocabulary)


class BertTagger(MaskedLMNER):
    """Finds entities with a new linear layer on the encoder of a masked LM."""

    @property
    def label_data(self) -> List[str]:
        """The classes, as `initialize` takes them."""
        return list(self.labels)

    def add_label(self, label: str) -> int:
        """Add a class. On a trained pipeline its rows are new, the others stay.
        RETURNS (int): 1, or 0 if the class is there already."""
        return self._add_label(label, [])

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
            self.label_model.add_labels(wanted)
            self._note_labels()  # examples may have another vocabulary
            self._learn(get_examples, nlp)

    def _learn(
        self, get_examples: Callable[[], Iterable[Example]], nlp: Optional[Language]
    ) -> None:
        """What is learned from examples before the training."""
        self.decoder.initialize(get_examples, self.labels)
