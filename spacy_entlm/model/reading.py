"""How Docs are read: windows of word pieces, batch by batch."""

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, List, Optional, Tuple

import numpy
from spacy.tokens import Doc

from .windows import Layout, SpanGetter, Windows, doc_spans, get_windows

if TYPE_CHECKING:
    from tokenizers import Tokenizer

MIN_BATCH_PIECES = 16


@dataclass
class ReadingConfig:
    """What the config says about how Docs are read; read when used, never saved.

    get_spans (SpanGetter): What is read together. window, stride (Optional[int]): In
        pieces. max_batch_pieces (Optional[int]): Of a batch in prediction.
    """

    get_spans: SpanGetter
    window: Optional[int] = None
    stride: Optional[int] = None
    max_batch_pieces: Optional[int] = None

    def __post_init__(self) -> None:
        """RAISES (ValueError): If a setting has no such value."""
        pieces = self.max_batch_pieces
        if pieces is not None and pieces < MIN_BATCH_PIECES:
            raise ValueError(
                f"max_batch_pieces must be at least {MIN_BATCH_PIECES}, not {pieces}"
            )


@dataclass
class PieceVocabulary:
    """What a network reads.

    tokenizer: Without padding or truncation.
    prefix, suffix: Special pieces before and after a text.
    max_pieces: Most pieces that are read at once, special ones counted.
    unknown: The piece that stands for what the vocabulary lacks, if there is one.
    special: All special pieces.
    """

    tokenizer: "Tokenizer"
    prefix: List[int]
    suffix: List[int]
    max_pieces: int
    unknown: Optional[int]
    special: List[int]

    def layout(self, config: ReadingConfig) -> Layout:
        """How windows are laid out.
        RAISES (ValueError): If the config's do not fit the network."""
        special: Tuple[List[int], List[int]] = (self.prefix, self.suffix)
        return Layout.create(*special, self.max_pieces, config.window, config.stride)


def read_windows(
    docs: List[Doc],
    vocabulary: PieceVocabulary,
    config: ReadingConfig,
    *,
    whole: bool = False,
    in_parallel: bool = False,
) -> Windows:
    """The windows in which Docs are read. Warns of words that are cut.
    whole (bool): Whether Docs are read as a whole, whatever the span getter says.
    in_parallel (bool): As of `get_windows`."""
    layout = vocabulary.layout(config)
    get_spans = doc_spans if whole else config.get_spans
    windows = get_windows(
        docs, get_spans, vocabulary.tokenizer, layout, in_parallel=in_parallel
    )
    # A unigram vocabulary (XLM-R) holds "<mask>" and its kind like any other word.
    if vocabulary.unknown is not None:
        special = numpy.isin(windows.ids, vocabulary.special)
        windows.ids[special & (windows.first_words >= 0)] = vocabulary.unknown
    if windows.n_cut:
        # The same text each time: said once, by Python's own filter of warnings.
        warnings.warn(
            f"Some words have more than {layout.longest_word} word pieces: the model "
            f"reads their beginning only",
            UserWarning,
            stacklevel=2,
        )
    return windows
