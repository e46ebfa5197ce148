"""The factories `bert_tagger`, `nnshot` and `structshot`, and their model.

spaCy loads every factory that is installed, whatever pipeline is wanted: PyTorch is
imported where one of these is made.
"""

from typing import Any, Callable, Dict, Iterable, List, Optional

from spacy.language import Language
from spacy.tokens import Doc, Span

from ...decoding.types import Decoder
from ...model.base import PieceModel, get_label_model
from ..base import ASSIGNS, COMMON_CONFIG, MODEL_CONFIG, SCORE_WEIGHTS, MaskedLMNER
from ..requirements import add_requirement

# Squared distances differ less than log probabilities, so transitions weigh less, too:
# measured on wikigold (docs/baselines.md).
STRUCTSHOT_TAU = 0.05


def build_tagger_v1(
    name: str,
    get_spans: Callable[[Iterable[Doc]], List[List[Span]]],
    window: Optional[int] = None,
    stride: Optional[int] = None,
    max_batch_pieces: Optional[int] = None,
    precision: str = "float32",
    mixed_precision: bool = False,
    transformer_config: Dict[str, Any] = {},  # noqa: B006 (config values are copied)
    tokenizer_config: Dict[str, Any] = {},  # noqa: B006
    nearest: bool = False,
) -> PieceModel:
    """The encoder of a masked LM with a new linear layer (`spacy-entlm.Tagger.v1`).

    nearest (bool): Whether it predicts, once it is trained, the class of the nearest
        word of the training examples. The other settings are those of
        `spacy-entlm.EntLM.v1`.
    RAISES (ValueError): If a setting has no such value.
    """
    settings = {key: value for key, value in locals().items() if key != "nearest"}
    from ...model.pytorch import ModelConfig, build_model
    from .bert_tagger import TaggerModel
    from .nnshot import NNShotModel

    config = ModelConfig(**settings)  # the settings have the same names
    return build_model(NNShotModel if nearest else TaggerModel, config)


def make_peer(
    nlp: Language,
    name: str,
    model: PieceModel,
    decoder: Decoder,
    threshold: Optional[float],
    spans_key: Optional[str],
    annotate_ents: bool,
    overwrite: bool,
    scorer: Optional[Callable],
) -> MaskedLMNER:
    """Create a tagger, or a component that predicts by its nearest training words.

    model (PieceModel): A model such as `spacy-entlm.Tagger.v1`; its setting `nearest`
        decides which.
    decoder (Decoder): Turns scores into entities.
    threshold, spans_key, annotate_ents, overwrite, scorer: As those of `entlm_ner`.
    """
    settings = {**locals()}  # which the component calls the same
    add_requirement(settings.pop("nlp"))
    from .bert_tagger import BertTagger
    from .nnshot import NNShot, NNShotModel

    is_nearest = isinstance(get_label_model(model), NNShotModel)
    return (NNShot if is_nearest else BertTagger)(nlp.vocab, **settings)


def _default_config(nearest: bool, **others: Any) -> Dict[str, Any]:
    model = {"@architectures": "spacy-entlm.Tagger.v1", **MODEL_CONFIG}
    return {**COMMON_CONFIG, "model": {**model, "nearest": nearest}, **others}


_viterbi = {"@misc": "spacy-entlm.viterbi_decoder.v1", "tau": STRUCTSHOT_TAU}
for _factory, _config in {
    "bert_tagger": _default_config(nearest=False),
    "nnshot": _default_config(nearest=True),
    "structshot": _default_config(nearest=True, decoder=_viterbi),
}.items():
    Language.factory(
        _factory,
        assigns=ASSIGNS,
        default_config=_config,
        default_score_weights=SCORE_WEIGHTS,
        func=make_peer,
    )
