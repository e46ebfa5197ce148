"""Requests that arrive together are read together, in the order in which each would
be answered if it were alone: a long one lets short ones pass that come right after it.
"""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Callable, List

from .limits import Limits
from .reader import Answer

# Where more wait, half of them are read: whoever comes meanwhile waits for half.
FEW = 2
# Of the time and the size of earlier batches, with each new one.
KEPT = 0.9


class QueueFull(Exception):
    """So many texts wait that no more are taken."""


class Late(Exception):
    """No answer within the limit. was_read (bool): Whether reading had begun."""

    def __init__(self, was_read: bool) -> None:
        super().__init__(was_read)
        self.was_read = was_read


@dataclass(order=True)
class _Request:
    due: float  # when it would be answered if it were alone
    arrived: float
    texts: List[str] = field(compare=False)
    answers: "asyncio.Future[List[Answer]]" = field(compare=False)
    was_read: bool = field(default=False, compare=False)


class Batches:
    """A queue in front of the threads that read. Used in an event loop."""

    def __init__(
        self,
        read: Callable[[List[str]], List[Answer]],
        limits: Limits,
        note_batch: Callable[[int], object] = lambda n_texts: None,
        n_readers: int = 1,
    ) -> None:
        """read (Callable): Texts to answers, one each; called in always the same
            threads.
        note_batch (Callable): Told how many texts a batch has.
        n_readers (int): Of these threads: batches that are read at the same time."""
        self.read = read
        self.limits = limits
        self.note_batch = note_batch
        self.n_readers = n_readers
        self.n_waiting = 0  # texts
        self._seconds, self._characters = 0.0, 1.0  # of the last batches
        self._queue: asyncio.PriorityQueue[_Request] = asyncio.PriorityQueue()

    async def ask(self, texts: List[str], seconds: float) -> List[Answer]:
        """Wait for the answers to texts.

        seconds (float): As long at most.
        RAISES (QueueFull): At once, if too many wait. (Late): If it took too long.
        """
        if self.n_waiting + len(texts) > self.limits.queue:
            raise QueueFull
        loop = asyncio.get_running_loop()
        now = loop.time()
        due = now + _size(texts) * self._seconds / self._characters
        request = _Request(due, now, texts, loop.create_future())
        self.n_waiting += len(texts)
        self._queue.put_nowait(request)
        try:
            return await asyncio.wait_for(request.answers, seconds)
        except asyncio.TimeoutError as error:
            raise Late(request.was_read) from error
        finally:
            if not request.was_read:  # whoever gave up makes room at once
                self.n_waiting -= len(texts)

    async def run(self) -> None:
        """Read what comes until this task is cancelled."""
        with ThreadPoolExecutor(self.n_readers, "pipeline") as threads:
            readers = [self._read_on(threads) for _ in range(self.n_readers)]
            await asyncio.gather(*readers)

    async def _read_on(self, threads: ThreadPoolExecutor) -> None:
        loop = asyncio.get_running_loop()
        while True:
            batch = await self._next_batch()
            texts = [text for request in batch for text in request.texts]
            self.note_batch(len(texts))
            start = loop.time()
            try:
                answers = await loop.run_in_executor(threads, self.read, texts)
            except Exception as error:  # eg of memory: the next batch may fit
                _fail(batch, error)
            else:
                _answer(batch, answers)
            self._seconds = KEPT * self._seconds + loop.time() - start
            self._characters = KEPT * self._characters + max(1, _size(texts))

    async def _next_batch(self) -> List[_Request]:
        """Wait for a request, and a little for more; leave out who has given up."""
        batch: List[_Request] = []
        while not batch:
            first = await self._queue.get()
            now = asyncio.get_running_loop().time()
            rest = first.arrived + self.limits.wait - now
            if rest > 0 and self.n_waiting < self.limits.batch:
                await asyncio.sleep(rest)
            self._queue.put_nowait(first)  # it may not be the first any more
            n_most = min(self.limits.batch, max(FEW, self.n_waiting // 2))
            n_texts = 0
            while n_texts < n_most and not self._queue.empty():
                n_texts += self._take(self._queue.get_nowait(), batch)
        return batch

    def _take(self, request: _Request, batch: List[_Request]) -> int:
        if request.answers.done():
            return 0
        request.was_read = True
        self.n_waiting -= len(request.texts)
        batch.append(request)
        return len(request.texts)


def _size(texts: List[str]) -> int:
    return sum(map(len, texts))


def _answer(batch: List[_Request], answers: List[Answer]) -> None:
    start = 0
    for request in batch:
        end = start + len(request.texts)
        if not request.answers.done():  # who waits no more gets none
            request.answers.set_result(answers[start:end])
        start = end


def _fail(batch: List[_Request], error: Exception) -> None:
    for request in batch:
        if not request.answers.done():
            request.answers.set_exception(error)
