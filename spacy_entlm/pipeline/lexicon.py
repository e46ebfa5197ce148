"""Names that are known: in prediction they speak for their class, beside what the
masked LM says. No training sees them, so a trained pipeline may get more."""

from pathlib import Path
from typing import Any, Callable, Dict, Iterable, List, Optional, Sequence, Union

import numpy
from spacy.language import Language
from spacy.pipeline import SpanRuler
from spacy.tokens import Doc
from spacy.training import Example

from ..decoding.types import Bias
from ..files.text import find_part
from ..lexicon.entries import clean_name
from ..lexicon.labels import check_label
from ..lexicon.readers import LEXICON_EXTENSIONS, read_lexicon

FACTORY = "entlm_lexicon"
# The span group of the names.
LEXICON_KEY = "lexicon"
# What a name adds to the score of its class for each of its words
# (benchmarks/RESULTS.md).
LEXICON_WEIGHT = 3.0


class KnownNames(SpanRuler):
    """A `span_ruler` that keeps the names that it has when a pipeline is initialised
    without others."""

    def initialize(
        self,
        get_examples: Callable[[], Iterable[Example]],
        *,
        nlp: Optional[Language] = None,
        patterns: Optional[Sequence[Dict[str, Any]]] = None,
    ) -> None:
        """get_examples, nlp: Not asked. patterns (Optional[Sequence]): As of spaCy's
        `SpanRuler`; they come in place of those that there are."""
        if patterns:
            super().initialize(get_examples, nlp=nlp, patterns=patterns)


@Language.factory(
    FACTORY, assigns=["doc.spans"], default_config={"spans_key": LEXICON_KEY}
)
def make_entlm_lexicon(nlp: Language, name: str, spans_key: str) -> KnownNames:
    """Create a component that finds names, in any case, for `entlm_ner`; it has no
    scores of its own.

    spans_key (str): The span group, which is the `lexicon_key` of the `entlm_ner`.
    """
    settings: Dict[str, Any] = {"phrase_matcher_attr": "LOWER", "scorer": None}
    return KnownNames(nlp, name, spans_key=spans_key, overwrite=True, **settings)


def add_lexicon(
    nlp: Language, lexicon: Union[str, Path, Dict[str, List[str]]]
) -> KnownNames:
    """Let the names of a lexicon speak for their classes in prediction. Stop words of
    the language are left out. A pipeline that has names already gets these, too.

    nlp (Language): The pipeline, trained or not. It gets an `entlm_lexicon`, as its
        first component.
    lexicon (Union[str, Path, Dict[str, List[str]]]): A file that `entlm lexicon` reads,
        or the names of each class.
    RETURNS (KnownNames): The component, whose `add_patterns` takes more.
    RAISES (DataError): If the file cannot be read, holds no name, or a label is none.
        (TypeError): If the names of a class are no list of strings.
    """
    if isinstance(lexicon, (str, Path)):
        entries, _ = read_lexicon(lexicon)
        pairs = [(entry.label, entry.name) for entry in entries]
    else:
        pairs = [(check_label(x), name) for x in lexicon for name in _plain(lexicon, x)]
    ruler: Any = find_lexicon(nlp)
    if ruler is None:
        ruler = nlp.add_pipe(FACTORY, first=True)
    known = {(pattern["label"], pattern["pattern"]) for pattern in ruler.patterns}
    stops = nlp.Defaults.stop_words
    new = [
        {"label": label, "pattern": name}
        for label, name in dict.fromkeys(pairs)
        if (label, name) not in known and name.casefold() not in stops
    ]
    ruler.add_patterns(new)
    return ruler


def _plain(lexicon: Dict[str, List[str]], label: str) -> List[str]:
    names = lexicon[label]
    if isinstance(names, str) or not all(isinstance(name, str) for name in names):
        raise TypeError(
            f"The names of {label} are a list of strings, not {names!r:.80}"
        )
    cleaned = map(clean_name, names)
    return [name for name, problem in cleaned if problem is None]


def find_lexicon(nlp: Language) -> Optional[KnownNames]:
    """The component that finds names, if the pipeline has one."""
    pipes: Iterable[Any] = nlp.components
    for name, pipe in pipes:
        if nlp.get_pipe_meta(name).factory == FACTORY:
            return pipe
    return None


def build_lexicon_callback(path: Optional[str] = None) -> Callable[[Language], None]:
    """For `initialize.after_init` of a config (`spacy-entlm.add_lexicon.v1`):
    `add_lexicon`.

    path (Optional[str]): The file, or a folder of data that may hold a `lexicon.*`;
        None: there is none.
    """

    def add(nlp: Language) -> None:
        if path is None:
            return
        found: Optional[Path] = Path(path)
        if Path(path).is_dir():
            found = find_part(Path(path), LEXICON_KEY, LEXICON_EXTENSIONS)
        if found is not None:
            add_lexicon(nlp, found)

    return add


def score_bias(
    docs: Iterable[Doc],
    labels: Sequence[str],
    *,
    label_bias: float,
    key: Optional[str],
    weight: float,
) -> Bias:
    """What is added to the scores of classes: `label_bias`, and more at the words of
    spans of a class.

    key (Optional[str]): The spans' group; spans of other labels say nothing.
    weight (float): As many times as a span has words is added at each of them: long
        names are seldom anything else. Of several spans of a class the longest counts.
    RETURNS: float32 (n_words, n_labels), or the `label_bias` alone where there is no
        such span.
    """
    index = {label: i for i, label in enumerate(labels)}
    places = []
    n_words = 0
    for doc in docs:
        if key is not None and key in doc.spans:
            places += [
                (n_words + span.start, n_words + span.end, index[span.label_])
                for span in doc.spans[key]
                if span.label_ in index
            ]
        n_words += len(doc)
    if not places or not weight:
        return label_bias
    n_said = numpy.zeros((n_words, len(labels)), dtype="float32")
    for start, end, label in places:
        said = n_said[start:end, label]
        numpy.maximum(said, end - start, out=said)
    return label_bias + weight * n_said
