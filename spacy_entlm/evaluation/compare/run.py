"""Run a benchmark: plan, train what has no record yet, write records."""

from dataclasses import replace
from pathlib import Path
from typing import Callable, Dict, Iterable, List, NamedTuple, Sequence

from tqdm import tqdm

from .cells import Cell, CellName, Job, Planner, make_jobs
from .config import BenchmarkConfig
from .errors import BenchmarkError
from .records import Record, RunFolder, cell_name
from .workers import Outcome, run_jobs

LOG_FILE = "log.txt"
ERRORS_FILE = "errors.txt"


class RunResult(NamedTuple):
    """records: of the cells of this config, old and new. errors: one line per job that
    failed. n_old: cells that had a record."""

    records: List[Record]
    errors: List[str]
    n_old: int


def run_benchmark(
    config: BenchmarkConfig,
    folder: Path,
    *,
    n_processes: int = 1,
    gpus: Sequence[int] = (),
    notify: Callable[[str], None] = lambda line: None,
) -> RunResult:
    """Run every cell that the folder has no record of.

    config (BenchmarkConfig): The benchmark.
    folder (Path): Where records.jsonl is, or will be.
    n_processes (int): Trainings at a time; the cores are divided between them.
    gpus (Sequence[int]): Devices, taken in turn; none: the CPU.
    notify (Callable[[str], None]): Called with what a person wants to know.
    RAISES (BenchmarkError): If the folder is in use, or has records of these cells that
        came from something else.
    """
    with RunFolder(folder) as run:
        old = {cell_name(record): record for record in run.read()}
        cells = Planner(config).cells()
        _check_same(cells, old, folder)
        n_old = sum(cell.name in old for cell in cells)
        jobs = make_jobs(cells, old, config.share_scores)
        jobs, copied = _copy_equal(jobs, old)
        run.append(copied)
        n_new = len(cells) - n_old - len(copied)
        notify(
            f"{len(cells)} cells: {n_old} are there, {len(copied)} equal those, "
            f"{n_new} to do in {len(jobs)} trainings"
        )
        errors = []
        outcomes = run_jobs(
            jobs,
            config.datasets,
            n_processes=n_processes,
            gpus=gpus,
            log=folder / LOG_FILE,
        )
        for outcome in _show_progress(outcomes, len(jobs)):
            if outcome.error:
                errors.append(_describe(outcome))
                _write_details(outcome, folder / ERRORS_FILE)
            else:
                run.append(outcome.records)
        names = {cell.name for cell in cells}
        records = [record for record in run.read() if cell_name(record) in names]
    return RunResult(records, errors, n_old)


def _check_same(
    cells: Iterable[Cell], old: Dict[CellName, Record], folder: Path
) -> None:
    for cell in cells:
        record = old.get(cell.name)
        if record is not None and record["key"] != cell.key:
            name = " ".join(map(str, filter(None, cell.name)))
            raise BenchmarkError(
                f"{folder} has a record of the cell {name} that was made with other "
                "data, settings, label words or another backbone: choose another folder"
            )


def _copy_equal(
    jobs: List[Job], old: Dict[CellName, Record]
) -> "tuple[List[Job], List[Record]]":
    """Take the figures of cells that equal one that is there."""
    by_key = {record["key"]: record for record in old.values()}
    copied: List[Record] = []
    left: List[Job] = []
    for job in jobs:
        for cell in job.all_cells:
            if cell.key in by_key:
                same = {**by_key[cell.key], **cell.name._asdict(), "copied": True}
                copied.append({**same, "seconds_train": 0.0, "seconds_test": 0.0})
        cells = [cell for cell in job.cells if cell.key not in by_key]
        if cells:
            copies = [cell for cell in job.copies if cell.key not in by_key]
            left.append(replace(job, cells=cells, copies=copies))
    return left, copied


def _show_progress(outcomes: Iterable[Outcome], total: int) -> Iterable[Outcome]:
    # smoothing=0: cells take turns of long and short, so time left is by their mean.
    return tqdm(outcomes, total=total, unit="training", smoothing=0, disable=not total)


def _describe(outcome: Outcome) -> str:
    name = " ".join(map(str, filter(None, outcome.job.cells[0].name)))
    return f"{name}: {outcome.error}"


def _write_details(outcome: Outcome, path: Path) -> None:
    with path.open("a", encoding="utf8") as file_:
        file_.write(f"{_describe(outcome)}\n{outcome.details}\n")
