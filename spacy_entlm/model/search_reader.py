"""A masked LM that reads texts, for the search of label words."""

from typing import Any, List, Optional

import numpy
import torch
from spacy.tokens import Doc

from ..label_words.rows import Rows
from .entlm import build_entlm_v1
from .layer import network_of, read_words
from .types import WordFeatures
from .windows import doc_spans


class TextReader:
    """Reads texts with a masked LM without classes, on the active device."""

    def __init__(self, name: str):
        """name (str): A folder, or a name on the hub.
        RAISES (BackboneError): If there is no such model, or it is no masked LM."""
        self.layer = build_entlm_v1(name, doc_spans)
        self.layer.initialize()
        self.network = network_of(self.layer)
        # Searches compare texts with all rows.
        self.network.masked_lm.unpack()

    @property
    def tokenizer(self) -> Any:
        """The fast tokenizer."""
        return self.network.tokenizer

    @property
    def vocabulary(self) -> Rows:
        """The output matrix, without gradients."""
        rows = self.network.vocabulary
        bias = None if rows.bias is None else rows.bias.detach()
        return Rows(rows.weight.detach(), bias)

    @property
    def device(self) -> torch.device:
        """Where it is."""
        return self.network.device

    def fold_word(self, word: str) -> str:
        """The form in which the backbone's tokenizer reads a word."""
        return self.network.fold_word(word)

    def word_pieces(self, word: str) -> List[str]:
        """The pieces of a word, as the vocabulary spells them."""
        return self.network.word_pieces(word)

    def read_words(
        self, docs: List[Doc], *, wanted: Optional[numpy.ndarray] = None
    ) -> WordFeatures:
        """Features of words, in no particular order. wanted: bool (n_words)."""
        return read_words(self.layer, docs, wanted=wanted)
