"""Parquet files of texts and of their entities (extra `ray`, which brings pyarrow)."""

import json
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Dict, Iterator, List, Optional

from spacy.tokens import Doc

from ..corpus.texts import TEXT_KEYS
from ..files.errors import DataError
from ..pipeline.confidence import scored_entities
from .places import Place

EXTENSION = ".parquet"
TEXT, ENTITIES, META = "text", "entities", "meta"
# Rows that are held in memory; a row group of the output has as many.
_N_ROWS = 1024


def row_groups(place: Place) -> List[int]:
    """Bytes of each row group of a file. RAISES (DataError): If it is no such file."""
    with open_parquet(place) as file_:
        groups = range(file_.num_row_groups)
        return [file_.metadata.row_group(i).total_byte_size for i in groups]


def read_rows(
    place: Place, start: int = 0, end: Optional[int] = None
) -> Iterator[Dict[str, Any]]:
    """The rows of some row groups, or of all, by the names of the columns."""
    with open_parquet(place) as file_:
        groups = list(range(file_.num_row_groups)[start:end])
        for batch in file_.iter_batches(_N_ROWS, row_groups=groups):
            yield from batch.to_pylist()


def columns(place: Place) -> Any:
    """The schema of a file."""
    with open_parquet(place) as file_:
        return file_.schema_arrow


@contextmanager
def open_parquet(place: Place) -> Iterator[Any]:
    """RAISES (DataError): If it is no such file, or pyarrow is missing."""
    arrow = _arrow()
    try:
        with place.open() as file_, arrow.parquet.ParquetFile(file_) as opened:
            yield opened
    except arrow.ArrowInvalid as error:
        raise DataError(f"{place.uri}: no Parquet file ({error})") from error


def _arrow() -> Any:
    try:
        import pyarrow.parquet
    except ImportError as error:
        problem = "Parquet needs pyarrow: pip install 'spacy-entlm[ray]'"
        raise DataError(problem) from error
    return pyarrow


class ParquetWriter:
    """Writes texts with their entities: the columns of the input if that is Parquet,
    else "meta", a JSON object of what the input says beside the text."""

    def __init__(self, path: Path, schema: Optional[Any]) -> None:
        """schema (Optional[pyarrow.Schema]): Of the input; None: it is no Parquet."""
        pa, self._has_columns = _arrow(), schema is not None
        entity = [("start", pa.int64()), ("end", pa.int64())]
        entity += [("label", pa.string()), ("score", pa.float64())]
        own = [(TEXT, pa.string()), (ENTITIES, pa.list_(pa.struct(entity)))]
        kept = [f for f in schema or [] if f.name not in (*TEXT_KEYS, ENTITIES)]
        if schema is None:
            own.append((META, pa.string()))
        self.schema = pa.schema([*kept, *own])
        self._rows: List[Dict[str, Any]] = []
        self._file = pa.parquet.ParquetWriter(path, self.schema, compression="zstd")

    def row(self, doc: Doc, entry: Dict[str, Any]) -> Dict[str, Any]:
        """What is written of a text. entry: What the input says of it."""
        row = {TEXT: doc.text, ENTITIES: scored_entities(doc)}
        if self._has_columns:
            return {**entry, **row}
        meta = {key: entry[key] for key in entry if key not in TEXT_KEYS}
        return {**row, META: json.dumps(meta) if meta else None}

    def write(self, row: Dict[str, Any]) -> None:
        self._rows.append(row)
        if len(self._rows) == _N_ROWS:
            self._flush()

    def close(self) -> None:
        self._flush()
        self._file.close()

    def _flush(self) -> None:
        if self._rows:
            table = _arrow().Table.from_pylist(self._rows, schema=self.schema)
            self._file.write_table(table)
            self._rows = []
