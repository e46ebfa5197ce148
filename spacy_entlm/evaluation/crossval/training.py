"""Train the pipeline of a config on some sentences, and predict others."""

import gc
import io
from contextlib import suppress
from pathlib import Path
from typing import Any, Dict, List, Sequence

from spacy.language import Language
from spacy.schemas import ConfigSchemaTraining
from spacy.tokens import Doc, DocBin
from spacy.training.initialize import init_nlp
from spacy.training.loop import train as train_nlp
from spacy.util import dict_to_dot, dot_to_object, load_config, registry
from spacy.util import load_model_from_config as load_pipeline
from thinc.api import Config, ConfigValidationError

from ...corpus.docs import unannotated
from ...files.errors import DataError
from ...files.temporary import temporary_folder
from ...files.text import check_file
from ...training.check import entlm_pipes
from ..compare.data import hash_files, hash_value
from ..scoring import entity_spans
from .result import Outcome

READER = "spacy.Corpus.v1"
NO_DATA = "no-data.spacy"
# What a run replaces, so that it says nothing about what is learned. What is held out
# is no business of the training: it never looks at its score.
REPLACED = {
    "logger": {"@loggers": "spacy.ConsoleLogger.v3", "console_output": False},
    "eval_frequency": 10**9,
    "patience": 0,
    "seed": 0,
}


class Trainer:
    """A training config, read and checked. overrides (Dict[str, Any]): Values in place
    of its own, by their dotted names.
    RAISES (DataError): If it is not there, has settings that do not exist, finds no
    entities, or does not say when a training ends."""

    def __init__(self, config_path: Path, overrides: Dict[str, Any]) -> None:
        check_file(config_path)
        try:
            config = load_config(config_path, overrides=overrides, interpolate=False)
            self.nlp: Language = load_pipeline(config, auto_fill=True)
            self.config: Config = self.nlp.config.copy()
            # Data are given later, and what counts their examples wants a path.
            settings = self.config.copy()
            settings.setdefault("paths", {}).update(train=NO_DATA, dev=NO_DATA)
            training = settings.interpolate()["training"]
            registry.resolve(training, schema=ConfigSchemaTraining)
        except ConfigValidationError as err:
            told = ConfigValidationError.from_error(err, title="", show_config=False)
            text = " ".join(told.text.split())
            raise DataError(text, path=config_path) from err
        named = [f"training.{name}" for name in config.get("training", {})]
        for name in [*overrides, *named]:
            try:  # spaCy leaves out what it does not know, and says nothing
                dot_to_object(self.config, name)
            except KeyError as err:
                text = f"has no setting {name}: correct the name"
                raise DataError(text, path=config_path) from err
        metas = map(self.nlp.get_pipe_meta, self.nlp.pipe_names)
        if not any("doc.ents" in meta.assigns for meta in metas):
            raise DataError("has no component that finds entities", path=config_path)
        by_dev = training["max_steps"] < 1 or training["patience"] > 0
        if training["max_epochs"] < 1 and by_dev:
            text = f"training.max_epochs is {training['max_epochs']}, so that a score "
            text += "on other data, of which there is none, would end the training"
            raise DataError(f"{text}: add --training.max_epochs 20", path=config_path)

    def fingerprint(self) -> str:
        """A hash of the settings and of the files that they name (str)."""
        config = self.config.copy()
        config.setdefault("paths", {}).update(train=None, dev=None)
        settings = config.interpolate()
        settings.pop("corpora", None)
        settings["training"].update(REPLACED)
        hashes = {name: _hash(x) for name, x in sorted(dict_to_dot(settings).items())}
        return hash_value([settings, {name: x for name, x in hashes.items() if x}])

    def train_and_predict(
        self, train: Sequence[Doc], test: Sequence[Doc], *, seed: int
    ) -> Outcome:
        """Train on some sentences to the end, and predict others. Nothing is found if
        there is no entity to learn from."""
        if not any(doc.ents for doc in train):
            return Outcome([[] for _ in test], {})
        with temporary_folder() as folder:
            nlp = init_nlp(self._config_for(train, folder, seed))
            silence = io.StringIO()
            nlp, _ = train_nlp(nlp, stdout=silence, stderr=silence)
        bare = (unannotated(doc, nlp.vocab) for doc in test)
        found = [entity_spans(doc) for doc in nlp.pipe(bare)]
        pipes = list(entlm_pipes(nlp).values())
        words = {x: list(ws) for pipe in pipes for x, ws in pipe.label_data.items()}
        # Models hold each other: without this their weights would add up for a while.
        del nlp, bare, pipes
        gc.collect()
        return Outcome(found, words)

    def _config_for(self, train: Sequence[Doc], folder: Path, seed: int) -> Config:
        """The config of one training, with its sentences in files."""
        config = self.config.copy()
        config["training"].update(REPLACED, seed=seed)
        # spaCy looks at other data after the first step, whatever is set: one sentence.
        for name, docs in (("train", train), ("dev", train[:1])):
            path = folder / f"{name}.spacy"
            DocBin(docs=docs).to_disk(path)
            config.setdefault("paths", {})[name] = str(path)
            _, corpus = config["training"][f"{name}_corpus"].split(".", 1)
            reader = config["corpora"].get(corpus, {})
            own = reader if reader.get("@readers") == READER else {"@readers": READER}
            config["corpora"][corpus] = {**own, "path": str(path)}
        return config


def _hash(setting: Any) -> str:
    """A hash of a file, of the files of a list, or of those in a masked LM's folder; ""
    for other settings."""
    if isinstance(setting, (list, tuple)):
        return "".join(map(_hash, setting))
    files: List[Path] = []
    if setting and isinstance(setting, str):
        with suppress(OSError, ValueError, RuntimeError):  # a text that can be no path
            path = Path(setting).expanduser()
            folder = path.iterdir() if (path / "config.json").is_file() else [path]
            files = sorted(filter(Path.is_file, folder))
    return hash_files(files) if files else ""
