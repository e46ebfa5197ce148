"""`spacy-entlm.round_weights.v1`: smaller files of a pipeline that `spacy train` has
trained."""

from typing import Callable

import torch
from spacy.language import Language

from ..pipeline.base import MaskedLMNER
from .weights import round_weights


def build_rounding_callback() -> Callable[[Language], Language]:
    """For `[training.before_to_disk]` of a config: the weights of the `entlm_ner`
    components and their peers are rounded to half precision before they are saved. What
    is frozen, or was exported, stays as it is."""

    def round_pipeline(nlp: Language) -> Language:
        frozen = nlp.config["training"]["frozen_components"]
        for name, pipe in nlp.components:
            if name in frozen or not isinstance(pipe, MaskedLMNER):
                continue
            if pipe.is_initialized and isinstance(pipe.network, torch.nn.Module):
                round_weights(pipe.network)
        return nlp

    return round_pipeline
