"""The rows of classes from their names: a map that a backbone's folder may carry.

The row of a class is the mean of the output rows of its name's pieces, plus a linear
map of the mean over these pieces of the last hidden state, when the masked LM reads the
name alone. One more output of the map is added to the mean of their biases.
"""

from pathlib import Path
from typing import Any, List, Optional, Tuple

import torch

from ..files.tensors import load_tensors, save_tensors
from .names import resolve_backbone
from .recommended import NAME_MAP_FILE

# Pieces of a name that are read.
MAX_NAME_PIECES = 64


class NameMap(torch.nn.Linear):
    """From the last hidden state of a name, (n, width), to what is added to the mean of
    its pieces' output rows and biases, (n, width + 1)."""

    def __init__(self, width: int):
        super().__init__(width, width + 1)

    def save(self, folder: Path) -> None:
        """Write the map's file."""
        save_tensors(folder / NAME_MAP_FILE, {"weight": self.weight, "bias": self.bias})

    @classmethod
    def of_backbone(cls, name: str, width: int) -> Optional["NameMap"]:
        """Read the map of a backbone, a folder or a name on the hub, if it has one."""
        return cls.load(Path(resolve_backbone(name)), width)

    @classmethod
    def load(cls, folder: Path, width: int) -> Optional["NameMap"]:
        """Read the map's file, if there is one.
        RAISES (DataError): If it is broken, or of another backbone."""
        path = folder / NAME_MAP_FILE
        if not path.is_file():
            return None
        shapes = {"weight": (width + 1, width), "bias": (width + 1,)}
        found = cls(width)
        found.load_state_dict(
            {key: value.float() for key, value in load_tensors(path, shapes).items()}
        )
        return found


def rows_of_names(
    name_map: NameMap,
    is_piece: torch.Tensor,
    hidden: torch.Tensor,
    output_rows: torch.Tensor,
    output_biases: Optional[torch.Tensor],
) -> Tuple[torch.Tensor, torch.Tensor]:
    """The rows and biases of classes from their names.

    is_piece: bool (n, longest), which pieces are those of the name, which was read
        alone, with special pieces and padding.
    hidden: (n, longest, width), the last hidden state.
    output_rows: (n, longest, width), the pieces' rows in the output matrix;
        output_biases: (n, longest), their biases.
    RETURNS: (n, width) and (n).
    """
    weight = is_piece.to(hidden.dtype)[..., None]
    count = weight.sum(1).clamp(min=1)
    added = name_map((hidden * weight).sum(1) / count)
    rows = (output_rows * weight).sum(1) / count + added[:, :-1]
    biases = added[:, -1]
    if output_biases is not None:
        biases = biases + (output_biases * weight[..., 0]).sum(1) / count[:, 0]
    return rows, biases


def name_pieces(tokenizer: Any, name: str) -> List[int]:
    """The pieces of a name, without special ones."""
    backend = tokenizer.backend_tokenizer
    return backend.encode(name, add_special_tokens=False).ids[:MAX_NAME_PIECES]
