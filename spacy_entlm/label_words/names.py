"""How the name of a class is read: as words, the way people say it."""

import re
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import Dict, Iterable, List, NamedTuple, Optional

from .form_sets import FORM_SETS
from .short_forms import (
    COARSE,
    MEANINGS,
    NATIVE_FORMS,
    SHORT_FORMS,
    SHORT_WORDS,
    VAGUE,
    form_key,
)

# "politicalParty", "HTMLParser"; "pH" and "mRNA" are words.
_CAPITAL_WITHIN = re.compile(
    r"(?<=[^\W\d_A-Z])(?<!\b[^\W\d_A-Z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])"
)
_TAG = re.compile(r"\A[BIESLU]-(?=.)")
_NAMESPACE = re.compile(r"\A(us-gaap|ifrs-full|dei)[:_](?=.)", re.IGNORECASE)
_LEVELS, _SLASH = re.compile(r"[\-.:]"), re.compile("/")
_SIGNS = re.compile(r"[\s_\-.:]+")
_OR = re.compile(r"\s*[/|]\s*")
_LETTERS = re.compile(r"[^\W\d_]{2,}")
_NUMBER_AT_END = re.compile(r"(?<=[^\W\d_]{2})[\s_\-]*\d+\Z")
# "XYZ" is no word.
_NO_VOWEL = re.compile(r"[B-DF-HJ-NP-TV-XZ]{2,4}")
_JOINING = {"or", "and", "of", "the", "an"}
# After these a word is missing, however little it says: "other named thing".
_WANTS_MORE = {
    *_JOINING,
    *("a", "with", "by", "in", "for", "named", "other", "any", "no"),
}
# English plurals and what they are of.
_PLURALS = (("ies", "y"), ("es", ""), ("s", ""))
# A name that goes on for so long is a description, and taken as it is written.
MAX_WORDS = 5
# Of labels that have another meaning in a set, so many show that it is that set; and
# most labels are known there.
FEWEST_OF_SET, SHARE_OF_SET = 3, 0.6
# Native names that are English words, too: they are native beside other native names.
ENGLISH_TOO = {"data"}
# What many sets have in common.
_BASIC = {
    *("person", "location", "organization", "geopolitical entity", "facility", "date"),
    "time",
}

AS_WRITTEN = "as it is written"
DESCRIPTION = "a description, as it is written"
SHORT_FORM = "a short form"
NATIVE = "a word of another language, in English"
PLURAL = "a plural"
FINEST = "its finest part"
NO_TAG = "without the prefix of a tag"
APART = "taken apart into words"
LOWER = "in lower case"
IN_SET = "a short form of a known label set"
FULL = "with all its parts, as another class has the same words"
OWN_WORD = "as it is written, as another class means the same in English"


@dataclass(frozen=True)
class ReadName:
    """text: The name in words. says: Whether it says anything of what is meant.
    how: How it was read, in words."""

    text: str
    says: bool
    how: str = field(default=AS_WRITTEN, compare=False)


class _Known(NamedTuple):
    meaning: str
    how: str


def read_names(labels: Iterable[str]) -> Dict[str, ReadName]:
    """Read the names of classes that stand beside each other. What a short form means
    may depend on the others: "nat" is a nationality, and a natural phenomenon in the
    set of the Groningen Meaning Bank. Names of which the same words would be read are
    kept apart by what they do not share ("person" and "person-other"), or by their own
    words ("acteur" and "actrice").
    "data" is a date beside "pessoa", and data beside "method".

    labels (Iterable[str]): The classes.
    RETURNS (Dict[str, ReadName]): Of each, in their order.
    """
    bare = _without_tags(labels)
    read = {label: read_name(plain) for label, plain in bare.items()}
    for label, name in read.items():
        if bare[label] != label.strip() and name.how == AS_WRITTEN:
            read[label] = replace(name, how=NO_TAG)
    doubtful = {x for x in read if form_key(x) in ENGLISH_TOO}
    if not any(read[label].how == NATIVE for label in read.keys() - doubtful):
        read |= {x: ReadName(_apart(x), True) for x in doubtful}
    known = _form_set(bare.values())
    for label in read:
        meaning = known.get(form_key(_without_tag(bare[label])))
        if meaning is not None and meaning != read[label].text:
            read[label] = ReadName(meaning, True, IN_SET)
    counts = Counter(name.text.casefold() for name in read.values())
    taken = set(counts)
    for label, name in read.items():
        whole = _whole(bare[label])
        says_more = len(whole.split()) > 1 or name.how == NATIVE
        is_new = says_more and whole.casefold() not in taken
        if counts[name.text.casefold()] > 1 and is_new:
            taken.add(whole.casefold())
            how = OWN_WORD if name.how == NATIVE else FULL
            read[label] = ReadName(whole, name.says, how)
    return read


def read_name(label: str) -> ReadName:
    """Read the name of a class as people write them: "PER" is a person,
    "chemical_compound" a chemical compound, "ProgrammingLanguage" a programming
    language, "person-artist" an artist, "loc.adm.town" a town, "B-LOC" a location,
    "Krankheiten" a disease. A description of several words is taken as it is."""
    plain = _NAMESPACE.sub("", label.strip())
    if is_description(plain):
        return ReadName(plain, True, DESCRIPTION)
    known = _known(plain)
    if known is not None:
        return ReadName(known.meaning, True, known.how)
    bare = _without_tag(plain)
    fine = _finest(bare)
    how = FINEST if fine != bare else NO_TAG if bare != plain else ""
    known = _known(fine) or _known(_NUMBER_AT_END.sub("", fine))
    if known is not None:
        return ReadName(known.meaning, True, how or known.how)
    alternatives = filter(None, map(_words, _OR.split(fine)))
    text = " or ".join(dict.fromkeys(alternatives)) or _words(plain) or plain
    if not how and text != plain:
        how = LOWER if text == plain.lower() else APART
    return ReadName(text, _says(text, plain), how or AS_WRITTEN)


def read_text(text: str) -> str:
    """Read a word or description that is given for a class. It is taken as it is
    written ("Paris" is none that is to be in lower case), but where it is a name of a
    class that is known ("VEHICLES", "Krankheit"), or all in capitals."""
    plain = text.strip()
    known = None if is_description(plain) else _known(plain)
    if known is not None:
        return known.meaning
    return plain.lower() if plain.isupper() and len(plain) > MAX_WORDS else plain


def is_description(text: str) -> bool:
    """Whether a text is more than a name: it has more than MAX_WORDS words."""
    return len(text.split()) > MAX_WORDS


def _known(text: str) -> Optional[_Known]:
    """What a name means that stands in the tables, alone or in the plural."""
    form = form_key(text)
    if form in SHORT_FORMS:
        return _Known(SHORT_FORMS[form], SHORT_FORM)
    if form in MEANINGS:
        meaning = MEANINGS[form]
        return _Known(meaning, AS_WRITTEN if text == meaning else LOWER)
    if form in NATIVE_FORMS:
        return _Known(NATIVE_FORMS[form], NATIVE)
    for plural, singular in _PLURALS:
        one = form.removesuffix(plural) + singular
        if form.endswith(plural) and one in MEANINGS:
            return _Known(MEANINGS[one], PLURAL)
        if form.endswith(plural) and one in SHORT_FORMS and len(one) > 2:
            return _Known(SHORT_FORMS[one], PLURAL)
    return None


def _says(text: str, label: str) -> bool:
    if _NO_VOWEL.fullmatch(_NUMBER_AT_END.sub("", label)):
        return False
    words = [word for word in text.split() if word not in _JOINING]
    return any(_LETTERS.search(word) and not _is_vague(word) for word in words)


def _is_vague(word: str) -> bool:
    """Whether a word says nothing, alone or in the plural."""
    return bool({word, word.removesuffix("s"), word.removesuffix("es")} & VAGUE)


def _without_tag(label: str) -> str:
    """A tag such as "B-LOC" or "B-person-artist" without its prefix; "B-cell" may well
    be the name of a class."""
    bare = _TAG.sub("", label)
    if bare == label:
        return label
    is_coarse = bool({*_levels(bare.casefold())[:1]} & COARSE)
    return bare if _known(bare) or is_coarse else label


def _without_tags(labels: Iterable[str]) -> Dict[str, str]:
    """Labels, each with what is left of it. "B-size" is a tag where all others are."""
    stripped = {label: label.strip() for label in labels}
    if len(stripped) < 2 or not all(map(_TAG.match, stripped.values())):
        return stripped
    return {label: _TAG.sub("", plain) for label, plain in stripped.items()}


def _levels(label: str) -> List[str]:
    """From coarse to fine. In "event-attack/battle" the stroke means or."""
    sign = _LEVELS if _LEVELS.search(label) else _SLASH
    return [level for level in sign.split(label) if level]


def _finest(label: str) -> str:
    """What stands below a coarse class, if that says more."""
    if label.startswith("/") or label.casefold().startswith("nam_"):
        # "/medicine/drug", and "nam_loc_gpe_city" of KPWr.
        levels = [x for x in re.split("[/_]" if "nam_" in label else "/", label) if x]
        return levels[-1] if levels and levels[-1].casefold() not in VAGUE else label
    levels = _levels(label)
    if len(levels) < 2 or levels[0].casefold() not in COARSE:
        return label
    if all(part.casefold() in COARSE for part in _OR.split(label)):
        return label  # "PER/ORG": one is not below the other
    for start in range(1, len(levels)):
        known = _known(".".join(levels[start:]))
        rest = form_key(".".join(levels[start:]))
        if known is not None and rest not in COARSE:
            return known.meaning
    first = levels[0]
    kept = label[len(first) + 1 :]
    is_vague = kept.casefold() in {*VAGUE, "other", "others", "misc"}
    if is_vague or not _LETTERS.search(kept):
        coarse = _known(first)
        return first if coarse is None else coarse.meaning
    return kept if "/" in kept or "." not in kept else levels[-1]


def _whole(label: str) -> str:
    """All that a name says, from fine to coarse: "other person" of "person-other"."""
    bare = _without_tag(label.strip())
    if is_description(bare):
        return bare
    levels = _levels(bare)
    if len(levels) > 1 and levels[0].casefold() in COARSE:
        coarse, *finer = levels
        return " ".join([*map(_apart, reversed(finer)), _words(coarse)])
    return _apart(bare)


def _apart(text: str) -> str:
    words = _SIGNS.sub(" ", _CAPITAL_WITHIN.sub(" ", text)).lower().split()
    return " ".join(map(_in_full, words, [*words[1:], ""]))


def _in_full(word: str, following: str) -> str:
    """A word that is often cut short: "no" is a number in "house_no" and "no_of_items",
    and none in "person with no address"."""
    if word == "no" and following not in ("", "of"):
        return word
    return SHORT_WORDS.get(word, word)


def _words(text: str) -> str:
    known = _known(text) or _known(_CAPITAL_WITHIN.sub(" ", text))
    if known is not None:
        return known.meaning
    words = _apart(text).split()
    # "movie name", "entity type": the last word adds nothing.
    while len(words) > 1 and _is_vague(words[-1]) and words[-2] not in _WANTS_MORE:
        words.pop()
    rest = " ".join(words)
    known = _known(rest)
    if known is None and len(words) > 1 and _is_vague(words[0]):
        known = _known(" ".join(words[1:]))  # "name_person", "entityDate"
    return rest if known is None else known.meaning


def _form_set(labels: Iterable[str]) -> Dict[str, str]:
    """The label set to which labels belong, with what its short forms mean; empty if
    none is recognised."""
    forms = {form_key(_without_tag(label.strip())) for label in labels}
    best: Dict[str, str] = {}
    for known in FORM_SETS:
        shared = forms & known.keys()
        own = [form for form in shared if known[form] not in _BASIC]
        if len(shared) < SHARE_OF_SET * len(forms):
            continue
        if len(own) < FEWEST_OF_SET and len(shared) < len(known):
            continue
        if len(shared) > len(forms & best.keys()):
            best = known
    return best
