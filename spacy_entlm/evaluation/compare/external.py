"""The method `external` of a benchmark: a command in an environment of its own gets
examples and test sentences as files and writes what it predicts."""

import json
import os
import signal
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from spacy.tokens import Doc, Span

from ...corpus.tags import OUTSIDE, doc_to_tags, find_prefixed, tags_to_entities
from ...files.errors import DataError
from ...files.json_lines import load_object
from .commands import LABELS, REQUIRED, External, field_names
from .errors import BenchmarkError

FORM = '{"text": [...], "label": [...]}'
# Of what a command printed, in the message when it fails.
SHOWN_CHARACTERS = 300
SECONDS = ("seconds_train", "seconds_test")
# They would lead another Python to the packages of this one.
OWN_PYTHON = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "__PYVENV_LAUNCHER__")


class Prediction(NamedTuple):
    """docs: the sentences with what was predicted. seconds_test: None if the command
    told no times. versions: of its packages, as it told them."""

    docs: List[Doc]
    seconds_train: float
    seconds_test: Optional[float]
    versions: Dict[str, str]


def run_external(
    external: External,
    examples: Sequence[Doc],
    bare: Sequence[Doc],
    fields: Mapping[str, Any],
) -> Prediction:
    """Run a command and read what it predicts.

    external (External): The command.
    examples (Sequence[Doc]): To train on.
    bare (Sequence[Doc]): The test sentences, whose entities are set. The command
        sees their words only.
    fields (Mapping[str, Any]): Values of the fields that are no files.
    RAISES (BenchmarkError): If it cannot be run, fails, takes too long, or writes
        something else than a tag for each word of the test sentences.
    """
    labels = sorted({ent.label_ for doc in examples for ent in doc.ents})
    with tempfile.TemporaryDirectory(prefix="entlm-") as name:
        folder = Path(name)
        files = {field: folder / f"{field}.jsonl" for field in REQUIRED}
        files["report"] = folder / "report.json"
        _write(files["train"], examples, [doc_to_tags(doc) for doc in examples])
        _write(files["test"], bare, [[OUTSIDE] * len(doc) for doc in bare])
        values = {**fields, **files, "python": external.python_path}
        arguments = _fill(external.command, values, labels)
        seconds = _run(arguments, external, folder / "output.txt")
        docs = _read_predictions(files["predictions"], bare, labels)
        told, versions = _read_report(files["report"], seconds)
    seconds_train, seconds_test = told or (seconds, None)
    return Prediction(docs, seconds_train, seconds_test, versions)


def _fill(
    command: Sequence[str], values: Mapping[str, Any], labels: Sequence[str]
) -> List[str]:
    arguments: List[str] = []
    for argument in command:
        for name in field_names(argument):
            if name != "labels" and values.get(name) is None:
                raise BenchmarkError(
                    f"{argument!r}: {name} is not set in the settings or the backbone"
                )
        arguments += labels if argument == LABELS else [argument.format_map(values)]
    return arguments


def _write(path: Path, docs: Sequence[Doc], tags: Sequence[List[str]]) -> None:
    lines = [
        json.dumps({"text": [token.text for token in doc], "label": labels}) + "\n"
        for doc, labels in zip(docs, tags)
    ]
    path.write_text("".join(lines), encoding="utf8")


def _run(arguments: List[str], external: External, output: Path) -> float:
    """Run a command to its end; gives the seconds."""
    start = time.perf_counter()
    with output.open("wb") as file_:
        try:
            process = subprocess.Popen(
                arguments,
                stdin=subprocess.DEVNULL,
                stdout=file_,
                stderr=subprocess.STDOUT,
                env=_environment(external),
                # A group of its own, so that what it starts ends with it.
                start_new_session=True,
            )
        except OSError as err:
            raise BenchmarkError(
                f"cannot run {arguments[0]!r}: {err.strerror}"
            ) from err
        try:
            status = process.wait(external.timeout)
        except subprocess.TimeoutExpired as err:
            raise BenchmarkError(
                f"{_shown(arguments)} was ended after {external.timeout:g} s: raise "
                f"`timeout`. {_last_words(output)}"
            ) from err
        finally:
            _end(process)
    # Where a worker prints to.
    print(output.read_text(encoding="utf8", errors="replace"))
    if status:
        raise BenchmarkError(
            f"{_shown(arguments)} ended with status {status}. {_last_words(output)}"
        )
    return round(time.perf_counter() - start, 3)


def _end(process: "subprocess.Popen[bytes]") -> None:
    """End a command that still runs, with what it started."""
    if process.poll() is None:
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
        process.wait()


def _environment(external: External) -> Dict[str, str]:
    """The device and the threads of this process, and no packages of it."""
    import torch
    from thinc.api import get_current_ops

    own = () if external.python is None else OWN_PYTHON
    environment = {name: v for name, v in os.environ.items() if name not in own}
    environment["OMP_NUM_THREADS"] = str(torch.get_num_threads())
    devices = ""
    if get_current_ops().device_type == "gpu":
        number = torch.cuda.current_device()
        visible = [d for d in os.getenv("CUDA_VISIBLE_DEVICES", "").split(",") if d]
        devices = visible[number] if visible else str(number)
    return {**environment, "CUDA_VISIBLE_DEVICES": devices}


def _shown(arguments: Sequence[str]) -> str:
    return " ".join(Path(argument).name for argument in arguments[:2])


def _last_words(output: Path) -> str:
    text = output.read_text(encoding="utf8", errors="replace").strip()
    if not text:
        return "It printed nothing"
    return f"It printed: {text.splitlines()[-1][-SHOWN_CHARACTERS:]}"


def _read_predictions(
    path: Path, bare: Sequence[Doc], labels: Sequence[str]
) -> List[Doc]:
    """Set what is in a file of predictions on the test sentences."""
    if not path.is_file():
        raise BenchmarkError("the command wrote no {predictions}")
    lines = path.read_text(encoding="utf8", errors="replace").split("\n")
    lines = lines[:-1] if lines[-1] == "" else lines
    if len(lines) != len(bare):
        raise BenchmarkError(
            f"the predictions have {len(lines)} lines, the test part has {len(bare)} "
            "sentences"
        )
    tags = [
        _read_tags(line, path, number, doc)
        for number, (line, doc) in enumerate(zip(lines, bare), 1)
    ]
    prefixed = find_prefixed(tag for line in tags for tag in line)
    for number, (doc, line) in enumerate(zip(bare, tags), 1):
        try:
            spans = tags_to_entities(line, prefixed).spans
        except ValueError as err:
            raise BenchmarkError(f"the predictions, line {number}: {err}") from err
        unknown = sorted({label for _, _, label in spans} - set(labels))
        if unknown:
            raise BenchmarkError(
                f"the predictions, line {number}: the class {unknown[0]!r} has no "
                f"example; there are {', '.join(labels)}"
            )
        doc.set_ents([Span(doc, *span) for span in spans])
    return list(bare)


def _read_tags(line: str, path: Path, number: int, doc: Doc) -> List[str]:
    place = f"the predictions, line {number}"
    try:
        entry = load_object(line, path, number, form=FORM)
    except DataError as err:
        raise BenchmarkError(f"{place}: no {FORM} ({err})") from err
    tags, words = entry.get("label"), entry.get("text")
    if not isinstance(tags, list) or not all(isinstance(tag, str) for tag in tags):
        raise BenchmarkError(f'{place}: "label" is no list of tags')
    if len(tags) != len(doc):
        raise BenchmarkError(
            f"{place}: {len(tags)} tags for {len(doc)} words: write one for each"
        )
    if words is not None and words != [token.text for token in doc]:
        raise BenchmarkError(f"{place}: other words than those of the test part")
    return tags


def _read_report(
    path: Path, seconds: float
) -> Tuple[Optional[Tuple[float, float]], Dict[str, str]]:
    """The seconds of training and prediction, and versions, as the command tells."""
    if not path.is_file():
        return None, {}
    try:
        report = json.loads(path.read_text(encoding="utf8"))
        train, test = (float(report[name]) for name in SECONDS)
        versions = {str(k): str(v) for k, v in report.get("versions", {}).items()}
    except (ValueError, TypeError, KeyError, AttributeError) as err:
        names = ", ".join(f'"{name}"' for name in SECONDS)
        raise BenchmarkError(f"the command's report has no {names} ({err})") from err
    if min(train, test) < 0 or train + test > seconds:
        raise BenchmarkError(
            f"the command reports {train:g} + {test:g} s, but it ran for {seconds:g} s"
        )
    return (train, test), versions
