"""The optimizer that the config of a pipeline names."""

import logging
from typing import Any

from spacy.language import Language
from thinc.api import Optimizer

logger = logging.getLogger("spacy.entlm")

OURS = "spacy-entlm.Adam.v1"
WHOLE = "spacy-entlm.decay_to_zero.v1"
# Times the rate that suits a backbone; spaCy's default is five to ten times that.
TOO_MUCH = 4


def suit_optimizer(
    nlp: Language, learn_rate: float, *, is_trained: bool = False
) -> None:
    """Let `nlp.initialize` and `nlp.resume_training` give an optimizer that suits a
    masked LM, in place of spaCy's default, whose rate is far too high for one. One that
    was chosen stays, and so does the default where other components are trained, too.
    What is changed in the config is logged.

    learn_rate (float): The rate, which is constant.
    is_trained (bool): Whether to replace one that was made for a whole training, too,
        if its rate was not chosen.
    """
    training = nlp.config.interpolate()["training"]
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
        suited = {"@optimizers": OURS, "learn_rate": learn_rate}
        if optimizer != suited:
            nlp.config["training"]["optimizer"] = suited
            logger.info(
                "[training.optimizer] in the pipeline's config is now %s with the "
                "learning rate %g, which suits the backbone. It is for "
                "nlp.resume_training, and for nlp.update without an optimizer",
                OURS,
                learn_rate,
            )


def warn_of_rate(name: str, optimizer: Any, suited: float) -> None:
    """Warn of an optimizer of Thinc's, spaCy's default for instance, that makes a
    masked LM forget what it knows. For ours a rate was chosen.

    name (str): The component's. suited (float): The rate that suits it.
    """
    if type(optimizer) is not Optimizer:
        return
    rate = float(optimizer.learn_rate)
    if rate > TOO_MUCH * suited:
        text = "[%s] The learning rate is %g, where %g suits the backbone, which so "
        text += "forgets what it knows: set [training.optimizer] as configs/entlm.cfg"
        logger.warning(f"{text} does", name, rate, suited)


def _is_ours(pipe: Any) -> bool:
    return hasattr(pipe, "layer")
