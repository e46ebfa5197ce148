"""Label rows beside the vocabulary: where they live, their initial values.

V is the vocabulary with decoder rows W (n_vocab, width) and biases b, Y the classes
with label rows L (n_labels, width) and biases c. The softmax goes over both.
"""

from dataclasses import dataclass
from typing import Iterator, List, Optional, Sequence, Tuple

import torch

from .packed import PackedWeight, row_chunks

# Rows that are scored against the whole vocabulary at once: bounds the memory.
BLOCK_ROWS = 256


@dataclass
class Rows:
    """Rows of an output matrix, with gradients where they are trained.

    weight: (n_rows, width); bias: (n_rows) or None. packed: The same for products
    without gradients, one for each of `row_chunks`, or none.
    """

    weight: torch.Tensor
    bias: Optional[torch.Tensor]
    packed: Sequence[PackedWeight] = ()

    def scores(self, features: torch.Tensor) -> torch.Tensor:
        """(n, width) -> (n, n_rows)."""
        if torch.is_grad_enabled() or self.weight.device.type != "cpu":
            return torch.nn.functional.linear(features, self.weight, self.bias)
        scores = features.new_empty(len(features), len(self.weight))
        for chunk, part in self.parts(features):
            scores[:, chunk] = part
        return scores

    def parts(self, features: torch.Tensor) -> Iterator[Tuple[slice, torch.Tensor]]:
        """Scores of one part of the rows after the other, without gradients.

        features: (n, width).
        YIELDS: The part, and (n, rows of the part), which the next one overwrites.
        """
        buffer = features.new_empty(0)
        for i, chunk in enumerate(row_chunks(self.weight)):
            if self.packed and self.packed[i].fits(self.weight, features):
                yield chunk, self.packed[i].product(features)
                continue
            weight = self.weight[chunk]
            if buffer.numel() != len(features) * len(weight):
                buffer = features.new_empty(len(features), len(weight))
            if self.bias is None:
                yield chunk, torch.mm(features, weight.T, out=buffer)
            else:
                bias = self.bias[chunk]
                yield chunk, torch.addmm(bias, features, weight.T, out=buffer)


class LabelHead(torch.nn.Module):
    """One row and one bias a class, each a parameter of its own, so that an optimizer
    that has seen the others takes a new class in."""

    def __init__(self) -> None:
        super().__init__()
        self.rows = torch.nn.ParameterList()
        self.biases = torch.nn.ParameterList()

    def __len__(self) -> int:
        return len(self.rows)

    def add(self, row: torch.Tensor, bias: torch.Tensor) -> None:
        """Add a class. row: (width); bias: (1)."""
        self.rows.append(torch.nn.Parameter(row))
        self.biases.append(torch.nn.Parameter(bias))

    def stacked(self) -> Rows:
        """The rows of all classes."""
        return Rows(torch.stack(list(self.rows)), torch.cat(list(self.biases)))

    def accumulate(self, d_weight: torch.Tensor, d_bias: torch.Tensor) -> None:
        """Add gradients, (n_labels, width) and (n_labels), to those of the classes."""
        for row, bias, d_row, d_b in zip(self.rows, self.biases, d_weight, d_bias):
            add_gradient(row, d_row)
            add_gradient(bias, d_b.reshape(1))


def add_gradient(parameter: torch.Tensor, gradient: torch.Tensor) -> None:
    """Add to a parameter's gradient, which may not be there yet."""
    if parameter.grad is None:
        parameter.grad = gradient.clone()
    else:
        parameter.grad.add_(gradient)


def initial_row(
    decoder: Rows, words: List[List[int]], *, mean_bias: bool
) -> Tuple[torch.Tensor, torch.Tensor]:
    """The label row of a class: the mean of its label words' decoder rows, in new
    memory (paper, Section 3.3; a word of several pieces is the mean of theirs).

    words (List[List[int]]): Piece ids of each word.
    mean_bias (bool): Whether the bias is the mean of the words' biases, else 0.
    RETURNS: row (width), bias (1).
    """
    row = torch.stack([decoder.weight.detach()[ids].mean(0) for ids in words]).mean(0)
    bias = row.new_zeros(1)
    if mean_bias and decoder.bias is not None:
        per_word = [decoder.bias.detach()[ids].mean() for ids in words]
        bias = torch.stack(per_word).mean().reshape(1)
    return row, bias
