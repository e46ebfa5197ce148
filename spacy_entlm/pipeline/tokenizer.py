"""`spacy-entlm.LanguageTokenizer.v1`: the tokenizer of the pipeline's language, in a
config that does not know which language that will be."""

from typing import Any, Callable

from spacy.language import Language
from spacy.util import registry


def build_language_tokenizer() -> Callable[[Language], Any]:
    """What makes the tokenizer that the language of a pipeline has by default: spaCy's
    for most, and one of its own for Chinese, Japanese and some others."""

    def create(nlp: Language) -> Any:
        settings = {"tokenizer": nlp.default_config["nlp"]["tokenizer"]}
        resolved: Any = registry.resolve(settings)
        return resolved["tokenizer"](nlp)

    return create
