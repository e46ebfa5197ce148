"""A run: all shards of an input, each of which is written by itself."""

from contextlib import ExitStack
from pathlib import Path
from typing import Any, Callable, Dict, Iterable, Optional

from ..files.errors import DataError
from ..files.file import lock_file
from ..files.folder import check_links
from .engines import Engine, Failed
from .layout import LOCK
from .manifest import Manifest
from .places import Place
from .shards import plan
from .worker import Reader, ShardWorker
from .writing import FORMS

Progress = Callable[[Iterable[Any], int], Iterable[Any]]


def apply_sharded(
    reader: Reader,
    in_: str,
    out: str,
    *,
    form: str = FORMS[0],
    batch_size: int = 1000,
    shard_bytes: int = 1_000_000,
    engine: Engine = Engine(),
    overwrite: bool = False,
    progress: Optional[Progress] = None,
) -> Dict[str, int]:
    """Find the entities of texts, and write them in shards with a manifest. What a run
    that was ended has done already is not done again.

    in_ (str): A file, a folder or a pattern of names; out (str): A folder. Both are
        paths, or addresses as of fsspec.
    form (str): Of the output, one of FORMS. batch_size (int): Texts read together.
    shard_bytes (int): Bytes of the input in a shard.
    progress (Optional[Progress]): Wraps what is gone through, with its length.
    RETURNS (Dict[str, int]): The texts, words and entities, and the failed texts, which
        lie in failed/ with their errors.
    RAISES (DataError): If the folder holds the input or something else, the input is no
        text, or a shard cannot be read or written; the others are done nevertheless.
    """
    if form not in FORMS:
        raise DataError(f"--form is one of {', '.join(FORMS)}, not {form!r:.100}")
    place = Place(out)
    files = Place(in_).files()
    if any(file.uri.startswith(place.uri.rstrip("/") + "/") for file in files):
        raise DataError(f"{out}: holds the input: choose another OUT")
    shards = plan(files, shard_bytes)
    settings = {"form": form, "batch_size": batch_size, "shard_bytes": shard_bytes}
    manifest = Manifest(files, reader.facts(), settings)
    with ExitStack() as held:
        if place.is_local:
            held.enter_context(lock_file(Path(place.path, LOCK), Path(place.path)))
            check_links(Path(place.path))
        done = manifest.begin(place, shards, overwrite)
        todo = [shard for shard in shards if shard.number not in done]
        work = ShardWorker(reader, place.uri, form, batch_size)
        outcomes = engine.run(work, [list(shard) for shard in todo])
        problems = [
            f"{todo[index].uri}: {result.problem}"
            for index, result in (
                progress(outcomes, len(todo)) if progress else outcomes
            )
            if isinstance(result, Failed)
        ]
        counts = manifest.complete(place, shards)
    if problems:
        head = f"{len(problems)} of {len(shards)} shards failed"
        raise DataError(f"{head}: {problems[0]}; run again for what is lacking")
    return counts
