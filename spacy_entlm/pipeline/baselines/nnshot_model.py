"""`spacy-entlm.Tagger.v1` with `nearest`: the class of the nearest word of the support
set (Yang & Katiyar, 2020), by features of an encoder that was fine-tuned as a tagger.
"""

from pathlib import Path
from typing import List

import numpy
import torch
from spacy.tokens import Doc

from ...backbones.masked_lm import MaskedLM
from ...files.tensors import load_tensors, save_tensors
from ...model.types import NO_TARGET
from .tagger_model import TaggerModel, TaggerNetwork

SUPPORT_FILE = "support.safetensors"
FEATURES_KEY, TAGS_KEY = "features", "tags"
# Of a class without a word in the support set: no softmax gives it anything.
FARTHEST = -1e5


class NNShotNetwork(TaggerNetwork):
    """A tagger that predicts by the words of the support set.

    Buffer `support_features`: float32 (n_support, width), of length 1. On the host
    `support_tags`: int64 (n_support), 0 for no entity, else 1 + index of the tag,
    sorted. Both are empty until there is an index.
    """

    def __init__(self, masked_lm: MaskedLM):
        super().__init__(masked_lm)
        width = self.outside.weight.shape[1]
        self.register_buffer("support_features", torch.zeros(0, width))
        self.support_tags = numpy.zeros(0, dtype="int64")

    @property
    def has_index(self) -> bool:
        """Whether there are words to compare with."""
        return len(self.support_tags) > 0

    def set_index(self, features: torch.Tensor, tags: numpy.ndarray) -> None:
        """Take the words of the support set.

        features: float32 (n, width). tags: int64 (n), 0 for no entity, 1 + index.
        """
        order = numpy.argsort(tags, kind="stable")
        rows = torch.from_numpy(order).to(features.device)
        self.support_features = torch.nn.functional.normalize(features[rows])
        self.support_tags = tags[order]

    def drop_index(self) -> None:
        """Forget the words of the support set."""
        self.support_features = self.support_features[:0]
        self.support_tags = self.support_tags[:0]

    def tag_scores(self, features: torch.Tensor) -> torch.Tensor:
        """Negative squared Euclidean distance to the nearest word of each tag, both of
        length 1.

        features: float32 (n, width).
        RETURNS: float32 (n, 1 + n_tags), of no entity and of the tags.
        """
        scores = features.new_full((len(features), 1 + len(self.tags)), FARTHEST)
        if not self.has_index or not len(features):
            return scores
        products = torch.nn.functional.normalize(features) @ self.support_features.T
        tags, counts = numpy.unique(self.support_tags, return_counts=True)
        parts = products.split(counts.tolist(), dim=1)
        for tag, part in zip(tags.tolist(), parts):
            scores[:, tag] = 2 * part.amax(dim=1) - 2
        return scores

    def save_rows(self, folder: Path) -> None:
        """Write the tagger's rows and the index, if there is one."""
        super().save_rows(folder)
        if self.has_index:
            tensors = {
                FEATURES_KEY: self.support_features,
                TAGS_KEY: torch.from_numpy(self.support_tags),
            }
            save_tensors(folder / SUPPORT_FILE, tensors)

    def load_rows(self, folder: Path) -> None:
        """Read what `save_rows` wrote."""
        super().load_rows(folder)
        path = folder / SUPPORT_FILE
        if path.exists():  # a tagger's files have none
            width = self.outside.weight.shape[1]
            shapes = {FEATURES_KEY: (None, width), TAGS_KEY: (None,)}
            tensors = load_tensors(path, shapes)
            self.support_features = tensors[FEATURES_KEY]
            self.support_tags = tensors[TAGS_KEY].numpy()


class NNShotModel(TaggerModel):
    """A tagger that predicts by the words of its support set."""

    network_class = NNShotNetwork

    @property
    def has_index(self) -> bool:
        """Whether there are words to compare with."""
        return self.network.has_index

    def drop_index(self) -> None:
        """Forget the words of the support set: the features have changed."""
        self.network.drop_index()

    @torch.no_grad()
    def build_index(self, docs: List[Doc], word_targets: numpy.ndarray) -> None:
        """Read the support set.

        docs (List[Doc]): Its texts.
        word_targets: int64 (n_words), index of a tag, NO_ENTITY, or NO_TARGET where the
            annotation is missing.
        """
        pieces = self.read_words(docs, wanted=word_targets != NO_TARGET)
        tags = word_targets[pieces.first_words] + 1
        self.network.set_index(pieces.features, tags)
