"""`spacy-entlm.Adam.v1`: Thinc's Adam with one pass over the weights on a CPU."""

from typing import Any, Tuple, cast

import numpy
from thinc.api import Optimizer
from thinc.types import FloatsXd


class FusedAdam(Optimizer):
    """Thinc's optimizer; on a CPU the Adam step is PyTorch's fused one, which takes a
    fourth of the time and all threads. State, schedules and results (up to rounding)
    are those of the class it is made from."""

    def _adam(
        self,
        ops: Any,
        weights: FloatsXd,
        gradient: FloatsXd,
        lr_scale: float,
        key: Tuple[int, str],
        nr_upd: int,
    ) -> Tuple[FloatsXd, FloatsXd]:
        arrays = (weights, gradient)
        if not all(_can_fuse(array) for array in arrays):
            return super()._adam(ops, weights, gradient, lr_scale, key, nr_upd)
        import torch
        from torch.optim.adam import adam

        for moments in (self.mom1, self.mom2):
            if key not in moments:
                moments[key] = ops.alloc1f(weights.size)
        flat = [cast(numpy.ndarray, array).reshape(-1) for array in arrays]
        state = (self.mom1[key], self.mom2[key])
        tensors = [torch.from_numpy(array) for array in (*flat, *state)]
        # Thinc adds eps to the root of the moment as it is, PyTorch to the corrected.
        eps = self.eps / (1.0 - self.b2**nr_upd) ** 0.5
        adam(
            [tensors[0]],
            [tensors[1]],
            [tensors[2]],
            [tensors[3]],
            max_exp_avg_sqs=[],
            state_steps=[torch.tensor(float(nr_upd - 1))],
            fused=True,
            amsgrad=False,
            beta1=self.b1,
            beta2=self.b2,
            lr=self.learn_rate * lr_scale,
            weight_decay=0.0,
            eps=eps,
            maximize=False,
        )
        return weights, gradient


def _can_fuse(array: Any) -> bool:
    return (
        isinstance(array, numpy.ndarray)
        and array.dtype == numpy.float32
        and array.flags.c_contiguous
        and array.flags.writeable
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
) -> Optimizer:
    """Adam as few-shot training of a masked LM wants it.

    The arguments are those of Thinc's `Adam.v1`, numbers or schedules; the defaults
    are the paper's: neither weight decay nor averages, and no clipping of single
    parameters, since the component clips the global norm itself.
    """
    return FusedAdam(
        learn_rate,
        L2=L2,
        beta1=beta1,
        beta2=beta2,
        eps=eps,
        grad_clip=grad_clip,
        L2_is_weight_decay=L2_is_weight_decay,
        use_averages=use_averages,
    )
