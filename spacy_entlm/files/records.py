"""Files of records: one line of JSON each, appended as work gets done, so that a run
that was ended goes on."""

import os
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Dict, Iterable, List

from .errors import DataError
from .file import lock_file, told_if_full
from .json_lines import dump_line, load_object
from .text import read_bytes

FORMAT_KEY = "format"
Record = Dict[str, Any]


class Records(ExitStack):
    """A file of records, locked against a second run until the `with` block ends.

    path (Path): The file; missing parent folders are made.
    form (str): Name and version of the records. It is written with each of them.
    RAISES (DataError): If another run writes to the file.
    """

    def __init__(self, path: Path, form: str) -> None:
        super().__init__()
        self.path, self.form = path, form
        self.enter_context(lock_file(path.with_name(f".{path.name}.lock"), path))

    def read(self) -> List[Record]:
        """The records that are there. A line that a killed run left unfinished is taken
        away, once all others have turned out to be records of this form.
        RAISES (DataError): If the file holds something else; it stays as it is."""
        if not self.path.exists():
            return []
        data = read_bytes(self.path)
        whole = data[: data.rfind(b"\n") + 1]
        records = read_records(self.path, self.form, whole)
        rest, start = data[len(whole) :], dump_line({FORMAT_KEY: self.form})[:-2]
        if not (rest.startswith(start) or start.startswith(rest)):
            raise _foreign(self.path, whole.count(b"\n") + 1, self.form)
        if rest:
            os.truncate(self.path, len(whole))
        return records

    def append(self, records: Iterable[Record]) -> None:
        """Append records in one piece, and see that they are on disk."""
        lines = [dump_line({FORMAT_KEY: self.form, **record}) for record in records]
        with told_if_full(self.path), self.path.open("ab") as file_:
            file_.write(b"".join(lines))
            file_.flush()
            os.fsync(file_.fileno())


def read_records(path: Path, form: str, data: bytes) -> List[Record]:
    """Read records from whole lines, without their form.
    RAISES (DataError): If a line is none of these records."""
    records = []
    for number, line in enumerate(data.split(b"\n")[:-1], 1):
        record = load_object(line, path, number, form="record")
        if record.pop(FORMAT_KEY, None) != form:
            raise _foreign(path, number, form)
        records.append(record)
    return records


def _foreign(path: Path, number: int, form: str) -> DataError:
    problem = f"not what this version writes there ({form}): choose another file, or "
    return DataError(f"{problem}move this one away", path=path, line=number)
