"""The forms in which the texts of a shard are written, with their entities."""

from contextlib import contextmanager
from pathlib import Path
from typing import Any, Dict, Iterator, Optional, Protocol

from spacy.tokens import Doc, DocBin

from ..corpus.texts import note_entry
from ..files.json_lines import dump_line
from ..pipeline.confidence import entities_of
from .parquet import ParquetWriter

FORMS = ("jsonl", "parquet", "spacy")


class Writer(Protocol):
    """Writes texts one by one."""

    def row(self, doc: Doc, entry: Dict[str, Any]) -> Any:
        """What is to be written of a text. RAISES (Exception): If that cannot be."""

    def write(self, row: Any) -> None: ...

    def close(self) -> None: ...


class JsonLinesWriter:
    """Writes what `predict` writes."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("wb")

    def row(self, doc: Doc, entry: Dict[str, Any]) -> bytes:
        return dump_line(entities_of(doc, entry), other=str)

    def write(self, row: bytes) -> None:
        self._file.write(row)

    def close(self) -> None:
        self._file.close()


class DocBinWriter:
    """Writes Docs with entities and confidences, which are held until the end."""

    def __init__(self, path: Path) -> None:
        self._path, self._docs = path, DocBin(store_user_data=True)

    def row(self, doc: Doc, entry: Dict[str, Any]) -> Doc:
        return note_entry(doc, entry)

    def write(self, row: Doc) -> None:
        self._docs.add(row)

    def close(self) -> None:
        self._docs.to_disk(self._path)


@contextmanager
def open_writer(path: Path, form: str, schema: Optional[Any]) -> Iterator[Writer]:
    """Give a writer for a file. form (str): One of FORMS.
    schema (Optional[pyarrow.Schema]): Columns of the input, if that is Parquet."""
    writer: Writer
    if form == "parquet":
        writer = ParquetWriter(path, schema)
    elif form == "spacy":
        writer = DocBinWriter(path)
    else:
        writer = JsonLinesWriter(path)
    try:
        yield writer
    finally:
        writer.close()
