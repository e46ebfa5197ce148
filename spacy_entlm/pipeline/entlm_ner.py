"""The `entlm_ner` component: Docs in, `doc.ents` out."""

from pathlib import Path
from typing import Any, Callable, Dict, Iterable, List, Optional, Tuple, Union

import numpy
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example, validate_examples, validate_get_examples
from spacy.vocab import Vocab
from thinc.api import Model, Optimizer

from ..backbones.learn_rate import suitable_threshold
from ..backbones.recommended import Recommended, read_recommended
from ..decoding.types import Bias, Decoder
from ..label_words.choice import choose_label_words
from ..label_words.class_names import words_of_names
from ..label_words.words import LabelWordError, LabelWords, read_label_words
from ..model.base import PieceModel, get_label_model
from ..model.types import PieceFeatures, PieceGradient
from .base import ASSIGNS, COMMON_CONFIG, MODEL_CONFIG, SCORE_WEIGHTS, MaskedLMNER
from .calibration import UNCHANGED, Calibration
from .examples import (
    count_entities,
    entity_labels,
    plain_label_words,
    search_in_examples,
    wanted_labels,
    warn_of_same_words,
    warn_of_unknown_labels,
    word_targets,
)
from .lexicon import LEXICON_KEY, LEXICON_WEIGHT, score_bias
from .requirements import add_requirement

# Examples that are read to tell which of the backbone's classes theirs are like.
MOST_EXAMPLES = 500
# A name decides alone long before; more would leave the range of float32.
MOST_LEXICON_WEIGHT = 1e6


@Language.factory(
    "entlm_ner",
    assigns=ASSIGNS,
    default_config={
        "model": {"@architectures": "spacy-entlm.EntLM.v1", **MODEL_CONFIG},
        "label_bias": 0.0,
        "lexicon_key": LEXICON_KEY,
        "lexicon_weight": LEXICON_WEIGHT,
        **COMMON_CONFIG,
    },
    default_score_weights=SCORE_WEIGHTS,
)
def make_entlm_ner(
    nlp: Language,
    name: str,
    model: PieceModel,
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

    model (PieceModel): A model such as `spacy-entlm.EntLM.v1`.
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
    """
    settings = {**locals()}  # which the component calls the same
    add_requirement(settings.pop("nlp"))
    return EntLMNER(nlp.vocab, **settings)


class EntLMNER(MaskedLMNER):
    """Finds entities with a masked LM that predicts label words (EntLM: Ma et al.,
    "Template-free Prompt Tuning for Few-shot NER", NAACL 2022)."""

    def __init__(
        self,
        vocab: Vocab,
        model: PieceModel,
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
        if not 0.0 <= lexicon_weight <= MOST_LEXICON_WEIGHT:
            problem = f"is 0 to {MOST_LEXICON_WEIGHT:,.0f}, not {lexicon_weight!r}"
            raise ValueError(f"[{name}] lexicon_weight {problem}")
        self.cfg["label_bias"] = label_bias
        self.cfg["lexicon_key"] = lexicon_key
        self.cfg["lexicon_weight"] = lexicon_weight
        self._rehearsal_model: Optional[Model] = None

    @property
    def label_data(self) -> LabelWords:
        """The label words of each class, as `initialize` takes them."""
        known = self.label_model.label_words if self.is_initialized else self._added
        return {label: list(words) for label, words in known.items()}

    def add_label(self, label: str, words: Optional[List[str]] = None) -> int:
        """Add a class. On a trained pipeline the scores of the others stay, and one
        that has the words of a class of the backbone starts from what that learned.

        label (str): The class.
        words (Optional[List[str]]): Its label words. Before `initialize` they may be
            left out; they are then searched in the examples.
        RETURNS (int): 1, or 0 if the class is there already.
        RAISES (LabelWordError): If no word can be used.
        """
        rows = {}
        if self.is_initialized:
            rows = {"learned": read_recommended(self.label_model.backbone)}
        return self._add_label(label, words or [], **rows)

    def label_bias(self, docs: List[Doc], pieces: PieceFeatures) -> Bias:
        """The setting of that name, and more where a name speaks for a class."""
        cfg = self.cfg
        bias = score_bias(
            docs,
            self.labels,
            label_bias=cfg["label_bias"],
            key=cfg["lexicon_key"],
            weight=cfg["lexicon_weight"],
        )
        return bias[pieces.first_words] if isinstance(bias, numpy.ndarray) else bias

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
        """
        losses = {} if losses is None else losses
        examples = list(examples)
        validate_examples(examples, "EntLMNER.rehearse")
        docs = [eg.predicted for eg in examples]
        if self._rehearsal_model is None or not any(len(doc) for doc in docs):
            return losses
        teacher = get_label_model(self._rehearsal_model)

        def get_loss(pieces: PieceFeatures) -> Tuple[float, PieceGradient]:
            return self.label_model.rehearsal_loss(teacher, docs, pieces)

        return self._learn_from(docs, get_loss, sgd, losses)

    def initialize(
        self,
        get_examples: Callable[[], Iterable[Example]],
        *,
        nlp: Optional[Language] = None,
        labels: Optional[Union[Dict[str, List[str]], List[str]]] = None,
        label_words: Optional[Dict[str, List[str]]] = None,
        searched_words: Optional[str] = None,
        label_rows: Optional[str] = None,
    ) -> None:
        """Load the backbone and give each class its label row.

        get_examples (Callable[[], Iterable[Example]]): The training examples.
        nlp (Optional[Language]): The pipeline.
        labels (Optional): The classes, or a label-word map as `label_data` gives it.
        label_words (Optional[Dict[str, List[str]]]): Label words per class. Classes
            of the examples or of `labels` that have none here get the backbone's own
            words, if it brings some for a class of that name or one that wins at their
            entities, else searched ones, else the words of their names, and where these
            are no words some from the entities of the examples.
        searched_words (Optional[str]): File of words that `search` found in text that a
            lexicon annotated.
        label_rows (Optional[str]): File of rows that `search --method prototype` found
            with this backbone: where a class has one, it starts from that in place of
            its label words.
        RAISES (LabelWordError): If there is no class, or one without a usable word.
            (BackboneError): If the backbone, or the rows, cannot be loaded.
        """
        validate_get_examples(get_examples, "EntLMNER.initialize")
        added = {} if self.is_initialized else self.label_data
        counts = count_entities(get_examples())
        given = plain_label_words(label_words, labels or counts)
        wanted = wanted_labels(counts, labels, given, added)
        if not wanted:
            raise LabelWordError(
                f"[{self.name}] There is no class to learn: no example has an entity, "
                f"and neither labels nor label words are given."
            )
        warn_of_unknown_labels(self.name, given, counts, labels or added)
        path = None if label_rows is None else Path(label_rows)
        learned = read_recommended(self.label_model.backbone)
        searched = (
            read_label_words(searched_words, tags=False) if searched_words else {}
        )
        # Where the backbone's own words stand among them, it is asked itself.
        own = list(learned.label_words.values())
        searched = {x: words for x, words in searched.items() if words not in own}
        with self._initializing(nlp):
            view = self.label_model

            def name(classes: List[str]) -> LabelWords:
                return words_of_names(classes, view.word_pieces)

            def search(classes: List[str]) -> LabelWords:
                found = {x: searched[x] for x in classes if searched.get(x)}
                rest = [x for x in classes if x not in found]
                pieces = view.word_pieces
                return found | search_in_examples(
                    get_examples(), rest, view.fold_word, pieces, wanted
                )

            def recognise(classes: List[str], *names: LabelWords) -> LabelWords:
                return self._recognise(get_examples, learned, classes, *names)

            words = choose_label_words(
                wanted, learned.label_words, search, name, recognise
            )
            warn_of_same_words(self.name, words)
            started = view.add_labels(words, learned=learned, label_rows=path)
            self._note_labels()
            self.decoder.initialize(get_examples, self.labels)
        few_shot = getattr(self.decoder, "few_shot_calibration", UNCHANGED)
        scale, shift, _ = Calibration(*few_shot)
        # With rows of other words a component is less sure (benchmarks/RESULTS.md).
        fewest = min(counts[label] for label in words)
        is_known = 2 * len(started) >= len(words)
        least = suitable_threshold(fewest) if is_known else 0.0
        self.calibration = Calibration(scale, shift, least)
        self._rehearsal_model = None

    def _load_model(self, path: Path) -> None:
        super()._load_model(path)
        self._rehearsal_model = None  # it is that of another model

    def _recognise(
        self,
        get_examples: Callable[[], Iterable[Example]],
        learned: Recommended,
        classes: List[str],
        same_name: LabelWords,
        same_end: LabelWords,
    ) -> LabelWords:
        """Words of those classes that are like one of the backbone's."""
        from ..label_words.learned import recognise_classes  # with PyTorch
        from ..model.network import read_learned_rows

        view = self.label_model
        rows = read_learned_rows(learned, view.network.masked_lm.width)
        if rows is None:
            return {**same_end, **same_name}
        examples = list(get_examples())
        examples = examples[:: len(examples) // MOST_EXAMPLES + 1]
        # Words of the other classes are what these are told from.
        labels = list(dict.fromkeys([*classes, *entity_labels(examples)]))
        for label in labels:  # gold Docs may be of another vocabulary
            self.vocab.strings.add(label)
        return recognise_classes(
            view,
            [eg.predicted for eg in examples],
            word_targets(examples, labels, self.name),
            classes,
            learned_words=learned.label_words,
            learned_rows=rows,
            same_name=same_name,
            same_end=same_end,
        )
