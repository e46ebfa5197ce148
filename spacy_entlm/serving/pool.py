"""Processes that read batches of texts, each with the pipeline.

Threads of one process would hold each other up: a pipeline of PyTorch calls hundreds of
small operations, each of which waits for Python's one lock (figures:
project/benchmarks/RESULTS.md).
"""

import multiprocessing
import os
import signal
import threading
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from functools import partial
from typing import Any, Callable, Iterator, List, Optional

from ..files.errors import DataError, shorten
from .reader import Answer, Reader

# Of this process, if it is one of those that read, and what may take its place.
_reader: Optional[Reader] = None
_next: Optional[Reader] = None


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
        self._processes = [_process() for _ in range(n_copies)]
        # Places in this list, and a word for those who wait for one of them.
        self._free = list(range(n_copies))
        self._given_back = threading.Condition()
        try:
            self._load_all([process.submit for process in self._processes])
        except BaseException:
            self.close()
            raise

    def load(self) -> None:
        """Load the pipeline again, in one process after the other. The old one stays if
        an error is raised, and reads until then.
        RAISES (DataError): If it cannot be loaded."""
        self._load_all([partial(self._submit, i) for i in range(self.n_copies)])

    def read(self, texts: List[str]) -> List[Answer]:
        """As `Reader.read`.
        RAISES (BrokenProcessPool): If the process died over these texts."""
        with self._taken() as place:
            try:
                return self._ask(place, _read, texts).result()
            except BrokenProcessPool:
                self._replace(place)
                raise

    def close(self) -> None:
        """End the processes; nothing is being read."""
        for process in self._processes:
            process.shutdown(cancel_futures=True)

    def _load_all(self, submits: List[Callable[..., "Future[Any]"]]) -> None:
        """Take a pipeline over only when each process has loaded it."""
        problems: List[Optional[str]] = []
        try:
            loads = [submit(_load, self.pipeline, self.gpu_id) for submit in submits]
            problems = [load.result() for load in loads]
            for submit in submits:
                submit(_finish, not any(problems)).result()
        except BrokenProcessPool as error:
            problem = f"{self.pipeline}: a process died as it loaded this"
            raise DataError(problem) from error
        if any(problems):
            raise DataError(next(filter(None, problems)))

    def _submit(self, place: int, *work: Any) -> "Future[Any]":
        """Let a process do something as soon as it is free, and wait for the end."""
        with self._taken(place):
            done = self._ask(place, *work)
            done.exception()
            return done

    def _ask(self, place: int, *work: Any) -> "Future[Any]":
        """Let a process do something. One that died as it had nothing to do is replaced
        before; one that dies now is not."""
        try:
            return self._processes[place].submit(*work)
        except BrokenProcessPool:
            self._replace(place)
            return self._processes[place].submit(*work)

    @contextmanager
    def _taken(self, place: Optional[int] = None) -> Iterator[int]:
        """Wait for a process, or for any that is free: the longest first."""
        with self._given_back:
            self._given_back.wait_for(
                lambda: self._free if place is None else place in self._free
            )
            taken = self._free[0] if place is None else place
            self._free.remove(taken)
        try:
            yield taken
        finally:
            with self._given_back:
                self._free.append(taken)
                self._given_back.notify_all()

    def _replace(self, place: int) -> None:
        """Put a new process in the place of a dead one; if there is no pipeline to load
        any more, the next batch tries."""
        new = _process()
        try:
            self._load_all([new.submit])
        except DataError:
            new.shutdown()
        else:
            self._processes[place] = new


def _process() -> ProcessPoolExecutor:
    """One that has nothing in common with this."""
    spawn = multiprocessing.get_context("spawn")
    return ProcessPoolExecutor(1, mp_context=spawn, initializer=_begin)


def _begin() -> None:
    """In a process that reads: it ends with its parent and by its word, not by a signal
    that a terminal or systemd sends to all, since it may be at a last batch."""
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        if number := getattr(signal, name, None):  # Windows has no SIGHUP
            signal.signal(number, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _load(pipeline: str, gpu_id: int) -> Optional[str]:
    """RETURNS (Optional[str]): What went wrong."""
    global _next
    try:
        _next = Reader(pipeline, gpu_id)
    except Exception as error:  # not each of them can be pickled
        return shorten(f"{type(error).__name__}: {error}")
    return None


def _finish(is_wanted: bool) -> None:
    """Take over what was loaded, or forget it. A process that was put in the place of a
    dead one meanwhile has the new pipeline, and nothing to take over."""
    global _reader, _next
    if is_wanted and _next is not None:
        _reader = _next
    _next = None


def _read(texts: List[str]) -> List[Answer]:
    if _reader is None:
        raise RuntimeError("No pipeline was loaded")
    return _reader.read(texts)
