"""Processes that read batches of texts, each with the pipeline.

Threads of one process would hold each other up: a pipeline of PyTorch calls hundreds of
small operations, each of which waits for Python's one lock (figures:
project/benchmarks/RESULTS.md).
"""

import multiprocessing
import os
import signal
import threading
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import List, Optional

from ..files.errors import DataError, shorten
from .reader import Answer, Reader

# Of this process, if it is one of those that read.
_reader: Optional[Reader] = None


class ReaderPool:
    """As many readers as there are copies, each in a process of its own; one that dies
    is replaced, and fails its batch alone.

    As many threads as there are copies may call `read`, and another one `load`.
    """

    def __init__(self, pipeline: str, gpu_id: int = -1, n_copies: int = 1) -> None:
        """pipeline (str): Folder or name of a package.
        gpu_id (int): The GPU, -1 for the CPU.
        n_copies (int): Of the pipeline; each reads a batch at a time.
        RAISES (DataError): If it cannot be loaded."""
        self.pipeline = pipeline
        self.gpu_id = gpu_id
        self.n_copies = n_copies
        self._lock = threading.Lock()
        self._current: List[ProcessPoolExecutor] = []
        self._free: List[ProcessPoolExecutor] = []
        self.load()

    def load(self) -> None:
        """Load the pipeline, which takes the place of the earlier one. That stays if an
        error is raised, and for batches that are being read."""
        new = self._start(self.n_copies)
        with self._lock:
            retired = self._free
            self._current, self._free = new, list(new)
        for process in retired:
            process.shutdown()

    def read(self, texts: List[str]) -> List[Answer]:
        """As `Reader.read`.
        RAISES (BrokenProcessPool): If the process died over these texts."""
        with self._lock:
            process = self._free.pop(0)
        try:
            return process.submit(_read, texts).result()
        except BrokenProcessPool:
            process = self._replace(process)
            raise
        finally:
            self._give_back(process)

    def close(self) -> None:
        """End the processes; nothing is being read."""
        with self._lock:
            retired, self._current, self._free = self._free, [], []
        for process in retired:
            process.shutdown()

    def _start(self, n: int) -> List[ProcessPoolExecutor]:
        """RAISES (DataError): If the pipeline cannot be loaded: then none lives on."""
        spawn = multiprocessing.get_context("spawn")
        started = [
            ProcessPoolExecutor(1, mp_context=spawn, initializer=_begin)
            for _ in range(n)
        ]
        try:
            loads = [p.submit(_load, self.pipeline, self.gpu_id) for p in started]
            problems = [load.result() for load in loads]
            if any(problems):
                raise DataError(next(filter(None, problems)))
        except BaseException as error:
            for process in started:
                process.shutdown(wait=False, cancel_futures=True)
            if isinstance(error, BrokenProcessPool):
                problem = f"{self.pipeline}: a process died as it loaded this"
                raise DataError(problem) from error
            raise
        return started

    def _replace(self, dead: ProcessPoolExecutor) -> ProcessPoolExecutor:
        """Another one in its place; itself if there is none: the next batch tries."""
        try:
            (new,) = self._start(1)
        except DataError:
            return dead
        with self._lock:
            self._current = [new if p is dead else p for p in self._current]
            is_current = new in self._current
        if not is_current:  # all were replaced meanwhile
            new.shutdown(wait=False)
        return new

    def _give_back(self, process: ProcessPoolExecutor) -> None:
        with self._lock:
            is_current = process in self._current
            if is_current:
                self._free.append(process)
        if not is_current:
            process.shutdown(wait=False)


def _begin() -> None:
    """In a process that reads: it ends with its parent and by its word, not by a signal
    that a terminal or systemd sends to all, since it may be at a last batch."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _load(pipeline: str, gpu_id: int) -> Optional[str]:
    """RETURNS (Optional[str]): What went wrong."""
    global _reader
    try:
        _reader = Reader(pipeline, gpu_id)
    except Exception as error:  # not each of them can be pickled
        return shorten(f"{type(error).__name__}: {error}")
    return None


def _read(texts: List[str]) -> List[Answer]:
    if _reader is None:
        raise RuntimeError("No pipeline was loaded")
    return _reader.read(texts)
