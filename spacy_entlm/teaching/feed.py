"""Batches that other processes make ahead, in their order."""

import gc
import multiprocessing
import queue
from typing import Any, Callable, Iterator

from ..files.errors import DataError

# Batches that each process makes ahead.
AHEAD = 3
# Seconds to wait before asking whether the other process is still alive.
PATIENCE = 5.0


class Feed:
    """Gives what `make(number)` makes for number `first`, first + 1 and so on.

    workers (int): Processes, forked, so that they share what `make` holds; 0: none.
    A context manager: at its end they are gone.
    """

    def __init__(self, make: Callable[[int], Any], first: int, workers: int):
        self.make, self.first, self.workers = make, first, workers
        self._processes: list = []
        self._queues: list = []

    def __enter__(self) -> Iterator[Any]:
        if not self.workers:
            return self._alone()
        context = multiprocessing.get_context("fork")
        # Else looking for garbage would copy all memory that is shared.
        gc.collect()
        gc.freeze()
        for i in range(self.workers):
            fed = context.Queue(AHEAD)
            process = context.Process(target=self._work, args=(i, fed), daemon=True)
            process.start()
            self._processes.append(process)
            self._queues.append(fed)
        return self._shared()

    def __exit__(self, *error: Any) -> None:
        for process in self._processes:
            process.terminate()
        for process in self._processes:
            process.join()
        gc.unfreeze()

    def _alone(self) -> Iterator[Any]:
        number = self.first
        while True:
            yield self.make(number)
            number += 1

    def _work(self, i: int, fed: Any) -> None:
        number = self.first + i
        while _put(self.make(number), fed):
            number += self.workers
        # What is left needs no reader: there is none.
        fed.cancel_join_thread()

    def _shared(self) -> Iterator[Any]:
        while True:
            for process, fed in zip(self._processes, self._queues):
                yield _get(process, fed)


def _put(made: Any, fed: Any) -> bool:
    """Whether a batch was handed on: not where the process that wants it is gone."""
    parent = multiprocessing.parent_process()
    while parent is not None and parent.is_alive():
        try:
            fed.put(made, timeout=PATIENCE)
            return True
        except queue.Full:
            continue
    return False


def _get(process: Any, fed: Any) -> Any:
    while True:
        try:
            return fed.get(timeout=PATIENCE)
        except queue.Empty:
            if not process.is_alive():
                raise DataError(
                    "A process that prepares lines has ended: is there too little "
                    "memory? Try fewer --workers"
                ) from None
