"""What a parser gets beside the content of a file."""

from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Callable, NamedTuple, Optional, Sequence

from ...files.errors import located
from ..reading_report import CorpusReport
from ..records import Record


class Place(NamedTuple):
    """Where something stands: the number of a line, an entry, a row or the like, from
    1, and what it is called."""

    number: int
    unit: str = "line"

    def __str__(self) -> str:
        return f"{self.unit} {self.number}"


# Makes the texts of a JSON object.
Parser = Callable[[Any, Place], list[Record]]


@dataclass
class Source:
    """A file that is read.

    path (Path): The file. report (CorpusReport): Gets the counts.
    columns (Optional[str]): Which columns hold the words and the tags, "2,4", by
        numbers from 1 or by names of a header row; None: their content tells.
    labels (Sequence[str]): Names of tags or classes that are given as numbers from 0.
    kind (Optional[str]): The one form of JSON objects that is asked for.
    """

    path: Path
    report: CorpusReport = field(default_factory=CorpusReport)
    columns: Optional[str] = None
    labels: Sequence[str] = ()
    kind: Optional[str] = None

    def located(self, place: Place, what: str = "") -> AbstractContextManager[None]:
        """Says of a ValueError where in the file it is, and before it what it means.
        RAISES (DataError): In its place."""
        if place.unit == "line":
            return located(self.path, place.number, what)
        return located(self.path, what=f"{place}: {what}")
