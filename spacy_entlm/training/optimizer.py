"""`spacy-entlm.Adam.v1`: Thinc's optimizer, with PyTorch's fused step on a CPU."""

from pathlib import Path
from typing import Any, Dict, Optional, Tuple

import numpy
from thinc.api import NumpyOps, Optimizer
from thinc.types import FloatsXd

from ..backbones.learn_rate import suitable_start_pull
from ..label_words.words import read_label_words

Key = Tuple[int, str]


class FusedAdam(Optimizer):
    """Thinc's optimizer; on a CPU the step is that of `torch.optim.Adam(fused=True)`,
    which goes through the weights once (benchmarks/RESULTS.md). With L2, clipping of
    single parameters, or arrays that PyTorch cannot share, it is Thinc's own."""

    # PyTorch's optimizer of each parameter: its state is there.
    fused: Dict[Key, Any]
    # The share of the way back to their first values that weights go before a step, for
    # each unit of the learning rate; and these values.
    pull: float
    starts: Dict[Key, FloatsXd]
    __slots__ = ["fused", "pull", "starts"]

    def __init__(self, learn_rate: Any, start_pull: float, **settings: Any):
        super().__init__(learn_rate=learn_rate, **settings)
        self.fused, self.starts = {}, {}
        # Of a schedule that says how long the training is.
        n_steps = getattr(learn_rate, "n_steps", 1)
        is_known = n_steps > 1 and self.learn_rate > 0
        self.pull = start_pull / (n_steps * self.learn_rate) if is_known else 0.0

    def __call__(
        self, key: Key, weights: FloatsXd, gradient: FloatsXd, *, lr_scale: float = 1.0
    ) -> Tuple[FloatsXd, FloatsXd]:
        """Change the weights of a parameter in place; the gradient becomes zero."""
        if self.pull:
            if key not in self.starts:
                self.starts[key] = weights.copy()
            share = min(1.0, self.pull * float(self.learn_rate))
            _draw_back(weights, self.starts[key], share)
        if self.L2 or self.grad_clip or not _can_share(weights, gradient):
            return super().__call__(key, weights, gradient, lr_scale=lr_scale)
        import torch

        self.nr_update[key] += 1
        shared: Any = torch.from_numpy(weights)
        if key not in self.fused:
            parameter = torch.nn.Parameter(shared)
            self.fused[key] = torch.optim.Adam([parameter], fused=True)
        settings = self.fused[key].param_groups[0]
        settings["lr"] = self.learn_rate * lr_scale
        # Thinc adds eps to the root of the moment as it is, PyTorch to the corrected.
        eps = self.eps / (1.0 - self.b2 ** self.nr_update[key]) ** 0.5
        settings["betas"], settings["eps"] = (self.b1, self.b2), eps
        parameter = settings["params"][0]
        # Weights may have moved in memory since the last step.
        parameter.data, parameter.grad = shared, torch.from_numpy(gradient)
        self.fused[key].step()
        parameter.grad.zero_()
        parameter.grad = None
        if self.averages is not None:
            if key not in self.averages:
                self.averages[key] = weights * 0
            NumpyOps().update_averages(self.averages[key], weights, self.nr_update[key])
        return weights, gradient


def _draw_back(weights: FloatsXd, start: FloatsXd, share: float) -> None:
    """Go a share of the way back, in place."""
    if _can_share(weights, start):
        import torch

        # Through the weights once, without new memory.
        torch.from_numpy(weights).lerp_(torch.from_numpy(start), share)
    else:
        weights += share * (start - weights)


def _can_share(*arrays: Any) -> bool:
    return all(
        isinstance(array, numpy.ndarray)
        and array.dtype == numpy.float32
        and array.flags.carray
        and array.size
        for array in arrays
    )


def build_adam(
    learn_rate: Any = 0.001,
    *,
    L2: Any = 0.0,
    beta1: Any = 0.9,
    beta2: Any = 0.999,
    eps: Any = 1e-08,
    grad_clip: Any = 0.0,
    L2_is_weight_decay: bool = True,
    use_averages: bool = False,
    start_pull: Optional[float] = None,
    backbone: Optional[str] = None,
    label_words: Optional[str] = None,
) -> Optimizer:
    """Adam with the arguments of Thinc's `Adam.v1`, numbers or schedules. The defaults
    are the paper's: neither weight decay nor averages, and no clipping of single
    parameters, since the component clips the global norm itself.

    start_pull (Optional[float]): How strongly weights are held near to where they
        began, so that what the backbone knows is kept (L2-SP: Li et al., 2018;
        decoupled from the gradient, as in AdamW): before the first of n steps they go
        start_pull / n of the way back, later less, as the learning rate falls. 0: not
        at all; None: what suits the backbone. The schedule of the learning rate has to
        be `spacy-entlm.decay_to_zero.v1`, which knows n.
    backbone (Optional[str]): The masked LM, as the component's setting `name`.
    label_words (Optional[str]): File of the label words of all classes, for a
        `start_pull` that suits them. It need not be there: then it is not known which.
    """
    settings = {**locals()}
    del settings["backbone"], settings["label_words"]
    if start_pull is None:
        words = None
        if label_words and Path(label_words).is_file():
            words = read_label_words(label_words)
        settings["start_pull"] = suitable_start_pull(backbone, words)
    return FusedAdam(**settings)
