"""Run a comparison: plan, train what has no record yet, write records."""

from pathlib import Path
from typing import Any, Callable, List, NamedTuple, Sequence

from tqdm import tqdm

from ...files.counts import count_of
from ...files.errors import DataError
from ...files.progress import bar_place
from ...files.records import Record, Records, read_records
from ...files.text import read_bytes
from .cells import Cell, CellName, make_jobs, plan_cells
from .config import Comparison
from .workers import check_gpus, run_jobs

RECORDS_FILE, ERRORS_FILE = "records.jsonl", "errors.txt"
FORM = "comparison 1"
# What the report needs of a record.
FIELDS = ("key", *CellName._fields, "io", "bio", "seconds_train", "seconds_test")


class Result(NamedTuple):
    """The records of the cells that have one, in their order and under their names; how
    many cells there are, and records of other data or settings; and a line on each
    training that failed."""

    records: List[Record]
    n_cells: int
    n_unused: int
    errors: List[str]


def run_comparison(
    config: Comparison,
    folder: Path,
    *,
    n_processes: int = 1,
    gpus: Sequence[int] = (),
    notify: Callable[[str], None] = lambda line: None,
) -> Result:
    """Run every cell that the folder has no record of.

    folder (Path): Where records.jsonl is, or will be.
    n_processes (int): Trainings at a time; the cores are divided between them.
    gpus (Sequence[int]): Devices, taken in turn; none: the CPU.
    RAISES (ValueError): If the folder is in use or has other records, or what the
        config names is not there.
    """
    check_gpus(gpus)
    cells = plan_cells(config, notify)
    with Records(folder / RECORDS_FILE, FORM) as run:
        records = _check_records(run.read(), run.path)
        jobs = make_jobs(cells, {record["key"] for record in records})
        n_new = sum(map(len, jobs))
        n_there = len(cells) - n_new
        notify(
            f"{count_of(len(cells), 'results')}: {n_there} are there already or the "
            f"same as others, {n_new} to do in {count_of(len(jobs), 'trainings')}"
        )
        errors = []
        options: Any = {"n_processes": n_processes, "gpus": gpus}
        outcomes = run_jobs(jobs, config.datasets, folder, **options)
        # smoothing=0: short and long trainings take turns. No bar but on a terminal.
        form: Any = {"unit": "training", "smoothing": 0, **bar_place()}
        for outcome in tqdm(outcomes, total=len(jobs), **form):
            if outcome.error:
                errors.append(f"{outcome.job[0].name}: {outcome.error}")
                with (folder / ERRORS_FILE).open("a", encoding="utf8") as file_:
                    file_.write(f"{errors[-1]}\n{outcome.details}\n")
            else:
                run.append(outcome.records)
                records += outcome.records
    return _result(cells, records, errors)


def read_result(config: Comparison, folder: Path) -> Result:
    """The records in a folder as they are now; a run may go on at the same time.
    RAISES (ValueError): If there are none, or other ones."""
    path = folder / RECORDS_FILE
    if not path.exists():
        problem = "no such file, as nothing was trained yet: leave out --report-only"
        raise DataError(problem, path=path)
    data = read_bytes(path)
    records = read_records(path, FORM, data[: data.rfind(b"\n") + 1])
    return _result(plan_cells(config), _check_records(records, path), [])


def _check_records(records: List[Record], path: Path) -> List[Record]:
    for number, record in enumerate(records, 1):
        if missing := ", ".join(x for x in FIELDS if x not in record):
            text = f"a record without {missing}: remove the line"
            raise DataError(text, path=path, line=number)
    return records


def _result(cells: List[Cell], records: List[Record], errors: List[str]) -> Result:
    by_key = {record["key"]: record for record in records}
    there = [cell for cell in cells if cell.key in by_key]
    found = [{**by_key[cell.key], **cell.name._asdict()} for cell in there]
    unused = by_key.keys() - {cell.key for cell in cells}
    return Result(found, len(cells), len(unused), errors)
