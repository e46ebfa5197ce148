"""The exported network behind Thinc's shim: files, and nothing to train."""

from pathlib import Path
from typing import Any, Optional

from thinc.api import Shim

from ...files.folder import pack_folder, unpack_folder
from .network import OnnxNetwork


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
