"""The cells of a benchmark: what is trained and evaluated, each with its key."""

from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Collection, Dict, Iterable, List, NamedTuple, Optional, Tuple

from thinc.api import Config

from ...backbones.names import resolve_backbone
from ...backbones.recommended import LABEL_WORDS_FILE, PRETRAIN_FILE
from ...label_words.words import LabelWords, read_label_words
from .commands import External
from .config import (
    Backbone,
    BenchmarkConfig,
    Settings,
    Variant,
    fill_name,
    merge_settings,
)
from .data import DatasetReader, hash_docs, hash_files, hash_value
from .errors import BenchmarkError
from .methods import Method

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


@dataclass(frozen=True)
class Cell:
    """A cell of the grid.

    name (CellName): Its place.
    key (str): Hash of all that its figures depend on: equal cells have equal keys.
    training (str): The same for its training, which several methods may share.
    method (Method): With the settings of the component.
    backbone (Backbone): Its path.
    settings (Settings): Of the training.
    label_words (Optional[Dict[str, List[str]]]): As given; None: from the examples.
    test_hash, split_hash (str): Of the test sentences and the examples.
    """

    name: CellName
    key: str
    training: str
    method: Method
    backbone: Backbone
    settings: Settings
    label_words: Optional[LabelWords]
    test_hash: str
    split_hash: str


@dataclass(frozen=True)
class Job:
    """Cells that one training serves.

    cells (List[Cell]): With keys that differ; the first one is trained.
    copies (List[Cell]): Cells with the keys of others, whose figures they get.
    share_scores (bool): Whether cells that differ in their decoders only read the test
        part together.
    """

    cells: List[Cell]
    copies: List[Cell]
    share_scores: bool = False

    @property
    def all_cells(self) -> List[Cell]:
        """Cells and copies."""
        return [*self.cells, *self.copies]


class Planner:
    """Lists the cells of a benchmark.

    config (BenchmarkConfig): The benchmark.
    RAISES (BenchmarkError): If a backbone's folder is not there.
    """

    def __init__(self, config: BenchmarkConfig) -> None:
        self.config = config
        self._methods = config.chosen_methods()
        self.readers = {
            name: DatasetReader(name, dataset)
            for name, dataset in config.datasets.items()
        }
        self._prints = {
            name: _fingerprint(backbone.path)
            for name, backbone in config.backbones.items()
        }
        self._words: Dict[Path, LabelWords] = {}
        self._test_hashes: Dict[str, str] = {}
        self._file_hashes: Dict[Path, str] = {}

    def cells(self) -> List[Cell]:
        """All cells, those of a training beside each other.

        RAISES (BenchmarkError, DataError, LabelWordError): If data or label words
            are not there or cannot be used.
        """
        cells = []
        for dataset, reader in self.readers.items():
            self._test_hashes[dataset] = hash_docs(reader.test_docs())
            for shots, split, seed in self.config.grid(dataset):
                split_hash = hash_docs(reader.split(shots, split))
                for backbone in self.config.backbones:
                    for variant_name, variant in self.config.chosen_variants().items():
                        for method in self._methods:
                            where = (dataset, shots, split, seed, backbone)
                            name = CellName(*where, method, variant_name)
                            cells.append(self._make_cell(name, variant, split_hash))
        return cells

    def _make_cell(self, name: CellName, variant: Variant, split_hash: str) -> Cell:
        method = self._methods[name.method]
        backbone = self.config.backbones[name.backbone]
        settings = merge_settings(self.config.settings, variant)
        if settings.learn_rate is None:
            settings = settings.model_copy(update={"learn_rate": backbone.learn_rate})
        words = self._label_words(name, variant) if method.label_words else None
        cell = Cell(
            name,
            key="",
            training="",
            method=self._configure(method, name, backbone, variant),
            backbone=backbone,
            settings=settings,
            label_words=words,
            test_hash=self._test_hashes[name.dataset],
            split_hash=split_hash,
        )
        return self._with_keys(cell)

    def _configure(
        self, method: Method, name: CellName, backbone: Backbone, variant: Variant
    ) -> Method:
        if method.external:
            External.model_validate(method.config).check()
            return method
        if not method.factory:
            lexicon = self.config.datasets[name.dataset].lexicon
            if lexicon is None:
                raise BenchmarkError(
                    f"the method {name.method} needs datasets.{name.dataset}.lexicon"
                )
            return replace(method, config=lexicon.model_dump(mode="json"))
        config = Config({"model": {"name": backbone.path}}).merge(method.config)
        annotated = self.config.datasets[name.dataset].annotated
        if method.transitions and annotated is not None:
            config = config.merge({"decoder": {"transitions": str(annotated)}})
        if method.distant is not None:
            if annotated is None:
                raise BenchmarkError(
                    f"the method {name.method} needs datasets.{name.dataset}.annotated"
                )
            distant = replace(method.distant, path=str(annotated))
            method = replace(method, distant=distant)
        return replace(method, config=dict(config.merge(variant.component)))

    def _label_words(self, name: CellName, variant: Variant) -> Optional[LabelWords]:
        template = variant.label_words
        if template is None:
            template = self.config.datasets[name.dataset].label_words
        if template is None:
            return None
        path = fill_name(template, **name._asdict())
        if path not in self._words:
            self._words[path] = read_label_words(path)
        return self._words[path]

    def _with_keys(self, cell: Cell) -> Cell:
        method, name = cell.method, cell.name
        if method.external:
            key = hash_value(self._external_parts(cell))
            return replace(cell, key=key, training=key)
        config, files = _without_paths(method.config)
        own = [method.factory, config, *self._hash_files(files)]
        if method.training is None:
            key = hash_value([cell.test_hash, *own])
            return replace(cell, key=key, training=key)
        words = cell.label_words
        # Without examples, splits come out the same.
        split_hash = cell.split_hash if method.examples else None
        parts = [
            *(cell.test_hash, split_hash, name.seed),
            *(self._prints[name.backbone], cell.settings.model_dump()),
            *(method.training, config["model"]),
            None if words is None else list(words.items()),
        ]
        if method.distant is not None:
            parts += [asdict(replace(method.distant, path=""))]
            parts += self._hash_files([Path(method.distant.path)])
        training = hash_value(parts)
        return replace(cell, key=hash_value([training, *own]), training=training)

    def _external_parts(self, cell: Cell) -> List[Any]:
        """What the figures of a command depend on, as far as can be seen from here."""
        external = External.model_validate(cell.method.config)
        files = {str(path): path for path in external.files()}
        command = [files.get(argument, argument) for argument in external.command]
        return [
            *("external", cell.test_hash, cell.split_hash, cell.name.seed),
            *(self._prints[cell.name.backbone], cell.settings.model_dump()),
            [p if isinstance(p, str) else self._hash_files([p]) for p in command],
        ]

    def _hash_files(self, files: List[Path]) -> List[str]:
        for path in files:
            if path not in self._file_hashes:
                self._file_hashes[path] = hash_files([path])
        return [self._file_hashes[path] for path in files]


def make_jobs(
    cells: Iterable[Cell],
    done: Collection[CellName] = (),
    share_scores: bool = False,
) -> List[Job]:
    """Put together what one training serves, and leave out what is done.

    cells (Iterable[Cell]): All cells.
    done (Collection[CellName]): Those that have a record.
    share_scores (bool): As in `Job`.
    RETURNS (List[Job]): In the order of the cells.
    """
    jobs: Dict[str, Job] = {}
    for cell in cells:
        if cell.name in done:
            continue
        job = jobs.setdefault(cell.training, Job([], [], share_scores))
        known = any(cell.key == other.key for other in job.cells)
        (job.copies if known else job.cells).append(cell)
    return list(jobs.values())


def _without_paths(config: Dict[str, Any]) -> Tuple[Dict[str, Any], List[Path]]:
    """A component's settings without names of files and of the backbone, whose content
    is what counts; and the files."""
    kept = {key: value for key, value in config.items() if key != "path"}
    files = [Path(config["path"])] if "path" in config else []
    if "model" in kept:
        kept["model"] = {**kept["model"], "name": None}
    transitions = kept.get("decoder", {}).get("transitions")
    if transitions is not None:
        kept["decoder"] = {**kept["decoder"], "transitions": None}
        files.append(Path(transitions))
    return kept, files


def _fingerprint(path: str) -> str:
    folder = Path(resolve_backbone(path)).expanduser()
    if not folder.is_dir():
        if path.startswith((".", "/", "~")):
            raise BenchmarkError(f"there is no backbone {path}: no such folder")
        return path
    files = {file for pattern in BACKBONE_FILES for file in folder.glob(pattern)}
    return hash_files(sorted(files))
