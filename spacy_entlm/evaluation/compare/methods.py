"""The methods that a benchmark compares, by name."""

from dataclasses import dataclass, field
from typing import Any, Dict, Mapping, Optional

from .errors import BenchmarkError

LEXICON = "lexicon"
# Its tokenizer is made in no time.
NO_LANGUAGE = "xx"


@dataclass(frozen=True)
class Distant:
    """A training on text that a lexicon annotated, as the first stage of BOND (Liang
    et al. 2020).

    sentences (int): The first ones of the text. epochs, batch_size (int): Of it.
    path (str): The text; empty until a dataset gives it.
    """

    sentences: int = 2000
    epochs: int = 2
    batch_size: int = 16
    path: str = ""


@dataclass(frozen=True)
class Method:
    """A way to find entities.

    factory (str): The spaCy factory of its component; empty: the lexicon's matches.
    config (Dict[str, Any]): Settings of the component, beside the backbone.
    training (Optional[str]): Methods that name the same one are trained once, and the
        weights go from the first to the others; None: nothing is trained.
    label_words (bool): Whether it has label words.
    transitions (bool): Whether its decoder counts transitions, which then come from
        the dataset's annotated text, if it has some, else from the examples.
    distant (Optional[Distant]): A training on the dataset's annotated text, before
        that on the examples.
    examples (bool): Whether it is trained on the examples.
    external (bool): Whether it is a command, and `config` is an `External`.
    """

    factory: str
    config: Dict[str, Any] = field(default_factory=dict)
    training: Optional[str] = None
    label_words: bool = False
    transitions: bool = False
    distant: Optional[Distant] = None
    examples: bool = True
    external: bool = False


_VITERBI = {"decoder": {"@misc": "spacy-entlm.viterbi_decoder.v1"}}
METHODS: Dict[str, Method] = {
    "entlm": Method("entlm_ner", training="entlm", label_words=True),
    "entlm_struct": Method(
        "entlm_ner", _VITERBI, "entlm", label_words=True, transitions=True
    ),
    "bert_tagger": Method("bert_tagger", training="tagger"),
    "nnshot": Method("nnshot", training="tagger"),
    "structshot": Method("structshot", training="tagger", transitions=True),
    LEXICON: Method(""),
    "distant_tagger": Method(
        "bert_tagger", training="distant", distant=Distant(), examples=False
    ),
    "distant_tagger_shots": Method(
        "bert_tagger", training="distant_shots", distant=Distant()
    ),
}


def find_method(name: str, own: Mapping[str, Method]) -> Method:
    """Look a method up.

    name (str): Its name.
    own (Mapping[str, Method]): Methods that a config defines.
    RAISES (BenchmarkError): If there is none of that name, or its factory is not
        installed.
    """
    method = own.get(name) or METHODS.get(name)
    if method is None:
        known = ", ".join(dict.fromkeys([*METHODS, *own]))
        raise BenchmarkError(f"unknown method {name!r}: choose from {known}")
    if method.factory:
        import spacy  # only here, as it takes a second

        # An empty pipeline: only then are the factories of other packages known.
        if not spacy.blank(NO_LANGUAGE).has_factory(method.factory):
            raise BenchmarkError(
                f"the method {name!r} needs the spaCy factory {method.factory!r}, "
                "which is not installed"
            )
    return method
