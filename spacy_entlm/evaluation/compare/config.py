"""The config of a benchmark, read and checked."""

from pathlib import Path
from typing import Any, Dict, List, Literal, Mapping, Optional, Tuple, Union

import srsly
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from .commands import External
from .errors import BenchmarkError
from .methods import Distant, Method, find_method

# Fields of file names in a config that each cell fills.
NAME_FIELDS = ("dataset", "shots", "split", "backbone")
PLAIN = ""

# The same for every K, or for each its own.
PerShots = Union[List[int], Dict[int, List[int]]]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Lexicon(_Strict):
    """A lexicon and how it is matched, as `annotate` takes them.

    path: The file. map: Type in the file -> label. label: Of names that have none.
    case: "exact", "lower" or "capitalised". min_length: In characters. stop_words:
    Leave out names that are stop words of the language. join: Make one entity of
    neighbours.
    """

    path: Path
    map: Optional[Dict[str, str]] = None
    label: Optional[str] = None
    case: str = "exact"
    min_length: int = Field(default=1, ge=1)
    stop_words: bool = False
    join: bool = True


class Dataset(_Strict):
    """Where sentences come from.

    data: A folder with test.* and {K}shot/{split}.*, or train.* to sample from.
    train, test: These files by name, in place of `data`.
    limit: Test sentences, the first ones; None: all.
    min_words, keep_negatives: Of sampling, as the command `sample` takes them.
    label_words: JSON file of label words, which may hold {shots} and {split}; None:
    they are taken from the examples.
    annotated: Text annotated with a lexicon, for transitions.
    lexicon: For the method `lexicon`.
    shots, splits, seeds: In place of those of the benchmark.
    """

    data: Optional[Path] = None
    train: Optional[Path] = None
    test: Optional[Path] = None
    limit: Optional[int] = Field(default=None, ge=1)
    min_words: int = Field(default=0, ge=0)
    keep_negatives: bool = False
    label_words: Optional[str] = None
    annotated: Optional[Path] = None
    lexicon: Optional[Lexicon] = None
    lang: str = "en"
    shots: Optional[List[int]] = None
    splits: Optional[PerShots] = None
    seeds: Optional[PerShots] = None

    @model_validator(mode="after")
    def _has_sentences(self) -> "Dataset":
        if (self.data is None) == (self.test is None):
            raise ValueError("name either `data` (a folder) or `test` (a file)")
        if self.data is not None and self.train is not None:
            raise ValueError("`train` goes with `test`: leave out `data`")
        if self.data is None and self.train is None:
            raise ValueError("`test` needs `train`, to sample from")
        return self


class Backbone(_Strict):
    """A masked LM.

    path: A folder, or a name on the hub. learn_rate: Of the first step; None: what
    suits the backbone.
    """

    path: str
    learn_rate: Optional[float] = Field(default=None, gt=0)


class Settings(_Strict):
    """Of the training: passes, sentences of a step, learning rate (None: the
    backbone's) and the shape of its decay."""

    epochs: int = Field(default=20, ge=1)
    batch_size: int = Field(default=4, ge=1)
    learn_rate: Optional[float] = Field(default=None, gt=0)
    shape: Literal["linear", "cosine", "constant"] = "linear"


class Variant(_Strict):
    """What one column of a table does otherwise.

    label_words: File of label words, as in a dataset. settings: Of the training.
    component: Settings of the component, eg {"model": {"label_row_bias": "zero"}}.
    """

    label_words: Optional[str] = None
    settings: Dict[str, Any] = {}
    component: Dict[str, Any] = {}


class DistantTraining(_Strict):
    """A training on a dataset's annotated text: its first sentences, how often, and
    how many of them a step."""

    sentences: int = Field(default=Distant.sentences, ge=1)
    epochs: int = Field(default=Distant.epochs, ge=1)
    batch_size: int = Field(default=Distant.batch_size, ge=1)


class OwnMethod(_Strict):
    """A method that the config defines: a spaCy factory, settings of the component,
    which training it shares with others (else it has its own), and whether it is
    trained on annotated text before that, and on the examples at all; or a command,
    with none of these."""

    factory: str = ""
    external: Optional[External] = None
    config: Dict[str, Any] = {}
    training: Optional[str] = None
    label_words: bool = False
    transitions: bool = False
    distant: Optional[DistantTraining] = None
    examples: bool = True

    @model_validator(mode="after")
    def _is_one_or_the_other(self) -> "OwnMethod":
        if bool(self.factory) == (self.external is not None):
            raise ValueError("name either a `factory` or an `external` command")
        if self.external is not None and self.model_fields_set != {"external"}:
            raise ValueError("an `external` command has no settings beside it")
        if not self.examples and self.distant is None:
            raise ValueError("without examples it needs a `distant` training")
        return self

    def as_method(self, name: str) -> Method:
        """The method. name (str): Its name."""
        if self.external is not None:
            config = self.external.model_dump(mode="json")
            return Method("", config, training=name, external=True)
        fields = self.model_dump(exclude={"external", "distant"})
        if self.distant is not None:
            fields["distant"] = Distant(**self.distant.model_dump())
        return Method(**{**fields, "training": self.training or name})


class BenchmarkConfig(_Strict):
    """A benchmark: datasets x shots x splits x seeds x backbones x methods x
    variants.

    share_scores: whether methods that differ in their decoders only (EntLM and EntLM +
        Struct, NNShot and StructShot) read the test part once, together: faster, but
        none of them has seconds of its own.
    """

    title: str = ""
    datasets: Dict[str, Dataset] = Field(min_length=1)
    shots: List[int] = [5]
    splits: PerShots = [1, 2, 3]
    seeds: PerShots = [1]
    backbones: Dict[str, Backbone] = Field(min_length=1)
    methods: Union[List[str], Dict[str, Optional[OwnMethod]]] = Field(min_length=1)
    settings: Settings = Settings()
    variants: Dict[str, Variant] = {}
    share_scores: bool = False

    def chosen_methods(self) -> Dict[str, Method]:
        """The methods by name.

        RAISES (BenchmarkError): If one is not known.
        """
        own: Dict[str, Method] = {}
        if isinstance(self.methods, dict):
            for name, given in self.methods.items():
                if given is not None:
                    own[name] = given.as_method(name)
        return {name: find_method(name, own) for name in self.methods}

    def chosen_variants(self) -> Dict[str, Variant]:
        """The variants by name; "" is the one that changes nothing."""
        return dict(self.variants) or {PLAIN: Variant()}

    def grid(self, name: str) -> List[Tuple[int, int, int]]:
        """Shots, splits and seeds of a dataset.

        name (str): The dataset's.
        RETURNS (List[Tuple[int, int, int]]): One per training example set and seed.
        RAISES (BenchmarkError): If splits or seeds are given by shots, but not for all.
        """
        dataset = self.datasets[name]
        cells = []
        for shots in dataset.shots or self.shots:
            splits = _for_shots(dataset.splits or self.splits, shots, name, "splits")
            seeds = _for_shots(dataset.seeds or self.seeds, shots, name, "seeds")
            cells += [(shots, split, seed) for split in splits for seed in seeds]
        return cells


def _for_shots(value: PerShots, shots: int, dataset: str, field: str) -> List[int]:
    if isinstance(value, list):
        return value
    if shots not in value:
        raise BenchmarkError(
            f"{dataset}: {field} are given for K = {', '.join(map(str, value))}, but "
            f"not for {shots}"
        )
    return value[shots]


def read_config(
    path: Path, overrides: Optional[Mapping[str, Any]] = None
) -> BenchmarkConfig:
    """Read the YAML (or JSON) config of a benchmark.

    path (Path): The file. Paths in it are those of the current folder.
    overrides (Optional[Mapping[str, Any]]): Values by dotted name
        ("datasets.conll03.limit") in place of the file's.
    RAISES (BenchmarkError): If the file cannot be read, or a value in it is wrong.
    """
    try:
        data = srsly.yaml_loads(path.read_text(encoding="utf8"))
    except OSError as err:
        raise BenchmarkError(f"cannot read the config {path}: {err.strerror}") from err
    except ValueError as err:
        raise BenchmarkError(f"{path} is no YAML: {err}") from err
    return make_config(data, str(path), overrides)


def make_config(
    data: Any, source: str, overrides: Optional[Mapping[str, Any]] = None
) -> BenchmarkConfig:
    """Check the values of a config.

    data (Any): As YAML gives it. source (str): Where it comes from, for messages.
    overrides (Optional[Mapping[str, Any]]): As in `read_config`.
    RAISES (BenchmarkError): If a value is wrong; the message names all of them.
    """
    if not isinstance(data, dict):
        raise BenchmarkError(
            f"{source} holds {type(data).__name__}, no config: see docs/benchmark.md"
        )
    for name, value in (overrides or {}).items():
        _override(data, name, value)
    try:
        config = BenchmarkConfig.model_validate(data)
    except ValidationError as err:
        problems = "; ".join(_describe(error) for error in err.errors())
        raise BenchmarkError(f"{source}: {problems}") from err
    for name in config.datasets:
        config.grid(name)
    for variant in config.variants.values():
        merge_settings(config.settings, variant)
    config.chosen_methods()
    return config


def merge_settings(settings: Settings, variant: Variant) -> Settings:
    """The settings of a variant.

    RAISES (BenchmarkError): If one is unknown, or its value is wrong.
    """
    try:
        return Settings.model_validate({**settings.model_dump(), **variant.settings})
    except ValidationError as err:
        problems = "; ".join(_describe(error) for error in err.errors())
        raise BenchmarkError(f"settings of a variant: {problems}") from err


def fill_name(template: str, **fields: Any) -> Path:
    """A file name with its fields filled in.

    template (str): May hold {dataset}, {shots}, {split} and {backbone}.
    RAISES (BenchmarkError): If it holds another field.
    """
    try:
        return Path(template.format_map(fields))
    except (KeyError, IndexError, ValueError) as err:
        known = ", ".join(f"{{{name}}}" for name in NAME_FIELDS)
        raise BenchmarkError(
            f"cannot fill the file name {template!r} ({err}): its fields may be {known}"
        ) from err


def _override(data: Dict[str, Any], name: str, value: Any) -> None:
    *parents, last = name.split(".")
    for key in parents:
        inner = data.setdefault(key, {})
        if not isinstance(inner, dict):
            raise BenchmarkError(f"cannot set {name}: {key} is {inner!r}")
        data = inner
    data[last] = value


def _describe(error: Any) -> str:
    place = ".".join(str(part) for part in error["loc"])
    message = error["msg"].removeprefix("Value error, ")
    if error["type"] == "extra_forbidden":
        return f"{place}: there is no such setting"
    given = error.get("input")
    shown = "" if isinstance(given, (dict, list)) else f", not {given!r}"
    return f"{place}: {message}{shown}"
