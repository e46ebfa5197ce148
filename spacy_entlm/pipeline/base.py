"""What components on a masked LM share: predict, annotate, update, save."""

import contextlib
from pathlib import Path
from typing import Any, Callable, Dict, Iterable, Iterator, List, Optional, Tuple, Union

import numpy
import srsly
from spacy import util
from spacy.errors import Errors
from spacy.language import Language
from spacy.pipeline import TrainablePipe
from spacy.tokens import Doc, Span, SpanGroup
from spacy.training import Example, validate_examples
from spacy.vocab import Vocab
from thinc.api import Optimizer

from ..decoding.types import Decoder, DocEntities, LabelScores
from ..files.bytes import pack_folder, unpack_folder
from ..files.folder import read_folder, write_folder
from ..model.base import PieceModel, get_label_model
from ..model.types import PieceFeatures, PieceGradient
from .requirements import add_requirement

# Stands for the component's name in the setting `spans_key`.
NAME_FIELD = "{name}"
# Words whose features are held together in prediction: bounds the memory.
MOST_WORDS = 2**15


class MaskedLMNER(TrainablePipe):
    """Finds entities with scores of classes for each word, decoded into spans.

    A subclass knows its classes: `labels`, `add_label`, `initialize`, `_word_targets`.
    """

    def __init__(
        self,
        vocab: Vocab,
        model: PieceModel,
        name: str,
        *,
        decoder: Decoder,
        threshold: float,
        spans_key: Optional[str],
        overwrite: bool,
        scorer: Optional[Callable],
    ) -> None:
        """vocab (Vocab): The shared vocabulary. name (str): The instance's name. The
        other settings are those of the factories."""
        self.vocab = vocab
        self.model = model
        self.name = name
        self.decoder = decoder
        self.scorer = scorer
        self.cfg: Dict[str, Any] = {
            "threshold": threshold,
            "spans_key": spans_key,
            "overwrite": overwrite,
        }
        # Classes that were added before there is a network, which then has them.
        self._added: Any = {}

    @property
    def label_model(self) -> Any:
        """The methods of the model that the component calls (LabelModel)."""
        return get_label_model(self.model)

    @property
    def labels(self) -> Tuple[str, ...]:
        """The classes, in the order of their scores."""
        if not self.is_initialized:
            return tuple(self._added)
        return tuple(self.label_model.labels)

    @property
    def is_initialized(self) -> bool:
        """Whether there are weights to predict with."""
        return self.label_model.is_initialized

    @property
    def spans_key(self) -> Optional[str]:
        """The span group for entities with their confidences, if there is to be one."""
        key = self.cfg["spans_key"]
        return None if key is None else key.replace(NAME_FIELD, self.name)

    def predict(self, docs: Iterable[Doc]) -> List[DocEntities]:
        """Find the entities of some Docs, without changing the Docs.

        docs (Iterable[Doc]): The Docs.
        RETURNS (List[DocEntities]): One for each Doc.
        RAISES (ValueError): If the component was neither trained nor loaded.
        """
        found: List[DocEntities] = []
        for group in _groups(list(docs)):
            found += self.decoder(self.score_words(group), group)
        return found

    def score_words(self, docs: List[Doc]) -> LabelScores:
        """What the decoder gets to see of some Docs.

        docs (List[Doc]): The Docs, which are not changed.
        RETURNS (LabelScores): Of all their words.
        RAISES (ValueError): If the component was neither trained nor loaded.
        """
        if not self.is_initialized:
            raise ValueError(Errors.E109.format(name=self.name))
        return self.label_model.score(
            self.model.predict(docs),
            label_bias=self.cfg.get("label_bias", 0.0),
            need_probs=self.decoder.needs_probs,
            probability_floor=getattr(self.decoder, "probability_floor", 0.0),
        )

    def pipe(self, stream: Iterable[Doc], *, batch_size: int = 128) -> Iterator[Doc]:
        """Annotate a stream of Docs, in its order.

        stream (Iterable[Doc]): The Docs.
        batch_size (int): How many are taken from the stream together. Windows of like
            length are read together within it, so that many make a better batch.
        YIELDS (Doc): The Docs. Of a batch that fails, the error handler gets those that
            fail alone.
        """
        error_handler = self.get_error_handler()
        for docs in util.minibatch(stream, size=batch_size):
            try:
                self.set_annotations(docs, self.predict(docs))
                done = docs
            except Exception:
                done = self._annotate_one_by_one(docs, error_handler)
            yield from done

    def _annotate_one_by_one(
        self, docs: List[Doc], error_handler: Callable
    ) -> Iterator[Doc]:
        for doc in docs:
            try:
                self.set_annotations([doc], self.predict([doc]))
            except Exception as err:
                error_handler(self.name, self, [doc], err)
            else:
                yield doc

    def set_annotations(
        self, docs: Iterable[Doc], entities: Iterable[DocEntities]
    ) -> None:
        """Set `doc.ents` and the span group.

        docs (Iterable[Doc]): The Docs.
        entities (Iterable[DocEntities]): From `predict`.
        """
        labels = self.labels  # as text: a Doc may have another vocabulary than we
        threshold, overwrite = self.cfg["threshold"], self.cfg["overwrite"]
        key = self.spans_key
        for doc, found in zip(docs, entities):
            kept = [] if overwrite else list(doc.ents)
            taken = {i for ent in kept for i in range(ent.start, ent.end)}
            ents: List[Span] = []
            scores: List[float] = []
            for (start, end, label), score in zip(
                found.spans.tolist(), found.confidences.tolist()
            ):
                if score >= threshold and taken.isdisjoint(range(start, end)):
                    ents.append(Span(doc, start, end, label=labels[label]))
                    scores.append(score)
            doc.set_ents(sorted(kept + ents, key=lambda ent: ent.start))
            if key is not None:
                attrs = {"scores": numpy.array(scores, dtype="float32")}
                doc.spans[key] = SpanGroup(doc, name=key, spans=ents, attrs=attrs)

    def score(self, examples: Iterable[Example], **kwargs: Any) -> Dict[str, Any]:
        """Score a batch of examples with the component's scorer.

        examples (Iterable[Example]): The examples.
        RETURNS (Dict[str, Any]): The scores.
        """
        return super().score(examples, **{"spans_key": self.spans_key, **kwargs})

    def update(
        self,
        examples: Iterable[Example],
        *,
        drop: float = 0.0,
        sgd: Optional[Optimizer] = None,
        losses: Optional[Dict[str, float]] = None,
    ) -> Dict[str, float]:
        """Learn from a batch of examples.

        examples (Iterable[Example]): The batch.
        drop (float): Has no effect: the backbone brings its own dropout.
        sgd (Optional[Optimizer]): If given, parameters are updated at once; if not,
            gradients add up until `finish_update`, as if in one larger batch.
        losses (Optional[Dict[str, float]]): The mean loss per piece is added.
        RETURNS (Dict[str, float]): The losses.
        """
        losses = {} if losses is None else losses
        losses.setdefault(self.name, 0.0)
        examples = list(examples)
        validate_examples(examples, f"{type(self).__name__}.update")
        if not any(len(eg.predicted) for eg in examples):
            return losses
        train_model: Any = self.model  # its gradient is none of its outputs' type
        pieces, backprop = train_model.begin_update([eg.predicted for eg in examples])
        loss, d_pieces = self.get_loss(examples, pieces)
        backprop(d_pieces)
        if sgd not in (None, False):
            self.finish_update(sgd)
        losses[self.name] += loss
        return losses

    def get_loss(
        self, examples: Iterable[Example], pieces: PieceFeatures
    ) -> Tuple[float, PieceGradient]:
        """Loss and gradient; nothing is changed.

        examples (Iterable[Example]): The batch.
        pieces (PieceFeatures): From `model.begin_update`.
        RETURNS (Tuple[float, PieceGradient]): Mean loss per piece, and the gradient of
            its sum. Words whose annotation is missing or misaligned carry none.
        RAISES (ValueError): If an entity's label is none of the classes.
        """
        return self.label_model.loss(pieces, self._word_targets(examples))

    def _word_targets(self, examples: Iterable[Example]) -> numpy.ndarray:
        """int64 (n_words), what the loss takes for each word."""
        raise NotImplementedError

    @contextlib.contextmanager
    def _initializing(self, nlp: Optional[Language]) -> Iterator[None]:
        """A context that loads a backbone; if anything in it fails, the component is
        what it was before."""
        shim = self.label_model.shim
        before = shim.network
        try:
            self.model.initialize()
            yield
        except BaseException:
            shim.set_network(before)
            raise
        self._added = {}
        if nlp is not None:
            add_requirement(nlp)

    def _note_labels(self) -> None:
        for label in self.labels:
            self.vocab.strings.add(label)

    def to_disk(self, path: Union[str, Path], *, exclude: Iterable[str] = ()) -> None:
        """Save to a folder. The new files take the place of those of an earlier save
        together, when all are complete; excluded parts and other files stay.

        path (Union[str, Path]): The folder.
        exclude (Iterable[str]): Parts to leave out: "decoder", "model", "added_labels".
        """
        with write_folder(Path(path), keep=list(exclude)) as folder:
            self._write_parts(folder, exclude)

    def _write_parts(self, folder: Path, exclude: Iterable[str]) -> None:
        serialize: Dict[str, Callable[[Path], Any]] = {
            "model": self._save_model,
            "decoder": lambda p: p.write_bytes(self.decoder.to_bytes()),
            "added_labels": self._save_added_labels,
        }
        util.to_disk(folder, serialize, exclude)

    def _save_model(self, path: Path) -> None:
        path.mkdir()
        self.label_model.shim.to_disk(path)

    def _save_added_labels(self, path: Path) -> None:
        """Classes without a network; the others are with the model."""
        if not self.is_initialized:
            srsly.write_json(path, self._added)

    def from_disk(
        self, path: Union[str, Path], *, exclude: Iterable[str] = ()
    ) -> "MaskedLMNER":
        """Load from a folder. Settings stay what the config says."""
        deserialize: Dict[str, Callable[[Path], Any]] = {
            "decoder": lambda p: self.decoder.from_bytes(p.read_bytes()),
            "model": lambda p: self.label_model.shim.from_disk(p),
            "added_labels": self._load_added_labels,
        }
        read_folder(Path(path), lambda f: util.from_disk(f, deserialize, exclude))
        self._note_labels()
        return self

    def _load_added_labels(self, path: Path) -> None:
        self._added = srsly.read_json(path) if path.is_file() else {}

    def to_bytes(self, *, exclude: Iterable[str] = ()) -> bytes:
        """Serialise to bytes: the files that `to_disk` writes."""
        return pack_folder(lambda folder: self._write_parts(folder, exclude))

    def from_bytes(self, data: bytes, *, exclude: Iterable[str] = ()) -> "MaskedLMNER":
        """Load from bytes. Settings stay what the config says."""
        return unpack_folder(data, lambda f: self.from_disk(f, exclude=exclude))


def _groups(docs: List[Doc]) -> Iterator[List[Doc]]:
    """Docs in groups of at most MOST_WORDS words, or of one Doc, in their order."""
    group: List[Doc] = []
    n_words = 0
    for doc in docs:
        if group and n_words + len(doc) > MOST_WORDS:
            yield group
            group, n_words = [], 0
        group.append(doc)
        n_words += len(doc)
    if group:
        yield group
