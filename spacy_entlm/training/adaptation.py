"""Plain text of a field: a backbone guesses hidden pieces of it before it is trained on
the examples (masked language modelling: Gururangan et al., 2020)."""

import random
from copy import deepcopy
from typing import Any, Iterable, List, Union

from spacy.tokens import Doc

from ..pretraining.field import guess_hidden
from .weights import mix

# Texts that are read: more take longer.
MAX_TEXTS = 4000
# Of the weights that have read the text: the others know the classes better.
SHARE = 0.5


def draw_texts(
    texts: Iterable[Union[str, Doc]], seed: int, most: int = MAX_TEXTS
) -> List[str]:
    """Texts that are not blank, each once, in random order.

    texts (Iterable): Plain text; of a Doc its text.
    most (int): Of more texts as many are drawn.
    RAISES (ValueError): If there is none, or one text in place of several.
    """
    if isinstance(texts, str):
        raise ValueError(f"Plain text is a list of texts, not one: {texts!r:.80}")
    kept = dict.fromkeys(x if isinstance(x, str) else x.text for x in texts)
    wanted = [text for text in kept if text.strip()]
    if not wanted:
        raise ValueError(
            "There is no text to learn from: each of the plain texts is blank"
        )
    random.Random(seed).shuffle(wanted)
    return wanted[:most]


def adapt_network(network: Any, texts: List[str], seed: int) -> None:
    """Let a network that will be trained on examples know the text of their field. If
    that fails, or is interrupted, it is what it was.

    network (LabelNetwork): A copy of its masked LM reads the texts. The network's
        weights are then averaged, half and half, with those of the copy.
    seed (int): Of what is hidden, and of the order.
    """
    network.masked_lm.unpack()  # its words learn, too
    masked_lm = deepcopy(network.masked_lm).requires_grad_(True)
    guess_hidden(masked_lm, texts, seed)
    mix(network.masked_lm, masked_lm, 1.0 - SHARE)
