"""A command as a method: in an environment of its own it gets examples and test
sentences as files, and writes what it predicts."""

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
from ...files.json_lines import dump_line, read_json, read_objects
from .cells import python_of
from .config import LABELS, External, field_names

FORM = '{"text": [...], "label": [...]}'
# Of what a command printed, in the message when it fails.
SHOWN_CHARACTERS = 300
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
    bare: List[Doc],
    fields: Mapping[str, Any],
) -> Prediction:
    """Run a command and read what it predicts.

    external (External): The command. examples (Sequence[Doc]): To train on.
    bare (List[Doc]): The test sentences, whose entities are set. The command sees their
        words only.
    fields (Mapping[str, Any]): Values of the fields that are no files.
    RAISES (DataError): If it cannot be run, fails, takes too long, or writes something
        else than a tag for each word of the test sentences.
    """
    labels = sorted({ent.label_ for doc in examples for ent in doc.ents})
    with tempfile.TemporaryDirectory(prefix="entlm-") as name:
        folder = Path(name)
        names = ("train", "test", "predictions", "report")
        files = {field: folder / f"{field}.jsonl" for field in names}
        _write(files["train"], examples, [doc_to_tags(doc) for doc in examples])
        _write(files["test"], bare, [[OUTSIDE] * len(doc) for doc in bare])
        values = {**fields, **files, "python": python_of(external)}
        arguments = _fill(external.command, values, labels)
        seconds = _run(arguments, external, folder / "output.txt")
        _read_predictions(files["predictions"], bare, labels)
        times, versions = _read_report(files["report"], seconds)
    return Prediction(bare, *times, versions)


def _fill(
    command: Sequence[str], values: Mapping[str, Any], labels: Sequence[str]
) -> List[str]:
    arguments: List[str] = []
    for argument in command:
        if argument == LABELS:
            arguments += labels
            continue
        for name in field_names(argument):
            if values[name] is None:
                raise DataError(
                    f"{argument!r}: {name} is not set in the settings or the backbone"
                )
        arguments.append(argument.format_map(values))
    return arguments


def _write(path: Path, docs: Sequence[Doc], tags: Sequence[List[str]]) -> None:
    lines = [
        dump_line({"text": [token.text for token in doc], "label": labels})
        for doc, labels in zip(docs, tags)
    ]
    path.write_bytes(b"".join(lines))


def _run(arguments: List[str], external: External, output: Path) -> float:
    """Run a command to its end; gives the seconds."""
    start = time.perf_counter()
    shown = " ".join(Path(argument).name for argument in arguments[:2])
    with output.open("wb") as file_:
        process = subprocess.Popen(
            arguments,
            stdin=subprocess.DEVNULL,
            stdout=file_,
            stderr=subprocess.STDOUT,
            env=_environment(external),
            # A group of its own, so that what it starts ends with it.
            start_new_session=True,
        )
        try:
            status = process.wait(external.timeout)
        except subprocess.TimeoutExpired as error:
            raise DataError(
                f"{shown} was ended after {external.timeout:g} s: raise `timeout`. "
                + _last_words(output)
            ) from error
        finally:
            if process.poll() is None:
                if hasattr(os, "killpg"):
                    os.killpg(process.pid, signal.SIGKILL)
                else:  # Windows
                    process.kill()
                process.wait()
    # Where a worker prints to.
    print(output.read_text(encoding="utf8", errors="replace"))
    if status:
        raise DataError(f"{shown} ended with status {status}. {_last_words(output)}")
    return round(time.perf_counter() - start, 3)


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


def _last_words(output: Path) -> str:
    text = output.read_text(encoding="utf8", errors="replace").strip()
    if not text:
        return "It printed nothing"
    return f"It printed: {text.splitlines()[-1][-SHOWN_CHARACTERS:]}"


def _read_predictions(path: Path, bare: List[Doc], labels: Sequence[str]) -> None:
    """Set what is in a file of predictions on the test sentences."""
    if not path.is_file():
        raise DataError("the command wrote no {predictions}")
    entries = [entry for _, entry in read_objects(path, form=FORM)]
    if len(entries) != len(bare):
        raise DataError(
            f"the predictions have {len(entries)} lines, the test part has {len(bare)} "
            "sentences"
        )
    tags = [_tags(*given) for given in enumerate(zip(entries, bare), 1)]
    prefixed = find_prefixed(tag for line in tags for tag in line)
    for number, (doc, line) in enumerate(zip(bare, tags), 1):
        try:
            spans = tags_to_entities(line, prefixed).spans
        except ValueError as error:
            raise DataError(f"the predictions, line {number}: {error}") from error
        if unknown := {label for _, _, label in spans} - set(labels):
            raise DataError(
                f"the predictions, line {number}: the class {min(unknown)!r} has no "
                f"example; there are {', '.join(labels)}"
            )
        doc.set_ents([Span(doc, *span) for span in spans])


def _tags(number: int, given: Tuple[Dict[str, Any], Doc]) -> List[str]:
    entry, doc = given
    words, tags = [token.text for token in doc], entry.get("label")
    place = f"the predictions, line {number}"
    if not isinstance(tags, list) or not all(isinstance(tag, str) for tag in tags):
        raise DataError(f'{place}: "label" is no list of tags')
    if len(tags) != len(words):
        raise DataError(
            f"{place}: {len(tags)} tags for {len(words)} words: write one for each"
        )
    if entry.get("text", words) != words:
        raise DataError(f"{place}: other words than those of the test part")
    return tags


def _read_report(
    path: Path, seconds: float
) -> Tuple[Tuple[float, Optional[float]], Dict[str, str]]:
    """The seconds of training and prediction, and versions, as the command tells."""
    if not path.is_file():
        return (seconds, None), {}
    try:
        report = read_json(path)
        train, test = float(report["seconds_train"]), float(report["seconds_test"])
        versions = {str(k): str(v) for k, v in report.get("versions", {}).items()}
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise DataError(
            f'the command\'s report has no "seconds_train", "seconds_test" ({error})'
        ) from error
    if min(train, test) < 0 or train + test > seconds:
        raise DataError(
            f"the command reports {train:g} + {test:g} s, but it ran for {seconds:g} s"
        )
    return (train, test), versions
