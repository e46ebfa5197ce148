"""The component `structshot`: `nnshot` with the Viterbi decoder."""

from typing import Callable, Optional

from spacy.language import Language

from ...decoding.types import Decoder
from ...model.base import PieceModel
from ..base import ASSIGNS, COMMON_CONFIG, SCORE_WEIGHTS
from .nnshot import NNSHOT_MODEL, NNShot, make_nnshot

# Squared distances differ less than log probabilities, so transitions weigh less, too:
# measured on wikigold (docs/baselines.md).
STRUCTSHOT_TAU = 0.05


@Language.factory(
    "structshot",
    assigns=ASSIGNS,
    default_config={
        "model": NNSHOT_MODEL,
        **COMMON_CONFIG,
        "decoder": {"@misc": "spacy-entlm.viterbi_decoder.v1", "tau": STRUCTSHOT_TAU},
    },
    default_score_weights=SCORE_WEIGHTS,
)
def make_structshot(
    nlp: Language,
    name: str,
    model: PieceModel,
    decoder: Decoder,
    threshold: float,
    spans_key: Optional[str],
    annotate_ents: bool,
    overwrite: bool,
    scorer: Optional[Callable],
) -> NNShot:
    """Create an `nnshot` component that decodes with transitions: emissions are the
    softmax over the negative squared distances to the nearest word of each class.

    The settings are those of `make_nnshot`.
    """
    return make_nnshot(
        nlp,
        name,
        model,
        decoder,
        threshold,
        spans_key,
        annotate_ents,
        overwrite,
        scorer,
    )
