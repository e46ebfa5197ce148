"""The optimizer that the config of a pipeline names."""

from typing import Any

from spacy.language import Language

OURS = "spacy-entlm.Adam.v1"


def suit_optimizer(nlp: Language, learn_rate: float) -> None:
    """Let `nlp.initialize` and `nlp.resume_training` give an optimizer that suits a
    masked LM, in place of spaCy's default, whose rate is far too high for one. One that
    was chosen stays, and so does the default where other components are trained, too.

    learn_rate (float): Its constant rate.
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
        training["optimizer"] = {"@optimizers": OURS, "learn_rate": learn_rate}


def _is_ours(pipe: Any) -> bool:
    return hasattr(pipe, "label_model")
