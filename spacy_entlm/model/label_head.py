"""Label rows beside the vocabulary: one row and one bias a class."""

from typing import cast

import torch

from ..label_words.rows import Rows


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

    def extend(self, rows: Rows) -> None:
        """Add classes with rows in new memory."""
        for row, bias in zip(rows.weight, cast(torch.Tensor, rows.bias)):
            self.add(row.clone(), bias.reshape(1).clone())

    def stacked(self, like: torch.Tensor) -> Rows:
        """The rows of all classes, without gradients.

        like: (n, width), gives the width and the device where there is no class.
        """
        if not len(self):
            return Rows(like.new_zeros(0, like.shape[1]), like.new_zeros(0))
        weight = torch.stack([row.detach() for row in self.rows])
        return Rows(weight, torch.cat([bias.detach() for bias in self.biases]))

    def add_gradients(self, d_rows: Rows) -> None:
        """Add to the gradients of the classes. d_rows: of all label rows."""
        gradients = zip(d_rows.weight, cast(torch.Tensor, d_rows.bias))
        for row, bias, (d_row, d_bias) in zip(self.rows, self.biases, gradients):
            add_gradient(row, d_row)
            add_gradient(bias, d_bias.reshape(1))


def add_gradient(parameter: torch.Tensor, gradient: torch.Tensor) -> None:
    """Add to a parameter's gradient, which may not be there yet: then this tensor
    becomes it."""
    if parameter.grad is None:
        parameter.grad = gradient
    else:
        parameter.grad.add_(gradient)
