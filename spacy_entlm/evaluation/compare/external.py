"""A command as a method: in an environment of its own it gets examples and test
sentences as files, and writes what it predicts."""

import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence

from pydantic import BaseModel, Field, ValidationError
from spacy.tokens import Doc, Span

from ...corpus.forms.json_entries import read_entries
from ...corpus.forms.source import Source
from ...corpus.records import WordRecord
from ...corpus.tags import OUTSIDE, doc_to_tags, find_prefixed, tags_to_entities
from ...files.errors import DataError, located
from ...files.json_lines import dump_line, read_json
from ...files.temporary import temporary_folder
from ...files.text import read_lines
from .config import External, describe, fill_fields

# Of what a command printed, in the message when it fails.
SHOWN_CHARACTERS = 300
# They would lead another Python to the packages of this one.
OWN_PYTHON = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "__PYVENV_LAUNCHER__")


class CommandReport(BaseModel):
    """What a command may tell of itself; seconds_test: None if it told no times."""

    seconds_train: float = Field(ge=0)
    seconds_test: Optional[float] = Field(ge=0)
    versions: Dict[str, str] = {}


def run_external(
    external: External, examples: List[Doc], bare: List[Doc], fields: Mapping[str, Any]
) -> CommandReport:
    """Run a command and set what it predicts on the test sentences.

    examples (List[Doc]): To train on. bare (List[Doc]): The test sentences, of
        which the command sees the words only.
    fields (Mapping[str, Any]): Values of the fields that are no files.
    RETURNS (CommandReport): What it tells; without that, its time is of training.
    RAISES (DataError): If it cannot be run, fails, takes too long, or writes something
        else than a tag for each word of the test sentences.
    """
    labels = sorted({ent.label_ for doc in examples for ent in doc.ents})
    with temporary_folder() as folder:
        names = ("train", "test", "predictions", "report")
        files = {field: folder / f"{field}.jsonl" for field in names}
        _write(files["train"], examples, doc_to_tags)
        _write(files["test"], bare, lambda doc: [OUTSIDE] * len(doc))
        values = {**fields, **files, "python": external.python}
        arguments = _fill(external.command, values, labels)
        seconds = _run(arguments, external, folder / "output.txt")
        _read_predictions(files["predictions"], bare, labels)
        told: Any = {"seconds_train": seconds, "seconds_test": None}
        if files["report"].is_file():
            told = read_json(files["report"])
    try:
        return CommandReport.model_validate(told)
    except ValidationError as error:
        raise DataError(f"the command's report: {describe(error)}") from error


def _fill(
    command: Sequence[str], values: Mapping[str, Any], labels: List[str]
) -> List[str]:
    arguments: List[str] = []
    for argument in command:
        for name, value in values.items():
            if value is None and f"{{{name}}}" in argument:
                raise DataError(f"{argument!r:.100}: the config sets no {name}")
        filled = fill_fields(argument, {**values, "labels": " ".join(labels)})
        arguments += labels if argument == "{labels}" else [filled]
    return arguments


def _write(path: Path, docs: Sequence[Doc], tag: Callable[[Doc], List[str]]) -> None:
    lines = [{"text": [t.text for t in doc], "label": tag(doc)} for doc in docs]
    path.write_bytes(b"".join(map(dump_line, lines)))


def _run(arguments: List[str], external: External, output: Path) -> float:
    """Run a command to its end; gives the seconds."""
    start, problem = time.perf_counter(), ""
    with output.open("wb") as file_:
        # A session of its own, so that what it starts ends with it.
        process = subprocess.Popen(
            arguments,
            stdin=subprocess.DEVNULL,
            stdout=file_,
            stderr=subprocess.STDOUT,
            env=_environment(external),
            start_new_session=True,
        )
        try:
            if status := process.wait(external.timeout):
                problem = f"ended with status {status}"
        except subprocess.TimeoutExpired:
            problem = f"was ended after {external.timeout:g} s: raise `timeout`"
        finally:
            if process.poll() is None:
                if hasattr(os, "killpg"):
                    os.killpg(process.pid, signal.SIGKILL)
                process.kill()
                process.wait()
    printed = output.read_text(encoding="utf8", errors="replace").strip()
    print(printed)  # where a worker prints to
    if problem:
        shown = " ".join(Path(argument).name for argument in arguments[:2])
        last = (printed.splitlines() or ["nothing"])[-1][-SHOWN_CHARACTERS:]
        raise DataError(f"{shown} {problem}. It printed: {last}")
    return round(time.perf_counter() - start, 3)


def _environment(external: External) -> Dict[str, str]:
    """The device and the threads of this process, and no packages of it."""
    import torch
    from thinc.api import get_current_ops

    own = OWN_PYTHON if "python" in external.model_fields_set else ()
    environment = {name: v for name, v in os.environ.items() if name not in own}
    device = ""
    if get_current_ops().device_type == "gpu":
        number = torch.cuda.current_device()
        visible = [d for d in os.getenv("CUDA_VISIBLE_DEVICES", "").split(",") if d]
        device = visible[number] if visible else str(number)
    threads = str(torch.get_num_threads())
    return {**environment, "OMP_NUM_THREADS": threads, "CUDA_VISIBLE_DEVICES": device}


def _read_predictions(path: Path, bare: List[Doc], labels: Sequence[str]) -> None:
    """Set what is in a file of predictions on the test sentences."""
    if not path.is_file():
        raise DataError("the command wrote no {predictions}")
    place = Path(path.name)
    records = read_entries(read_lines(path), Source(place))
    tagged = [record for record in records if isinstance(record, WordRecord)]
    if len(tagged) != len(bare):
        raise DataError(
            f"the predictions have {len(tagged)} lines of words and tags, the test "
            f"part has {len(bare)} sentences"
        )
    prefixed = find_prefixed(tag for record in tagged for tag in record.tags)
    for number, (record, doc) in enumerate(zip(tagged, bare), 1):
        with located(place, number):
            if record.words != [token.text for token in doc]:
                raise ValueError("other words than those of the test part")
            spans = tags_to_entities(record.tags, prefixed).spans
            if unknown := {label for _, _, label in spans} - set(labels):
                known = ", ".join(labels)
                raise ValueError(f"{min(unknown)!r} has no example; there are {known}")
        doc.set_ents([Span(doc, *span) for span in spans])
