"""What components on a masked LM share: predict, annotate, update, save."""

from pathlib import Path
from typing import Any, Callable, Dict, Iterable, Iterator, List, Optional, Tuple, Union

import numpy
import srsly
from spacy import util
from spacy.errors import Errors
from spacy.pipeline import TrainablePipe
from spacy.tokens import Doc, Span, SpanGroup
from spacy.training import Example, validate_examples
from spacy.vocab import Vocab
from thinc.api import Model, Optimizer
from thinc.types import Floats2d

from ..decoding import Decoder, DocEntities
from ..model.types import LabelScores, PieceFeatures
from .files import replace_folder
from .stream import look_ahead

# Stands for the component's name in the setting `spans_key`.
NAME_FIELD = "{name}"


class MaskedLMNER(TrainablePipe):
    """Finds entities with scores of classes for each word, decoded into spans.

    A subclass knows its classes (`labels`, `get_loss`, `initialize`) and what of them
    is saved (`labels_part`, `_labels_to_save`, `_take_labels`).
    """

    # The name under which the classes are saved, as JSON.
    labels_part = "labels"

    def __init__(
        self,
        vocab: Vocab,
        model: Model[List[Doc], LabelScores],
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

    @property
    def labels(self) -> Tuple[str, ...]:
        """The classes, in the order of their scores."""
        raise NotImplementedError

    @property
    def is_initialized(self) -> bool:
        """Whether there are weights to predict with."""
        return self.model.attrs["is_initialized"](self.model)

    def predict(self, docs: Iterable[Doc]) -> List[DocEntities]:
        """Find the entities of some Docs, without changing the Docs.

        docs (Iterable[Doc]): The Docs.
        RETURNS (List[DocEntities]): One for each Doc.
        RAISES (ValueError): If the component was neither trained nor loaded.
        """
        docs = list(docs)
        return self.decoder(self.score_words(docs), docs)

    def score_words(self, docs: List[Doc]) -> LabelScores:
        """What the decoder gets to see of some Docs.

        docs (List[Doc]): The Docs, which are not changed.
        RETURNS (LabelScores): Of all their words.
        RAISES (ValueError): If the component was neither trained nor loaded.
        """
        if not self.is_initialized:
            raise ValueError(Errors.E109.format(name=self.name))
        settings = self.model.attrs["settings"]
        settings.need_probs = self.decoder.needs_probs
        settings.negligible = getattr(self.decoder, "negligible", 0.0)
        return self.model.predict(docs)

    def pipe(self, stream: Iterable[Doc], *, batch_size: int = 128) -> Iterator[Doc]:
        """Annotate a stream of Docs, in its order.

        stream (Iterable[Doc]): The Docs.
        batch_size (int): How many are taken from the stream together; more if they
            are short, so that there are enough windows of like length.
        YIELDS (Doc): The Docs.
        """
        error_handler = self.get_error_handler()
        for docs in look_ahead(stream, batch_size):
            try:
                self.set_annotations(docs, self.predict(docs))
                yield from docs
            except Exception as err:
                error_handler(self.name, self, docs, err)

    def set_annotations(
        self, docs: Iterable[Doc], entities: Iterable[DocEntities]
    ) -> None:
        """Set `doc.ents` and the span group.

        docs (Iterable[Doc]): The Docs.
        entities (Iterable[DocEntities]): From `predict`.
        """
        labels = self.labels  # as text: a Doc may have another vocabulary than we
        threshold, overwrite = self.cfg["threshold"], self.cfg["overwrite"]
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
            if self.cfg["spans_key"] is not None:
                key = self.cfg["spans_key"].replace(NAME_FIELD, self.name)
                attrs = {"scores": numpy.array(scores, dtype="float32")}
                doc.spans[key] = SpanGroup(doc, name=key, spans=ents, attrs=attrs)

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
        # In training the model gives features of pieces in place of scores of words.
        train_model: Any = self.model
        pieces, backprop = train_model.begin_update([eg.predicted for eg in examples])
        loss, d_pieces = self.get_loss(examples, pieces)
        backprop(d_pieces)
        if sgd not in (None, False):
            self.finish_update(sgd)
        losses[self.name] += loss
        return losses

    def get_loss(
        self, examples: Iterable[Example], pieces: PieceFeatures
    ) -> Tuple[float, Floats2d]:
        """Loss and gradient of the features.

        examples (Iterable[Example]): The batch.
        pieces (PieceFeatures): From `model.begin_update`.
        RETURNS (Tuple[float, Floats2d]): Mean loss per piece, and the gradient of its
            sum. Words whose annotation is missing or misaligned carry none.
        RAISES (ValueError): If an entity's label is none of the classes.
        """
        targets = self._word_targets(examples)
        return self.model.attrs["objective"](self.model, pieces, targets)

    def _word_targets(self, examples: Iterable[Example]) -> numpy.ndarray:
        """int64 (n_words), what the objective takes for each word."""
        raise NotImplementedError

    def _labels_to_save(self) -> Any:
        """The classes as JSON data."""
        raise NotImplementedError

    def _take_labels(self, data: Any) -> None:
        """Undo `_labels_to_save`; called when the model has been loaded."""
        raise NotImplementedError

    def to_bytes(self, *, exclude: Iterable[str] = ()) -> bytes:
        """Serialise to bytes."""
        serialize = {
            self.labels_part: lambda: srsly.json_dumps(self._labels_to_save()),
            "decoder": self.decoder.to_bytes,
            "model": self.model.to_bytes,
        }
        return util.to_bytes(serialize, exclude)

    def from_bytes(self, data: bytes, *, exclude: Iterable[str] = ()) -> "MaskedLMNER":
        """Load from bytes. Settings stay what the config says."""
        deserialize = {
            "decoder": self.decoder.from_bytes,
            "model": self.model.from_bytes,
            self.labels_part: lambda b: self._take_labels(srsly.json_loads(b)),
        }
        util.from_bytes(data, deserialize, exclude)
        return self

    def to_disk(self, path: Union[str, Path], *, exclude: Iterable[str] = ()) -> None:
        """Save to a folder. It is written beside the old one and takes its place when
        it is complete.

        path (Union[str, Path]): The folder. exclude (Iterable[str]): Parts to leave
            out: "decoder", "model", and that of the classes.
        """
        serialize = {
            self.labels_part: lambda p: srsly.write_json(
                p.with_suffix(".json"), self._labels_to_save()
            ),
            "decoder": lambda p: p.write_bytes(self.decoder.to_bytes()),
            "model": self.model.shims[0].to_disk,
        }
        with replace_folder(Path(path)) as folder:
            util.to_disk(folder, serialize, exclude)

    def from_disk(
        self, path: Union[str, Path], *, exclude: Iterable[str] = ()
    ) -> "MaskedLMNER":
        """Load from a folder. Settings stay what the config says."""
        deserialize: Dict[str, Callable[[Path], Any]] = {
            "decoder": lambda p: self.decoder.from_bytes(p.read_bytes()),
            "model": self.model.shims[0].from_disk,
            self.labels_part: lambda p: self._take_labels(
                srsly.read_json(p.with_suffix(".json"))
            ),
        }
        util.from_disk(Path(path), deserialize, exclude)
        return self
