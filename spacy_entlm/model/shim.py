"""The network behind Thinc's PyTorch shim: updates, devices, files."""

import contextlib
import os
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, Optional, Tuple

import numpy
import torch
from thinc.api import Optimizer, PyTorchGradScaler, PyTorchShim
from thinc.types import FloatsXd
from thinc.util import get_torch_default_device, torch2xp, xp2torch
from torch.utils.checkpoint import checkpoint

from ..files.folder import pack_folder, unpack_folder
from .precision import autocast, dtype_of, training_dtype
from .types import Pieces, PieceScores

# Paper's authors and the field: the global norm, over all parameters together.
MAX_GRADIENT_NORM = 1.0
# Added to the norm as torch.nn.utils.clip_grad_norm_ does.
CLIP_EPS = 1e-6
# Pieces of a batch in prediction where the config leaves it open. On a CPU more than
# fits its caches is slower (docs/speed.md); another device wants enough to be busy.
CPU_BATCH_PIECES, BATCH_PIECES = 1024, 8192
# Padding of a batch that costs less than beginning another one, in pieces.
CPU_BATCH_PADDING, BATCH_PADDING = 80, 2048
# What the network reads at once: ids and mask (n_windows, longest), positions (n).
Inputs = Tuple[numpy.ndarray, numpy.ndarray, numpy.ndarray]
# How often this process has been forked off, counting its ancestors.
_n_forks = 0


class MaskedLMShim(PyTorchShim):
    """`PyTorchShim` that adds up the losses of sub-batches, divides by the number of
    their pieces, clips the global gradient norm, and leaves no zeroed gradients.

    The module, a `LabelNetwork`, is None until it is initialised or loaded.
    """

    _model: Any

    def __init__(
        self, load: Callable[[Path], Any], precision: str, mixed_precision: bool
    ):
        """load (Callable[[Path], Module]): Reads what the module's `save` wrote. The
        other settings are those of `spacy-entlm.EntLM.v1`."""
        scaler = PyTorchGradScaler(mixed_precision)
        super().__init__(None, mixed_precision=mixed_precision, grad_scaler=scaler)
        self._load = load
        self._precision = precision
        self._n_pieces = 0
        self._n_forks = _n_forks

    def __setstate__(self, state: Dict[str, Any]) -> None:
        """Take what was pickled; this process has not been forked since."""
        self.__dict__.update(state)
        self._n_forks = _n_forks

    @property
    def network(self) -> Any:
        """The module, if there is one yet."""
        return self._model

    def set_network(self, network: Optional[Any]) -> None:
        """Take a module, or none, and move it to the active device."""
        device = get_torch_default_device()
        self._model = None if network is None else network.to(device)
        self._grad_scaler.to_(device)
        self._n_pieces = 0

    @property
    def training_dtype(self) -> torch.dtype:
        """Of matrix products in training; weights and the loss are float32."""
        return training_dtype(self.device, self._mixed_precision)

    @property
    def scales_gradients(self) -> bool:
        """float16 has too small a range for gradients as they are."""
        return self.training_dtype == torch.float16

    def spare_threads_of_fork(self) -> None:
        """Compute with one thread where the process was forked after this was made,
        from the first tensor on: the threads of a parent that has used PyTorch are gone
        after a fork, and waiting for them never ends."""
        if self._n_forks != _n_forks:
            torch.set_num_threads(1)
            self._n_forks = _n_forks

    @property
    def is_apart(self) -> bool:
        """Whether the network is on a device of its own, which works while the
        processor does something else."""
        return self.device.type != "cpu"

    @property
    def batch_limits(self) -> Tuple[int, int]:
        """Most pieces of a batch in prediction, and most of them that are padding."""
        if self.is_apart:
            return BATCH_PIECES, BATCH_PADDING
        return CPU_BATCH_PIECES, CPU_BATCH_PADDING

    def features(self, inputs: Inputs) -> torch.Tensor:
        """Features without gradients, at the precision asked for."""
        self.spare_threads_of_fork()
        network = self._model
        if network.training:  # it walks through all modules, batch by batch
            network.eval()
        dtype = dtype_of(self._precision, self.device)
        with torch.no_grad(), autocast(self.device, dtype):
            return network(*self._on_device(inputs))

    def scores(self, batches: List[Inputs], pieces: Pieces, **rivals: Any) -> Any:
        """`PieceScores` without gradients, as in prediction. rivals: As of
        `piece_scores` of the network."""
        features = self._model.joined([self.features(inputs) for inputs in batches])
        with torch.no_grad():
            return self._model.piece_scores(features, pieces, **rivals)

    def begin_scores(
        self, batches: List[Inputs], pieces: Pieces
    ) -> Tuple[PieceScores, Callable[[PieceScores], None]]:
        """Scores with gradients, and the callback that takes theirs.

        batches (List[Inputs]): Where there are several, what lies between a batch and
            its features is computed again in the backward pass, so that the memory is
            that of one batch.
        pieces (Pieces): Of all batches.
        """
        self.spare_threads_of_fork()
        network = self._model
        network.train()
        tensors = [self._on_device(inputs) for inputs in batches]
        with autocast(self.device, self.training_dtype):
            if len(tensors) == 1:
                features = network(*tensors[0])
            else:
                once_more = partial(checkpoint, network, use_reentrant=False)
                features = network.joined([once_more(*inputs) for inputs in tensors])
            found = network.piece_scores(features, pieces)
        scores = found.scores

        def backprop(gradient: PieceScores) -> None:
            """Add a gradient to those of the parameters."""
            d_scores = gradient.scores
            if self.scales_gradients:
                self._grad_scaler.scale([d_scores], inplace=True)
            if scores.requires_grad:
                torch.autograd.backward(scores, d_scores)
            self._n_pieces += gradient.n_lossy

        return replace(found, scores=scores.detach()), backprop

    def _on_device(self, inputs: Inputs) -> Tuple[torch.Tensor, ...]:
        device = self.device
        return tuple(
            torch.from_numpy(each).to(device, non_blocking=True) for each in inputs
        )

    def finish_update(self, optimizer: Optimizer) -> None:
        """Divide by the number of pieces, clip, and let the optimizer step: it gets
        arrays that share the parameters' memory (numpy, or cupy through DLPack)."""
        if self._model is None:
            return
        named = self._model.named_parameters()
        parameters = {name: p for name, p in named if p.grad is not None}
        gradients = [parameter.grad for parameter in parameters.values()]
        overflow = self.scales_gradients and self._grad_scaler.unscale(gradients)
        if self._n_pieces and gradients and not overflow:
            _average_and_clip(gradients, self._n_pieces)
            arrays = {
                (self.id, name): (torch2xp(p.detach()), torch2xp(p.grad))
                for name, p in parameters.items()
            }
            for (_, name), weights in _step_all(optimizer, arrays).items():
                _take_weights(parameters[name], weights)
            self._model.n_updates += 1
        if self.scales_gradients:
            self._grad_scaler.update()
        self.drop_gradients()

    def drop_gradients(self) -> None:
        """Forget all gradients; not in place, since `nlp.rehearse` keeps them."""
        if self._model is not None:
            for parameter in self._model.parameters():
                parameter.grad = None
        self._n_pieces = 0

    @contextlib.contextmanager
    def use_params(self, params: Dict[Any, FloatsXd]) -> Iterator[None]:
        """Let other parameters take the place of the network's for a while, as the
        optimizer's averages, which have its keys (int, str). Others stay."""
        named = {} if self._model is None else dict(self._model.named_parameters())
        others = {n: params[(self.id, n)] for n in named if (self.id, n) in params}
        backup = {name: named[name].detach().clone() for name in others}
        try:
            for name, weights in others.items():
                _take_weights(named[name], weights)
            yield
        finally:
            with torch.no_grad():
                for name, weights in backup.items():
                    named[name].copy_(weights)

    def to_device(self, device_type: str, device_id: int) -> None:
        """Move the module, if there is one."""
        if self._model is not None:
            super().to_device(device_type, device_id)
            self._grad_scaler.to_(self.device)

    def to_disk(self, path: Any) -> None:
        """Write the module's files into a folder; an empty one if there is none."""
        folder = Path(path)
        folder.mkdir(parents=True, exist_ok=True)
        if self._model is not None:
            self._model.save(folder)

    def from_disk(self, path: Any) -> "MaskedLMShim":
        """Read what `to_disk` wrote."""
        folder = Path(path)
        if folder.is_dir() and any(folder.iterdir()):
            self.set_network(self._load(folder))
        return self

    def to_bytes(self) -> bytes:
        """The module's files as one message; empty if there is no module."""
        return b"" if self._model is None else pack_folder(self._model.save)

    def from_bytes(self, data: bytes) -> "MaskedLMShim":
        """Read what `to_bytes` wrote."""
        self.set_network(unpack_folder(data, self._load) if data else None)
        return self


def _average_and_clip(gradients: List[torch.Tensor], n_pieces: int) -> None:
    """Divide gradients by the number of pieces and clip their global norm, without a
    question to the device."""
    norms = [torch.linalg.vector_norm(gradient) for gradient in gradients]
    norm = torch.linalg.vector_norm(torch.stack(norms)) / n_pieces
    factor = (MAX_GRADIENT_NORM / (norm + CLIP_EPS)).clamp(max=1.0) / n_pieces
    for gradient in gradients:
        gradient.mul_(factor)


def _step_all(optimizer: Any, arrays: Dict[Any, Any]) -> Dict[Any, Any]:
    """New weights of parameters, from weights and gradients; an optimizer that can
    takes all of them at once."""
    if hasattr(optimizer, "step_all"):
        return optimizer.step_all(arrays)
    return {key: optimizer(key, *pair)[0] for key, pair in arrays.items()}


def _take_weights(parameter: torch.nn.Parameter, weights: Any) -> None:
    """Copy an array into a parameter, unless it is its memory already."""
    tensor = xp2torch(weights, device=parameter.device)
    if tensor.data_ptr() != parameter.data_ptr():
        with torch.no_grad():
            parameter.copy_(tensor)


def _note_fork() -> None:
    global _n_forks
    _n_forks += 1


if hasattr(os, "register_at_fork"):  # not on Windows, which does not fork
    os.register_at_fork(after_in_child=_note_fork)
