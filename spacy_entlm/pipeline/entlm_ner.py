"""The `entlm_ner` component: Docs in, `doc.ents` out."""

from pathlib import Path
from typing import Any, Callable, Dict, Iterable, List, Optional, Tuple

from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example, validate_examples, validate_get_examples
from spacy.vocab import Vocab
from thinc.api import Model, Optimizer

from ..backbones.suitable import LABEL_MARGIN
from ..decoding.types import Decoder, LabelScores
from ..label_words.search_examples import search_in_examples
from ..label_words.starts import choose_starts
from ..label_words.words import (
    LabelWordError,
    LabelWords,
    read_label_words,
)
from ..model.bias import ScoreBias
from ..model.layer import (
    LabelModel,
    find_layer,
    read_pieces,
    score_words,
    shim_of,
)
from ..model.types import PieceScores, WordFeatures
from .base import ASSIGNS, COMMON_CONFIG, MODEL_CONFIG, SCORE_WEIGHTS
from .beginning import BeginningNER
from .classes import Labels, label_texts
from .examples import (
    count_entities,
    plain_label_words,
    wanted_labels,
    warn_of_unknown_labels,
    word_targets,
)
from .lexicon import LEXICON_KEY, LEXICON_WEIGHT
from .requirements import add_requirement

# A name decides alone long before; more would leave the range of float32.
MAX_LEXICON_WEIGHT = 1e6


@Language.factory(
    "entlm_ner",
    assigns=ASSIGNS,
    default_config={
        "model": {"@architectures": "spacy-entlm.EntLM.v1", **MODEL_CONFIG},
        "labels": None,
        "start": None,
        "label_bias": 0.0,
        "lexicon_key": LEXICON_KEY,
        "lexicon_weight": LEXICON_WEIGHT,
        **COMMON_CONFIG,
        "decoder": {"@misc": "spacy-entlm.viterbi_decoder.v1"},
    },
    default_score_weights=SCORE_WEIGHTS,
)
def make_entlm_ner(
    nlp: Language,
    name: str,
    model: LabelModel,
    labels: Optional[Labels],
    start: Optional[str],
    decoder: Decoder,
    threshold: Optional[float],
    label_bias: float,
    lexicon_key: Optional[str],
    lexicon_weight: float,
    spans_key: Optional[str],
    annotate_ents: bool,
    overwrite: bool,
    scorer: Optional[Callable],
) -> "EntLMNER":
    """Create an EntLM component.

    model (LabelModel): A model such as `spacy-entlm.EntLM.v1`.
    labels (Optional[Labels]): Classes to begin with: names, or a map from each name to
        a word, a description, or several. With a backbone that makes rows from names
        the component works with them at once, without examples.
    start (Optional[str]): How a class begins: by its "name", by label "words" that were
        searched or given, or by "both"; None: by its name, where the backbone makes
        rows from names.
    decoder (Decoder): Turns scores into entities.
    threshold (Optional[float]): Entities of less confidence are dropped; None: what
        suits the backbone and the number of examples.
    label_bias (float): Added to every label's score at prediction: above 0 more is
        found, below 0 less but surer.
    lexicon_key (Optional[str]): Span group whose spans, of names that are known, speak
        for their labels, as `entlm_lexicon` or any component before this one sets it;
        None: none does.
    lexicon_weight (float): Added to the label's score at each word of such a span, as
        many times as it has words.
    spans_key (Optional[str]): Span group for the entities with their confidences in
        `attrs["scores"]`; "{name}" stands for the component's name; None: no group.
    annotate_ents (bool): Whether `doc.ents` is set; if not, only the span group is.
    overwrite (bool): Whether entities that are already set are replaced. If not, they
        stay in `doc.ents` and ours fill the gaps; the span group has all of ours.
    scorer (Optional[Callable]): The scoring method.
    EXAMPLE:
        nlp.add_pipe("entlm_ner", name="places", config={"labels": ["city", "river"]})
    """
    add_requirement(nlp)
    return EntLMNER(
        nlp.vocab,
        model,
        name,
        labels=labels,
        start=start,
        decoder=decoder,
        threshold=threshold,
        label_bias=label_bias,
        lexicon_key=lexicon_key,
        lexicon_weight=lexicon_weight,
        spans_key=spans_key,
        annotate_ents=annotate_ents,
        overwrite=overwrite,
        scorer=scorer,
    )


class EntLMNER(BeginningNER):
    """Finds entities with a masked LM that predicts label words (EntLM: Ma et al.,
    "Template-free Prompt Tuning for Few-shot NER", NAACL 2022)."""

    def __init__(
        self,
        vocab: Vocab,
        model: LabelModel,
        name: str = "entlm_ner",
        *,
        decoder: Decoder,
        label_bias: float = 0.0,
        lexicon_key: Optional[str] = LEXICON_KEY,
        lexicon_weight: float = LEXICON_WEIGHT,
        **settings: Any,
    ) -> None:
        """vocab (Vocab): The shared vocabulary. The others are those of
        `make_entlm_ner`."""
        super().__init__(vocab, model, name, decoder=decoder, **settings)
        self.cfg.update(label_bias=label_bias, lexicon_key=lexicon_key)
        self.lexicon_weight = lexicon_weight
        self._note_settings()
        self._rehearsal_model: Optional[Model] = None

    @property
    def label_bias(self) -> float:
        """Added to every label's score at prediction. It may be changed at any time."""
        return self.cfg["label_bias"]

    @label_bias.setter
    def label_bias(self, value: float) -> None:
        self.cfg["label_bias"] = float(value)

    @property
    def lexicon_key(self) -> Optional[str]:
        """The span group of names that are known. It may be changed at any time."""
        return self.cfg["lexicon_key"]

    @lexicon_key.setter
    def lexicon_key(self, value: Optional[str]) -> None:
        self.cfg["lexicon_key"] = value

    @property
    def lexicon_weight(self) -> float:
        """How much a known name counts. It may be changed at any time."""
        return self.cfg["lexicon_weight"]

    @lexicon_weight.setter
    def lexicon_weight(self, value: float) -> None:
        if not 0.0 <= value <= MAX_LEXICON_WEIGHT:
            problem = f"is 0 to {MAX_LEXICON_WEIGHT:,.0f}, not {value!r}"
            raise ValueError(f"[{self.name}] lexicon_weight {problem}")
        self.cfg["lexicon_weight"] = float(value)

    def score_docs(self, docs: List[Doc]) -> LabelScores:
        """What the decoder gets to see of some Docs.
        RAISES (ValueError): If the component has neither weights nor classes."""
        self._tell_bias()
        return super().score_docs(docs)

    def score_words(self, docs: List[Doc], found: WordFeatures) -> LabelScores:
        """What the decoder gets to see, from features that were read before.
        found (WordFeatures): From `read_words` of model/layer.py, of these Docs."""
        self._tell_bias()
        return score_words(self.layer, docs, found)

    def _tell_bias(self) -> None:
        """Tell the model what the settings say; they may have been changed."""
        self.layer.attrs["bias"] = ScoreBias(
            self.label_bias, self.lexicon_key, self.lexicon_weight
        )

    def get_loss(
        self, examples: Iterable[Example], scores: PieceScores
    ) -> Tuple[float, PieceScores]:
        """Loss and gradient; nothing is changed. Labels that started from their names
        have to win by a margin.

        scores (PieceScores): From `model.begin_update`.
        RETURNS: Mean loss per piece, and the gradient of its sum. Words without an
            annotation, and those that a span cuts through, are ignored.
        RAISES (ValueError): If an entity's label is none of the classes.
        EXAMPLE:
            pipe = nlp.get_pipe("entlm_ner")
            scores, backprop = pipe.model.begin_update([x.predicted for x in examples])
            loss, gradient = pipe.get_loss(examples, scores)
        """
        from ..model.objective import label_cross_entropy  # with PyTorch

        targets = word_targets(examples, self.labels, self.name)
        margin = LABEL_MARGIN if self.reads_names else 0.0
        return label_cross_entropy(scores, targets, margin)

    def rehearse(
        self,
        examples: Iterable[Example],
        *,
        sgd: Optional[Optimizer] = None,
        losses: Optional[Dict[str, float]] = None,
        **config: Any,
    ) -> Dict[str, float]:
        """Learn to predict what the model predicted when `nlp.resume_training` was
        called, so that it is not forgotten.

        examples (Iterable[Example]): Texts; their annotation is not used.
        sgd (Optional[Optimizer]): The optimizer.
        losses (Optional[Dict[str, float]]): The mean loss per piece is added.
        RETURNS (Dict[str, float]): The losses.
        EXAMPLE:
            optimizer = nlp.resume_training()
            losses = nlp.get_pipe("entlm_ner").rehearse(examples, sgd=optimizer)
        """
        losses = {} if losses is None else losses
        examples = list(examples)
        validate_examples(examples, "EntLMNER.rehearse")
        docs = [eg.predicted for eg in examples]
        if self._rehearsal_model is None or not any(len(doc) for doc in docs):
            return losses
        from ..model.objective import distillation_loss  # with PyTorch

        scores, backprop = self.model.begin_update(docs)
        teacher = find_layer(self._rehearsal_model)
        earlier = shim_of(teacher).scores(
            *read_pieces(teacher, docs), rival_ids=scores.rival_ids
        )
        loss, d_scores = distillation_loss(scores, earlier)
        backprop(d_scores)
        if sgd not in (None, False):
            self.finish_update(sgd)
        losses[self.name] = losses.get(self.name, 0.0) + loss
        return losses

    def initialize(
        self,
        get_examples: Callable[[], Iterable[Example]],
        *,
        nlp: Optional[Language] = None,
        labels: Optional[Labels] = None,
        label_words: Optional[Dict[str, List[str]]] = None,
        searched_words: Optional[str] = None,
        label_rows: Optional[str] = None,
    ) -> None:
        """Load the backbone and give each class its label row.

        get_examples (Callable[[], Iterable[Example]]): The training examples.
        nlp (Optional[Language]): The pipeline.
        labels (Optional): The classes, or the texts of each, as `label_data` has them.
        label_words (Optional[Dict[str, List[str]]]): Label words, or a description, of
            classes. Without them a class begins as `label_words/starts.py` tells.
        searched_words (Optional[str]): File of words that `search` found in text that a
            lexicon annotated.
        label_rows (Optional[str]): File of rows that `search --method prototype` found
            with this backbone: where a class has one, it starts from that.
        RAISES (LabelWordError): If there is no class, or one without a usable word.
            (BackboneError): If the backbone, or the rows, cannot be loaded.
        EXAMPLE:
            nlp.get_pipe("entlm_ner").initialize(lambda: examples, nlp=nlp)
        """
        validate_get_examples(get_examples, "EntLMNER.initialize")
        added = self._given if self.is_initialized else self.label_data
        counts = count_entities(get_examples())
        given = plain_label_words(label_words, labels or counts)
        wanted = wanted_labels(counts, label_texts(labels) or None, given, added)
        if not wanted:
            raise LabelWordError(
                f"[{self.name}] There is no class to learn: no example has an entity, "
                f"and neither labels nor label words are given. If the examples are "
                f"in another form than .spacy, `python -m spacy entlm convert` comes "
                f"before."
            )
        warn_of_unknown_labels(self.name, given, counts, labels or added)
        searched = (
            read_label_words(searched_words, tags=False) if searched_words else None
        )
        with self._initializing(nlp):
            network = self.network

            def search(classes: List[str]) -> LabelWords:
                return search_in_examples(
                    [eg.reference for eg in get_examples()],
                    classes,
                    network.fold_word,
                    network.word_pieces,
                    wanted,
                )

            starts = choose_starts(
                wanted,
                reads_names=self.reads_names,
                start=self.start,
                searched=searched,
                search=search,
            )
            self._add_starts(starts, None if label_rows is None else Path(label_rows))
            self.decoder.initialize(get_examples, self.labels)
        self.calibration = self._suitable_calibration(counts)
        self._rehearsal_model = None

    def _load_model(self, path: Path) -> None:
        super()._load_model(path)
        self._rehearsal_model = None  # it is that of another model
