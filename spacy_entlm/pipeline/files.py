"""Files of the components on a masked LM."""

from pathlib import Path
from typing import Any, Callable, Dict, Iterable, Set, Union

import srsly
from spacy import util
from spacy.pipeline import TrainablePipe

from ..decoding.types import Decoder
from ..files.errors import DataError, located
from ..files.folder import pack_folder, read_folder, unpack_folder, write_folder
from ..files.text import read_bytes
from ..label_words.words import LabelWords, read_label_words
from ..model.layer import find_layer, shim_of
from .calibration import UNCHANGED, Calibration, read_calibration
from .settings import SETTINGS, changed_settings, restored_settings

# The file of classes that there is in place of a model's, before there is one.
ADDED_LABELS = "added_labels"


class SavedNER(TrainablePipe):
    """A component with a model, a decoder, settings and a calibration, which are saved;
    `MaskedLMNER` tells what they are."""

    decoder: Decoder
    calibration: Calibration
    threshold: Any
    new_labels: Set[str]
    _configured: Dict[str, Any]
    _added: LabelWords

    @property
    def is_initialized(self) -> bool:
        """Whether there are weights to predict with."""
        return shim_of(self.layer).network is not None

    @property
    def layer(self) -> Any:
        """The layer of the model that reads Docs (model/layer.py)."""
        return find_layer(self.model)

    def _note_labels(self) -> None:
        for label in self.labels:
            self.vocab.strings.add(label)

    def to_disk(self, path: Union[str, Path], *, exclude: Iterable[str] = ()) -> None:
        """Save to a folder. The new files take the place of those of an earlier save
        together, when all are complete; excluded parts and other files stay.

        exclude (Iterable[str]): Parts to leave out: "cfg", "decoder", "calibration",
            "model", "added_labels".
        EXAMPLE:
            nlp.get_pipe("entlm_ner").to_disk("my_component")
        """
        with write_folder(Path(path), keep=list(exclude)) as folder:
            self._write_parts(folder, exclude)

    def _write_parts(self, folder: Path, exclude: Iterable[str]) -> None:
        serialize: Dict[str, Callable[[Path], Any]] = {
            SETTINGS: self._write_settings,
            "model": shim_of(self.layer).to_disk,
            "decoder": lambda p: p.write_bytes(self.decoder.to_bytes()),
            "calibration": lambda p: p.write_bytes(self.calibration.to_bytes()),
        }
        if not self.is_initialized:  # else the classes are with the model
            serialize[ADDED_LABELS] = lambda p: srsly.write_json(p, self._added)
        util.to_disk(folder, serialize, exclude)

    def _write_settings(self, path: Path) -> None:
        srsly.write_json(path, changed_settings(self._configured, self.cfg))

    def from_disk(
        self, path: Union[str, Path], *, exclude: Iterable[str] = ()
    ) -> "SavedNER":
        """Load from a folder. Settings are those that were saved, unless the config
        says something else now than it did then.
        RAISES (DataError): If the folder is not there, or holds something else.
        EXAMPLE:
            nlp.get_pipe("entlm_ner").to_disk("my_component")
            nlp.get_pipe("entlm_ner").from_disk("my_component")
        """
        if not Path(path).is_dir():
            problem = "no such folder: check the path. If the pipeline was saved "
            problem += f"without this component, load it with exclude=[{self.name!r}]"
            raise DataError(problem, path=Path(path))
        deserialize: Dict[str, Callable[[Path], Any]] = {
            SETTINGS: self._load_settings,
            "decoder": self._load_decoder,
            "calibration": self._load_calibration,
            "model": self._load_model,
            ADDED_LABELS: self._load_added_labels,
        }
        read_folder(Path(path), lambda f: util.from_disk(f, deserialize, exclude))
        self._note_labels()
        return self

    def _load_settings(self, path: Path) -> None:
        self.cfg.update(restored_settings(path, self._configured))
        with located(path):
            self.threshold = self.cfg["threshold"]

    def _load_decoder(self, path: Path) -> None:
        with located(path):
            self.decoder.from_bytes(read_bytes(path))

    def _load_calibration(self, path: Path) -> None:
        # Earlier versions had none.
        self.calibration = read_calibration(path) if path.exists() else UNCHANGED

    def _load_model(self, path: Path) -> None:
        is_empty = not path.is_dir() or not any(path.iterdir())
        if is_empty and not path.with_name(ADDED_LABELS).exists():
            raise DataError("the model's files are gone: save it again", path=path)
        if is_empty:
            shim_of(self.layer).set_network(None)
        else:
            shim_of(self.layer).from_disk(path)
        self.new_labels.clear()

    def _load_added_labels(self, path: Path) -> None:
        self._added = read_label_words(path, tags=False) if path.exists() else {}

    def to_bytes(self, *, exclude: Iterable[str] = ()) -> bytes:
        """Serialise to bytes: the files that `to_disk` writes.

        EXAMPLE:
            data = nlp.get_pipe("entlm_ner").to_bytes()
        """
        return pack_folder(lambda folder: self._write_parts(folder, exclude))

    def from_bytes(self, data: bytes, *, exclude: Iterable[str] = ()) -> "SavedNER":
        """Load from bytes, as from a folder. Parts that `to_bytes` was to leave out
        stay as they are.

        EXAMPLE:
            data = nlp.get_pipe("entlm_ner").to_bytes()
            nlp.get_pipe("entlm_ner").from_bytes(data)
        """

        def read(folder: Path) -> "SavedNER":
            parts = [SETTINGS, "decoder", "calibration"]
            if not (folder / ADDED_LABELS).exists():  # else there is no model
                parts.append("model")
            left_out = [part for part in parts if not (folder / part).exists()]
            return self.from_disk(folder, exclude=[*exclude, *left_out])

        return unpack_folder(data, read)
