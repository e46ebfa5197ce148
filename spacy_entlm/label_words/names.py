"""How the name of a class is read: as words, the way people say it."""

import re
from dataclasses import dataclass
from typing import List

from .short_forms import COARSE, SHORT_FORMS, VAGUE

# "politicalParty", "HTMLParser"
_CAPITAL_WITHIN = re.compile(r"(?<=[^\W\d_A-Z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_TAG = re.compile(r"\A[BIESLU]-(?=.)")
_LEVELS, _SLASH = re.compile(r"[\-.:]"), re.compile("/")
_SIGNS = re.compile(r"[\s_\-.:]+")
_OR = re.compile(r"\s*[/|]\s*")
_LETTERS = re.compile(r"[^\W\d_]{2,}")
# What short forms mean, in whatever case it is written.
_MEANINGS = {meaning.casefold(): meaning for meaning in SHORT_FORMS.values()}
# A name that goes on for so long is a description, and taken as it is written.
MOST_WORDS = 5


@dataclass(frozen=True)
class ReadName:
    """text: The name in words. says: Whether it says anything of what is meant."""

    text: str
    says: bool


def read_name(label: str) -> ReadName:
    """Read the name of a class as people write them: "PER" is a person,
    "chemical_compound" a chemical compound, "ProgrammingLanguage" a programming
    language, "person-artist" an artist, "loc.adm.town" a town, "B-LOC" a location. A
    description of several words is taken as it is."""
    plain = label.strip()
    if len(plain.split()) > MOST_WORDS:
        return ReadName(plain, True)
    known = SHORT_FORMS.get(plain.casefold())
    fine = known or _finest(_without_tag(plain))
    known = known or _MEANINGS.get(fine.casefold())
    if known is not None:
        return ReadName(known, True)
    alternatives = filter(None, map(_words, _OR.split(fine)))
    text = " or ".join(dict.fromkeys(alternatives)) or _words(plain)
    parts = text.split()
    says = any(_LETTERS.search(part) and part not in VAGUE for part in parts)
    return ReadName(text or plain, says)


def _without_tag(label: str) -> str:
    """A tag such as "B-LOC" or "B-person-artist" without its prefix; "B-cell" may well
    be the name of a class."""
    bare = _TAG.sub("", label)
    form = bare.casefold()
    is_class = form in SHORT_FORMS or form in _MEANINGS
    is_coarse = bool({*_levels(form)[:1]} & COARSE)
    return bare if is_class or is_coarse else label


def _levels(label: str) -> List[str]:
    """From coarse to fine. In "event-attack/battle" the stroke means or."""
    sign = _LEVELS if _LEVELS.search(label) else _SLASH
    return [level for level in sign.split(label) if level]


def _finest(label: str) -> str:
    """What stands below a coarse class, if that says more."""
    levels = _levels(label)
    if len(levels) < 2 or levels[0].casefold() not in COARSE:
        return label
    if all(part.casefold() in COARSE for part in _OR.split(label)):
        return label  # "PER/ORG": one is not below the other
    for start in range(1, len(levels)):
        rest = ".".join(levels[start:]).casefold()
        if rest in SHORT_FORMS and rest not in COARSE:
            return SHORT_FORMS[rest]
    first = levels[0].casefold()
    kept = label[len(levels[0]) + 1 :]
    vague = {*VAGUE, "other", "others", "misc"}
    if kept.casefold() in vague:
        return SHORT_FORMS.get(first, first)
    return kept if "/" in kept or "." not in kept else levels[-1]


def _words(text: str) -> str:
    known = SHORT_FORMS.get(text.casefold())
    if known is not None:
        return known
    apart = _SIGNS.sub(" ", _CAPITAL_WITHIN.sub(" ", text)).strip()
    known = SHORT_FORMS.get(apart.casefold())
    if known is not None:
        return known
    words = apart.lower().split()
    # "movie name", "entity type": the last word adds nothing.
    while len(words) > 1 and words[-1] in VAGUE:
        words.pop()
    return " ".join(words)
