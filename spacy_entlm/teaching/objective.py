"""What is learned: at the first piece of a word in a name the row of its kind, at other
words the word's own piece; and the pieces of plain text that are hidden."""

import math
from pathlib import Path
from typing import Any, Callable, List, NamedTuple, Sequence, Tuple

import torch
from torch.nn.functional import cross_entropy

from ..backbones.masked_lm import MaskedLM
from ..backbones.name_map import NameMap, rows_of_names
from .sampler import ABSENT, KindBatch

# Weight of the loss at half of the layers, which are to be a model by themselves.
HALF_WEIGHT = 0.3
# The score of a kind that a line is not read for; float16 holds it.
NOT_ASKED = -1e4


class KindLoss(NamedTuple):
    """loss: (), with a gradient. f1: (), at the words of the batch, as it is read."""

    loss: torch.Tensor
    f1: torch.Tensor


class Student(torch.nn.Module):
    """A masked LM and the map from names to rows, read at two depths.

    half_layers: Layers of the other depth, 0 for none.
    """

    def __init__(self, masked_lm: MaskedLM, name_map: NameMap, half_layers: int):
        super().__init__()
        self.masked_lm, self.name_map = masked_lm, name_map
        self.half_layers = half_layers
        # The words of a vocabulary that was learned from far more text stay.
        for matrix in (masked_lm.decoder, masked_lm.body.get_input_embeddings()):
            matrix.weight.requires_grad_(False)

    def save(self, folder: Path) -> None:
        """Write the files of both."""
        self.masked_lm.save(folder)
        self.name_map.save(folder)

    def go_back(self, start: "Student", share: float) -> None:
        """Make the weights a mean with others. share (float): That of the others."""
        others = dict(start.named_parameters())
        with torch.no_grad():
            for name, weight in self.named_parameters():
                weight.lerp_(others[name].to(weight.device), share)

    def hidden(self, ids: torch.Tensor, mask: torch.Tensor) -> List[torch.Tensor]:
        """The hidden states, (n, longest, width), at all layers and then at half."""
        encoder = self.masked_lm.body.base_model
        found = encoder(
            ids, attention_mask=mask, output_hidden_states=bool(self.half_layers)
        )
        states = [found.last_hidden_state]
        return states + (
            [found.hidden_states[self.half_layers]] if self.half_layers else []
        )

    def features(self, hidden: torch.Tensor) -> torch.Tensor:
        """What enters the output matrix, (n, width), from hidden states."""
        return head_of(self.masked_lm.body)(hidden)


def head_of(body: Any) -> Callable[[torch.Tensor], torch.Tensor]:
    """The layers between a masked LM's encoder and its output matrix, which has made
    way for an identity.
    RAISES (ValueError): If it is not known where they are."""
    for name in ("cls", "lm_head"):  # BERT and its kin; RoBERTa, XLM-R
        if hasattr(body, name):
            return getattr(body, name)
    raise ValueError(
        f"{type(body).__name__} cannot be taught: its head is not known. Use a model "
        f"of the BERT, RoBERTa or XLM-R family"
    )


def kind_loss(
    student: Student, batch: KindBatch, pad: int, special: Sequence[int]
) -> KindLoss:
    """The loss of marked lines. pad: The piece for padding. special: Those before and
    after a name. RETURNS (KindLoss): Of all layers and of half together."""
    device = student.name_map.weight.device

    def on_device(array: Any) -> torch.Tensor:
        return torch.from_numpy(array).to(device, non_blocking=True)

    ids = on_device(batch.ids)
    states = student.hidden(ids, (ids != pad).long())
    kinds = _kind_rows(student, [on_device(x) for x in batch.names], pad, special)
    at, lines = on_device(batch.positions), on_device(batch.lines)
    targets, own = on_device(batch.targets), on_device(batch.own)
    vocabulary, not_asked = on_device(batch.vocabulary), ~on_device(batch.allowed)
    decoder = student.masked_lm.decoder
    rows, shift = decoder.weight[vocabulary], _shift(batch, decoder, vocabulary)
    target = torch.where(targets == ABSENT, own, len(vocabulary) + targets)
    losses: List[torch.Tensor] = []
    f1 = torch.zeros((), device=device)
    for state, (kind_rows, kind_biases) in zip(states, kinds):
        x = student.features(state.flatten(0, 1)[at])
        words = (x @ rows.T).float() + shift
        scores = (x @ kind_rows.T).float() + kind_biases.float()
        scores = scores.masked_fill(not_asked[lines], NOT_ASKED)
        losses.append(cross_entropy(torch.cat([words, scores], 1), target))
        if len(losses) == 1:
            f1 = _f1(words, scores, own, targets)
    return KindLoss(_together(losses), f1)


def _kind_rows(
    student: Student, groups: List[torch.Tensor], pad: int, special: Sequence[int]
) -> List[Tuple[torch.Tensor, torch.Tensor]]:
    """Rows and biases of kinds from their names, at each depth.
    groups: int64 (n, longest) each, names with special pieces and padding."""
    decoder = student.masked_lm.decoder
    found: List[List[Tuple[torch.Tensor, torch.Tensor]]] = []
    for names in groups:
        is_piece = names != pad
        for piece in special:
            is_piece = is_piece & (names != piece)
        biases = None if decoder.bias is None else decoder.bias[names]
        rows = decoder.weight[names]
        states = student.hidden(names, (names != pad).long())
        found.append(
            [
                rows_of_names(student.name_map, is_piece, state, rows, biases)
                for state in states
            ]
        )
    return [
        (torch.cat([rows for rows, _ in depth]), torch.cat([bias for _, bias in depth]))
        for depth in zip(*found)
    ]


def _shift(batch: KindBatch, decoder: Any, vocabulary: torch.Tensor) -> torch.Tensor:
    """float32 (n_rows), the biases of the vocabulary's rows; those that stand for
    others have more (sampled softmax: Jean et al., 2015)."""
    n_others = len(batch.vocabulary) - batch.n_own
    stands_for = max(decoder.weight.shape[0] - batch.n_own, 1) / max(n_others, 1)
    shift = torch.zeros(len(vocabulary), device=vocabulary.device)
    shift[batch.n_own :] = math.log(stands_for)
    return shift if decoder.bias is None else shift + decoder.bias[vocabulary].float()


@torch.no_grad()
def _f1(
    words: torch.Tensor, scores: torch.Tensor, own: torch.Tensor, targets: torch.Tensor
) -> torch.Tensor:
    best, kind = scores.max(1)
    guess = torch.where(best > words.gather(1, own[:, None])[:, 0], kind, ABSENT)
    right = ((guess == targets) & (targets != ABSENT)).sum()
    found = (guess != ABSENT).sum() + (targets != ABSENT).sum()
    return 2 * right / found.clamp(min=1)


def hidden_loss(
    student: Student,
    ids: torch.Tensor,
    positions: torch.Tensor,
    targets: torch.Tensor,
) -> torch.Tensor:
    """The loss of plain text whose pieces are hidden, without padding.
    positions, targets: int64 (n), places in the flattened batch, and what was there."""
    losses = []
    for state in student.hidden(ids, torch.ones_like(ids)):
        features = student.features(state.flatten(0, 1)[positions])
        logits = student.masked_lm.decoder(features)
        losses.append(cross_entropy(logits.float(), targets))
    return _together(losses)


def _together(losses: List[torch.Tensor]) -> torch.Tensor:
    """Of all layers, and of half."""
    return losses[0] + HALF_WEIGHT * losses[1] if losses[1:] else losses[0]
