"""The command `predict`: entities of plain text, to a file or to a folder of shards."""

from pathlib import Path
from typing import Any, List, Mapping, NamedTuple, Optional

import spacy
from spacy.language import Language

from ..backbones.names import ENTLM_BASE
from ..files.counts import count_of, sentence_of
from ..files.errors import DataError
from ..files.file import check_extension
from ..label_words.words import LabelWords
from ..pipeline.loading import load_pipeline, pipeline_of_names
from ..scale.engines import RAY, Engine
from ..scale.one_file import JSONL, OUT_EXTENSIONS, check_files, predict_file
from ..scale.worker import NamesReader, PipelineReader, Reader
from ..scale.writing import FORMS
from ._classes import LABELS_HELP, lines_of_reading, read_classes
from ._options import (
    ADDRESS,
    ENGINE,
    GPU_ID,
    GPUS,
    OVERWRITE,
    WORKERS,
    arg,
    command,
    flag,
    opt,
)
from ._util import GOES_ON, apply_on, echo, told_when_stopped

DEFAULT_LANG = "en"
SHARD_BYTES = 1_000_000
ADDRESS_SIGN = "://"
_PATHS = (
    "PIPELINE: folder or package; left out with --labels. IN: a file of lines (.txt), "
    "JSON lines (.jsonl), both packed (.xz .gz) or not, .parquet or .spacy; or a "
    "folder, a pattern, s3://... of them. OUT: a file, .jsonl .parquet .spacy, or "
    ".html for a page to look at; any other name is a folder, which gets shards"
)
_LANG = "Language whose tokenizer splits texts into words; with --labels"
_BACKBONE = (
    "Masked language model that reads the names: a folder, or a name on the Hugging "
    "Face hub; with --labels"
)
_THRESHOLD = "Drop entities whose confidence is less than this"
_SHARD_BYTES = "Bytes of the input in each shard of a folder OUT"
_FORM = f"Form of the files in a folder OUT: {', '.join(FORMS)}"


class Asked(NamedTuple):
    """What finds entities: a pipeline, by its name, or classes; and where they are."""

    pipeline: Optional[str]
    classes: LabelWords
    lang: str
    backbone: str
    threshold: Optional[float]
    in_: str
    out: str


@command("predict", stopped="Stopped: OUT is as it was before.")
def predict_cli(
    paths: List[str] = arg("[PIPELINE] IN OUT", _PATHS),
    labels: Optional[str] = opt(None, f"Predict without a pipeline. {LABELS_HELP}"),
    lang: Optional[str] = opt(None, _LANG, show_default=DEFAULT_LANG),
    backbone: Optional[str] = opt(None, _BACKBONE, show_default=ENTLM_BASE),
    threshold: Optional[float] = opt(None, _THRESHOLD),
    batch_size: int = opt(1000, "Texts that are read together", min=1),
    resume: bool = flag("--resume", "Go on where a run ended; a folder always does"),
    overwrite: bool = flag("--overwrite", "Replace OUT, or an unfinished run"),
    form: Optional[str] = opt(None, _FORM, show_default=FORMS[0]),
    shard_bytes: Optional[int] = opt(
        None, _SHARD_BYTES, min=1, show_default=str(SHARD_BYTES)
    ),
    engine: str = ENGINE,
    workers: Optional[int] = WORKERS,
    gpus: float = GPUS,
    address: Optional[str] = ADDRESS,
    gpu_id: int = GPU_ID,
) -> None:
    """Find the entities of texts and write them with their confidences: with a
    pipeline, or by nothing but the names of classes.

    A file of JSON lines has a line for each text, also for a blank one. It holds the
    text and its "spans": start, end, label and score. It keeps all other keys of an
    input of JSON lines. If the input is a plain text, it has the number of the line.
    `convert` reads such a file.

    If OUT is a folder, the input may be of any size. It is divided into shards, and
    read here or on a Ray cluster (extra `ray`). In OUT, data/ has the entities, and
    failed/ has texts that could not be read, and why. manifest.json has the settings
    and counts. If a run was stopped, the same command does the rest. The results do not
    depend on the engine.

    \b
    Example:
      python -m spacy entlm predict my_model texts.txt.gz entities.jsonl
      python -m spacy entlm predict --labels person,city,disease texts.txt out.html
      python -m spacy entlm predict my_model texts/ entities --engine ray
    """
    asked = _asked(paths, labels, lang, backbone, threshold)
    if is_folder(asked.out):
        work = Engine(engine, workers, gpus, address)
        shards = {
            "form": form or FORMS[0],
            "shard_bytes": shard_bytes or SHARD_BYTES,
            "batch_size": batch_size,
        }
        _to_folder(asked, work, gpu_id, **shards, overwrite=overwrite)
        return
    given = {
        "--form": form,
        "--shard-bytes": shard_bytes,
        "--engine": None if engine == Engine().name else engine,
        "--workers": workers,
        "--gpus": gpus or None,
        "--address": address,
    }
    _to_file(asked, given, batch_size, resume, overwrite, gpu_id)


@command("apply", hidden=True)
def apply_cli(
    pipeline: str = arg("PIPELINE", "Folder or package of a pipeline"),
    in_: str = arg("IN", "Texts, as of `predict`"),
    out: str = arg("OUT", "Folder, or s3://..."),
    form: str = opt(FORMS[0], _FORM),
    threshold: Optional[float] = opt(None, _THRESHOLD),
    batch_size: int = opt(1000, "Texts that are read together", min=1),
    shard_bytes: int = opt(SHARD_BYTES, _SHARD_BYTES, min=1),
    engine: str = ENGINE,
    workers: Optional[int] = WORKERS,
    gpus: float = GPUS,
    address: Optional[str] = ADDRESS,
    gpu_id: int = GPU_ID,
    overwrite: bool = OVERWRITE,
) -> None:
    """The earlier name of `predict` with a folder OUT."""
    echo("`apply` is now a part of `predict`, which takes the same arguments.")
    asked = Asked(pipeline, {}, DEFAULT_LANG, ENTLM_BASE, threshold, in_, out)
    shards = {"form": form, "shard_bytes": shard_bytes, "batch_size": batch_size}
    work = Engine(engine, workers, gpus, address)
    _to_folder(asked, work, gpu_id, **shards, overwrite=overwrite)


def is_folder(out: str) -> bool:
    """Whether an output is a folder of shards: it has no ending, is an address, or is
    there as a folder."""
    if ADDRESS_SIGN in out or Path(out).is_dir() or out.endswith("/"):
        return True
    return not Path(out).suffix


def _asked(
    paths: List[str],
    labels: Optional[str],
    lang: Optional[str],
    backbone: Optional[str],
    threshold: Optional[float],
) -> Asked:
    """What the command line names.
    RAISES (DataError): If it names both a pipeline and classes, or neither."""
    given = " ".join(paths)
    if len(paths) == 3 and labels is not None:
        raise DataError(
            f"--labels {labels} stands in place of a pipeline, and three paths are "
            f"given ({given}): leave out the first, or --labels. Names of classes have "
            f"commas between them, and no blanks: person,city"
        )
    if len(paths) == 2 and labels is None:
        raise DataError(
            f"two paths ({given}) are IN and OUT, and nothing says what to find: put a "
            f"pipeline before them, or name classes: --labels person,city,disease"
        )
    if len(paths) not in (2, 3):
        raise DataError(
            f"expected PIPELINE IN OUT, or --labels NAMES IN OUT, not {given!r}"
        )
    if labels is None and (lang is not None or backbone is not None):
        option = "--lang" if lang is not None else "--backbone"
        raise DataError(
            f"{option} goes with --labels: a pipeline has its language and its backbone"
        )
    pipeline = paths[0] if labels is None else None
    classes = {} if labels is None else read_classes(labels)
    how = (lang or DEFAULT_LANG, backbone or ENTLM_BASE, threshold)
    return Asked(pipeline, classes, *how, paths[-2], paths[-1])


def _to_file(
    asked: Asked,
    for_folders: Mapping[str, Any],
    batch_size: int,
    resume: bool,
    overwrite: bool,
    gpu_id: int,
) -> None:
    """Write one file. for_folders: Options that only a folder has, by their names."""
    in_, out = Path(asked.in_), Path(asked.out)
    check_extension(out, OUT_EXTENSIONS)
    if other := [name for name, value in for_folders.items() if value is not None]:
        problem = f"{other[0]} goes with a folder OUT, and {out} is a file: leave out "
        raise DataError(f"{problem}{out.suffix}, or the option")
    if ADDRESS_SIGN in asked.in_ or in_.is_dir() or not in_.suffix:
        problem = f"{in_} is no single file, and the file {out} holds the entities of "
        raise DataError(f"{problem}one: name a folder as OUT, with no ending")
    if resume and out.suffix.lower() != JSONL:
        problem = f"--resume goes on with JSON lines, and {out} is written as a whole"
        raise DataError(f"{problem}: leave it out, or name a file that ends in {JSONL}")
    check_files(in_, out, overwrite)
    if gpu_id >= 0:
        spacy.require_gpu(gpu_id)
    nlp = _load(asked)
    how: dict[str, Any] = {"resume": resume, "overwrite": overwrite, "tell": echo}
    counts = predict_file(nlp, in_, out, batch_size=batch_size, **how)
    echo(*_counted(counts), f"Wrote {out}")


def _counted(counts: Mapping[str, int]) -> List[str]:
    """What was found in a file, in lines for people."""
    texts = count_of(counts["texts"], "texts")
    blank = f" ({n:,} blank)" if (n := counts["blank"]) else ""
    before = ""
    if n_before := counts["before"]:
        before = f", after {count_of(n_before, 'texts')} of the earlier run"
    lines = [f"{texts}{blank}, {count_of(counts['entities'], 'entities')}{before}"]
    if n_marked := counts["marked"]:
        have = sentence_of(n_marked, "text has", "texts have")
        told = "and they were read as text: `convert` reads marks, to train or measure"
        lines.append(f"{have} marks like [words](LABEL), {told}")
    return lines


def _to_folder(asked: Asked, engine: Engine, gpu_id: int, **how: Any) -> None:
    """Write shards into a folder. how (Any): Other arguments of `apply_sharded`."""
    gpu = (0 if engine.gpus else -1) if engine.name == RAY else gpu_id
    if asked.pipeline is not None:
        reader: Reader = PipelineReader.of(asked.pipeline, asked.threshold, gpu)
    else:
        _load(asked)  # it says how names are read, and what is wrong, before the work
        beginning = (asked.lang, asked.backbone, asked.threshold)
        reader = NamesReader(asked.classes, *beginning, gpu)
    with told_when_stopped(GOES_ON):
        apply_on(engine, reader, asked.in_, asked.out, **how)


def _load(asked: Asked) -> Language:
    """The pipeline, or one that begins with the classes, of which it says how their
    names were read."""
    if asked.pipeline is not None:
        return load_pipeline(asked.pipeline, asked.threshold)
    how = (asked.lang, asked.backbone, asked.threshold)
    nlp = pipeline_of_names(asked.classes, *how)
    pipe: Any = nlp.get_pipe(nlp.pipe_names[-1])
    echo("Looking for these classes by their names:")
    echo(*lines_of_reading(pipe.label_data))
    return nlp
