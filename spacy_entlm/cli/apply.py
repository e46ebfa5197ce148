"""The command `apply`: entities of any number of texts, in shards."""

from typing import Any, Iterable, Optional

from tqdm import tqdm

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
from ._util import echo

_IN = "File, folder or pattern: .txt .jsonl (.xz .gz), .parquet, .spacy; or s3://..."


@command("apply")
def apply_cli(
    pipeline: str = arg("PIPELINE", "Folder or package of a pipeline"),
    in_: str = arg("IN", _IN),
    out: str = arg("OUT", "Folder, or s3://..."),
    form: str = opt("jsonl", "Of the output: jsonl, parquet, spacy"),
    threshold: Optional[float] = opt(None, "Drop entities of less confidence"),
    batch_size: int = opt(256, "Texts at once", min=1),
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
    from ..scale.apply import apply_sharded
    from ..scale.engines import Engine
    from ..scale.worker import PipelineReader

    chosen = Engine(engine, workers, gpus, address)
    gpu = (0 if gpus else -1) if engine == "ray" else gpu_id
    counts = apply_sharded(
        PipelineReader.of(pipeline, threshold, gpu),
        in_,
        out,
        form=form,
        batch_size=batch_size,
        shard_bytes=shard_bytes,
        engine=chosen,
        overwrite=overwrite,
        progress=shard_bar,
    )
    echo_counts(counts, out)


def shard_bar(outcomes: Iterable[Any], total: int) -> Iterable[Any]:
    """Give what comes, with a progress bar on a terminal."""
    return tqdm(outcomes, total=total, unit="shard", disable=None)


def echo_counts(counts: Any, out: str) -> None:
    """Say what was done."""
    echo(", ".join(f"{counts[key]:,} {key}" for key in counts), f"Wrote {out}")
