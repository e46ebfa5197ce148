"""What a pre-training is asked to do."""

from pathlib import Path
from typing import Any, ClassVar, Dict, List, Literal, Optional

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ..files.errors import DataError

# BERT's: the share of the pieces that is masked.
MASK_SHARE = 0.15
DEFAULT_LENGTH = 128


class RunSettings(BaseModel):
    """Settings of a command, which a message names as its options are called."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)
    # Options that are called otherwise than their settings.
    options: ClassVar[Dict[str, str]] = {}

    def __init__(self, **values: Any) -> None:
        """RAISES (DataError): If a value is out of its range."""
        try:
            super().__init__(**values)
        except ValidationError as error:
            first = error.errors()[0]
            name = str(first["loc"][0])
            option = self.options.get(name, name.replace("_", "-"))
            raise DataError(f"--{option} {first['input']}: {first['msg']}") from error


class Settings(RunSettings):
    """Settings of a pre-training. What ends it is `steps`, `epochs` or `minutes`,
    whatever comes first; without any of them it is one pass over the text.

    steps: Updates; 0: the model is only measured. epochs: Passes over the text.
    minutes: Of the training itself; checkpoint_minutes: Between checkpoints.
    batch_size, length: Sequences of a batch, and pieces of a sequence, special ones
        counted; None: 128, or the most that the model takes.
    learn_rate: The highest; None: by the model's width.
    mask_share, held_out: Shares of the pieces that are masked, and of the lines that
        are kept for measuring.
    add_vocab: Words to add to the vocabulary. lexicon: Files with names, which are
        added before other words.
    seed: Of masks, order and dropout. device: "auto", or a name that torch knows.
    precision: Of the products; weights stay float32. half: Whether the weights are
        stored as float16.
    few_shot_learn_rate: What the model recommends for few-shot training; None: what the
        backbone recommends, if it does.
    """

    steps: Optional[int] = Field(None, ge=0)
    epochs: Optional[float] = Field(None, gt=0)
    minutes: Optional[float] = Field(None, gt=0)
    batch_size: int = Field(32, ge=1)
    length: Optional[int] = Field(None, ge=8)
    learn_rate: Optional[float] = Field(None, gt=0, lt=1)
    mask_share: float = Field(MASK_SHARE, gt=0, lt=1)
    add_vocab: int = Field(0, ge=0)
    # Told by names and hashes: paths are nobody's business.
    lexicon: List[Path] = Field([], exclude=True)
    held_out: float = Field(0.01, ge=0, le=1)
    seed: int = Field(0, ge=0)
    precision: Literal["float32", "bfloat16"] = "float32"
    device: str = "auto"
    half: bool = False
    few_shot_learn_rate: Optional[float] = Field(None, gt=0, lt=1)
    checkpoint_minutes: float = Field(5.0, ge=0)

    def __init__(self, **values: Any) -> None:
        """RAISES (DataError): If a value is out of its range, or of no use."""
        super().__init__(**values)
        if self.lexicon and not self.add_vocab:
            raise DataError("--lexicon tells which words to add: give --add-vocab too")
