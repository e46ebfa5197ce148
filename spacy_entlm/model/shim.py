"""The network behind Thinc's PyTorch shim: updates, devices, files."""

import os
import tempfile
from pathlib import Path
from typing import Any, Callable, Dict, List, Optional, Tuple, cast

import srsly
import torch
from thinc.api import Optimizer, PyTorchGradScaler, PyTorchShim
from thinc.types import FloatsXd
from thinc.util import get_torch_default_device, torch2xp, xp2torch

from .masked_lm import MaskedLM
from .memory import return_free_memory
from .network import EntLMNetwork
from .precision import DTYPES, autocast, fastest_precision, product_dtype

# Paper's authors and the field: the global norm, over all parameters together.
MAX_GRADIENT_NORM = 1.0
# Added to the norm as torch.nn.utils.clip_grad_norm_ does.
CLIP_EPS = 1e-6
# Returning memory takes less time than a step.
UPDATES_BETWEEN_RETURNS = 50


class EntLMShim(PyTorchShim):
    """`PyTorchShim` that adds up the losses of sub-batches, divides by the number of
    their pieces, clips the global gradient norm, and leaves no zeroed gradients.

    The module is None until it is initialised or loaded.
    """

    _model: Optional[EntLMNetwork]

    def __init__(
        self,
        *,
        precision: str,
        mixed_precision: bool,
        transformer_config: Dict[str, Any],
        tokenizer_config: Dict[str, Any],
        network_class: Any = EntLMNetwork,
    ):
        """network_class (Type): Of the module; it has `masked_lm`, `save` and `load`
        as EntLMNetwork has."""
        super().__init__(
            None,
            mixed_precision=mixed_precision,
            grad_scaler=PyTorchGradScaler(mixed_precision),
            serialize_model=serialize_network,
            deserialize_model=None,
        )
        self._load_settings = {
            "transformer_config": transformer_config,
            "tokenizer_config": tokenizer_config,
        }
        self._network_class = network_class
        self._deserialize_model = self._deserialize
        self._precision = precision
        self._n_pieces = 0
        self._n_updates = 0
        self._spare_gradient: Optional[torch.Tensor] = None
        self._pid = os.getpid()

    @property
    def network(self) -> Optional[EntLMNetwork]:
        """The module, if there is one yet."""
        return self._model

    def set_network(self, network: EntLMNetwork) -> None:
        """Take a module and move it to the active device."""
        device = get_torch_default_device()
        self._model = network.to(device)
        self._grad_scaler.to_(device)
        self._n_pieces = 0
        self._spare_gradient = None

    @property
    def training_dtype(self) -> torch.dtype:
        """Of matrix products in training; weights and the loss are float32."""
        if not self._mixed_precision:
            return torch.float32
        if self.device.type == "cuda":
            return torch.float16
        # A processor of which half precision is no strength trains in float32.
        width = cast(EntLMNetwork, self._model).masked_lm.width
        return DTYPES[fastest_precision(self.device.type, width)]

    @property
    def scales_gradients(self) -> bool:
        """float16 has too small a range for gradients as they are."""
        return self.training_dtype == torch.float16

    def get_ready(self) -> torch.dtype:
        """Bring the network into the state in which it predicts; at once if it is.

        RETURNS (dtype): Of its matrix products.
        """
        network = cast(EntLMNetwork, self._model)
        if network.training:  # it walks through all modules, batch by batch
            network.eval()
        dtype = product_dtype(self.device, self._precision, network)
        network.masked_lm.pack(dtype)
        return dtype

    def predict(self, inputs: Any) -> torch.Tensor:
        """Features without gradients, at the precision asked for."""
        dtype = self.get_ready()
        self._spare_gradient = None
        with torch.no_grad(), autocast(self.device, dtype):
            return cast(EntLMNetwork, self._model)(*inputs.args, **inputs.kwargs)

    def begin_update(self, inputs: Any) -> Tuple[torch.Tensor, Callable]:
        """Features with gradients, and the callback that takes theirs, scaled as
        `gradient_scale` says."""
        network = cast(EntLMNetwork, self._model)
        network.train()
        network.masked_lm.unpack()
        self._prepare_large_gradient(network.masked_lm)
        dtype = self.training_dtype
        half = dtype != torch.float32
        with torch.autocast(
            self.device.type, dtype=dtype if half else None, enabled=half
        ):
            output = network(*inputs.args, **inputs.kwargs)

        def backprop(gradient: torch.Tensor) -> None:
            torch.autograd.backward(output, gradient)

        return output, backprop

    def gradient_scale(self) -> torch.Tensor:
        """float32 (1): what gradients are multiplied with until `finish_update`."""
        one = torch.ones(1, device=self.device)
        if not self.scales_gradients:
            return one
        return cast(torch.Tensor, self._grad_scaler.scale(one))

    def count_pieces(self, n_pieces: int) -> None:
        """Note how many pieces the gradients of a sub-batch come from."""
        self._n_pieces += n_pieces

    def finish_update(self, optimizer: Optimizer) -> None:
        """Divide by the number of pieces, clip, and let the optimizer step.

        optimizer (Optimizer): Called with Thinc arrays that share the parameters'
            memory (numpy, or cupy through DLPack).
        """
        if self._model is None:
            return
        parameters = dict(self._model.named_parameters())
        gradients = [p.grad for p in parameters.values() if p.grad is not None]
        overflow = self.scales_gradients and self._grad_scaler.unscale(gradients)
        if self._n_pieces and gradients and not overflow:
            _average_and_clip(gradients, self._n_pieces)
            for name, parameter in parameters.items():
                if parameter.grad is not None:
                    weights, _ = optimizer(
                        (self.id, name),
                        cast(FloatsXd, torch2xp(parameter.data)),
                        cast(FloatsXd, torch2xp(parameter.grad)),
                    )
                    parameter.data = xp2torch(weights, device=parameter.device)
        if self.scales_gradients:
            self._grad_scaler.update()
        self.drop_gradients()
        self._n_updates += 1
        half_on_cpu = self.training_dtype == torch.bfloat16
        if half_on_cpu and self._n_updates % UPDATES_BETWEEN_RETURNS == 0:
            return_free_memory()

    def drop_gradients(self) -> None:
        """Forget all gradients; not in place, since `nlp.rehearse` keeps them."""
        if self._model is not None:
            self._spare_gradient = self._model.masked_lm.decoder.weight.grad
            for parameter in self._model.parameters():
                parameter.grad = None
        self._n_pieces = 0

    def _prepare_large_gradient(self, masked_lm: MaskedLM) -> None:
        """Let the gradient of the output matrix, the largest, begin as zeros in the
        memory of the step before, since new memory costs more than filling it. Then
        the input embeddings, mostly the same matrix, need add the rows they used
        only."""
        weight = masked_lm.decoder.weight
        if weight.grad is None:
            spare, self._spare_gradient = self._spare_gradient, None
            if spare is None or spare.device != weight.device:
                spare = torch.zeros_like(weight)
            weight.grad = spare.zero_()
        embeddings = masked_lm.body.get_input_embeddings()
        if isinstance(embeddings, torch.nn.Embedding):
            embeddings.sparse = weight.device.type == "cpu" and (
                embeddings.weight is weight
            )

    def to_device(self, device_type: str, device_id: int) -> None:
        """Move the module, if there is one."""
        if self._model is not None:
            super().to_device(device_type, device_id)

    def to_disk(self, path: Any) -> None:
        """Write the module's files into a folder; an empty one if there is none."""
        folder = Path(path)
        folder.mkdir(parents=True, exist_ok=True)
        if self._model is not None:
            self._model.save(folder)

    def from_disk(self, path: Any) -> "EntLMShim":
        """Read what `to_disk` wrote."""
        folder = Path(path)
        if folder.is_dir() and any(folder.iterdir()):
            self.set_network(self._network_class.load(folder, **self._load_settings))
        return self

    def _deserialize(self, _: Any, data: bytes, device: torch.device) -> Any:
        if not data:
            return None
        network = deserialize_network(data, self._network_class, **self._load_settings)
        return network.to(device)

    def spare_forked_threads(self) -> None:
        """Compute with one thread in a forked worker, from its first tensor on: the
        threads of a parent that has used PyTorch are gone after a fork, and waiting
        for them never ends."""
        if os.getpid() != self._pid:
            torch.set_num_threads(1)
            self._pid = os.getpid()


def _average_and_clip(gradients: List[torch.Tensor], n_pieces: int) -> None:
    """Divide by the number of pieces and clip the global norm, in one pass."""
    norms = torch.stack(torch._foreach_norm(gradients))
    norm = torch.linalg.vector_norm(norms) / n_pieces
    factor = (MAX_GRADIENT_NORM / (norm + CLIP_EPS)).clamp(max=1.0) / n_pieces
    torch._foreach_mul_(gradients, factor)


def serialize_network(network: Optional[EntLMNetwork]) -> bytes:
    """The module's files as one message; empty if there is no module."""
    if network is None:
        return b""
    with tempfile.TemporaryDirectory(prefix="entlm-") as folder:
        network.save(Path(folder))
        files = {
            path.name: path.read_bytes() for path in sorted(Path(folder).iterdir())
        }
    return srsly.msgpack_dumps(files)


def deserialize_network(
    data: bytes, network_class: Any = EntLMNetwork, **load_settings: Any
) -> Any:
    """Undo `serialize_network`.

    data (bytes): The message. network_class (Type): Of the module.
    **load_settings: Those of its `load`.
    RAISES (ValueError): If a file's name would leave the folder it is unpacked to.
    """
    files: Dict[str, bytes] = srsly.msgpack_loads(data)
    with tempfile.TemporaryDirectory(prefix="entlm-") as folder:
        for name, content in files.items():
            if Path(name).name != name:
                raise ValueError(f"A model's file cannot be called {name!r}")
            (Path(folder) / name).write_bytes(content)
        return network_class.load(Path(folder), **load_settings)
