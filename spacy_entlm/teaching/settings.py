"""What a teaching is asked to do."""

from pathlib import Path
from typing import Any, List, Literal, Optional

from pydantic import Field

from ..files.errors import DataError
from ..pretraining.settings import RunSettings


class Settings(RunSettings):
    """Settings of a teaching. What ends it is `steps` or `minutes`, whatever comes
    first; without either it is ten passes over the lines.

    steps: Updates. minutes: Of the training itself; checkpoint_minutes: Between
        checkpoints.
    lines, texts: Marked lines, and sequences of plain text with hidden pieces, in an
        update. length: Pieces of such a sequence.
    learn_rate: The highest. dropout: In the masked LM.
    mask_share: Share of the pieces of plain text that is hidden.
    text_weight: Of the loss on plain text, beside that on marked lines.
    start_share: Of the weights at the end, the share that those of before have; 0: what
        was learned stays as it is.
    half: Whether the first half of the layers is to be a model by itself, too.
    held_out: Share of the lines that are kept for measuring.
    label_sets, types, wordings: Files with other ways to ask for kinds.
    seed: Of everything random. device: "auto", or a name that torch knows.
    precision: Of weights in products; those that are updated are float32.
    workers: Processes that prepare lines; 0: none but this one.
    """

    options = {"lines": "lines-per-step", "texts": "texts-per-step"}  # noqa: RUF012

    steps: Optional[int] = Field(None, ge=0)
    minutes: Optional[float] = Field(None, gt=0)
    lines: int = Field(32, ge=1)
    texts: int = Field(8, ge=0)
    length: int = Field(128, ge=8)
    learn_rate: float = Field(2e-4, gt=0, lt=1)
    dropout: float = Field(0.1, ge=0, lt=1)
    mask_share: float = Field(0.2, gt=0, lt=1)
    text_weight: float = Field(0.5, ge=0)
    start_share: float = Field(0.0, ge=0, lt=1)
    half: bool = True
    held_out: float = Field(0.0125, ge=0, le=1)
    label_sets: Optional[Path] = Field(None, exclude=True)
    types: Optional[Path] = Field(None, exclude=True)
    wordings: Optional[Path] = Field(None, exclude=True)
    seed: int = Field(0, ge=0)
    precision: Literal["float32", "bfloat16"] = "float32"
    device: str = "auto"
    workers: int = Field(0, ge=0)
    checkpoint_minutes: float = Field(5.0, ge=0)

    def __init__(self, **values: Any) -> None:
        """RAISES (DataError): If a value is out of its range, or of no use."""
        super().__init__(**values)
        if self.types and not self.label_sets:
            raise DataError(f"--types {self.types}: give --label-sets, whose it is")

    def files(self) -> List[Path]:
        """The files that are named."""
        found = (self.label_sets, self.types, self.wordings)
        return [path for path in found if path]
