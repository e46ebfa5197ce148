"""Adaptation to plain text: what two trainings on the same examples agree on is learned
from the text, too (self-training; agreement as in co-training)."""

import random
from collections import Counter
from copy import deepcopy
from itertools import chain
from typing import (
    Any,
    Callable,
    Dict,
    Iterable,
    Iterator,
    List,
    NamedTuple,
    Optional,
    Sequence,
    Tuple,
    Union,
)

from spacy.language import Language
from spacy.tokens import Doc, Span
from spacy.training import Example
from spacy.util import minibatch
from thinc.api import fix_random_seed
from tqdm import tqdm

from ..corpus.docs import unannotated
from ..decoding.types import DocEntities
from .check import annotating_names, only_entlm
from .fit import FitSettings, few_shot_settings, fit
from .several import untrained_network
from .weights import mix

# Texts that are read: more take longer and change little (docs/benchmarks.md).
MAX_TEXTS = 4000
# An entity counts if both trainings found it, and are as sure of it in the mean.
MIN_CONFIDENCE = 0.6
# Words that would be in an entity if each class scored so much more: neither training
# says that they are in none.
DOUBT = 3.0
# Texts without an entity, for each with one.
EMPTY_SHARE = 1 / 3
# Of the student's steps; and an example comes for each so many texts. Its learning rate
# is half of that for the examples.
BATCH_SIZE, TEXTS_PER_EXAMPLE = 8, 3
# Below, the student is not trained: it would learn the noise of the two.
MIN_AGREEMENT = 0.3
MIN_ENTITIES = 20

# First word, end, class; and how sure a training was of it, None: it is a list's.
Entity = Tuple[int, int, str]
Opinion = Dict[Entity, Any]


class Reading(NamedTuple):
    """What a training says of a text: its entities, and those in doubt with them."""

    found: Opinion
    doubted: Opinion


# What reads Docs: `read_docs`, or others that do it for it.
Read = Callable[[Language, str, List[Doc]], List[Reading]]


class Adaptation(NamedTuple):
    """What an adaptation did.

    n_texts (int): Texts that were read. n_learned (int): Those that were learned.
    entities (Dict[str, int]): Entities in these, by class. agreement (float): F1 of one
    training's entities against the other's. taken (bool): Whether the pipeline learned
    from them; if not, it is what the examples alone made of it.
    """

    n_texts: int
    n_learned: int
    entities: Dict[str, int]
    agreement: float
    taken: bool

    def lines(self) -> List[str]:
        """What there is to say about it."""
        found = ", ".join(f"{label} {n:,}" for label, n in self.entities.items())
        agreed = f"two trainings agree to {100 * self.agreement:.0f} % (F1)"
        head = f"Read {self.n_texts:,} texts: {agreed}; agreed on {found or 'none'}"
        if self.taken:
            return [head, f"Learned from {self.n_learned:,} of them"]
        least = f"{100 * MIN_AGREEMENT:.0f} % and {MIN_ENTITIES} entities are wanted"
        return [head, f"Too little to learn from: {least}. The pipeline stays as it is"]


def adapt_trained(
    nlp: Language,
    examples: List[Example],
    texts: Iterable[Union[str, Doc]],
    *,
    max_texts: int = MAX_TEXTS,
    learn_rate: Optional[float] = None,
    seed: int = 0,
    read: Optional[Read] = None,
) -> Adaptation:
    """`adapt` a pipeline that was trained on examples with the recipe's settings.

    learn_rate (Optional[float]): Of the trainings; None: what suits the backbone.
    read (Optional[Read]): What reads the text in place of `read_docs`.
    RAISES (BackboneError): If its backbone cannot be loaded."""
    pipe = only_entlm(nlp)
    settings = few_shot_settings(
        len(examples), pipe.label_model.backbone, learn_rate=learn_rate, seed=seed
    )
    start = untrained_network(pipe)
    return adapt(nlp, examples, texts, settings, start, max_texts, read)


def adapt(
    nlp: Language,
    examples: List[Example],
    texts: Iterable[Union[str, Doc]],
    settings: FitSettings,
    start: Any,
    max_texts: int = MAX_TEXTS,
    read: Optional[Read] = None,
) -> Adaptation:
    """Let a component that is trained on examples learn from plain text, too.

    A second training from the same start reads the text as well. The mean of both
    models goes on with what they agree on, and with the examples; what it then is, and
    was before, are averaged again. If that fails, or is interrupted, the component is
    what it was.

    examples (List[Example]): What it was trained on.
    texts (Iterable): Plain text. A Doc's entities are those of a list of names: they
        count where one of the trainings agrees with them.
    settings (FitSettings): Of the training on the examples.
    start (Module): A copy of the network as it was before that.
    max_texts (int): Most texts that are read; of more, as many are drawn.
    """
    read = read or read_docs
    pipe = only_entlm(nlp)
    name, shim = pipe.name, pipe.label_model.shim
    first = shim.network
    docs = _draw(nlp, texts, max_texts, settings.seed)
    try:
        one = read(nlp, name, docs)
        shim.set_network(start)
        seed = settings.seed + 1
        fix_random_seed(seed)
        fit(nlp, [name], examples, settings._replace(seed=seed, callback=None))
        other = read(nlp, name, docs)
        result, learned = _agree(docs, one, other, settings.seed)
        if not result.taken:
            shim.set_network(first)
            return result
        mix(shim.network, first, 0.5)
        teacher = deepcopy(shim.network)
        repeats = max(1, len(learned) // (TEXTS_PER_EXAMPLE * len(examples)))
        student = settings._replace(
            epochs=1,
            batch_size=BATCH_SIZE,
            learn_rate=settings.learn_rate / 2,
            callback=None,
        )
        fit(nlp, [name], [*learned, *examples * repeats], student)
        mix(shim.network, teacher, 0.5)
    except BaseException:
        shim.set_network(first)
        raise
    return result


def _draw(
    nlp: Language, texts: Iterable[Union[str, Doc]], max_texts: int, seed: int
) -> List[Doc]:
    """Docs of texts that are not blank, each once, in random order."""
    kept = {text if isinstance(text, str) else text.text: text for text in texts}
    wanted = [text for words, text in kept.items() if words.strip()]
    random.Random(seed).shuffle(wanted)
    drawn = wanted[:max_texts]
    return [nlp.make_doc(text) if isinstance(text, str) else text for text in drawn]


def read_docs(nlp: Language, name: str, docs: List[Doc]) -> List[Reading]:
    """What a component says of Docs, which are not changed."""
    pipe: Any = nlp.get_pipe(name)
    before = annotating_names(nlp, name)
    readings: List[Reading] = []
    with tqdm(total=len(docs), unit="text") as progress:
        for batch in minibatch(docs, nlp.batch_size):
            blank = [unannotated(doc, nlp.vocab) for doc in batch]
            for other in before:
                blank = [nlp.get_pipe(other)(doc) for doc in blank]
            both = pipe.predict_with(blank, [0.0, DOUBT])
            opinions = [[_opinion(x, pipe.labels) for x in found] for found in both]
            readings += (Reading(*pair) for pair in zip(*opinions))
            progress.update(len(batch))
    return readings


def _opinion(entities: DocEntities, labels: Sequence[str]) -> Opinion:
    spans = [(start, end, labels[i]) for start, end, i in entities.spans.tolist()]
    return dict(zip(spans, entities.confidences.tolist()))


def _agree(
    docs: List[Doc], one: List[Reading], other: List[Reading], seed: int
) -> Tuple[Adaptation, List[Example]]:
    """The texts with what the trainings agree on; what they do not is left open."""
    learned: List[Example] = []
    empty: List[Example] = []
    entities: Counter[str] = Counter()
    n_both = n_all = 0
    for doc, *readings in zip(docs, one, other):
        opinions = [reading.found for reading in readings]
        n_both += len(opinions[0].keys() & opinions[1].keys())
        n_all += sum(map(len, opinions))
        listed = {(ent.start, ent.end, ent.label_): None for ent in doc.ents}
        agreed = set(_agreed(opinions, listed))
        open_ = set(chain.from_iterable(chain(*readings))) - agreed
        example = _example(doc, agreed, open_)
        if agreed:
            learned.append(example)
            entities.update(label for *_, label in agreed)
        elif not open_:
            empty.append(example)
    random.Random(seed).shuffle(empty)
    learned += empty[: int(len(learned) * EMPTY_SHARE)]
    agreement = 2 * n_both / n_all if n_all else 0.0
    taken = agreement >= MIN_AGREEMENT and sum(entities.values()) >= MIN_ENTITIES
    counts = dict(entities.most_common())
    return Adaptation(len(docs), len(learned), counts, agreement, taken), learned


def _agreed(opinions: List[Opinion], listed: Opinion) -> Iterator[Entity]:
    """Entities that two of the three name, and the trainings among them are sure of."""
    for entity in dict.fromkeys(chain(*opinions)):
        sure = [found[entity] for found in opinions if entity in found]
        votes = len(sure) + (entity in listed)
        if votes > 1 and sum(sure) >= MIN_CONFIDENCE * len(sure):
            yield entity


def _example(doc: Doc, agreed: Iterable[Entity], open_: Iterable[Entity]) -> Example:
    reference = doc.copy()
    taken = {i for start, end, _ in agreed for i in range(start, end)}
    missing = {i for start, end, _ in open_ for i in range(start, end)} - taken
    reference.set_ents(
        [Span(reference, start, end, label) for start, end, label in agreed],
        missing=[reference[i : i + 1] for i in sorted(missing)],
        default="outside",
    )
    return Example(unannotated(doc), reference)
