"""The `entlm_ner` component: Docs in, `doc.ents` out."""

import threading
from pathlib import Path
from typing import Any, Callable, Dict, Iterable, List, Optional, Tuple

from spacy.errors import Errors
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example, validate_examples, validate_get_examples
from spacy.vocab import Vocab
from thinc.api import Model, Optimizer

from ..backbones.learn_rate import LABEL_MARGIN, suitable_threshold
from ..backbones.recommended import reads_names
from ..decoding.types import Decoder, LabelScores
from ..label_words.search_examples import search_in_examples
from ..label_words.starts import (
    WORDS,
    Start,
    check_start,
    choose_starts,
    starts_again,
)
from ..label_words.words import (
    LabelWordError,
    LabelWords,
    check_label_words,
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
from .base import ASSIGNS, COMMON_CONFIG, MODEL_CONFIG, SCORE_WEIGHTS, MaskedLMNER
from .calibration import UNCHANGED, Calibration
from .classes import Labels, label_texts, tell_of_starts
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
# Of several threads that predict first, one loads the backbone.
_BEGINNING = threading.RLock()


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


class EntLMNER(MaskedLMNER):
    """Finds entities with a masked LM that predicts label words (EntLM: Ma et al.,
    "Template-free Prompt Tuning for Few-shot NER", NAACL 2022)."""

    def __init__(
        self,
        vocab: Vocab,
        model: LabelModel,
        name: str = "entlm_ner",
        *,
        decoder: Decoder,
        labels: Optional[Labels] = None,
        start: Optional[str] = None,
        label_bias: float = 0.0,
        lexicon_key: Optional[str] = LEXICON_KEY,
        lexicon_weight: float = LEXICON_WEIGHT,
        **settings: Any,
    ) -> None:
        """vocab (Vocab): The shared vocabulary. The others are those of
        `make_entlm_ner`."""
        super().__init__(vocab, model, name, decoder=decoder, **settings)
        check_start(start)
        if not 0.0 <= lexicon_weight <= MAX_LEXICON_WEIGHT:
            problem = f"is 0 to {MAX_LEXICON_WEIGHT:,.0f}, not {lexicon_weight!r}"
            raise ValueError(f"[{name}] lexicon_weight {problem}")
        self.start = start
        self.cfg.update(
            label_bias=label_bias,
            lexicon_key=lexicon_key,
            lexicon_weight=lexicon_weight,
        )
        self._note_settings()
        # Of the config: classes wherever a training begins.
        self._given = label_texts(labels)
        self._added = dict(self._given)
        self._note_labels()
        self._rehearsal_model: Optional[Model] = None

    @property
    def label_data(self) -> LabelWords:
        """The texts by which each class began, as `initialize` takes them."""
        known = self.network.label_words if self.is_initialized else self._added
        return {label: list(words) for label, words in known.items()}

    @property
    def label_bias(self) -> float:
        """Added to every label's score at prediction. It may be changed at any time."""
        return self.cfg["label_bias"]

    @label_bias.setter
    def label_bias(self, value: float) -> None:
        self.cfg["label_bias"] = float(value)

    def add_label(self, label: str, words: Optional[List[str]] = None) -> int:
        """Add a class. On a trained pipeline the scores of the others stay.

        label (str): The class.
        words (Optional[List[str]]): Label words, or a description. They may be left out
            where the backbone makes rows from names, and before `initialize`, which
            then searches them in the examples.
        RETURNS (int): 1, or 0 if the class is there already.
        RAISES (LabelWordError): If no word can be used.
        """
        if not isinstance(label, str):
            raise ValueError(Errors.E187)
        if label in self.labels:
            return 0
        new = check_label_words({label: words or []}, tags=False)
        if self.is_initialized:
            starts = choose_starts(new, reads_names=self._reads_names, start=self.start)
            self._add_starts(starts)
            self.new_labels.add(label)
        else:
            self._added.update(new)
        self._note_labels()
        return 1

    def begin(self) -> None:
        """Load the backbone and let classes start from their names, where there are
        classes and no weights yet.
        RAISES (ValueError): If there are no classes, or they cannot start without
            examples."""
        with _BEGINNING:
            if not self.is_initialized:
                self._begin()

    def _begin(self) -> None:
        if not self._added:
            super().begin()
        if self.start == WORDS:
            raise self._wants_examples(f"start is {WORDS!r}")
        texts = self._added
        with self._initializing(None):
            if not self._reads_names:
                what = "makes no rows from names of classes"
                raise self._wants_examples(f"the backbone {self.backbone!r} {what}")
            self._add_starts(choose_starts(texts, reads_names=True))
            self.decoder.initialize(lambda: [], self.labels)
        self.calibration = self._few_shot_calibration(0)

    def _wants_examples(self, reason: str) -> ValueError:
        advice = "call nlp.initialize() with examples"
        return ValueError(f"[{self.name}] There are no weights yet: {reason}; {advice}")

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
            self.cfg["label_bias"], self.cfg["lexicon_key"], self.cfg["lexicon_weight"]
        )

    def get_loss(
        self, examples: Iterable[Example], scores: PieceScores
    ) -> Tuple[float, PieceScores]:
        """Loss and gradient; nothing is changed. Labels that started from their names
        have to win by a margin.

        scores (PieceScores): From `model.begin_update`.
        RETURNS: Mean loss per piece, and the gradient of its sum. Words whose
            annotation is missing or misaligned carry none.
        RAISES (ValueError): If an entity's label is none of the classes.
        """
        from ..model.objective import label_cross_entropy  # with PyTorch

        targets = word_targets(examples, self.labels, self.name)
        margin = LABEL_MARGIN if self._reads_names else 0.0
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
        """
        validate_get_examples(get_examples, "EntLMNER.initialize")
        added = self._given if self.is_initialized else self.label_data
        counts = count_entities(get_examples())
        given = plain_label_words(label_words, labels or counts)
        wanted = wanted_labels(counts, label_texts(labels) or None, given, added)
        if not wanted:
            raise LabelWordError(
                f"[{self.name}] There is no class to learn: no example has an entity, "
                f"and neither labels nor label words are given."
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
                reads_names=self._reads_names,
                start=self.start,
                searched=searched,
                search=search,
            )
            self._add_starts(starts, None if label_rows is None else Path(label_rows))
            self.decoder.initialize(get_examples, self.labels)
        fewest = min(counts[label] for label in wanted)
        self.calibration = self._few_shot_calibration(fewest)
        self._rehearsal_model = None

    def begin_again(self, label_rows: Optional[Path] = None) -> None:
        """Load the backbone afresh, and let the classes start as they did.
        label_rows (Optional[Path]): File of rows from which classes started.
        RAISES (BackboneError): If the backbone cannot be loaded. (DataError): If the
            rows cannot."""
        texts = self.label_data
        self.model.initialize()
        starts = starts_again(texts, reads_names=self._reads_names, start=self.start)
        self._add_starts(starts, label_rows)

    @property
    def _reads_names(self) -> bool:
        return getattr(self.network, "name_map", None) is not None

    def _add_starts(
        self, starts: Dict[str, Start], label_rows: Optional[Path] = None
    ) -> None:
        """Give classes their rows, and say how their names were read."""
        rows = None
        if label_rows is not None:
            from ..label_words.prototypes import read_label_rows

            rows = read_label_rows(label_rows, self.network.masked_lm.width)
        self.network.add_labels(starts, rows)
        self._note_labels()
        tell_of_starts(self.name, starts, rows or {})

    def _few_shot_calibration(self, fewest: int) -> Calibration:
        """fewest (int): Examples of the class that has fewest."""
        few_shot = getattr(self.decoder, "few_shot_calibration", UNCHANGED)
        scale, shift, _ = Calibration(*few_shot)
        least = suitable_threshold(fewest) if self._reads_names else 0.0
        return Calibration(scale, shift, least)

    def _write_parts(self, folder: Path, exclude: Iterable[str]) -> None:
        if self._added and not self.is_initialized and "model" not in exclude:
            self._begin_if_it_can()
        super()._write_parts(folder, exclude)

    def _begin_if_it_can(self) -> None:
        """What is saved needs no backbone any more."""
        if self.start != WORDS and reads_names(self.backbone):
            self.begin()

    def _load_model(self, path: Path) -> None:
        super()._load_model(path)
        self._rehearsal_model = None  # it is that of another model
