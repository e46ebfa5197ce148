"""What a masked LM can do, found by trying it on a few pieces and not by its name."""

from typing import TYPE_CHECKING

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
    try:
        found = masked_lm.chosen_features(ids, mask, chosen)
    except (AttributeError, IndexError, RuntimeError, TypeError):
        return False
    finally:
        masked_lm.train(was_training)
    same_shape = found.shape == expected.shape
    return same_shape and torch.allclose(found, expected, atol=PROBE_TOLERANCE)
