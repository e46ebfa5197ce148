"""What the figures of a cross-validation mean: usable or not, and what to do next."""

from typing import Any, Optional, Sequence, Tuple

from .scores import Interval

# F1 that is asked for with 97.5 % confidence, overall and of each class.
USABLE_F1 = 60.0
USABLE_CLASS_F1 = 40.0
RULE = (
    f"Usable: the 95 % interval of F1 (IO) begins at {USABLE_F1:g} or above, that of "
    f"each annotated class at {USABLE_CLASS_F1:g} or above. A class with too few "
    "examples for an interval does not meet this."
)
# A doubling of the examples that brings less, in points of F1, is not worth the work.
WORTH_POINTS = 1.0
NO_ENTITY_FOUND = (
    "not yet: nothing was found in any fold. Most often the learning rate is too small "
    "for the backbone, or there are too few epochs: see python -m spacy entlm debug "
    "CONFIG."
)


def judge(
    f1: Interval, classes: Sequence[Any], gain: Optional[Interval]
) -> Tuple[bool, str]:
    """The verdict. Usable: the interval of F1 begins at 60 or above, and that of each
    annotated class at 40 or above; with too few examples for an interval it is not.

    f1 (Interval): Of all classes. classes (Sequence[ClassFigures]): Of each.
    gain (Optional[Interval]): From twice as many examples, None without a curve. Where
        it says that more of them hardly help, something else is recommended.
    RETURNS (Tuple[bool, str]): Whether it is usable, and the verdict in words.
    """
    # Neither right nor wrong ones; precision is 0 as well if all are wrong.
    if not any(c.n_found for c in classes):
        return False, NO_ENTITY_FOUND
    weak = [c for c in classes if c.support and (c.f1.low or 0) < USABLE_CLASS_F1]
    if not weak and (f1.low or 0) >= USABLE_F1:
        return True, "usable"
    names = ", ".join(c.label for c in weak)
    if gain and _hardly_helps(gain) and all(c.f1.low is not None for c in weak):
        what = f" for {names}" if weak else ""
        return False, f"not yet: try other label words or another backbone{what}"
    return False, f"not yet: annotate more {names or 'sentences'}"


def advice(gain: Interval) -> str:
    """Whether more examples would help.

    gain (Interval): Of F1, from half of the examples to all of them.
    """
    if gain.low is None or gain.high is None:
        return "Whether more examples would help cannot be told from so few."
    measured = (
        f"twice as many changed F1 by {gain.value:+.1f} points "
        f"({gain.low:+.1f} to {gain.high:+.1f})"
    )
    if gain.low > 0 and gain.value >= WORTH_POINTS:
        return f"More examples would most likely help: {measured}."
    if _hardly_helps(gain):
        return f"More examples of this kind would hardly help: {measured}."
    if gain.value >= WORTH_POINTS:
        return f"More examples may help, but this is not certain: {measured}."
    return f"Whether more examples would help cannot be told from these: {measured}."


def _hardly_helps(gain: Interval) -> bool:
    return gain.high is not None and gain.high < WORTH_POINTS
