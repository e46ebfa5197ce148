"""Means of the weights of models that have one origin."""

import torch

from ..backbones.masked_lm import MaskedLM


@torch.no_grad()
def mix(network: torch.nn.Module, other: torch.nn.Module, share: float) -> None:
    """Let a network be the mean of itself and another one.

    other (Module): With the same parameters, of the same origin; it stays as it is.
    share (float): Of the network itself.

    Where the vocabulary of one of them is packed, and that of the other has learned,
    both are unpacked.
    """
    parts = [*network.modules(), *other.modules()]
    masked_lms = [part for part in parts if isinstance(part, MaskedLM)]
    if not all(masked_lm.is_packed for masked_lm in masked_lms):
        for masked_lm in masked_lms:
            masked_lm.unpack()
    others = dict(other.named_parameters())
    for name, parameter in network.named_parameters():
        parameter.lerp_(others[name], 1.0 - share)


@torch.no_grad()
def round_weights(network: torch.nn.Module) -> None:
    """Round the weights of a network that learn to the 11 significant bits of half
    precision. It is as good as before, and its files are half as large
    (backbones/compact.py). What half precision cannot hold stays as it is."""
    for parameter in network.parameters():
        if parameter.requires_grad:
            rounded = parameter.half().to(parameter.dtype)
            if torch.isfinite(rounded).all():
                parameter.copy_(rounded)
