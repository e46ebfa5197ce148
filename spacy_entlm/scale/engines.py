"""What carries out work on many items: this process, or the workers of a Ray cluster.

Work is a function that is sent to each worker once and keeps there what it loads. Items
and results are plain values, as msgpack takes them: no array is handed on, since those
of Ray are read-only, and spaCy's are written to.
"""

import logging
import math
import os
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Callable, Dict, Iterator, List, Optional, Tuple, Union

import srsly

from ..files.errors import DataError, shorten

LOCAL, RAY = ENGINES = ("local", "ray")
# More tell the scheduler nothing; a task then has several items.
_MAX_TASKS = 10_000
# As an address: a cluster of this machine alone.
_OWN = "local"

Work = Callable[[Any], Any]


@dataclass(frozen=True)
class Failed:
    """Why the work on an item failed."""

    problem: str


# The index of an item, and what its work gave.
Outcome = Tuple[int, Union[Any, Failed]]


@dataclass(frozen=True)
class Engine:
    """How work is carried out.

    name (str): "local", in this process; "ray", by the workers of a cluster.
    workers (Optional[int]): Most workers of Ray; None: one for each of its cores or,
        with `gpus`, for each share of a GPU.
    gpus (float): GPUs of a worker; a share is allowed.
    address (Optional[str]): Of the cluster, "auto": that of this machine; None: what
        RAY_ADDRESS says, or else one of this machine alone, while the work takes.
    RAISES (DataError): If there is no such engine.
    """

    name: str = LOCAL
    workers: Optional[int] = None
    gpus: float = 0.0
    address: Optional[str] = None

    def __post_init__(self) -> None:
        if self.name not in ENGINES:
            known = ", ".join(ENGINES)
            raise DataError(f"--engine is one of {known}, not {self.name!r:.100}")

    def run(self, work: Work, items: List[Any]) -> Iterator[Outcome]:
        """Do work on items, and give the results as they come.
        RAISES (DataError): If Ray is not installed, or there is no such cluster."""
        if self.name == RAY and items:
            yield from self._run_ray(work, items)
        else:
            for index, item in enumerate(items):
                yield index, attempt(work, item)

    def run_all(self, work: Work, items: List[Any]) -> List[Any]:
        """The results in the order of the items.
        RAISES (DataError): If the work on one of them fails."""
        results: Dict[int, Any] = dict(self.run(work, items))
        for result in results.values():
            if isinstance(result, Failed):
                raise DataError(result.problem)
        return [results[index] for index in range(len(items))]

    def _run_ray(self, work: Work, items: List[Any]) -> Iterator[Outcome]:
        ray = _import_ray()
        rows = [
            {"index": index, "item": srsly.msgpack_dumps(item)}
            for index, item in enumerate(items)
        ]
        with _connected(ray, self), _settings(ray):
            workers = min(len(items), self._n_workers(ray.cluster_resources()))
            tasks = min(len(items), _MAX_TASKS)
            results = ray.data.from_items(rows, override_num_blocks=tasks).map_batches(
                _RayWorker,
                fn_constructor_args=(work,),
                batch_size=1,
                batch_format="pyarrow",
                # Where a machine is lost, the others go on.
                compute=ray.data.ActorPoolStrategy(
                    min_size=1, max_size=workers, initial_size=workers
                ),
                num_cpus=1,
                num_gpus=self.gpus or None,
            )
            for row in results.iter_rows():
                failed, result = srsly.msgpack_loads(row["result"])
                yield int(row["index"]), Failed(result) if failed else result

    def _n_workers(self, resources: Dict[str, float]) -> int:
        if self.workers is not None:
            return self.workers
        share, kind = (self.gpus, "GPU") if self.gpus else (1, "CPU")
        return max(1, math.floor(resources.get(kind, 0) / share))


def attempt(work: Work, item: Any) -> Union[Any, Failed]:
    """Do work on an item. RETURNS (Union[Any, Failed]): The result; or why it failed,
    if what a user gave is at fault."""
    try:
        return work(item)
    except (ValueError, OSError, ImportError) as error:
        is_told = isinstance(error, DataError)
        name = "" if is_told else f"{type(error).__name__}: "
        return Failed(shorten(f"{name}{error}"))


class _RayWorker:
    """An actor, which keeps what its work loads."""

    def __init__(self, work: Work) -> None:
        self._work = work

    def __call__(self, batch: Any) -> Any:
        import pyarrow

        (row,) = batch.to_pylist()
        result = attempt(self._work, srsly.msgpack_loads(row["item"]))
        failed = isinstance(result, Failed)
        told = result.problem if isinstance(result, Failed) else result
        packed = srsly.msgpack_dumps([failed, told])
        return pyarrow.table({"index": [row["index"]], "result": [packed]})


def _import_ray() -> Any:
    try:
        import ray.data
    except ImportError as error:
        problem = "--engine ray needs Ray: pip install 'spacy-entlm[ray]'"
        raise DataError(problem) from error
    return ray


@contextmanager
def _connected(ray: Any, engine: Engine) -> Iterator[None]:
    """Be in a cluster, which is left at the end if it was joined here."""
    if ray.is_initialized():
        yield
        return
    address = engine.address or os.environ.get("RAY_ADDRESS") or _OWN
    options: Dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR}
    if address == _OWN:
        # Ray reports nothing of a cluster that is started so.
        options.update(num_cpus=engine.workers, include_dashboard=False)
    try:
        ray.init(address, **options)
    except (ConnectionError, ValueError) as error:
        raise DataError(f"no Ray cluster at {address} ({error})") from error
    try:
        yield
    finally:
        ray.shutdown()


@contextmanager
def _settings(ray: Any) -> Iterator[None]:
    """Ray Data without its bars and its messages, and without a limit to the time that
    an item may take; what it was before, afterwards."""
    context = ray.data.DataContext.get_current().copy()
    context.enable_progress_bars = False
    context.execution_no_progress_timeout_s = -1
    logger = logging.getLogger("ray.data")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with ray.data.DataContext.current(context):
            yield
    finally:
        logger.setLevel(level)
