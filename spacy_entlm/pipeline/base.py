"""What the components on a masked LM share."""

import contextlib
from typing import (
    Any,
    Callable,
    Dict,
    Iterable,
    Iterator,
    List,
    Optional,
    Set,
    Tuple,
)

from spacy.errors import Errors
from spacy.language import Language
from spacy.tokens import Doc, Span
from spacy.training import Example, validate_examples
from spacy.vocab import Vocab
from thinc.api import Optimizer

from ..backbones.names import ENTLM_BASE, warn_of_language
from ..backbones.suitable import PAPER_LEARN_RATE, suitable_learn_rate
from ..decoding.types import Decoder, DocEntities, LabelScores
from ..label_words.words import LabelWords
from ..model.batches import doc_groups
from ..model.layer import LabelModel, network_of, shim_of
from ..model.types import PieceScores
from .calibration import UNCHANGED, Calibration
from .confidence import scored_group
from .config_optimizer import suit_optimizer, warn_of_rate
from .entities import set_entities
from .examples import word_targets
from .files import SavedNER
from .requirements import add_requirement

# Stands for the component's name in the setting `spans_key`.
NAME_FIELD = "{name}"
ASSIGNS = ["doc.ents", "token.ent_iob", "token.ent_type", "doc.spans"]
SCORE_WEIGHTS = {"ents_f": 1.0, "ents_p": 0.0, "ents_r": 0.0, "ents_per_type": None}
# What the factories have in common.
MODEL_CONFIG: Dict[str, Any] = {
    "name": ENTLM_BASE,
    "get_spans": {"@span_getters": "spacy-transformers.doc_spans.v1"},
    "window": None,
    "stride": None,
    "max_batch_pieces": None,
    "layers": None,
    "precision": "float32",
    "mixed_precision": False,
    "transformer_config": {},
    "tokenizer_config": {},
}
COMMON_CONFIG: Dict[str, Any] = {
    "decoder": {"@misc": "spacy-entlm.io_decoder.v1"},
    "threshold": None,
    "spans_key": NAME_FIELD,
    "annotate_ents": True,
    "overwrite": True,
    "scorer": {"@scorers": "spacy.ner_scorer.v1"},
}
# Words whose features are held together in prediction, next to those of one Doc more:
# bounds the memory.
MAX_WORDS = 2**15


class MaskedLMNER(SavedNER):
    """Finds entities with scores of classes for each word, decoded into spans.

    A subclass has `initialize`, and `add_label` with what a class of its own wants.
    """

    def __init__(
        self,
        vocab: Vocab,
        model: LabelModel,
        name: str,
        *,
        decoder: Decoder,
        threshold: Optional[float] = None,
        spans_key: Optional[str] = None,
        annotate_ents: bool = True,
        overwrite: bool = True,
        scorer: Optional[Callable] = None,
    ) -> None:
        """vocab (Vocab): The shared vocabulary. The others are those of the factories.
        RAISES (ValueError): If a setting has no such value."""
        self.vocab, self.model, self.name = vocab, model, name
        self.decoder, self.scorer = decoder, scorer
        self.cfg: Dict[str, Any] = {
            "spans_key": spans_key,
            "annotate_ents": annotate_ents,
            "overwrite": overwrite,
        }
        self.threshold = threshold
        # How confidences of the decoder become those that a user sees.
        self.calibration: Calibration = UNCHANGED
        self._check_places(annotate_ents, spans_key)
        self._note_settings()
        # Classes that were added before there is a network, which then has them.
        self._added: LabelWords = {}
        # Classes that were added to a trained component and have learned nothing yet.
        self.new_labels: Set[str] = set()
        # Since it was made or loaded.
        self._is_updated = False

    def _note_settings(self) -> None:
        """Remember what the config says."""
        self._configured = dict(self.cfg)

    def take_settings(self, other: "MaskedLMNER") -> None:
        """Take the settings of another component, and what its config says of them."""
        self.cfg, self._configured = dict(other.cfg), dict(other._configured)

    @property
    def network(self) -> Any:
        """The masked LM with the rows of the classes (model/network.py).
        RAISES (ValueError): If the component was neither initialised nor loaded."""
        return network_of(self.layer)

    @property
    def backbone(self) -> str:
        """Name of what a training begins with."""
        return self.layer.attrs["backbone"]

    @property
    def labels(self) -> Tuple[str, ...]:
        """The classes, in the order of their scores."""
        return tuple(self.network.labels if self.is_initialized else self._added)

    @property
    def is_trained(self) -> bool:
        """Whether its weights were ever updated, also before it was loaded; else they
        are those of the backbone."""
        # An exported model does not count them.
        return self.is_initialized and getattr(self.network, "n_updates", 1) > 0

    @property
    def learn_rate(self) -> float:
        """The learning rate of the first step that suits the backbone."""
        if not self.is_initialized:
            return suitable_learn_rate(self.backbone)
        # An exported model has none.
        return getattr(self.network, "learn_rate", PAPER_LEARN_RATE)

    @property
    def start_pull(self) -> float:
        """How strongly a training holds weights near to where they began, as of
        `spacy-entlm.Adam.v1`."""
        return 0.0

    @property
    def reads_names(self) -> bool:
        """Whether classes may start from their names."""
        return False

    @property
    def threshold(self) -> float:
        """Entities of less confidence are dropped. It may be changed at any time; None
        is what suits the backbone."""
        value = self.cfg["threshold"]
        return self.calibration.least if value is None else value

    @threshold.setter
    def threshold(self, value: Optional[float]) -> None:
        if value is not None and not 0.0 <= value <= 1.0:
            raise ValueError(f"[{self.name}] threshold is from 0 to 1, not {value!r}")
        self.cfg["threshold"] = None if value is None else float(value)

    @property
    def spans_key(self) -> Optional[str]:
        """The span group for entities with their confidences, if there is to be one. It
        may be changed at any time."""
        key = self.cfg["spans_key"]
        return None if key is None else key.replace(NAME_FIELD, self.name)

    @spans_key.setter
    def spans_key(self, value: Optional[str]) -> None:
        self._check_places(self.annotate_ents, value)
        self.cfg["spans_key"] = value

    @property
    def annotate_ents(self) -> bool:
        """Whether `doc.ents` is set. It may be changed at any time."""
        return self.cfg["annotate_ents"]

    @annotate_ents.setter
    def annotate_ents(self, value: bool) -> None:
        self._check_places(value, self.cfg["spans_key"])
        self.cfg["annotate_ents"] = bool(value)

    @property
    def overwrite(self) -> bool:
        """Whether entities that are already set are replaced. It may be changed at any
        time."""
        return self.cfg["overwrite"]

    @overwrite.setter
    def overwrite(self, value: bool) -> None:
        self.cfg["overwrite"] = bool(value)

    def _check_places(self, annotate_ents: bool, spans_key: Optional[str]) -> None:
        """RAISES (ValueError): If entities would be set nowhere."""
        if not annotate_ents and spans_key is None:
            raise ValueError(
                f"[{self.name}] annotate_ents is false and there is no spans_key: "
                f"entities would go nowhere"
            )

    def predict(self, docs: Iterable[Doc]) -> List[DocEntities]:
        """Find the entities of Docs, one result each; they are not changed.

        RAISES (ValueError): If the component has neither weights nor classes.
        EXAMPLE:
            found = nlp.get_pipe("entlm_ner").predict([nlp.make_doc("Ann left.")])
        """
        found: List[DocEntities] = []
        for group in doc_groups(docs, MAX_WORDS):
            found += self.decoder(self.score_docs(group), group)
        return found

    def score_docs(self, docs: List[Doc]) -> LabelScores:
        """What the decoder gets to see of some Docs.
        RAISES (ValueError): If the component has neither weights nor classes."""
        self.begin()
        return self.model.predict(docs)

    def begin(self) -> None:
        """Make ready what predicts, where that is not done yet.
        RAISES (ValueError): If the component was neither trained nor loaded."""
        if not self.is_initialized:
            raise ValueError(Errors.E109.format(name=self.name))

    def pipe(self, stream: Iterable[Doc], *, batch_size: int = 128) -> Iterator[Doc]:
        """Annotate a stream of Docs, in its order.

        batch_size (int): How many Docs are taken together, of long ones fewer. Windows
            of like length are read together within them. A device of its own begins
            with the next batch before the last one is decoded.
        YIELDS (Doc): The Docs. Of a batch that fails, the error handler gets those that
            fail alone.
        EXAMPLE:
            docs = map(nlp.make_doc, ["Ann left.", "Bo moved to Oslo."])
            annotated = list(nlp.get_pipe("entlm_ner").pipe(docs))
        """
        waiting: List[Tuple[List[Doc], Any]] = []
        for docs in doc_groups(stream, MAX_WORDS, batch_size):
            try:
                waiting.append((docs, self.score_docs(docs)))
            except Exception as error:
                waiting.append((docs, error))
            is_apart = self.is_initialized and shim_of(self.layer).is_apart
            if len(waiting) > is_apart:
                yield from self._annotated(*waiting.pop(0))
        for docs, scores in waiting:
            yield from self._annotated(docs, scores)

    def _annotated(self, docs: List[Doc], scores: Any) -> Iterable[Doc]:
        """Docs with what was found. scores (LabelScores): Of them, or an error."""
        try:
            if isinstance(scores, Exception):
                raise scores
            self.set_annotations(docs, self.decoder(scores, docs))
            return docs
        except Exception:
            return super().pipe(docs, batch_size=1)

    def set_annotations(
        self, docs: Iterable[Doc], entities: Iterable[DocEntities]
    ) -> None:
        """Set `doc.ents` and the span group to what `predict` found.

        EXAMPLE:
            pipe = nlp.get_pipe("entlm_ner")
            docs = [nlp.make_doc("Ann left.")]
            pipe.set_annotations(docs, pipe.predict(docs))
        """
        labels = self.labels  # as text: a Doc may have another vocabulary than we
        key = self.spans_key
        for doc, found in zip(docs, entities):
            confidences = self.calibration(found.confidences)
            sure = confidences >= self.threshold
            spans = [
                Span(doc, start, end, label=labels[label])
                for start, end, label in found.spans[sure].tolist()
            ]
            if self.annotate_ents:
                set_entities(doc, spans, overwrite=self.overwrite)
            if key is not None:
                doc.spans[key] = scored_group(doc, key, spans, confidences[sure])

    def score(self, examples: Iterable[Example], **kwargs: Any) -> Dict[str, Any]:
        """Score examples with the component's scorer, which gets the `spans_key`.

        EXAMPLE:
            for example in examples:
                example.predicted = nlp(example.reference.text)
            f1 = nlp.get_pipe("entlm_ner").score(examples)["ents_f"]
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

        drop (float): Has no effect: the backbone brings its own dropout.
        sgd (Optional[Optimizer]): If given, parameters are updated at once; if not,
            gradients add up until `finish_update`, as if in one larger batch.
        losses (Optional[Dict[str, float]]): The mean loss per piece is added; returned.
        EXAMPLE:
            optimizer = nlp.resume_training()
            losses = nlp.get_pipe("entlm_ner").update(examples, sgd=optimizer)
        """
        losses = {} if losses is None else losses
        losses.setdefault(self.name, 0.0)
        examples = list(examples)
        validate_examples(examples, f"{type(self).__name__}.update")
        if not any(len(eg.predicted) for eg in examples):
            return losses
        self.new_labels.clear()
        docs = [eg.predicted for eg in examples]
        scores, backprop = self.model.begin_update(docs)
        loss, d_scores = self.get_loss(examples, scores)
        backprop(d_scores)
        if sgd not in (None, False):
            self.finish_update(sgd)
        losses[self.name] += loss
        return losses

    def finish_update(self, sgd: Optimizer) -> None:
        """Update the parameters with the gradients that have added up."""
        if not self._is_updated:
            warn_of_rate(self.name, sgd, self.learn_rate)
        self._is_updated = True
        optimizer: Any = sgd
        if getattr(optimizer, "start_pull", 0.0) is None:  # of `spacy-entlm.Adam.v1`
            optimizer.start_pull = self.start_pull
        super().finish_update(sgd)

    def get_loss(
        self, examples: Iterable[Example], scores: PieceScores
    ) -> Tuple[float, PieceScores]:
        """Loss and gradient; nothing is changed.

        scores (PieceScores): From `model.begin_update`.
        RETURNS: Mean loss per piece, and the gradient of its sum. Words without an
            annotation, and those that a span cuts through, are ignored.
        RAISES (ValueError): If an entity's label is none of the classes.
        """
        from ..model.objective import label_cross_entropy  # with PyTorch

        targets = word_targets(examples, self.labels, self.name)
        return label_cross_entropy(scores, targets)

    @property
    def is_resizable(self) -> bool:
        """Whether classes may be added to a trained component, too."""
        return True

    @contextlib.contextmanager
    def _initializing(self, nlp: Optional[Language]) -> Iterator[None]:
        """Loads a backbone; if anything fails, the component is what it was before."""
        shim = shim_of(self.layer)
        before = shim.network
        try:
            self.model.initialize()
            yield
        except BaseException:
            shim.set_network(before)
            raise
        self._added = {}
        self.new_labels.clear()
        if nlp is not None:
            add_requirement(nlp)
            suit_optimizer(nlp, self.learn_rate)
            warn_of_language(self.name, self.backbone, nlp.lang or "xx")
