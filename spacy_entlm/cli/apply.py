"""The command `apply`: entities of any number of texts, in shards."""

from typing import Optional

from ..scale.engines import RAY, Engine
from ..scale.worker import PipelineReader
from ._options import (
    ADDRESS,
    ENGINE,
    GPU_ID,
    GPUS,
    OVERWRITE,
    WORKERS,
    arg,
    command,
    opt,
)
from ._util import apply_on

_IN = "File, folder or pattern: .txt .jsonl (.xz .gz), .parquet, .spacy; or s3://..."


@command("apply")
def apply_cli(
    pipeline: str = arg("PIPELINE", "Folder or package of a pipeline"),
    in_: str = arg("IN", _IN),
    out: str = arg("OUT", "Folder, or s3://..."),
    form: str = opt("jsonl", "Of the output: jsonl, parquet, spacy"),
    threshold: Optional[float] = opt(None, "Drop entities of less confidence"),
    batch_size: int = opt(1000, "Texts at once", min=1),
    shard_bytes: int = opt(1_000_000, "Of IN in a shard", min=1),
    engine: str = ENGINE,
    workers: Optional[int] = WORKERS,
    gpus: float = GPUS,
    address: Optional[str] = ADDRESS,
    gpu_id: int = GPU_ID,
    overwrite: bool = OVERWRITE,
) -> None:
    """Find the entities of many texts, here or on a Ray cluster (extra `ray`).

    IN is divided into shards. OUT gets data/ with their entities, failed/ with texts
    that could not be read and why, and manifest.json. The same command again does what
    is lacking. Results do not depend on the engine.

    \b
    Example:
      python -m spacy entlm apply my_model texts/ entities --engine ray
    """
    gpu = (0 if gpus else -1) if engine == RAY else gpu_id
    apply_on(
        Engine(engine, workers, gpus, address),
        PipelineReader.of(pipeline, threshold, gpu),
        in_,
        out,
        form=form,
        batch_size=batch_size,
        shard_bytes=shard_bytes,
        overwrite=overwrite,
    )
