"""The command `serve`: a pipeline that answers over HTTP."""

import os
from typing import Optional

from ..files.errors import DataError
from ._options import GPU_ID, arg, command, opt

THREADS = "OMP_NUM_THREADS"
# Each is a process with a copy of the pipeline.
MAX_READERS = 4
READERS = (
    "Processes that read texts, each with a copy of the pipeline; if not given, one "
    "for each core, but at most 4, and one on a GPU"
)


@command("serve", stopped=None)
def serve_cli(
    pipeline: str = arg("PIPELINE", "Folder or package of a pipeline"),
    host: str = opt(
        "127.0.0.1",
        "Address to listen on; 127.0.0.1: only this machine can ask; 0.0.0.0: others, "
        "too",
    ),
    port: int = opt(8901, "Port to listen on; 0: any that is free", min=0, max=65535),
    max_bytes: int = opt(1 << 20, "Most bytes of a request", min=1),
    max_texts: int = opt(256, "Most texts of a request", min=1),
    max_chars: int = opt(100_000, "Most characters of a text", min=1),
    timeout: float = opt(30.0, "Most seconds until an answer", min=0.001),
    queue: int = opt(
        1024, "Most texts that wait; further requests get the status 429", min=1
    ),
    batch_size: int = opt(128, "Texts that are read together", min=1),
    wait: float = opt(
        5.0, "Milliseconds to wait for more texts to read together", min=0, max=5
    ),
    readers: Optional[int] = opt(None, READERS, min=1),
    gpu_id: int = GPU_ID,
) -> None:
    """Serve a pipeline over HTTP: the answer to POST /entities {"texts": ["..."]} is
    a list of entities of each text, with their confidences.

    GET /health says whether the server is well, and GET /metrics gives figures for
    Prometheus. POST /reload, or the signal SIGHUP, loads the pipeline anew. SIGTERM
    ends the server after the last answer. Neither loses a request.

    \b
    Example:
      python -m spacy entlm serve my_model --port 8901
    """
    try:
        from ..serving.server import serve
    except ImportError as error:  # it says which extra is missing
        raise DataError(str(error)) from error
    from ..serving.limits import Limits
    from ..serving.pool import ReaderPool

    limits = Limits(
        bytes=max_bytes,
        texts=max_texts,
        characters=max_chars,
        seconds=timeout,
        queue=queue,
        batch=batch_size,
        wait=wait / 1000,
    )
    n_readers = readers or _suitable_readers(gpu_id)
    _share_threads(n_readers)
    serve(ReaderPool(pipeline, gpu_id, n_readers), limits, port, host)


def _suitable_readers(gpu_id: int) -> int:
    """One for each core, at most 4; on a GPU one."""
    return 1 if gpu_id >= 0 else min(_n_cores(), MAX_READERS)


def _share_threads(n_readers: int) -> None:
    """Give each of some readers its share of the cores, unless OMP_NUM_THREADS is set:
    more threads than cores wait for each other. For the processes that this one, which
    is the command's own, will start."""
    if n_readers > 1 and THREADS not in os.environ:
        os.environ[THREADS] = str(max(1, _n_cores() // n_readers))


def _n_cores() -> int:
    """Those that this process may use."""
    if hasattr(os, "sched_getaffinity"):  # on Linux
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
