"""The optimizer that the config of a pipeline names."""

from typing import Any

from spacy.language import Language

from ..backbones.learn_rate import suitable_learn_rate

OURS = "spacy-entlm.Adam.v1"


def suit_optimizer(nlp: Language, backbone: str, part: float = 1.0) -> None:
    """Let `nlp.initialize` and `nlp.resume_training` give an optimizer that suits a
    masked LM, in place of spaCy's default, whose rate is far too high for one. One that
    was chosen stays, and so does the default where other components are trained, too.

    backbone (str): As the component's setting `name`.
    part (float): Of the rate that suits it; the rate is constant.
    """
    training = nlp.config["training"]
    optimizer = training.get("optimizer") or {}
    default = nlp.default_config["training"]["optimizer"]
    noted = optimizer.keys() == {"@optimizers", "learn_rate"}  # by an earlier call
    if optimizer not in ({}, default) and not (
        noted and optimizer["@optimizers"] == OURS
    ):
        return
    if all(_is_ours(pipe) for _, pipe in nlp.pipeline if hasattr(pipe, "update")):
        rate = part * suitable_learn_rate(backbone)
        training["optimizer"] = {"@optimizers": OURS, "learn_rate": rate}


def _is_ours(pipe: Any) -> bool:
    return hasattr(pipe, "label_model")
