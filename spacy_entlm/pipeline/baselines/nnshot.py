"""The component `nnshot`: the class of the nearest word of the support set (Yang &
Katiyar, 2020), by features of an encoder that was fine-tuned as a tagger."""

import logging
from pathlib import Path
from typing import Any, Callable, Iterable, List, Optional, Tuple

import numpy
import torch
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example
from spacy.vocab import Vocab
from thinc.api import Optimizer

from ...backbones.masked_lm import MaskedLM
from ...files.errors import DataError
from ...files.tensors import load_tensors, save_tensors
from ...model.layer import LabelModel, read_words
from ...model.types import NO_TARGET
from ..examples import annotated_copies, annotating_pipes, word_targets
from .bert_tagger import BertTagger, TaggerNetwork

logger = logging.getLogger("spacy.entlm")

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
        features: float32 (n, width). tags: int64 (n), 0 for no entity, 1 + index."""
        order = numpy.argsort(tags, kind="stable")
        rows = torch.from_numpy(order).to(features.device)
        self.support_features = torch.nn.functional.normalize(features[rows])
        self.support_tags = tags[order]

    def drop_index(self) -> None:
        """Forget the words of the support set."""
        self.support_features = self.support_features[:0]
        self.support_tags = self.support_tags[:0]

    def word_scores(
        self, features: torch.Tensor, piece_ids: numpy.ndarray
    ) -> Tuple[torch.Tensor, torch.Tensor]:
        """Scores of the tags, and of no entity."""
        scores = self.tag_scores(features)
        return scores[:, 1:].contiguous(), scores[:, 0].contiguous()

    @torch.no_grad()
    def tag_scores(self, features: torch.Tensor) -> torch.Tensor:
        """Negative squared Euclidean distance to the nearest word of each tag, both of
        length 1.

        features: float32 (n, width).
        RETURNS: float32 (n, 1 + n_tags), of no entity and of the tags.
        """
        scores = features.new_full((len(features), 1 + len(self.labels)), FARTHEST)
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
            features, tags = tensors[FEATURES_KEY], tensors[TAGS_KEY].numpy()
            known = numpy.isin(tags, numpy.arange(1 + len(self.labels))).all()
            is_sorted = tags.dtype == "int64" and (numpy.diff(tags) >= 0).all()
            if len(features) != len(tags) or not (known and is_sorted):
                problem = "does not fit the model: its tags are not those of the words"
                raise DataError(problem, path=path)
            self.support_features, self.support_tags = features, tags


class NNShot(BertTagger):
    """Finds entities by the nearest words of a support set (Yang & Katiyar, "Simple
    and Effective Few-Shot Named Entity Recognition with Structured Nearest Neighbor
    Learning", EMNLP 2020).

    The support set is what `initialize` gets. An update makes the features of its words
    those of an earlier model, so they are read again when they are next wanted: to
    predict or to save. They are saved, the texts are not: a pipeline that was loaded
    and is trained further keeps the features that it has until `set_support`.
    """

    def __init__(
        self, vocab: Vocab, model: LabelModel, name: str = "nnshot", **settings: Any
    ) -> None:
        """vocab (Vocab): The shared vocabulary. The others are those of `make_peer`."""
        super().__init__(vocab, model, name, **settings)
        self._support: Optional[Tuple[List[Doc], numpy.ndarray]] = None
        self._said_outdated = False

    def _learn(
        self, get_examples: Callable[[], Iterable[Example]], nlp: Optional[Language]
    ) -> None:
        super()._learn(get_examples, nlp)
        self.set_support(get_examples(), nlp=nlp)

    def set_support(
        self, examples: Iterable[Example], *, nlp: Optional[Language] = None
    ) -> None:
        """Take the examples whose words predictions are made from: for a pipeline that
        was loaded and is trained further, or is to have other ones.

        nlp (Optional[Language]): The pipeline: components before this one that its
            config's `training.annotating_components` names annotate the texts.
        RAISES (ValueError): If an entity's label is none of the classes, or nothing is
            annotated.
        """
        pipes = [] if nlp is None else annotating_pipes(nlp, self.name)
        examples = annotated_copies(examples, pipes)
        targets = word_targets(examples, self.labels, self.name)
        if not (targets != NO_TARGET).any():
            raise ValueError(f"[{self.name}] No word of the support set is annotated")
        self._support = ([eg.predicted for eg in examples], targets)
        self.network.drop_index()

    def begin(self) -> None:
        """Read the support set, if that is not done yet.
        RAISES (ValueError): If there are no weights, or no support set."""
        super().begin()
        self._read_support()
        if not self.network.has_index:
            raise ValueError(
                f"[{self.name}] There is no support set: give one with "
                f"nlp.get_pipe({self.name!r}).set_support(examples)"
            )

    def finish_update(self, sgd: Optimizer) -> None:
        """Update the parameters. What was read of the support set is out of date."""
        super().finish_update(sgd)
        if self._support is not None:
            self.network.drop_index()
        elif not self._said_outdated:
            self._said_outdated = True
            logger.warning(
                "[%s] The texts of its support set were not saved, so that it keeps "
                "their features of before this training: give them again with "
                "nlp.get_pipe(%r).set_support(examples)",
                self.name,
                self.name,
            )

    def _read_support(self) -> None:
        if self._support is None or not self.is_initialized:
            return
        docs, targets = self._support
        if not self.network.has_index:
            found = read_words(self.layer, docs, wanted=targets != NO_TARGET)
            self.network.set_index(found.features, targets[found.words] + 1)

    def _write_parts(self, folder: Path, exclude: Iterable[str]) -> None:
        self._read_support()
        super()._write_parts(folder, exclude)

    def _load_model(self, path: Path) -> None:
        labels = self.labels
        super()._load_model(path)
        # A tagger's files have no support set: then this one's stays.
        brings_one = self.is_initialized and self.network.has_index
        if brings_one or self.labels != labels:
            self._support = None
