"""Train the pipeline of a config on some sentences, and predict others."""

import gc
import io
import tempfile
from pathlib import Path
from typing import Any, Dict, Iterator, List, Sequence

from spacy.language import Language
from spacy.schemas import ConfigSchemaTraining
from spacy.tokens import Doc, DocBin
from spacy.training.initialize import init_nlp
from spacy.training.loop import train as train_nlp
from spacy.util import load_config, load_model_from_config, registry
from thinc.api import Config, ConfigValidationError

from ..compare.cells import BACKBONE_FILES
from ..compare.data import hash_files, hash_value
from .errors import CrossvalError
from .scores import Entity

PREDICT_BATCH = 256
# More steps than a training has: what is held out is no business of the training.
NEVER = 10**9
READER = "spacy.Corpus.v1"
QUIET_LOGGER = {"@loggers": "spacy.ConsoleLogger.v3", "console_output": False}
# Settings that a run replaces, so that they say nothing about it.
REPLACED = ("logger", "seed", "eval_frequency", "patience")


class Trainer:
    """A training config, read and checked.

    config_path (Path): The config. overrides (Dict[str, Any]): Values in place of
        its own, by their dotted names.
    RAISES (CrossvalError): If it is not there, has settings that do not exist, finds no
        entities, or does not say when a training ends.
    """

    def __init__(self, config_path: Path, overrides: Dict[str, Any]) -> None:
        if not config_path.is_file():
            raise CrossvalError(f"{config_path}: no such config file")
        try:
            config = load_config(config_path, overrides=overrides, interpolate=False)
            self.nlp: Language = load_model_from_config(config, auto_fill=True)
            self.config: Config = self.nlp.config.copy()
            training = self.config.interpolate()["training"]
            registry.resolve(training, schema=ConfigSchemaTraining)
        except ConfigValidationError as err:
            raise CrossvalError(f"{config_path}: {_describe(err)}") from err
        given = (f"training.{name}" for name in config.get("training", {}))
        named = dict.fromkeys([*overrides, *given])
        # spaCy leaves out what it does not know, and says nothing.
        unknown = [name for name in named if not _has_setting(self.config, name)]
        if unknown:
            raise CrossvalError(
                f"{config_path} has no setting {', '.join(unknown)}: correct the name"
            )
        self._check(config_path, training)

    def _check(self, path: Path, training: Dict[str, Any]) -> None:
        metas = [self.nlp.get_pipe_meta(name) for name in self.nlp.pipe_names]
        if not any("doc.ents" in meta.assigns for meta in metas):
            raise CrossvalError(f"{path} has no component that finds entities")
        by_dev = training["max_steps"] < 1 or training["patience"] > 0
        if training["max_epochs"] < 1 and by_dev:
            raise CrossvalError(
                f"{path}: training.max_epochs is {training['max_epochs']}, so that a "
                "score on other data would end the training, of which there is none: "
                "add --training.max_epochs 20"
            )

    def fingerprint(self) -> str:
        """A hash of the settings and of the files that they name (str)."""
        config = self.config.copy()
        for name in ("train", "dev"):
            config.get("paths", {})[name] = None
        settings = config.interpolate()
        settings.pop("corpora", None)
        for name in REPLACED:
            settings["training"].pop(name, None)
        files = {text: _hash_path(text) for text in sorted(set(_texts(settings)))}
        return hash_value([settings, {k: v for k, v in files.items() if v}])

    def train_and_predict(
        self, train: Sequence[Doc], test: Sequence[Doc], *, seed: int
    ) -> List[List[Entity]]:
        """Train on some sentences to the end, and predict others.

        train, test (Sequence[Doc]): The sentences. seed (int): Of the training.
        RETURNS (List[List[Entity]]): What was found in each test sentence: nothing if
            the others hold no entity to learn from.
        """
        if not any(doc.ents for doc in train):
            return [[] for _ in test]
        with tempfile.TemporaryDirectory() as folder:
            nlp = init_nlp(self._config_for(train, Path(folder), seed))
            silence = io.StringIO()
            nlp, _ = train_nlp(nlp, stdout=silence, stderr=silence)
        bare = (_bare(nlp, doc) for doc in test)
        found = [
            [(ent.start, ent.end, ent.label_) for ent in doc.ents]
            for doc in nlp.pipe(bare, batch_size=PREDICT_BATCH)
        ]
        # Models hold each other: without this their weights would add up for a while.
        del nlp, bare
        gc.collect()
        return found

    def _config_for(self, train: Sequence[Doc], folder: Path, seed: int) -> Config:
        """The config of one training, with its sentences in files."""
        paths = {"train": folder / "train.spacy", "dev": folder / "dev.spacy"}
        DocBin(docs=train).to_disk(paths["train"])
        # spaCy looks at other data after the first step, whatever is set: one sentence.
        DocBin(docs=train[:1]).to_disk(paths["dev"])
        config = self.config.copy()
        training = config["training"]
        for name, path in paths.items():
            config.setdefault("paths", {})[name] = str(path)
            _, corpus = training[f"{name}_corpus"].split(".", 1)
            reader = config["corpora"].get(corpus, {})
            own = reader if reader.get("@readers") == READER else {"@readers": READER}
            config["corpora"][corpus] = {**own, "path": str(path)}
        quiet = {"logger": QUIET_LOGGER, "eval_frequency": NEVER, "patience": 0}
        training.update({**quiet, "seed": seed})
        return config


def _bare(nlp: Language, doc: Doc) -> Doc:
    words = [token.text for token in doc]
    spaces = [bool(token.whitespace_) for token in doc]
    return Doc(nlp.vocab, words=words, spaces=spaces)


def _has_setting(config: Any, name: str) -> bool:
    for part in name.split("."):
        if not isinstance(config, dict) or part not in config:
            return False
        config = config[part]
    return True


def _describe(err: ConfigValidationError) -> str:
    """One line for what is wrong in a config."""
    found = [
        f"{'.'.join(map(str, error.get('loc', ())))}: {error.get('msg', '')}"
        for error in err.errors or []
    ]
    return "; ".join(found) or str(err.desc or err)


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for part in value.values():
            yield from _texts(part)
    elif isinstance(value, (list, tuple)):
        for part in value:
            yield from _texts(part)


def _hash_path(text: str) -> str:
    """A hash of a file, or of what matters in a folder; "" for other texts."""
    try:
        path = Path(text).expanduser()
        if path.is_file():
            return hash_files([path])
        if text and path.is_dir():
            files = {file for p in BACKBONE_FILES for file in path.glob(p)}
            return hash_files(sorted(files))
    except (OSError, ValueError, RuntimeError):
        pass  # a text that can be no path
    return ""
