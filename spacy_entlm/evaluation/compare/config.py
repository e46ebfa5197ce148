"""The config of a comparison, read and checked."""

import sys
from pathlib import Path
from string import Formatter
from typing import Any, Dict, List, Mapping, Optional, Tuple, Union

import srsly
from pydantic import BaseModel, Field, ValidationError, field_validator, model_validator

from ...files.errors import DataError
from ...files.text import read_bytes

DOCS = "docs/comparing.md"
# Of a config.
MAX_VALUES = 100_000
# What an argument of a command may hold.
FIELDS = (
    *("python", "train", "test", "predictions", "report", "labels", "backbone"),
    *("dataset", "shots", "split", "seed", "learn_rate", "epochs", "batch_size"),
)

# The same for every K, or for each its own.
PerShots = Union[List[int], Dict[int, List[int]]]


class _Strict(BaseModel):
    model_config = {"extra": "forbid", "frozen": True}


class Dataset(_Strict):
    """Where sentences come from.

    data: A folder with test.* and {K}shot/{split}.*, or train.* to sample from.
    train, test: These files by name, in place of `data`. limit: First test sentences.
    min_words, keep_negatives: Of sampling, as the command `sample` takes them.
    label_words: JSON file of label words, whose name may hold {dataset}, {shots},
        {split} and {backbone}; None: they are taken from the examples.
    annotated: Text annotated with a lexicon, for transitions.
    shots, splits, seeds: In place of those of the comparison.
    """

    data: Optional[Path] = None
    train: Optional[Path] = None
    test: Optional[Path] = None
    limit: Optional[int] = Field(default=None, ge=1)
    min_words: int = Field(default=0, ge=0)
    keep_negatives: bool = False
    label_words: Optional[str] = None
    annotated: Optional[Path] = None
    lang: str = "en"
    shots: Optional[List[int]] = None
    splits: Optional[PerShots] = None
    seeds: Optional[PerShots] = None

    @model_validator(mode="after")
    def _has_sentences(self) -> "Dataset":
        given = [bool(path) for path in (self.data, self.train, self.test)]
        if given not in ([True, False, False], [False, True, True]):
            raise ValueError("name `data`, a folder, or two files, `train`, `test`")
        return self


class Backbone(_Strict):
    """A masked LM (folder, or name on the hub); learn_rate: None for what suits it."""

    path: str
    learn_rate: Optional[float] = Field(default=None, gt=0)


class Settings(_Strict):
    """Of the training; epochs, learn_rate: None for those of `spacy_entlm.train`."""

    epochs: Optional[int] = Field(default=None, ge=1)
    batch_size: int = Field(default=4, ge=1)
    learn_rate: Optional[float] = Field(default=None, gt=0)


class Variant(_Strict):
    """What is done otherwise: label words, settings of the training, settings of the
    component, eg {"model": {"precision": "bfloat16"}}."""

    label_words: Optional[str] = None
    settings: Dict[str, Any] = {}
    component: Dict[str, Any] = {}


class External(_Strict):
    """A command as a method: the program and its arguments, which may hold FIELDS in
    braces (a "{labels}" by itself becomes one for each class); what "{python}" stands
    for; and the seconds after which it is ended."""

    command: List[str] = Field(min_length=1)
    python: str = sys.executable
    timeout: float = Field(default=3600.0, gt=0)

    @field_validator("command")
    @classmethod
    def _has_known_fields(cls, command: List[str]) -> List[str]:
        for argument in command:
            try:
                fill_fields(argument, dict.fromkeys(FIELDS, ""))
            except ValueError as error:
                fields = f"{error} (there are {', '.join(FIELDS)})"
                problem = f"{fields}; a brace of its own is written twice"
                raise ValueError(f"{argument!r:.100}: {problem}") from error
        for name in ("{test}", "{predictions}"):
            if not any(name in argument for argument in command):
                raise ValueError(f"the command has no {name}")
        return command


class Method(_Strict):
    """A way to find entities: a spaCy factory, or an external command.

    config: Settings of the component.
    training: Methods that name the same one are trained once, and the weights go from
        the first to the others; None: its own.
    label_words: Whether it has label words.
    transitions: Whether its decoder counts transitions in the dataset's annotated text.
    """

    factory: str = ""
    external: Optional[External] = None
    config: Dict[str, Any] = {}
    training: Optional[str] = None
    label_words: bool = False
    transitions: bool = False

    @model_validator(mode="after")
    def _is_one_or_the_other(self) -> "Method":
        if bool(self.factory) == (self.external is not None):
            raise ValueError("name either a `factory` or an `external` command")
        if self.external is not None and self.model_fields_set != {"external"}:
            raise ValueError("an `external` command has no settings beside it")
        return self


# As the paper's EntLM; with the component's own decoder it is its EntLM + Struct.
_IO = {"decoder": {"@misc": "spacy-entlm.io_decoder.v1"}}
_ENTLM = Method(factory="entlm_ner", training="entlm", label_words=True, config=_IO)
_VITERBI = {"decoder": {"@misc": "spacy-entlm.viterbi_decoder.v1"}}
METHODS = {
    "entlm": _ENTLM,
    "entlm_struct": _ENTLM.model_copy(update={"config": _VITERBI, "transitions": True}),
    "bert_tagger": Method(factory="bert_tagger", training="tagger"),
    "nnshot": Method(factory="nnshot", training="tagger"),
    "structshot": Method(factory="structshot", training="tagger", transitions=True),
}


class Comparison(_Strict):
    """Datasets x shots x splits x seeds x backbones x methods x variants."""

    title: str = "Comparison"
    datasets: Dict[str, Dataset] = Field(min_length=1)
    shots: List[int] = [5]
    splits: PerShots = [1, 2, 3]
    seeds: PerShots = [1]
    backbones: Dict[str, Backbone] = Field(min_length=1)
    methods: Dict[str, Method] = Field(min_length=1)
    settings: Settings = Settings()
    variants: Dict[str, Variant] = Field(default={"": Variant()}, min_length=1)

    @field_validator("methods", mode="before")
    @classmethod
    def _are_known(cls, given: Any) -> Any:
        """Methods by name only, also in a list, are those above."""
        if isinstance(given, list):
            given = dict.fromkeys(given)
        if not isinstance(given, dict):
            return given
        unknown = [x for x in given if given[x] is None and x not in METHODS]
        if unknown:
            known = ", ".join(METHODS)
            raise ValueError(f"unknown method {unknown[0]!r}: choose from {known}")
        return {x: METHODS[x] if own is None else own for x, own in given.items()}

    @model_validator(mode="after")
    def _fits_together(self) -> "Comparison":
        for name in self.datasets:
            self.grid(name)
        for variant in self.variants.values():
            self.settings_of(variant)
        return self

    def grid(self, name: str) -> List[Tuple[int, int, int]]:
        """Shots, split and seed of each training of a dataset. RAISES (ValueError): If
        splits or seeds are given by shots, but not for all."""
        dataset = self.datasets[name]

        def numbers(field: str, shots: int) -> List[int]:
            value = getattr(dataset, field) or getattr(self, field)
            if isinstance(value, dict) and shots not in value:
                given = f"given for K = {', '.join(map(str, value))}"
                raise ValueError(f"{name}: {field} are {given}, but not for {shots}")
            return value[shots] if isinstance(value, dict) else value

        return [
            (shots, split, seed)
            for shots in dataset.shots or self.shots
            for split in numbers("splits", shots)
            for seed in numbers("seeds", shots)
        ]

    def settings_of(self, variant: Variant) -> Settings:
        """The settings of a variant. RAISES (ValueError): If one is wrong."""
        return Settings(**{**self.settings.model_dump(), **variant.settings})


def fill_fields(text: str, values: Mapping[str, Any]) -> str:
    """Put values in the places of their names in braces, which have nothing beside the
    name: "{shots:999999999}" would ask for all memory.
    RAISES (ValueError): If there is another field, or a brace by itself."""
    filled = []
    for before, name, form, conversion in Formatter().parse(text):
        filled.append(before)
        if name is not None:
            if name not in values:
                raise ValueError(f"{name!r:.100} is no field")
            if form or conversion:
                raise ValueError(f"{name!r} is a field, which has no format")
            filled.append(str(values[name]))
    return "".join(filled)


def read_config(path: Path, overrides: Mapping[str, Any] = {}) -> Comparison:
    """Read the YAML (or JSON) config of a comparison, whose paths are those of the
    current folder.

    overrides (Mapping[str, Any]): Values by dotted name ("datasets.conll03.limit") in
        place of the file's.
    RAISES (DataError): If it cannot be read, or values in it are wrong: names all.
    """
    content = read_bytes(path)
    try:
        data = srsly.yaml_loads(content.decode("utf8"))
    except ValueError as error:
        said = " ".join(str(error).split())  # it is several lines
        raise DataError(f"no YAML: {said}", path=path) from error
    if not isinstance(data, dict):
        raise DataError(f"holds no config: see {DOCS}", path=path)
    _check_size(data, path)
    for name, value in overrides.items():
        _override(data, name, value)
    try:
        return Comparison.model_validate(data)
    except ValidationError as error:
        raise DataError(f"{describe(error)} ({DOCS})", path=path) from error


def _check_size(data: Any, path: Path) -> None:
    """RAISES (DataError): If there are too many values: in YAML, a few references to
    others that hold references stand for a billion, or for no end of them."""
    left, n_values = [data], 0
    while left:
        value = left.pop()
        inner = value.values() if isinstance(value, dict) else value
        left += inner if isinstance(value, (dict, list)) else []
        n_values += 1
        if n_values + len(left) > MAX_VALUES:
            raise DataError(f"holds more than {MAX_VALUES:,} values", path=path)


def _override(data: Dict[str, Any], name: str, value: Any) -> None:
    *parents, last = name.split(".")
    for key in parents:
        inner = data.setdefault(key, {})
        if not isinstance(inner, dict):
            raise DataError(f"cannot set {name}: {key} is {inner!r:.100}")
        data = inner
    data[last] = value


def describe(error: ValidationError) -> str:
    """All that is wrong, in one line."""
    problems = []
    for problem in error.errors():
        place, given = ".".join(map(str, problem["loc"])), problem["input"]
        message = problem["msg"].removeprefix("Value error, ")
        if problem["type"] == "extra_forbidden":
            message = "there is no such setting"
        elif not isinstance(given, (dict, list)):
            message += f", not {given!r:.100}"
        problems.append(f"{place:.100}: {message}" if place else message)
    return "; ".join(problems)
