"""Processes that run the jobs of a comparison."""

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
from typing import Any, Dict, Iterator, List, NamedTuple, Sequence, Tuple

from ...files.errors import DataError
from ...files.records import Record
from .cells import Job
from .config import Dataset

# A process that does not end when it is told to is killed after this many seconds.
GRACE_SECONDS = 10.0


class Outcome(NamedTuple):
    """A job, with its records or with what went wrong."""

    job: Job
    records: List[Record]
    error: str = ""
    details: str = ""


def check_gpus(gpus: Sequence[int]) -> None:
    """RAISES (DataError): If a GPU of these numbers is not there, or cupy is not."""
    if not gpus:
        return
    import torch
    from thinc.compat import has_cupy

    if not has_cupy:
        raise DataError("GPUs need cupy: pip install cupy-cuda12x, or leave --gpus out")
    count = torch.cuda.device_count()
    if missing := [gpu for gpu in gpus if not 0 <= gpu < count]:
        there = ", ".join(map(str, range(count))) or "none"
        raise DataError(f"there is no GPU {missing[0]} (there: {there}): change --gpus")


def run_jobs(
    jobs: Sequence[Job],
    datasets: Dict[str, Dataset],
    folder: Path,
    *,
    n_processes: int = 1,
    gpus: Sequence[int] = (),
) -> Iterator[Outcome]:
    """Run each job in a process of its own, which leaves nothing behind.

    folder (Path): Where log-1.txt, log-2.txt... tell what the processes print.
    n_processes, gpus: As in `run_comparison`.
    YIELDS (Outcome): As jobs get done. A process that dies spoils its job only.
    """
    import torch

    threads = max(1, torch.get_num_threads() // n_processes)
    # Not forked: torch's threads do not survive it.
    context = multiprocessing.get_context("spawn")
    waiting, free = deque(jobs), deque(range(n_processes))
    busy: Dict[Any, Tuple[Any, Job, int, Path]] = {}
    try:
        while waiting or busy:
            while waiting and free:
                job, place = waiting.popleft(), free.popleft()
                gpu = gpus[place % len(gpus)] if gpus else -1
                log = folder / f"log-{place + 1}.txt"
                pipe, theirs = context.Pipe()
                values = (theirs, job, datasets[job[0].name.dataset], threads, gpu, log)
                process = context.Process(target=_work, args=values, daemon=True)
                process.start()
                theirs.close()
                busy[pipe] = process, job, place, log
            for done in wait(list(busy)):
                process, job, place, log = busy[done]
                outcome = Outcome(job, *_take(done, process, log))
                del busy[done]
                free.append(place)
                yield outcome
    finally:
        for process, *_ in busy.values():
            process.terminate()
        for process, *_ in busy.values():
            process.join(GRACE_SECONDS)
            process.kill()


def _take(pipe: Any, process: Any, log: Path) -> Any:
    """What came of a job; a process that died is known by its closed pipe."""
    try:
        return pipe.recv()
    except (EOFError, ConnectionError):
        process.join(GRACE_SECONDS)
        text = log.read_text("utf8", "replace") if log.is_file() else ""
        status = f"its process ended with status {process.exitcode}"
        return [], ": ".join([status, *text.strip().splitlines()[-1:]])
    finally:
        process.join(GRACE_SECONDS)


def _work(
    pipe: Connection, job: Job, dataset: Dataset, threads: int, gpu: int, log: Path
) -> None:
    """Run a job and send what came of it."""
    # A signal unwinds what runs, so that a job ends the command that it started.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    threading.Thread(target=_end_with_parent, daemon=True).start()
    # Progress bars and warnings of trainings would break up that of the run. The
    # streams themselves: loggers and libraries in C have taken hold of them.
    with log.open("ab") as file_:
        for stream in (sys.stdout, sys.stderr):
            os.dup2(file_.fileno(), stream.fileno())
    logging.basicConfig(level=logging.WARNING, stream=sys.stderr)
    print(job[0].name, flush=True)
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    try:
        import spacy
        import torch

        from .data import DatasetReader
        from .train import run_job

        torch.set_num_threads(threads)
        if gpu >= 0:
            spacy.require_gpu(gpu)
        pipe.send([run_job(job, DatasetReader(dataset))])
    except KeyboardInterrupt:
        return
    except Exception as error:
        reason = f"{type(error).__name__}: {' '.join(str(error).split())}"
        pipe.send(([], reason, traceback.format_exc()))


def _end_with_parent() -> None:
    """End this process when the one that started it is gone, also amid a training: a
    run that was killed must not go on where nobody takes its records."""
    parent: Any = multiprocessing.parent_process()
    wait([parent.sentinel])
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(GRACE_SECONDS)
    os._exit(1)
