"""The cells of a comparison: what is trained and measured, each with its key."""

import shutil
from functools import cache
from itertools import product
from os.path import isfile
from pathlib import Path
from typing import (
    Any,
    Callable,
    Collection,
    Dict,
    Iterable,
    Iterator,
    List,
    NamedTuple,
    Optional,
    Tuple,
)

import spacy
from spacy.tokens import Doc
from thinc.api import Config

from ...backbones.names import resolve_backbone
from ...backbones.recommended import LABEL_WORDS_FILE, PRETRAIN_FILE
from ...corpus.sampling import SamplingError
from ...files.errors import DataError
from ...label_words.words import LabelWords, read_label_words
from .config import Comparison, Method, Settings, fill_fields
from .data import DatasetReader, hash_docs, hash_files, hash_value

# Of a backbone's folder: what decides how it predicts, and which label words it has.
BACKBONE_FILES = (
    *("*.safetensors", "config.json", "tokenizer*.json", "vocab.*"),
    *(PRETRAIN_FILE, LABEL_WORDS_FILE),
)


class CellName(NamedTuple):
    """Which cell of the grid; `variant` is "" where there are none."""

    dataset: str
    shots: int
    split: int
    seed: int
    backbone: str
    method: str
    variant: str

    def __str__(self) -> str:
        return " ".join(str(part) for part in self if part != "")


class Cell(NamedTuple):
    """A cell of the grid. key: A hash of all that its figures depend on. training: The
    same for its training, which several methods may share. method: With all settings of
    the component. label_words: As given; None: from the examples."""

    name: CellName
    key: str
    training: str
    method: Method
    backbone: str
    settings: Settings
    label_words: Optional[LabelWords]


# Cells that one training serves; the first one is trained.
Job = List[Cell]


def plan_cells(
    config: Comparison, notify: Callable[[str], None] = lambda line: None
) -> List[Cell]:
    """List the cells of a comparison, those of a training beside each other. Numbers of
    examples for which the data have too few are left out.

    notify (Callable): Is told what is left out, in lines for people.
    RAISES (ValueError): If data, label words, a backbone's folder, a factory or a
        program are not there or cannot be used, or the data have too few examples for
        all numbers.
    """
    _hash_file.cache_clear()  # files may have changed
    for name, method in config.methods.items():
        _check_method(name, method)
    cells = []
    for dataset, given in config.datasets.items():
        reader = DatasetReader(given)
        test_hash = hash_docs(reader.test_docs())
        for place, docs in _splits_that_fit(config, dataset, reader, notify):
            data = [test_hash, hash_docs(docs)]
            varying = product(config.backbones, config.variants, config.methods)
            cells += [
                _make_cell(config, CellName(dataset, *place, backbone, method, v), data)
                for backbone, v, method in varying
            ]
    return cells


def _splits_that_fit(
    config: Comparison,
    dataset: str,
    reader: DatasetReader,
    notify: Callable[[str], None],
) -> Iterator[Tuple[Tuple[int, int, int], List[Doc]]]:
    """The places of a dataset's grid with their examples, but for numbers of examples
    that it has too few for."""
    too_few: Dict[int, SamplingError] = {}
    any_fits = False
    for place in config.grid(dataset):
        shots, split, _ = place
        if shots in too_few:
            continue
        try:
            docs = reader.split(shots, split)
        except SamplingError as error:
            too_few[shots] = error
            continue
        any_fits = True
        yield place, docs
    for shots, problem in too_few.items():
        told = f"{dataset}: {shots} examples of each class"
        if not any_fits:
            advice = "lower `shots` in the config, or add examples"
            raise DataError(f"{told}: {problem.reason}: {advice}") from problem
        notify(f"{told} are left out: {problem.reason}")


def make_jobs(cells: Iterable[Cell], done: Collection[str] = ()) -> List[Job]:
    """Put together what one training serves, in the order of the cells; equal cells
    are computed once. done (Collection[str]): Keys that have a record."""
    jobs: Dict[str, Job] = {}
    seen = set(done)
    for cell in cells:
        if cell.key not in seen:
            seen.add(cell.key)
            jobs.setdefault(cell.training, []).append(cell)
    return list(jobs.values())


def _check_method(name: str, method: Method) -> None:
    if method.external is not None:
        external = method.external
        program = external.command[0].replace("{python}", external.python)
        if shutil.which(program) is None:
            advice = "install it, or name the path of a Python (`python`)"
            raise DataError(f"there is no program {program!r} to run: {advice}")
    # An empty pipeline: only then are the factories of other packages known.
    elif not spacy.blank("xx").has_factory(method.factory):
        needed = f"the spaCy factory {method.factory!r}, which is not installed"
        raise DataError(f"the method {name!r} needs {needed}")


def _make_cell(config: Comparison, name: CellName, data: List[str]) -> Cell:
    """data: The hashes of test part and examples."""
    dataset, backbone = config.datasets[name.dataset], config.backbones[name.backbone]
    method, variant = config.methods[name.method], config.variants[name.variant]
    settings = config.settings_of(variant)
    if settings.learn_rate is None:
        settings = settings.model_copy(update={"learn_rate": backbone.learn_rate})
    parts: List[Any] = [*data, name.seed, _hash_backbone(backbone.path)]
    parts.append(settings.model_dump())
    if method.external is not None:
        # What can be seen from here: arguments, and the content of scripts among them.
        program, *arguments = method.external.command
        seen = (_hash_file(Path(a)) if isfile(a) else a for a in arguments)
        key = hash_value([*parts, [program, *seen]])
        return Cell(name, key, key, method, backbone.path, settings, None)
    template = variant.label_words or dataset.label_words
    words = None
    if method.label_words and template is not None:
        words = _label_words(template, name)
    component = Config({"model": {"name": backbone.path}}).merge(method.config)
    if method.transitions and dataset.annotated is not None:
        decoder = {"transitions": str(dataset.annotated)}
        component = component.merge({"decoder": decoder})
    component = component.merge(variant.component)
    method = method.model_copy(update={"config": dict(component)})
    # Names of files and of the backbone do not count, but what is in them.
    model = {**component["model"], "name": None}
    decoder = dict(component.get("decoder", {}))
    transitions = decoder.pop("transitions", None)
    files = [_hash_file(Path(transitions))] if transitions else []
    own = {**component, "model": model, "decoder": decoder}
    shared: List[Any] = [method.training or name.method, model]
    shared.append(words and list(words.items()))
    if method.training is None:  # it is not known which settings do not matter
        shared += [method.factory, own, files]
    training = hash_value([*parts, *shared])
    key = hash_value([training, method.factory, own, files])
    return Cell(name, key, training, method, backbone.path, settings, words)


def _label_words(template: str, name: CellName) -> LabelWords:
    try:
        path = fill_fields(template, name._asdict())
    except ValueError as error:
        text = "its fields may be {dataset}, {shots}, {split} and {backbone}"
        problem = f"cannot fill the file name {template!r:.100}: {text}"
        raise DataError(problem) from error
    return read_label_words(path, tags=False)


def _hash_backbone(path: str) -> str:
    folder = Path(resolve_backbone(path)).expanduser()
    if folder.is_dir():
        files = {file for pattern in BACKBONE_FILES for file in folder.glob(pattern)}
        return hash_value([_hash_file(file) for file in sorted(files)])
    if path.startswith((".", "/", "~")):
        raise DataError(f"there is no backbone {path}: no such folder")
    return path


@cache
def _hash_file(path: Path) -> str:
    return hash_files([path])
