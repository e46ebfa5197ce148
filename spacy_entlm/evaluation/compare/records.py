"""Records of a benchmark: one line of JSON a cell, appended as cells get done."""

import json
import os
from pathlib import Path
from typing import Any, Dict, Iterable, List

from filelock import FileLock, Timeout

from .cells import CellName
from .errors import BenchmarkError

FORMAT = 1
RECORDS_FILE = "records.jsonl"
LOCK_FILE = ".lock"
FORMAT_KEY = "format"

Record = Dict[str, Any]


class RunFolder:
    """The folder of a run: its records, and a lock against a second run.

    path (Path): The folder; it is made.
    RAISES (BenchmarkError): If it is no folder, or another run writes to it.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            path.mkdir(parents=True, exist_ok=True)
        except (FileExistsError, NotADirectoryError) as err:
            raise BenchmarkError(f"{path} is no folder: name one to write to") from err
        self.records_path = path / RECORDS_FILE
        # The system takes the lock away with the process, however that ends.
        self._lock = FileLock(path / LOCK_FILE, timeout=0)

    def __enter__(self) -> "RunFolder":
        try:
            self._lock.acquire()
        except Timeout as err:
            raise BenchmarkError(
                f"another run writes to {self.path}: wait for its end, or choose "
                "another folder"
            ) from err
        return self

    def __exit__(self, *_: object) -> None:
        self._lock.release()

    def read(self) -> List[Record]:
        """The records that are there. A line that a killed run left unfinished is
        taken away.

        RAISES (BenchmarkError): If they are of another version, or no records.
        """
        if not self.records_path.exists():
            return []
        data = self.records_path.read_bytes()
        complete = data[: data.rfind(b"\n") + 1]
        if len(complete) < len(data):
            with self.records_path.open("r+b") as file_:
                file_.truncate(len(complete))
        return read_records(self.records_path)

    def append(self, records: Iterable[Record]) -> None:
        """Append records in one piece, and see that they are on disk."""
        lines = [
            json.dumps({FORMAT_KEY: FORMAT, **record}, ensure_ascii=False) + "\n"
            for record in records
        ]
        with self.records_path.open("ab") as file_:
            file_.write("".join(lines).encode("utf8"))
            file_.flush()
            os.fsync(file_.fileno())


def read_records(path: Path) -> List[Record]:
    """Read records.

    path (Path): The file, or the folder of a run.
    RAISES (BenchmarkError): If it cannot be read, or its records have another format.
    """
    if path.is_dir():
        path = path / RECORDS_FILE
    try:
        lines = path.read_text(encoding="utf8").split("\n")
    except OSError as err:
        raise BenchmarkError(f"cannot read {path}: {err.strerror}") from err
    except UnicodeDecodeError as err:
        raise BenchmarkError(f"{path} holds no records: {err}") from err
    return [
        _parse(line, f"{path}, line {number}")
        for number, line in enumerate(lines, 1)
        if line.strip()
    ]


def cell_name(record: Record) -> CellName:
    """The place of a record in its grid."""
    return CellName(**{field: record[field] for field in CellName._fields})


def _parse(line: str, place: str) -> Record:
    try:
        record = json.loads(line)
    except ValueError as err:
        raise BenchmarkError(f"{place}: no JSON ({err})") from err
    if not isinstance(record, dict) or FORMAT_KEY not in record:
        raise BenchmarkError(f"{place}: this is no record of a benchmark")
    if record[FORMAT_KEY] != FORMAT:
        raise BenchmarkError(
            f"{place}: a record of format {record[FORMAT_KEY]!r}, where this version "
            f"has {FORMAT}: run the benchmark again, in another folder"
        )
    missing = [field for field in (*CellName._fields, "key") if field not in record]
    if missing:
        raise BenchmarkError(f"{place}: a record without {', '.join(missing)}")
    return record
