"""Classes as a user gives them, and what is said of how they begin."""

import logging
from typing import Container, Dict, List, Optional, Union

from ..label_words.names import read_name
from ..label_words.starts import Start, alike_starts
from ..label_words.words import LabelWords, check_label_words

logger = logging.getLogger("spacy.entlm")

# Classes by name, with a word or a description, or several.
Labels = Union[List[str], Dict[str, Union[str, List[str]]]]


def label_texts(labels: Optional[Labels]) -> LabelWords:
    """The texts of each class, as a user gives classes.
    RAISES (LabelWordError): If these are no classes."""
    if not labels:
        return {}
    if not isinstance(labels, dict):
        labels = {label: [] for label in labels}
    lists = {k: [x] if isinstance(x, str) else list(x or []) for k, x in labels.items()}
    return check_label_words(lists, tags=False)


def tell_of_starts(
    component: str, starts: Dict[str, Start], with_rows: Container[str] = ()
) -> None:
    """Say how the names of classes were read, and warn of names that say nothing, and
    of classes that nothing but examples tells apart.

    component (str): Its name. with_rows: Classes that have a row of their own.
    """
    read = {label: start.names for label, start in starts.items() if start.names}
    if read:
        texts = {
            label: [*names, *starts[label].descriptions]
            for label, names in read.items()
        }
        shown = ", ".join(f"{label}: {' | '.join(x)}" for label, x in texts.items())
        logger.info("[%s] Classes start from these names: %s", component, shown)
    for label, names in read.items():
        if names == [read_name(label).text] and not read_name(label).says:
            logger.warning(
                "[%s] The name %r says nothing of what is meant: give the class "
                "a word or a description, or examples",
                component,
                label,
            )
    by_texts = {k: start for k, start in starts.items() if k not in with_rows}
    for same in alike_starts(by_texts):
        logger.warning(
            "[%s] %s start alike (%s): give each a word or a description of its own",
            component,
            ", ".join(same),
            ", ".join(starts[same[0]].texts),
        )
