"""The exported network behind Thinc's shim: files, and nothing to train."""

from pathlib import Path
from typing import Any, NoReturn, Optional, Tuple

import numpy
from thinc.api import Shim

from ...files.folder import pack_folder, unpack_folder
from .network import OnnxNetwork, refuse

# What fits the caches of a CPU.
BATCH_PIECES = 1024
Inputs = Tuple[numpy.ndarray, numpy.ndarray, numpy.ndarray]


class OnnxShim(Shim):
    """Holds a network, or None as long as it is not loaded; its rows are numpy's."""

    def __init__(self) -> None:
        super().__init__(None)

    @property
    def network(self) -> Optional[OnnxNetwork]:
        """The network, if there is one yet."""
        return self._model

    def set_network(self, network: Optional[OnnxNetwork]) -> None:
        """Take a network, or none."""
        self._model = network

    @property
    def is_apart(self) -> bool:
        """Whether it works while the processor does something else."""
        return False

    @property
    def batch_limits(self) -> Tuple[int, int]:
        """Most pieces of a batch, and of padding: graphs take none, so that windows of
        one length are read together."""
        return BATCH_PIECES, 0

    def features(self, inputs: Inputs) -> numpy.ndarray:
        """float32 (n, width), of the pieces at the positions of a batch."""
        return self._model.features(*inputs)

    def spare_threads_of_fork(self) -> None:
        """They are not those of PyTorch."""

    def begin_scores(self, *args: Any) -> NoReturn:
        """RAISES (ValueError): Nothing can be learned."""
        refuse()

    def finish_update(self, optimizer: Any) -> None:
        """There is nothing to train."""

    def to_device(self, device_type: str, device_id: int) -> None:
        """It stays where it is; its scores are arrays of numpy."""

    def to_disk(self, path: Any) -> None:
        """Write the network's files into a folder; an empty one if there is none."""
        folder = Path(path)
        folder.mkdir(parents=True, exist_ok=True)
        if self.network is not None:
            self.network.save(folder)

    def from_disk(self, path: Any) -> "OnnxShim":
        """Read what `to_disk` wrote."""
        folder = Path(path)
        if folder.is_dir() and any(folder.iterdir()):
            self.set_network(OnnxNetwork.load(folder))
        return self

    def to_bytes(self) -> bytes:
        """The network's files as one message; empty if there is no network."""
        return b"" if self.network is None else pack_folder(self.network.save)

    def from_bytes(self, data: bytes) -> "OnnxShim":
        """Read what `to_bytes` wrote."""
        self.set_network(unpack_folder(data, OnnxNetwork.load) if data else None)
        return self
