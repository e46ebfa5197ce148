"""What a pre-training is asked to do, and its one kind of error."""

from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Dict, List, Optional

# BERT's: the share of the pieces that is masked.
MASK_SHARE = 0.15
# Share of the training over which the learning rate rises, as RoBERTa's.
WARMUP = 0.06
# What a run that goes on may be given anew: none of it changes what was done so far.
CHANGEABLE = ("steps", "minutes", "checkpoint_minutes", "precision", "device", "half")
# Sizes that have to be one or more.
COUNTS = ("batch_size", "accumulate", "lexicon_weight")
# Shares from 0 on to less than 1.
SHARES = ("warmup", "dropout")
# A sequence that is shorter holds little besides special pieces.
MIN_LENGTH = 8
DEFAULT_LENGTH = 128


class PretrainError(ValueError):
    """A pre-training that cannot be done; the message says what to do."""


@dataclass(frozen=True)
class Settings:
    """Settings of a pre-training.

    steps (Optional[int]): Updates; 0: the model is only measured. None, and no minutes
        either: one pass over the text.
    minutes (Optional[float]): Time for the training itself; the learning rate decays
        to its end.
    batch_size (int): Sequences of a batch. accumulate (int): Batches of an update.
    length (Optional[int]): Pieces of a sequence, special ones counted; None: 128, or
        what the model takes if that is less.
    learn_rate (Optional[float]): The highest; None: by the model's width.
    warmup (float): Share of the training in which the rate rises.
    weight_decay (float): Of matrices. dropout (Optional[float]): None: the model's.
    mask_share (float): Share of the pieces that is masked.
    whole_word (bool): Whether words are masked in place of pieces.
    keep_vocab, add_vocab, new_vocab (Optional[int]): Sizes of changed vocabularies.
    cased (Optional[bool]): Whether a new vocabulary keeps capitals; None: as before.
    lexicon (List[str]): Files with names that the vocabulary should know.
    lexicon_weight (int): Occurrences in the text that a name counts for.
    held_out (float): Share of the lines that is kept for measuring.
    seed (int): Of masks, order and dropout.
    precision (str): "float32", or "bfloat16": of the products; weights stay
        float32.
    device (str): "auto", or a name that torch knows.
    checkpoint_minutes (float): Time between checkpoints.
    half (bool): Whether the weights are stored as float16.
    """

    steps: Optional[int] = None
    minutes: Optional[float] = None
    batch_size: int = 32
    accumulate: int = 1
    length: Optional[int] = None
    learn_rate: Optional[float] = None
    warmup: float = WARMUP
    weight_decay: float = 0.01
    dropout: Optional[float] = None
    mask_share: float = MASK_SHARE
    whole_word: bool = False
    keep_vocab: Optional[int] = None
    add_vocab: Optional[int] = None
    new_vocab: Optional[int] = None
    cased: Optional[bool] = None
    lexicon: List[str] = field(default_factory=list)
    lexicon_weight: int = 1
    held_out: float = 0.01
    seed: int = 0
    precision: str = "float32"
    device: str = "auto"
    checkpoint_minutes: float = 5.0
    half: bool = False

    def __post_init__(self) -> None:
        """RAISES (PretrainError): If a value is out of its range, or two exclude each
        other."""
        for name in COUNTS:
            self._require(name, getattr(self, name) >= 1, "1 or more")
        for name in ("steps", "minutes", "checkpoint_minutes", "weight_decay"):
            value = getattr(self, name)
            self._require(name, value is None or value >= 0, "0 or more")
        for name in SHARES:
            value = getattr(self, name)
            self._require(name, value is None or 0 <= value < 1, "from 0 to below 1")
        for name in ("keep_vocab", "add_vocab", "new_vocab"):
            value = getattr(self, name)
            self._require(name, value is None or value >= 1, "1 or more")
        in_range = self.learn_rate is None or 0 < self.learn_rate < 1
        self._require("learn_rate", in_range, "above 0 and below 1")
        self._require("mask_share", 0 < self.mask_share < 1, "above 0 and below 1")
        self._require("held_out", 0 <= self.held_out <= 1, "from 0 to 1")
        is_long = self.length is None or self.length >= MIN_LENGTH
        self._require("length", is_long, f"{MIN_LENGTH} or more")
        allowed = ("float32", "bfloat16")
        self._require("precision", self.precision in allowed, f"one of {allowed}")
        self._check_vocabulary()

    def _check_vocabulary(self) -> None:
        changed = [self.keep_vocab, self.add_vocab, self.new_vocab]
        if self.new_vocab is not None and changed.count(None) < 2:
            raise PretrainError(
                "--new-vocab replaces the vocabulary: leave out --keep-vocab and "
                "--add-vocab"
            )
        if self.cased is not None and self.new_vocab is None:
            raise PretrainError("--cased and --uncased belong to --new-vocab")
        if self.lexicon and changed.count(None) == 3:
            raise PretrainError(
                "--lexicon chooses pieces of the vocabulary: give --keep-vocab, "
                "--add-vocab or --new-vocab too"
            )

    def _require(self, name: str, fits: bool, wanted: str) -> None:
        if not fits:
            option = f"--{name.replace('_', '-')}"
            raise PretrainError(f"{option} is {wanted}, not {getattr(self, name)}")

    @property
    def changes_vocabulary(self) -> bool:
        """Whether another vocabulary is asked for."""
        sizes = (self.keep_vocab, self.add_vocab, self.new_vocab)
        return any(size is not None for size in sizes)

    def lasting(self) -> Dict[str, Any]:
        """The settings that a run that goes on must be given again."""
        return {k: v for k, v in asdict(self).items() if k not in CHANGEABLE}


def describe_text(paths: List[Path]) -> List[Dict[str, Any]]:
    """Names and sizes of text files, by which a run that goes on knows its text."""
    return [{"name": path.name, "bytes": path.stat().st_size} for path in paths]
