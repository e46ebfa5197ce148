"""The factories `bert_tagger`, `nnshot` and `structshot`, and their model.

spaCy loads every factory that is installed, whatever pipeline is wanted: PyTorch is
imported where one of these is made.
"""

from typing import Any, Callable, Dict, Iterable, List, Optional

from spacy.language import Language
from spacy.tokens import Doc, Span

from ...decoding.types import Decoder
from ...model.layer import LabelModel, find_layer
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
    layers: Optional[int] = None,
    precision: str = "float32",
    mixed_precision: bool = False,
    transformer_config: Dict[str, Any] = {},  # noqa: B006 (config values are copied)
    tokenizer_config: Dict[str, Any] = {},  # noqa: B006
    nearest: bool = False,
) -> LabelModel:
    """The encoder of a masked LM with a new linear layer (`spacy-entlm.Tagger.v1`).

    nearest (bool): Whether it predicts, once it is trained, the class of the nearest
        word of the training examples. The other settings are those of
        `spacy-entlm.EntLM.v1`.
    RAISES (ValueError): If a setting has no such value.
    """
    from ...model.entlm import NetworkConfig, build_network_layer
    from .bert_tagger import TaggerNetwork
    from .nnshot import NNShotNetwork

    config = NetworkConfig(
        get_spans,
        window,
        stride,
        max_batch_pieces,
        name=name,
        layers=layers,
        precision=precision,
        mixed_precision=mixed_precision,
        transformer_config=transformer_config,
        tokenizer_config=tokenizer_config,
    )
    layer = build_network_layer(NNShotNetwork if nearest else TaggerNetwork, config)
    layer.attrs["nearest"] = nearest
    return layer


def make_peer(
    nlp: Language,
    name: str,
    model: LabelModel,
    decoder: Decoder,
    threshold: Optional[float],
    spans_key: Optional[str],
    annotate_ents: bool,
    overwrite: bool,
    scorer: Optional[Callable],
) -> MaskedLMNER:
    """Create a tagger, or a component that predicts by its nearest training words.

    model (LabelModel): A model such as `spacy-entlm.Tagger.v1`; its setting `nearest`
        decides which.
    decoder (Decoder): Turns scores into entities.
    threshold, spans_key, annotate_ents, overwrite, scorer: As those of `entlm_ner`.
    EXAMPLE:
        nlp.add_pipe("structshot", config={"model": {"name": "bert-base-cased"}})
    """
    add_requirement(nlp)
    from .bert_tagger import BertTagger
    from .nnshot import NNShot

    is_nearest = find_layer(model).attrs.get("nearest", False)
    return (NNShot if is_nearest else BertTagger)(
        nlp.vocab,
        model,
        name,
        decoder=decoder,
        threshold=threshold,
        spans_key=spans_key,
        annotate_ents=annotate_ents,
        overwrite=overwrite,
        scorer=scorer,
    )


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
