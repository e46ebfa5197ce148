"""Names that are known: in prediction they speak for their class, beside what the
masked LM says. No training sees them, so a trained pipeline may get more."""

import logging
from pathlib import Path
from typing import (
    Any,
    Callable,
    Dict,
    Iterable,
    List,
    Optional,
    Sequence,
    Set,
    Tuple,
    Union,
)

from spacy.language import Language
from spacy.pipeline import SpanRuler
from spacy.tokens import Doc
from spacy.training import Example

from ..files.errors import DataError
from ..files.text import check_file, find_part
from ..lexicon.entries import clean_name
from ..lexicon.readers import LEXICON_EXTENSIONS, read_lexicon

logger = logging.getLogger("spacy.entlm")

FACTORY = "entlm_lexicon"
# The span group of the names.
LEXICON_KEY = "lexicon"
# What a name adds to the score of its class for each of its words
# (benchmarks/RESULTS.md).
LEXICON_WEIGHT = 3.0

# Of a `span_ruler`.
Pattern = Dict[str, Any]


class KnownNames(SpanRuler):
    """A `span_ruler` that keeps the names that it has when a pipeline is initialised
    without others, and that no component reads before it takes them."""

    def __call__(self, doc: Doc) -> Doc:
        """Set the span group, if there are names."""
        return super().__call__(doc) if self.patterns else doc

    def add_patterns(self, patterns: List[Pattern]) -> None:
        """Add patterns, as those of spaCy's `SpanRuler`."""
        with self.nlp.select_pipes(enable=[]):  # the tokenizer alone
            super().add_patterns(patterns)

    def initialize(
        self,
        get_examples: Callable[[], Iterable[Example]],
        *,
        nlp: Optional[Language] = None,
        patterns: Optional[Sequence[Pattern]] = None,
    ) -> None:
        """get_examples, nlp: Not asked. patterns (Optional[Sequence]): They come in
        place of those that there are."""
        if patterns:
            super().initialize(get_examples, nlp=nlp, patterns=patterns)


@Language.factory(
    FACTORY, assigns=["doc.spans"], default_config={"spans_key": LEXICON_KEY}
)
def make_entlm_lexicon(nlp: Language, name: str, spans_key: str) -> KnownNames:
    """Create a component that finds names, in any case, for `entlm_ner`; it has no
    scores of its own.

    spans_key (str): The span group, which is the `lexicon_key` of the `entlm_ner`.
    EXAMPLE:
        names = nlp.add_pipe("entlm_lexicon", first=True)
        names.add_patterns([{"label": "LOC", "pattern": "Lake Como"}])
    """
    settings: Dict[str, Any] = {"phrase_matcher_attr": "LOWER", "scorer": None}
    return KnownNames(nlp, name, spans_key=spans_key, overwrite=True, **settings)


def add_lexicon(
    nlp: Language, lexicon: Union[str, Path, Dict[str, List[str]]]
) -> KnownNames:
    """Let the names of a lexicon speak for their classes in prediction. A pipeline that
    has names already gets these, too. A name that is a stop word of the language is
    left out, or found only as it is written if that has more capitals ("US").

    nlp (Language): The pipeline, trained or not. It gets an `entlm_lexicon`, as its
        first component.
    lexicon (Union[str, Path, Dict[str, List[str]]]): A file that `entlm lexicon` reads,
        or the names of each class.
    RETURNS (KnownNames): The component, whose `add_patterns` takes more.
    RAISES (DataError): If the file cannot be read, or no name is left.
        (TypeError): If the lexicon is something else.
    EXAMPLE:
        spacy_entlm.add_lexicon(nlp, {"LOC": ["Bergen", "Lake Como"]})
    """
    if isinstance(lexicon, (str, Path)):
        check_file(Path(lexicon))
        pairs = [(entry.label, entry.name) for entry in read_lexicon(lexicon)[0]]
    else:
        pairs = _pairs(lexicon)
    patterns = [_pattern(nlp, label, name) for label, name in dict.fromkeys(pairs)]
    wanted = [pattern for pattern in patterns if pattern is not None]
    if not wanted:
        raise DataError(f"There is no name but stop words ({len(pairs)}) to add")
    _warn_of_other_classes(nlp, {label for label, _ in pairs})
    ruler: Any = find_lexicon(nlp)
    if ruler is None:
        ruler = nlp.add_pipe(FACTORY, first=True)
    known = {(x["label"], str(x["pattern"])) for x in ruler.patterns}
    new = [x for x in wanted if (x["label"], str(x["pattern"])) not in known]
    ruler.add_patterns(new)
    return ruler


def _pairs(lexicon: Any) -> List[Tuple[str, str]]:
    """Label and name of each name."""
    if not isinstance(lexicon, dict):
        problem = f"a file, or the names of each class, not {lexicon!r:.80}"
        raise TypeError(f"A lexicon is {problem}")
    pairs = []
    for label, names in lexicon.items():
        are_several = isinstance(names, Iterable) and not isinstance(names, str)
        listed: List[Any] = list(names) if are_several else [None]
        if not all(isinstance(text, str) for text in (label, *listed)):
            problem = f"are a list of strings, not {names!r:.80}"
            raise TypeError(f"The names of {label!r} {problem}")
        cleaned = map(clean_name, listed)
        pairs += [(label, name) for name, problem in cleaned if problem is None]
    return pairs


def _pattern(nlp: Language, label: str, name: str) -> Optional[Pattern]:
    if name.casefold() not in nlp.Defaults.stop_words:
        return {"label": label, "pattern": name}
    if name in (name.lower(), name.capitalize()):  # "The" begins sentences
        return None
    return {"label": label, "pattern": [{"ORTH": t.text} for t in nlp.make_doc(name)]}


def _warn_of_other_classes(nlp: Language, labels: Set[str]) -> None:
    components: Iterable[Any] = nlp.components
    pipes = [x for _, x in components if "lexicon_key" in getattr(x, "cfg", {})]
    classes = {label for pipe in pipes for label in pipe.labels}
    if classes and (others := sorted(labels - classes)):
        listed = f"{', '.join(others):.200}"
        what = "Names of these are of no class of the pipeline, and say nothing"
        logger.warning("%s: %s", what, listed)


def find_lexicon(nlp: Language) -> Optional[KnownNames]:
    """The component that finds names, if the pipeline has one."""
    pipes: Iterable[Any] = nlp.components
    for name, pipe in pipes:
        if nlp.get_pipe_meta(name).factory == FACTORY:
            return pipe
    return None


def build_lexicon_callback(path: Optional[str] = None) -> Callable[[Language], None]:
    """For `initialize.after_init` of a config (`spacy-entlm.add_lexicon.v1`):
    `add_lexicon`. A pipeline that has names goes on with them where the file is gone.

    path (Optional[str]): The file, or a folder of data that may hold a `lexicon.*`;
        None: there is none.
    """

    def add(nlp: Language) -> None:
        if path is None:
            return
        place = Path(path)
        if not place.exists():
            if find_lexicon(nlp) is not None:
                return
            raise DataError("no such file or folder: check the path", path=place)
        found: Optional[Path] = place
        if place.is_dir():
            found = find_part(place, LEXICON_KEY, LEXICON_EXTENSIONS)
        if found is not None:
            add_lexicon(nlp, found)

    return add
