"""Rows of an output matrix, and the row that label words give a class."""

from dataclasses import dataclass
from typing import Any, List, Optional, Tuple

import torch


@dataclass
class Rows:
    """Rows of an output matrix.
    matrix: (n_rows, width), a tensor or `PackedRows`; bias: (n_rows) or None."""

    matrix: Any
    bias: Optional[torch.Tensor]

    def __len__(self) -> int:
        return len(self.matrix)

    def __getitem__(self, some: Any) -> "Rows":
        """Some rows: a slice, or int64 (n)."""
        bias = None if self.bias is None else self.bias[some]
        return Rows(self.matrix[some], bias)

    @property
    def weight(self) -> torch.Tensor:
        """(n_rows, width). Packed rows are unpacked, all of them and each time: take
        some before."""
        is_tensor = isinstance(self.matrix, torch.Tensor)
        return self.matrix if is_tensor else self.matrix.unpacked()

    def scores(self, features: torch.Tensor) -> torch.Tensor:
        """(n, width) -> (n, n_rows)."""
        return torch.nn.functional.linear(features, self.weight, self.bias)


@torch.no_grad()
def initial_row(
    vocabulary: Rows, words: List[List[int]]
) -> Tuple[torch.Tensor, torch.Tensor]:
    """The label row and bias of a class: the means of its label words', in new memory
    (paper, Section 3.3). A word of several pieces is the mean of theirs.

    words (List[List[int]]): Piece ids of each word.
    RETURNS: row (width), bias (1), which is 0 where the vocabulary has none.
    """
    row = torch.stack([vocabulary[ids].weight.mean(0) for ids in words]).mean(0)
    bias = row.new_zeros(1)
    if vocabulary.bias is not None:
        per_word = [vocabulary.bias[ids].mean() for ids in words]
        bias = torch.stack(per_word).mean().reshape(1)
    return row, bias
