"""A graph of ONNX: its file, and how it runs in this process and its forks."""

import hashlib
import logging
import os
from pathlib import Path
from typing import Any, Dict, List, Sequence

import numpy
from thinc.api import get_current_ops

from ...files.errors import DataError
from ...files.text import read_bytes

# The key under which a tensor of ONNX names another file. No graph of ours has it.
EXTERNAL = b"location"
THREADS = "OMP_NUM_THREADS"
CPU, CUDA = "CPUExecutionProvider", "CUDAExecutionProvider"
MISSING = (
    "This pipeline was exported for ONNX Runtime, which is not installed: "
    "pip install 'spacy-entlm[onnx]'"
)
logger = logging.getLogger("spacy.entlm")


class Graph:
    """A graph that names no other file, with a session of each process.

    content (bytes): A model of ONNX.
    """

    def __init__(self, content: bytes):
        self.content = content
        # Of this process and of those it was forked off, whose threads are not here.
        self._sessions: Dict[int, Any] = {}

    def __getstate__(self) -> Dict[str, Any]:
        """All but sessions, which stay in their process."""
        return {"content": self.content, "_sessions": {}}

    def __call__(self, **inputs: numpy.ndarray) -> List[numpy.ndarray]:
        """What the graph gives, in its order.
        RAISES (ImportError): If ONNX Runtime is not installed."""
        return self._session.run(None, inputs)

    @property
    def _session(self) -> Any:
        process = os.getpid()
        if process not in self._sessions:
            # The threads of a parent are gone after a fork: a worker has its own one.
            n_threads = 1 if self._sessions else _n_threads()
            self._sessions[process] = _start(self.content, n_threads)
        return self._sessions[process]

    @property
    def sha256(self) -> str:
        """By which a folder knows its graphs."""
        return hashlib.sha256(self.content).hexdigest()

    @classmethod
    def load(cls, path: Path, sha256: str) -> "Graph":
        """Read a file.
        RAISES (DataError): If it is another graph, or one that names other files."""
        graph = cls(read_bytes(path))
        if graph.sha256 != sha256:
            problem = "is not the graph that was exported: it is damaged, or of another"
            raise DataError(f"{problem} export", path=path)
        if EXTERNAL in graph.content:
            problem = "may name files outside itself, so it is refused"
            raise DataError(problem, path=path)
        return graph

    def check(
        self, path: Path, inputs: Sequence[str], width: int, gives: Dict[str, int]
    ) -> None:
        """Start it. path (Path): Its file. inputs (Sequence[str]): What it reads.
        width (int): Of the first of these. gives (Dict[str, int]): Widths by name.
        RAISES (DataError): If it does not run, or is made for something else.
            (ImportError): If ONNX Runtime is not installed."""
        try:
            session = self._session
        except ImportError:
            raise
        except Exception as error:  # classes of its own, below Exception
            reason = str(error).strip().splitlines()[0]
            raise DataError(f"cannot be run: {reason}", path=path) from error
        reads = {each.name: each.shape[-1] for each in session.get_inputs()}
        found = {each.name: each.shape[-1] for each in session.get_outputs()}
        fits = set(reads) == set(inputs) and found == gives
        if not fits or reads[inputs[0]] != width:
            problem = f"does not fit the rows beside it: it reads {reads} and gives "
            raise DataError(f"{problem}{found}", path=path)


def onnx_package() -> Any:
    """The package that changes graphs; running them needs only ONNX Runtime.
    RAISES (ImportError): If it is not installed."""
    try:
        import onnx
    except ImportError as error:
        raise ImportError(MISSING) from error
    return onnx


def _start(content: bytes, n_threads: int) -> Any:
    """A session of ONNX Runtime. n_threads (int): Of a CPU; 0: one for each core."""
    try:
        import onnxruntime
    except ImportError as error:
        raise ImportError(MISSING) from error
    # Else it tells its makers of models and machines (Privacy.md of its package).
    onnxruntime.disable_telemetry_events()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = n_threads
    # Batches have many shapes: nothing is kept for each of them.
    options.enable_mem_pattern = False
    # Threads that wait take no time from other processes.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.log_severity_level = 4  # errors are raised, and not printed as well
    providers = _providers(onnxruntime.get_available_providers())
    return onnxruntime.InferenceSession(content, options, providers=providers)


def _providers(available: Sequence[str]) -> List[Any]:
    """The GPU that spaCy uses, if this ONNX Runtime is made for one, then the CPU.
    available (Sequence[str]): Providers by name."""
    ops = get_current_ops()
    if ops.device_type != "gpu" or CUDA not in available:
        return [CPU]
    # Else products in float32 are those of TF32, which has 10 bits of its 23.
    settings = {"device_id": ops.xp.cuda.Device().id, "use_tf32": 0}
    return [(CUDA, settings), CPU]


def tell_of_device() -> None:
    """Say if spaCy uses a GPU on which this ONNX Runtime runs nothing."""
    import onnxruntime

    available = onnxruntime.get_available_providers()
    if get_current_ops().device_type == "gpu" and CUDA not in available:
        problem = "An exported pipeline runs on the CPU: onnxruntime-gpu is missing"
        logger.warning(problem)


def _n_threads() -> int:
    """What the environment says, as PyTorch takes it; 0: nothing."""
    first = os.environ.get(THREADS, "").split(",")[0].strip()
    return int(first) if first.isdecimal() else 0
