"""`spacy-entlm.Adam.v1`: Thinc's optimizer, with PyTorch's fused step on a CPU."""

from collections import defaultdict
from typing import Any, Dict, List, Optional, Tuple

import numpy
from thinc.api import NumpyOps, Optimizer
from thinc.types import FloatsXd

from ..backbones.suitable import suitable_start_pull

Key = Tuple[int, str]


class FusedAdam(Optimizer):
    """Thinc's optimizer; on a CPU the step is PyTorch's fused one, which goes through
    the weights once, and takes many parameters at a time (benchmarks/RESULTS.md). With
    L2, averages, clipping of single parameters, or arrays that PyTorch cannot share, it
    is Thinc's own."""

    # As of `build_adam`; None: the component that is trained says it. What it is
    # multiplied with; and the first values of weights.
    start_pull: Optional[float]
    pull_scale: float
    starts: Dict[Key, FloatsXd]
    __slots__ = ["pull_scale", "start_pull", "starts"]

    def __init__(self, learn_rate: Any, start_pull: Optional[float], **settings: Any):
        super().__init__(learn_rate=learn_rate, **settings)
        self.start_pull, self.starts = start_pull, {}
        # Of a schedule that says how long the training is.
        n_steps = getattr(learn_rate, "n_steps", 1)
        is_known = n_steps > 1 and self.learn_rate > 0
        self.pull_scale = 1.0 / (n_steps * self.learn_rate) if is_known else 0.0

    @property
    def pull(self) -> float:
        """The share of the way back to their first values that weights go before a
        step, for each unit of the learning rate."""
        return (self.start_pull or 0.0) * self.pull_scale

    def __call__(
        self, key: Key, weights: FloatsXd, gradient: FloatsXd, *, lr_scale: float = 1.0
    ) -> Tuple[FloatsXd, FloatsXd]:
        """Change the weights of a parameter in place; the gradient becomes zero."""
        weights = self.step_all({key: (weights, gradient)}, lr_scale=lr_scale)[key]
        gradient *= 0
        return weights, gradient

    def step_all(
        self, arrays: Dict[Key, Tuple[FloatsXd, FloatsXd]], *, lr_scale: float = 1.0
    ) -> Dict[Key, FloatsXd]:
        """Step many parameters at once.

        arrays (Dict[Key, Tuple[FloatsXd, FloatsXd]]): Weights, which change in place
            where that can be, and gradients, which are not to be used any more.
        RETURNS (Dict[Key, FloatsXd]): The new weights.
        """
        stepped: Dict[Key, FloatsXd] = {}
        fused: Dict[int, List[Key]] = defaultdict(list)
        share = min(1.0, self.pull * float(self.learn_rate))
        for key, (weights, gradient) in arrays.items():
            if share:
                if key not in self.starts:
                    self.starts[key] = weights.copy()
                _draw_back(weights, self.starts[key], share)
            is_plain = not self.L2 and not self.grad_clip and self.averages is None
            if is_plain and _can_share(weights, gradient):
                self.nr_update[key] += 1
                fused[self.nr_update[key]].append(key)
                stepped[key] = weights
            else:
                step = super().__call__(key, weights, gradient, lr_scale=lr_scale)
                stepped[key] = step[0]
        for n_steps, keys in fused.items():
            self._step_fused({key: arrays[key] for key in keys}, n_steps, lr_scale)
        return stepped

    def _step_fused(
        self,
        arrays: Dict[Key, Tuple[FloatsXd, FloatsXd]],
        n_steps: int,
        lr_scale: float,
    ) -> None:
        """Step parameters of which this is step number `n_steps`, from 1."""
        import torch

        parameters, states = [], []
        for key, (weights, gradient) in arrays.items():
            state: Dict[str, Any] = {"step": torch.tensor(n_steps - 1.0)}
            for name, moments in (("exp_avg", self.mom1), ("exp_avg_sq", self.mom2)):
                if key not in moments:  # as Thinc holds them
                    moments[key] = NumpyOps().alloc1f(weights.size)
                state[name] = torch.from_numpy(moments[key]).view(weights.shape)
            parameters.append(torch.nn.Parameter(torch.from_numpy(weights)))
            parameters[-1].grad = torch.from_numpy(gradient)
            states.append(state)
        step = torch.optim.Adam(
            parameters,
            lr=float(self.learn_rate * lr_scale),
            betas=(self.b1, self.b2),
            # Thinc adds it to the moment's root as it is, PyTorch to the corrected.
            eps=self.eps / (1.0 - self.b2**n_steps) ** 0.5,
            fused=True,
        )
        step.state.update(zip(parameters, states))
        step.step()


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
) -> Optimizer:
    """Adam with the arguments of Thinc's `Adam.v1`, numbers or schedules. The defaults
    are the paper's: neither weight decay nor averages, and no clipping of single
    parameters, since the component clips the global norm itself.

    start_pull (Optional[float]): How strongly weights are held near to where they
        began, so that what the backbone knows is kept (L2-SP: Li et al., 2018;
        decoupled from the gradient, as in AdamW): before the first of n steps they go
        start_pull / n of the way back, later less, as the learning rate falls. 0: not
        at all; None: what suits the backbone, which a component knows of its own once
        it was saved. The schedule of the learning rate has to be
        `spacy-entlm.decay_to_zero.v1`, which knows n.
    backbone (Optional[str]): The masked LM, as the component's setting `name`.
    """
    if start_pull is None:
        start_pull = suitable_start_pull(backbone) or None
    return FusedAdam(
        learn_rate,
        start_pull,
        L2=L2,
        beta1=beta1,
        beta2=beta2,
        eps=eps,
        grad_clip=grad_clip,
        L2_is_weight_decay=L2_is_weight_decay,
        use_averages=use_averages,
    )
