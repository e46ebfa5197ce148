"""The optimizer of pre-training and its learning rate."""

from typing import Any, Dict, List, Optional

import torch

# Below this a decaying or rising rate is zero for all practical purposes.
NEVER = 1e-12
GRADIENT_NORM = 1.0
BETAS, EPSILON = (0.9, 0.999), 1e-8
MOMENTS = ("exp_avg", "exp_avg_sq")


def make_optimizer(
    module: torch.nn.Module, weight_decay: float
) -> torch.optim.Optimizer:
    """AdamW whose update is one pass over each parameter; biases and the scales of
    layer norms do not decay.

    module (Module): The model, in float32. weight_decay (float): Of matrices.
    """
    parameters = [p for p in module.parameters() if p.requires_grad]
    groups = [
        {
            "params": [p for p in parameters if p.dim() > 1],
            "weight_decay": weight_decay,
        },
        {"params": [p for p in parameters if p.dim() <= 1], "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(groups, lr=0.0, betas=BETAS, eps=EPSILON, fused=True)


def learn_rate_at(done: float, peak: float, warmup: float) -> float:
    """The learning rate: it rises linearly, then falls linearly to zero.

    done (float): Share of the training, of its steps or of its time.
    peak (float): The highest rate. warmup (float): Share in which it rises.
    """
    if done < warmup:
        return peak * done / warmup
    return peak * max(0.0, 1.0 - done) / max(1.0 - warmup, NEVER)


def get_moments(
    optimizer: torch.optim.Optimizer, module: torch.nn.Module
) -> Dict[str, torch.Tensor]:
    """What the optimizer remembers, by the names of the parameters.

    RETURNS (Dict[str, Tensor]): "exp_avg.NAME" and "exp_avg_sq.NAME"; none before the
        first update.
    """
    return {
        f"{moment}.{name}": optimizer.state[parameter][moment]
        for name, parameter in module.named_parameters()
        if parameter in optimizer.state
        for moment in MOMENTS
    }


def set_moments(
    optimizer: torch.optim.Optimizer,
    module: torch.nn.Module,
    moments: Dict[str, torch.Tensor],
    step: int,
) -> None:
    """Let an optimizer remember what another one did.

    moments (Dict[str, Tensor]): From `get_moments`. step (int): Updates so far.
    """
    for name, parameter in module.named_parameters():
        if f"{MOMENTS[0]}.{name}" not in moments:
            continue
        state: Dict[str, Any] = {
            moment: moments[f"{moment}.{name}"].to(parameter.device)
            for moment in MOMENTS
        }
        state["step"] = torch.tensor(float(step), device=parameter.device)
        optimizer.state[parameter] = state


def set_dropout(module: torch.nn.Module, share: Optional[float]) -> None:
    """Set the dropout of all layers, not that in the model's configuration.

    share (Optional[float]): None: as it is.
    """
    if share is None:
        return
    for part in module.modules():
        if isinstance(part, torch.nn.Dropout):
            part.p = share
        # Attention has its own number, under these names in BERT's descendants.
        for name in ("dropout_prob", "attention_dropout"):
            if isinstance(getattr(part, name, None), float):
                setattr(part, name, share)


def clip_gradients(parameters: List[torch.nn.Parameter]) -> None:
    """Scale the gradients so that their global norm is at most 1."""
    torch.nn.utils.clip_grad_norm_(parameters, GRADIENT_NORM)
