"""What a worker does with a shard: read it, find entities, write it whole."""

import hashlib
import json
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Dict, Iterable, Iterator, List, Optional, Protocol

import spacy
from spacy.language import Language
from spacy.tokens import Doc
from spacy.util import get_package_path, is_package

from ..files.errors import DataError, shorten
from ..files.json_lines import dump_json
from ..files.text import check_file
from ..pipeline.confidence import found_spans
from ..pipeline.loading import load_pipeline, pipeline_of_names
from . import parquet
from .layout import DATA, DONE, FAILED, part_name
from .places import Place
from .reading import Failure, Text, read_shard
from .shards import Shard, form_of
from .writing import Writer, open_writer

# Of a batch, beside the number of its texts: a text may be long.
_MAX_CHARS = 1 << 20
# Read where all texts of a batch fail: are these at fault, or the pipeline?
_TRIAL = "Anna lives in Berlin."


class Reader(Protocol):
    """Says how texts are read. It is sent to each worker, which loads what it names."""

    def load(self) -> Any:
        """A pipeline, or what has `pipe` and `memory_zone` as that has.
        RAISES (DataError, OSError, ValueError): If it cannot be loaded."""

    def facts(self) -> Dict[str, Any]:
        """What tells it from another one, for the manifest."""


@dataclass(frozen=True)
class PipelineReader:
    """Reads with a pipeline.

    name (str): Its package, or folder, which lies at the same place for all workers.
    sha256 (str): Of its files, as `hash_pipeline` says.
    threshold (Optional[float]): Entities of less confidence are dropped.
    gpu_id (int): The GPU, -1 for the CPU.
    """

    name: str
    sha256: str
    threshold: Optional[float] = None
    gpu_id: int = -1

    @classmethod
    def of(
        cls, name: str, threshold: Optional[float] = None, gpu_id: int = -1
    ) -> "PipelineReader":
        """RAISES (DataError): If there is no such pipeline."""
        digest = hash_pipeline(name)
        place = name if is_package(name) else str(Path(name).resolve())
        return cls(place, digest, threshold, gpu_id)

    def load(self) -> Language:
        if hash_pipeline(self.name) != self.sha256:
            raise DataError(f"{self.name} is another pipeline on this worker's machine")
        if self.gpu_id >= 0:
            spacy.require_gpu(self.gpu_id)
        return load_pipeline(self.name, self.threshold)

    def facts(self) -> Dict[str, Any]:
        names = {"pipeline": Path(self.name).name, "sha256": self.sha256}
        return {**names, "threshold": self.threshold}


@dataclass(frozen=True)
class NamesReader:
    """Reads by nothing but the names of classes. The arguments are those of
    `pipeline_of_names`; gpu_id (int): The GPU, -1 for the CPU."""

    classes: Dict[str, List[str]]
    lang: str
    backbone: str
    threshold: Optional[float] = None
    gpu_id: int = -1

    def load(self) -> Language:
        if self.gpu_id >= 0:
            spacy.require_gpu(self.gpu_id)
        return pipeline_of_names(self.classes, self.lang, self.backbone, self.threshold)

    def facts(self) -> Dict[str, Any]:
        backbone = Path(self.backbone).name
        names = {"classes": self.classes, "lang": self.lang, "backbone": backbone}
        return {**names, "threshold": self.threshold}


def hash_pipeline(name: str) -> str:
    """SHA-256 of the names and contents of a pipeline's files.
    RAISES (DataError): If there is no such folder or package."""
    folder = get_package_path(name) if is_package(name) else Path(name)
    check_file(folder / "config.cfg" if folder.is_dir() else folder)
    if not folder.is_dir():
        raise DataError("is no pipeline: name its folder or package", path=folder)
    total = hashlib.sha256()
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        name_ = path.relative_to(folder).as_posix()
        if "__pycache__" not in name_:
            digest = hashlib.sha256(path.read_bytes()).hexdigest()
            total.update(f"{name_}\0{digest}\n".encode())
    return total.hexdigest()


@dataclass
class ShardWorker:
    """Reads shards with what it loads at the first one.

    out (str): Folder of the output. form (str): Of its files. batch_size (int): Texts
    that are read together.
    """

    reader: Reader
    out: str
    form: str
    batch_size: int
    _nlp: Optional[Any] = field(default=None, repr=False)

    def load(self) -> Any:
        """What reads texts, loaded at the first call."""
        if self._nlp is None:
            self._nlp = self.reader.load()
        return self._nlp

    def __call__(self, item: List[Any]) -> Dict[str, int]:
        """Do a shard: its texts, what failed, and at last the record that it is done.
        RETURNS (Dict[str, int]): What was counted.
        RAISES (DataError, OSError, ValueError): If it cannot be read or written."""
        nlp = self.load()
        shard = Shard(*item)
        out, name = Place(self.out), part_name(shard.number)
        is_parquet = form_of(shard.uri) == parquet.EXTENSION
        schema = parquet.columns(Place(shard.uri)) if is_parquet else None
        counts = Counter({"texts": 0, "words": 0, "entities": 0, "failed": 0})
        failed: List[bytes] = []
        with (
            out.within(f"{DATA}/{name}.{self.form}").writing() as path,
            open_writer(path, self.form, schema) as writer,
        ):
            for batch in _batches(read_shard(shard), self.batch_size):
                with nlp.memory_zone():
                    for failure in self._write(batch, writer, counts):
                        failed.append(_failed_line(failure, shard.uri))
        counts["failed"] = len(failed)
        aside = out.within(f"{FAILED}/{name}.jsonl")
        if failed:
            aside.write(b"".join(failed))
        else:
            aside.remove()
        record = {**shard._asdict(), "counts": dict(counts)}
        out.within(f"{DONE}/{name}.json").write(dump_json(record))
        return dict(counts)

    def _write(
        self, batch: List[Any], writer: Writer, counts: "Counter[str]"
    ) -> Iterator[Failure]:
        """Write the texts of a batch; what fails is given."""
        yield from (item for item in batch if isinstance(item, Failure))
        texts = [item for item in batch if isinstance(item, Text)]
        for (text, entry), doc in zip(texts, read_docs(self.load(), texts)):
            try:
                if isinstance(doc, Exception):
                    raise doc
                row = writer.row(doc, entry)
            except Exception as error:
                problem = shorten(f"{type(error).__name__}: {error}")
                yield Failure({**entry, "text": text}, problem)
                continue
            writer.write(row)
            found = len(found_spans(doc))
            counts.update(texts=1, words=len(doc), entities=found)


def read_docs(nlp: Any, texts: List[Text]) -> List[Any]:
    """Read texts in one batch, or one by one if that fails.
    RETURNS (List[Union[Doc, Exception]]): Of each text its Doc, or why there is none.
    RAISES (DataError): If the pipeline fails at any text."""
    strings = [text for text, _ in texts]
    try:
        return _pipe(nlp, strings)
    except Exception:
        docs = [_read_alone(nlp, text) for text in strings]
    if all(isinstance(doc, Exception) for doc in docs):
        error = _read_alone(nlp, _TRIAL)
        if isinstance(error, Exception):
            raise DataError(f"the pipeline fails at any text: {error}") from error
    return docs


def _pipe(nlp: Any, texts: List[str]) -> List[Doc]:
    docs = list(nlp.pipe(texts, batch_size=max(1, len(texts))))
    if len(docs) != len(texts):  # an error handler of the pipeline's own
        raise ValueError("the pipeline left it out")
    return docs


def _read_alone(nlp: Any, text: str) -> Any:
    try:
        return _pipe(nlp, [text])[0]
    except Exception as error:
        return error


def _batches(items: Iterable[Any], size: int) -> Iterator[List[Any]]:
    batch: List[Any] = []
    n_chars = 0
    for item in items:
        batch.append(item)
        n_chars += len(item.text) if isinstance(item, Text) else 0
        if len(batch) == size or n_chars >= _MAX_CHARS:
            yield batch
            batch, n_chars = [], 0
    if batch:
        yield batch


def _failed_line(failure: Failure, uri: str) -> bytes:
    aside = {**failure.entry, "failed": {"file": uri, "error": failure.problem}}
    # In ASCII: it may hold halves of characters, which UTF-8 does not know.
    return f"{json.dumps(aside, default=str)}\n".encode("ascii")
