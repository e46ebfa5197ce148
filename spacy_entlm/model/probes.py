"""What a masked LM can do, found by trying it on a few pieces and not by its name."""

from typing import TYPE_CHECKING, List, Optional

import torch

if TYPE_CHECKING:
    from .masked_lm import MaskedLM

# Of features or logits of the same pieces, computed in two ways; float32.
PROBE_TOLERANCE = 1e-3


@torch.no_grad()
def head_takes_rows(masked_lm: "MaskedLM") -> bool:
    """Try whether features of chosen pieces equal those of all pieces, chosen."""
    if masked_lm.body.base_model is masked_lm.body:
        return False
    device = masked_lm.decoder.weight.device
    n_rows = masked_lm.decoder.weight.shape[0]
    prefix, suffix = masked_lm.special_pieces()
    ids = torch.tensor([[*prefix, n_rows // 3, n_rows // 2, *suffix]] * 2)
    ids = ids.to(device)
    mask = torch.ones_like(ids)
    chosen = torch.tensor([ids.shape[1] + 2, 1], device=device)
    was_training = masked_lm.training
    masked_lm.eval()
    expected = masked_lm(ids, mask).flatten(0, 1)[chosen]
    masked_lm.__dict__["head_takes_rows"] = True
    try:
        found = masked_lm(ids, mask, positions=chosen)
    except (AttributeError, IndexError, RuntimeError, TypeError):
        return False
    finally:
        del masked_lm.__dict__["head_takes_rows"]
        masked_lm.train(was_training)
    same_shape = found.shape == expected.shape
    return same_shape and torch.allclose(found, expected, atol=PROBE_TOLERANCE)


def packable_from(masked_lm: "MaskedLM") -> Optional[int]:
    """Position id of a first piece if packed windows give the features that they give
    alone; None if they do not, or the backbone does not take such input."""
    prefix, suffix = masked_lm.special_pieces()
    n_rows = masked_lm.decoder.weight.shape[0]
    texts = [[n_rows // 3, n_rows // 2, n_rows // 4], [n_rows // 5, n_rows // 3]]
    rows = [[*prefix, *text, *suffix] for text in texts]
    was_training = masked_lm.training
    masked_lm.eval()
    try:
        return _probe(masked_lm, rows)
    finally:
        masked_lm.train(was_training)


@torch.no_grad()
def _probe(masked_lm: "MaskedLM", rows: List[List[int]]) -> Optional[int]:
    device = masked_lm.decoder.weight.device
    ids = [torch.tensor([row], device=device) for row in rows]
    alone = [masked_lm(row, torch.ones_like(row))[0] for row in ids]
    window = torch.repeat_interleave(
        torch.arange(len(rows)), torch.tensor([len(row) for row in rows])
    )
    mask = (window[:, None] == window).long()[None].to(device)
    padding = masked_lm.tokenizer.pad_token_id or 0
    # RoBERTa and its kin number positions from the padding's id + 1.
    for first in (0, padding + 1):
        positions = torch.cat([torch.arange(len(row)) + first for row in rows])
        try:
            packed = masked_lm(torch.cat(ids, 1), mask, positions[None].to(device))[0]
        except (TypeError, ValueError, RuntimeError, IndexError):
            return None  # no position ids, or no mask of this form
        if torch.allclose(packed, torch.cat(alone), rtol=1e-3, atol=PROBE_TOLERANCE):
            return first
    return None
