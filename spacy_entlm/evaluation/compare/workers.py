"""Processes that run the jobs of a benchmark."""

import gc
import logging
import multiprocessing
import os
import signal
import sys
import threading
import time
import traceback
from collections import deque
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any, Deque, Dict, Iterator, List, NamedTuple, Optional, Sequence

from .cells import Job
from .config import Dataset

# A process that does not end when it is told to is killed after this many seconds.
GRACE_SECONDS = 10.0
TOKENIZER_THREADS = "TOKENIZERS_PARALLELISM"


class Outcome(NamedTuple):
    """A job, with its records or with what went wrong."""

    job: Job
    records: List[Dict[str, Any]]
    error: str
    details: str = ""


class _Worker:
    """A process, and the end of the pipe to it."""

    def __init__(self, datasets: Dict[str, Dataset], settings: "WorkerSettings"):
        # Not forked: torch's threads do not survive it.
        context = multiprocessing.get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self.job: Optional[Job] = None
        self.process = context.Process(
            target=_work, args=(theirs, datasets, settings), daemon=True
        )
        self.process.start()
        theirs.close()

    def give(self, job: Job) -> None:
        self.job = job
        self.pipe.send(job)

    def take(self) -> Outcome:
        """What came of the job; a process that died is known by its closed pipe."""
        job, self.job = self.job, None
        assert job is not None
        try:
            records, error, details = self.pipe.recv()
        except (EOFError, ConnectionError):
            self.process.join(GRACE_SECONDS)
            status = self.process.exitcode
            return Outcome(job, [], f"its process ended with status {status}")
        return Outcome(job, records, error, details)

    def stop(self) -> None:
        # One that waits for a job ends when the pipe is closed.
        self.pipe.close()
        if self.job is not None:
            self.process.terminate()
        self.process.join(GRACE_SECONDS)
        if self.process.is_alive():
            self.process.kill()
            self.process.join()


class WorkerSettings(NamedTuple):
    """threads: of torch, per process. gpu: device number, or -1. log: file for what
    the process prints."""

    threads: int
    gpu: int
    log: Optional[Path]


def available_cores() -> int:
    """Cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def run_jobs(
    jobs: Sequence[Job],
    datasets: Dict[str, Dataset],
    *,
    n_processes: int = 1,
    gpus: Sequence[int] = (),
    log: Optional[Path] = None,
) -> Iterator[Outcome]:
    """Run jobs in processes of their own.

    jobs (Sequence[Job]): What to do, in this order.
    datasets (Dict[str, Dataset]): Where their sentences are.
    n_processes (int): Processes at a time; the cores are divided between them.
    gpus (Sequence[int]): Devices, taken in turn; none: the CPU.
    log (Optional[Path]): File for what the processes print.
    YIELDS (Outcome): As jobs get done. A process that dies spoils its job only.
    """
    waiting: Deque[Job] = deque(jobs)
    threads = max(1, available_cores() // n_processes)
    workers: List[_Worker] = []
    try:
        for i in range(min(n_processes, len(jobs))):
            gpu = gpus[i % len(gpus)] if gpus else -1
            settings = WorkerSettings(threads, gpu, log)
            workers.append(_Worker(datasets, settings))
            workers[-1].give(waiting.popleft())
        busy = {worker.pipe: (i, worker) for i, worker in enumerate(workers)}
        while busy:
            for pipe in wait(list(busy)):
                i, worker = busy.pop(pipe)  # type: ignore[call-overload]
                outcome = worker.take()
                if not worker.process.is_alive() and waiting:
                    worker.stop()
                    gpu = gpus[i % len(gpus)] if gpus else -1
                    worker = _Worker(datasets, WorkerSettings(threads, gpu, log))
                    workers[i] = worker
                if waiting:
                    worker.give(waiting.popleft())
                    busy[worker.pipe] = (i, worker)
                yield outcome
    finally:
        for worker in workers:
            worker.stop()


def _work(
    pipe: Connection, datasets: Dict[str, Dataset], settings: WorkerSettings
) -> None:
    """Take jobs from a pipe until it is closed."""
    _prepare_process(settings)
    from .data import DatasetReader
    from .train import run_job

    readers: Dict[str, DatasetReader] = {}
    while True:
        try:
            job = pipe.recv()
        except (EOFError, KeyboardInterrupt):
            return
        try:
            name = job.cells[0].name.dataset
            if name not in readers:
                readers[name] = DatasetReader(name, datasets[name])
            answer: Any = (run_job(job, readers[name]), "", "")
        except KeyboardInterrupt:
            return
        except Exception as err:
            reason = " ".join(str(err).split())
            answer = ([], f"{type(err).__name__}: {reason}", traceback.format_exc())
        # A pipeline is held by cycles, each with the memory of a model.
        gc.collect()
        pipe.send(answer)


def _end_with_parent() -> None:
    """End this process when the one that started it is gone, also amid a training:
    a run that was killed must not go on where nobody takes its records."""
    parent = multiprocessing.parent_process()
    assert parent is not None

    def watch() -> None:
        wait([parent.sentinel])
        # A signal lets the job end a command that it runs; a second thread could not.
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(GRACE_SECONDS)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _stop(*_: Any) -> None:
    """A signal handler: unwinds what runs."""
    raise SystemExit(1)


def _prepare_process(settings: WorkerSettings) -> None:
    signal.signal(signal.SIGTERM, _stop)
    _end_with_parent()
    os.environ[TOKENIZER_THREADS] = "false"
    if settings.log is not None:
        # Progress bars and warnings of trainings would break up that of the run. The
        # streams themselves: loggers and libraries in C have taken hold of them.
        with settings.log.open("ab") as file_:
            for stream in (sys.stdout, sys.stderr):
                os.dup2(file_.fileno(), stream.fileno())
    logging.basicConfig(level=logging.WARNING, stream=sys.stderr)
    import torch

    torch.set_num_threads(settings.threads)
    if settings.gpu >= 0:
        import spacy

        spacy.require_gpu(settings.gpu)
