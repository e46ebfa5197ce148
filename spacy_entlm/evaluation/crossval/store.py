"""What finished trainings found: one line of JSON each, so that a run can go on."""

import json
import os
from pathlib import Path
from typing import Dict, List, Sequence

from filelock import FileLock, Timeout

from .errors import CrossvalError
from .scores import Entity

# The version of the lines; others are not read.
FORMAT = 1

Found = List[List[Entity]]


class FoldStore:
    """The file with what finished trainings found, locked against a second run.

    path (Path): The file.
    RAISES (CrossvalError): If another run writes to it.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        # The system takes the lock away with the process, however that ends.
        self._lock = FileLock(path.with_name(f".{path.name}.lock"), timeout=0)

    def __enter__(self) -> "FoldStore":
        try:
            self._lock.acquire()
        except Timeout as err:
            raise CrossvalError(
                f"another run writes to {self.path}: wait for its end, or choose "
                "another --out"
            ) from err
        return self

    def __exit__(self, *_: object) -> None:
        self._lock.release()

    def read(self) -> Dict[str, Found]:
        """What is there, by the key of its training. A line that a killed run left
        unfinished is taken away.

        RAISES (CrossvalError): If the file holds something else.
        """
        if not self.path.exists():
            return {}
        data = self.path.read_bytes()
        complete = data[: data.rfind(b"\n") + 1]
        if len(complete) < len(data):
            with self.path.open("r+b") as file_:
                file_.truncate(len(complete))
        found: Dict[str, Found] = {}
        for number, line in enumerate(complete.split(b"\n")[:-1], 1):
            try:
                entry = json.loads(line)
                if entry["format"] == FORMAT:
                    found[entry["key"]] = [
                        [(start, end, label) for start, end, label in entities]
                        for entities in entry["found"]
                    ]
            except (ValueError, KeyError, TypeError) as err:
                raise CrossvalError(
                    f"{self.path}, line {number}: not what a cross-validation writes: "
                    "delete the file, or choose another --out"
                ) from err
        return found

    def append(self, key: str, found: Sequence[Sequence[Entity]]) -> None:
        """Write what a training found, and see that it is on disk."""
        entry = {"format": FORMAT, "key": key, "found": found}
        with self.path.open("ab") as file_:
            file_.write(f"{json.dumps(entry, ensure_ascii=False)}\n".encode())
            file_.flush()
            os.fsync(file_.fileno())
