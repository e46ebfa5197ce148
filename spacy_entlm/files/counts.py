"""Numbers of things, as people say them."""

import re

_ENDINGS = ((r"(entr|entit)ies\b", r"\1y"), (r"(match|class)es\b", r"\1"))
_S = re.compile(r"(\w+[^\Ws])s\b")


def count_of(number: int, things: str) -> str:
    """Give "2 spans without a class", or "1 span without a class".

    number (int): How many. things (str): Their name in the plural, which begins with
        the words that have a plural's ending, the noun as its first such word.
    """
    return f"{number:,} {things if number != 1 else singular(things)}"


def sentence_of(number: int, one: str, several: str) -> str:
    """Give "1 span overlaps a longer one", or "2 spans overlap a longer one".
    one, several (str): What is said of one, and of any other number."""
    return f"{number:,} {one if number == 1 else several}"


def singular(things: str) -> str:
    """The name of one thing, from that of several: the first word that ends as a
    plural does is changed."""
    for ending, one in _ENDINGS:
        things, changed = re.subn(ending, one, things, count=1)
        if changed:
            return things
    return _S.sub(r"\1", things, count=1)
