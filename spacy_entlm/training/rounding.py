"""`spacy-entlm.round_weights.v1`: smaller files of a pipeline that `spacy train` has
trained."""

from typing import Callable

from spacy.language import Language

from ..model.layer import shim_of
from ..pipeline.base import MaskedLMNER
from .weights import round_weights


def build_rounding_callback() -> Callable[[Language], Language]:
    """For `[training.before_to_disk]` of a config: the weights of the `entlm_ner`
    components and their peers are rounded to half precision before they are saved."""

    def round_pipeline(nlp: Language) -> Language:
        for _, pipe in nlp.components:
            if isinstance(pipe, MaskedLMNER) and pipe.is_initialized:
                round_weights(shim_of(pipe.layer).network)
        return nlp

    return round_pipeline
