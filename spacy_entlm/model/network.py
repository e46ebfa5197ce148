"""Masked LM and label rows as one PyTorch module, with its files."""

import math
from pathlib import Path
from typing import Any, Dict, List, Optional, Tuple

import numpy
import torch

from ..backbones.loading import load_masked_lm
from ..backbones.masked_lm import MaskedLM
from ..backbones.name_map import NameMap, name_pieces, rows_of_names
from ..backbones.recommended import LABEL_ROWS_FILE, LABEL_WORDS_FILE
from ..backbones.suitable import suitable_learn_rate
from ..files.json_lines import dump_json
from ..label_words.rows import Rows, initial_row
from ..label_words.starts import DESCRIPTION_SHARE, Start
from ..label_words.words import (
    LabelWords,
    check_label_words,
    label_word_pieces,
    read_label_words,
    word_pieces,
)
from .files import TrainingFacts, load_rows, read_facts, save_facts, save_rows
from .reading import PieceVocabulary
from .types import Pieces, PieceScores

# Words of the vocabulary that stand for all that are not in a batch, where these do not
# learn: with four times as many F1 is the same (benchmarks/RESULTS.md).
N_SAMPLED = 1024
# What a label has to outscore: the word's own piece, or every row of the vocabulary, as
# in the paper.
OWN, VOCABULARY = RIVALS = ("own", "vocabulary")
# Rows of the vocabulary that are scored at once: what lies between fits the caches.
CHUNK_ROWS = 1024


class LabelNetwork(torch.nn.Module):
    """A masked LM with one row and one bias for each label, each a parameter of its
    own, so that an optimizer that has seen the others takes a new label in.

    A subclass has `read`, what a label has to outscore in prediction (`rival_scores`)
    and in training (`rivals`), and `save_rows` and `load_rows`, for the files beside
    the masked LM's.

    n_updates (int): How often the weights were updated since the backbone.
    learn_rate (Optional[float]): The initial one that suits the backbone; None: not
        known, of a model that an earlier version saved.
    """

    def __init__(self, masked_lm: MaskedLM):
        super().__init__()
        self.masked_lm = masked_lm
        self.n_updates = 0
        self.learn_rate: Optional[float] = None
        self.rows = torch.nn.ParameterList()
        self.biases = torch.nn.ParameterList()
        self.labels: List[str] = []

    @classmethod
    def of_backbone(cls, name: str, **settings: Any) -> Any:
        """A backbone without classes. settings: As of `load_masked_lm`."""
        network = cls(load_masked_lm(name, **settings))
        network.learn_rate = suitable_learn_rate(name, network.width)
        return network

    def read(
        self, ids: torch.Tensor, mask: torch.Tensor, positions: torch.Tensor
    ) -> torch.Tensor:
        """Features of chosen pieces, as `forward`; there is one or more."""
        raise NotImplementedError

    def rival_scores(
        self, features: torch.Tensor, piece_ids: torch.Tensor
    ) -> torch.Tensor:
        """float32 (n), what a label has to outscore. features: float32 (n, width).
        piece_ids: int64 (n)."""
        raise NotImplementedError

    def rivals(
        self, piece_ids: numpy.ndarray, rival_ids: Optional[numpy.ndarray] = None
    ) -> Tuple[Rows, torch.Tensor, Optional[numpy.ndarray]]:
        """What labels compete with in training, with gradients if it learns.

        rival_ids: int64 (n_rivals), of an earlier call, to get the same ones.
        RETURNS: the rows; own, int64 (n), which of them each piece is; rival_ids.
        """
        raise NotImplementedError

    def forward(
        self, ids: torch.Tensor, mask: torch.Tensor, positions: torch.Tensor
    ) -> torch.Tensor:
        """Features of chosen pieces.

        ids, mask: int64 (n_windows, longest).
        positions: int64 (n), rows of the flattened windows.
        RETURNS: float32 (n, width).
        """
        if not len(positions):  # not every backbone takes an empty batch
            return self.no_features()
        return self.read(ids, mask, positions).float()

    @property
    def tokenizer(self) -> Any:
        """The fast tokenizer."""
        return self.masked_lm.tokenizer

    @property
    def pieces(self) -> PieceVocabulary:
        """What the masked LM reads."""
        tokenizer = self.tokenizer
        prefix, suffix = self.masked_lm.special_pieces()
        return PieceVocabulary(
            tokenizer.backend_tokenizer,
            prefix,
            suffix,
            max_pieces=self.masked_lm.max_pieces,
            unknown=tokenizer.unk_token_id,
            special=tokenizer.all_special_ids,
        )

    @property
    def device(self) -> torch.device:
        """Where the network is."""
        return self.masked_lm.decoder.weight.device

    @property
    def width(self) -> int:
        """Width of the backbone, which may differ from that of its output matrix."""
        config = self.masked_lm.body.config
        return getattr(config, "hidden_size", self.masked_lm.width)

    @property
    def learns_vocabulary(self) -> bool:
        """Whether word embeddings and output matrix learn, too."""
        return self.masked_lm.decoder.weight.requires_grad

    def train_vocabulary(self, learns: bool) -> None:
        """Whether word embeddings and output matrix learn, too."""
        if learns:
            self.masked_lm.unpack()
        embeddings = self.masked_lm.body.get_input_embeddings()
        for module in (self.masked_lm.decoder, embeddings):
            module.requires_grad_(learns)

    @property
    def label_rows(self) -> Rows:
        """The rows of all labels, with gradients."""
        if not self.labels:
            none = self.no_features()
            return Rows(none, none.new_zeros(0))
        return Rows(torch.stack(list(self.rows)), torch.cat(list(self.biases)))

    def add_row(self, label: str, row: torch.Tensor, bias: torch.Tensor) -> None:
        """Add a label. row: (width); bias: (1). They are copied."""
        self.rows.append(torch.nn.Parameter(row.detach().clone()))
        self.biases.append(torch.nn.Parameter(bias.detach().reshape(1).clone()))
        self.labels.append(label)

    def no_features(self) -> torch.Tensor:
        """Features of no piece."""
        return self.masked_lm.decoder.weight[:0].detach().float()

    def joined(self, parts: List[torch.Tensor]) -> torch.Tensor:
        """Features of none or of several batches."""
        return torch.cat([self.no_features(), *parts])

    @torch.no_grad()
    def word_scores(
        self, features: torch.Tensor, piece_ids: numpy.ndarray
    ) -> Tuple[torch.Tensor, torch.Tensor]:
        """Scores in prediction.

        features: float32 (n, width), of first pieces. piece_ids: int64 (n), theirs.
        RETURNS: float32 (n, n_labels), of the labels; float32 (n), of what they have to
            outscore.
        """
        ids = torch.from_numpy(piece_ids).to(features.device, non_blocking=True)
        return self.label_rows.scores(features), self.rival_scores(features, ids)

    def piece_scores(
        self,
        features: torch.Tensor,
        pieces: Pieces,
        rival_ids: Optional[numpy.ndarray] = None,
    ) -> PieceScores:
        """Scores in training.
        features: float32 (n, width). rival_ids: As of `rivals`."""
        rivals, own, rival_ids = self.rivals(pieces.ids, rival_ids)
        scores = [rivals.scores(features), self.label_rows.scores(features)]
        return PieceScores(
            torch.cat(scores, 1).float(), own, len(rivals), rival_ids, pieces
        )

    def save(self, folder: Path) -> None:
        """Write the masked LM's files, those of the rows, and what a training that
        goes on has to know."""
        self.masked_lm.save(folder, compact=True)
        self.save_rows(folder)
        facts = TrainingFacts(self.learns_vocabulary, self.n_updates, self.learn_rate)
        save_facts(folder, facts)

    def save_rows(self, folder: Path) -> None:
        """Write the files beside the masked LM's."""
        raise NotImplementedError

    def load_rows(self, folder: Path) -> None:
        """Read what `save_rows` wrote."""
        raise NotImplementedError

    @classmethod
    def load(cls, folder: Path, **settings: Any) -> Any:
        """Read what `save` wrote.

        settings: As of `load_masked_lm`.
        RAISES (BackboneError, LabelWordError): If a file is missing or broken, or
            they do not fit each other.
        """
        facts = read_facts(folder)
        packed = facts.train_vocabulary is False
        masked_lm = load_masked_lm(folder, strict=True, packed=packed, **settings)
        network = cls(masked_lm)
        network.load_rows(folder)
        network.n_updates, network.learn_rate = facts.n_updates, facts.learn_rate
        if facts.train_vocabulary is not None:
            network.train_vocabulary(facts.train_vocabulary)
        return network


class EntLMNetwork(LabelNetwork):
    """A masked LM whose output matrix has one more row for each class.

    The label rows live beside the output matrix only: the tokenizer and the input
    embeddings never learn of them.

    name_map (Optional[NameMap]): Makes rows from names, if the backbone has one.
    label_words: The texts by which each class began.
    rival_kind: "own" or "vocabulary": what a label has to outscore in prediction.
    """

    def __init__(self, masked_lm: MaskedLM, name_map: Optional[NameMap] = None):
        super().__init__(masked_lm)
        self.name_map = None if name_map is None else name_map.requires_grad_(False)
        self.label_words: LabelWords = {}
        self.rival_kind = OWN

    @classmethod
    def of_backbone(cls, name: str, **settings: Any) -> "EntLMNetwork":
        """A backbone without classes, whose word embeddings stay packed if they are
        stored so. settings: As of `load_masked_lm`."""
        network: EntLMNetwork = super().of_backbone(name, packed=True, **settings)
        name_map = NameMap.of_backbone(name, network.masked_lm.width)
        network.name_map = None if name_map is None else name_map.requires_grad_(False)
        return network

    def read(
        self, ids: torch.Tensor, mask: torch.Tensor, positions: torch.Tensor
    ) -> torch.Tensor:
        """What the masked LM's head multiplies with the output matrix."""
        return self.masked_lm(ids, mask, positions=positions)

    @property
    def vocabulary(self) -> Rows:
        """The output matrix."""
        return Rows(self.masked_lm.decoder.weight, self.masked_lm.decoder.bias)

    def rival_scores(
        self, features: torch.Tensor, piece_ids: torch.Tensor
    ) -> torch.Tensor:
        """The score of each word's own piece, or the highest of all pieces."""
        vocabulary = self.vocabulary
        if self.rival_kind == OWN:
            own = vocabulary[piece_ids]
            scores = (features * own.weight).sum(1)
            return scores if own.bias is None else scores + own.bias
        top = features.new_full((len(features),), -torch.inf)
        for start in range(0, len(vocabulary), CHUNK_ROWS):
            scores = vocabulary[start : start + CHUNK_ROWS].scores(features)
            top = torch.maximum(top, scores.amax(1))
        return top

    def rivals(
        self, piece_ids: numpy.ndarray, rival_ids: Optional[numpy.ndarray] = None
    ) -> Tuple[Rows, torch.Tensor, Optional[numpy.ndarray]]:
        """The output matrix; if it does not learn, the rows of these pieces, and some
        that stand for all others: their biases grow by the log of how many each stands
        for (sampled softmax: Jean et al., 2015). Draws from `numpy.random`."""
        vocabulary, device = self.vocabulary, self.device
        if self.learns_vocabulary:
            return vocabulary, torch.from_numpy(piece_ids).to(device), None
        chosen, own = numpy.unique(piece_ids, return_inverse=True)
        if rival_ids is None:
            rival_ids = numpy.concatenate([chosen, self._sampled(chosen)])
        n_others = len(rival_ids) - len(chosen)
        rows = vocabulary[torch.from_numpy(rival_ids).to(device, non_blocking=True)]
        bias = rows.weight.new_zeros(len(rows))
        stands_for = max(len(vocabulary) - len(chosen), 1) / max(n_others, 1)
        bias[len(chosen) :] = math.log(stands_for)
        rows = Rows(rows.weight, bias if rows.bias is None else bias + rows.bias)
        return rows, torch.from_numpy(own).to(device), rival_ids

    def _sampled(self, chosen: numpy.ndarray) -> numpy.ndarray:
        everything = numpy.arange(len(self.vocabulary))
        others = numpy.setdiff1d(everything, chosen, assume_unique=True)
        if len(others) <= N_SAMPLED:
            return others
        return numpy.random.choice(others, N_SAMPLED, replace=False)

    def fold_word(self, word: str) -> str:
        """How the backbone's tokenizer normalises a word: an uncased one folds it."""
        normalizer = self.tokenizer.backend_tokenizer.normalizer
        return normalizer.normalize_str(word).strip() if normalizer else word

    def word_pieces(self, word: str) -> List[str]:
        """The pieces of a label word, as the vocabulary spells them."""
        ids = word_pieces(word, self.tokenizer)
        return list(self.tokenizer.convert_ids_to_tokens(ids))

    def add_labels(
        self, starts: Dict[str, Start], rows: Optional[Dict[str, torch.Tensor]] = None
    ) -> None:
        """Add classes with their rows at initial values.

        starts (Dict[str, Start]): How each begins.
        rows (Optional[Dict[str, Tensor]]): float32 (width), rows in place of these,
            whose bias stays that of the start.
        RAISES (LabelWordError): If a class has no usable word; then none is added.
        """
        texts = {label: start.texts for label, start in starts.items()}
        checked = check_label_words(texts, tags=False)
        found = {label: self._initial(label, start) for label, start in starts.items()}
        for label, (row, bias) in found.items():
            given = (rows or {}).get(label)
            self.add_row(label, row if given is None else given.to(row), bias)
            self.label_words[label] = checked[label]

    @torch.no_grad()
    def _initial(self, label: str, start: Start) -> Tuple[torch.Tensor, torch.Tensor]:
        """The row and bias of a class: the mean of what its names and words give."""
        found = [self.row_of_name(name) for name in start.names]
        if start.words or not found:
            pieces = label_word_pieces({label: start.words}, self.tokenizer)[label]
            by_words = initial_row(self.vocabulary, pieces)
            # Several names are as one.
            found = [_mean(found), by_words] if found else [by_words]
        row, bias = _mean(found)
        if start.descriptions:
            described = _mean([self.row_of_name(text) for text in start.descriptions])
            row = torch.lerp(row, described[0], DESCRIPTION_SHARE)
            bias = torch.lerp(bias, described[1], DESCRIPTION_SHARE)
        return row, bias

    @torch.no_grad()
    def row_of_name(self, name: str) -> Tuple[torch.Tensor, torch.Tensor]:
        """The row (width) and the bias (1) of a class from its name.
        RAISES (ValueError): If the backbone makes no rows from names."""
        if self.name_map is None:
            raise ValueError("This backbone makes no rows from names: give label words")
        prefix, suffix = self.masked_lm.special_pieces()
        pieces = name_pieces(self.tokenizer, name)
        ids = torch.tensor([[*prefix, *pieces, *suffix]], device=self.device)
        is_piece = torch.zeros_like(ids, dtype=torch.bool)
        is_piece[0, len(prefix) : len(prefix) + len(pieces)] = True
        was_training = self.training
        self.eval()
        hidden = self.masked_lm.hidden(ids, torch.ones_like(ids))
        self.train(was_training)
        own = self.vocabulary[ids[0]]
        bias = None if own.bias is None else own.bias[None]
        found = rows_of_names(self.name_map, is_piece, hidden, own.weight[None], bias)
        return found[0][0], found[1]

    def save_rows(self, folder: Path) -> None:
        """Write the label words, the label rows, and the map."""
        (folder / LABEL_WORDS_FILE).write_bytes(dump_json(self.label_words))
        save_rows(folder / LABEL_ROWS_FILE, self.label_rows)
        if self.name_map is not None:
            self.name_map.save(folder)

    def load_rows(self, folder: Path) -> None:
        """Read what `save_rows` wrote."""
        self.label_words = read_label_words(folder / LABEL_WORDS_FILE, tags=False)
        path, width = folder / LABEL_ROWS_FILE, self.masked_lm.width
        rows = load_rows(path, len(self.label_words), width)
        for label, row, bias in zip(self.label_words, *rows):
            self.add_row(label, row, bias)
        name_map = NameMap.load(folder, width)
        self.name_map = None if name_map is None else name_map.requires_grad_(False)


def _mean(
    found: List[Tuple[torch.Tensor, torch.Tensor]],
) -> Tuple[torch.Tensor, torch.Tensor]:
    rows, biases = zip(*found)
    return torch.stack(rows).mean(0), torch.stack(biases).mean(0)
