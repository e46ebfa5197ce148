"""The optimizer that the config of a pipeline names."""

from typing import Any

from spacy.language import Language

from ..backbones.learn_rate import suitable_learn_rate

OURS = "spacy-entlm.Adam.v1"
WHOLE = "spacy-entlm.decay_to_zero.v1"


def suit_optimizer(
    nlp: Language, backbone: str, part: float = 1.0, *, is_trained: bool = False
) -> None:
    """Let `nlp.initialize` and `nlp.resume_training` give an optimizer that suits a
    masked LM, in place of spaCy's default, whose rate is far too high for one. One that
    was chosen stays, and so does the default where other components are trained, too.

    backbone (str): As the component's setting `name`.
    part (float): Of the rate that suits it; the rate is constant.
    is_trained (bool): Whether to replace one that was made for a whole training, too,
        if its rate was not chosen.
    """
    training = nlp.config["training"]
    optimizer = training.get("optimizer") or {}
    default = nlp.default_config["training"]["optimizer"]
    rate = optimizer.get("learn_rate")
    schedule = rate if isinstance(rate, dict) else {}
    # By an earlier call.
    is_noted = optimizer.keys() == {"@optimizers", "learn_rate"} and not schedule
    is_suited = schedule.get("@schedules") == WHOLE and not schedule.get("initial_rate")
    is_over = is_trained and is_suited
    is_ours = optimizer.get("@optimizers") == OURS and (is_noted or is_over)
    if optimizer not in ({}, default) and not is_ours:
        return
    if all(_is_ours(pipe) for _, pipe in nlp.pipeline if hasattr(pipe, "update")):
        rate = part * suitable_learn_rate(backbone)
        training["optimizer"] = {"@optimizers": OURS, "learn_rate": rate}


def _is_ours(pipe: Any) -> bool:
    return hasattr(pipe, "label_model")
