"""Tags of words (IO, BIO, BILUO, BIOES) to entities and back.

A file is either prefixed ("B-PER") or bare ("PER", the IO scheme) throughout. Which
of the prefixed schemes it is need not be known: B, U and S begin an entity, L, E, U
and S end one, and an I, L or E that continues nothing begins one (IOB1).
"""

import re
import unicodedata
from functools import lru_cache
from typing import Iterable, NamedTuple, Optional, Sequence

from spacy.tokens import Doc

OUTSIDE = "O"
MISSING = "-"
MAX_LABEL_CHARS = 100
MISSING_FORMS = frozenset({"", MISSING})

# First and last word (exclusive) of an entity, and its class.
Entity = tuple[int, int, str]

_PREFIXED = re.compile(r"([BILUES])-(\S.*)", re.DOTALL)
# One letter and a separator: meant as a prefix, but none that we know.
_OTHER_PREFIX = re.compile(r"[A-Z][-_:/]|[bi][-_:/]")
_BARE_LABEL = re.compile(r"[^\W\d_](?:[\w\-./&+]|[^\x00-\x7f\s\w])*")
_PREFIX_ONLY = re.compile(r"[BILUES]-")
# Line breaks and the like, and halves of characters, which cannot be written.
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
# Two tags in one, as tools for nested entities write them.
_SEVERAL = re.compile(r"[|,;/][BILUES]-")
# BIOES names the end and the single word otherwise than BILUO.
_CANONICAL = {"E": "L", "S": "U"}
_HELP = (
    "use O, '-' for no annotation, prefixes B- I- L- U- E- S- (BIO, BILUO, BIOES) or "
    "bare class names (IO); where another column holds the tags, name both: --columns "
    "word,tag"
)


class Entities(NamedTuple):
    """What the tags of a sentence say: its entities, and the words without a tag."""

    spans: list[Entity]
    missing: list[int]


def find_prefixed(tags: Iterable[str]) -> Optional[str]:
    """Find the first of a file's tags that has a prefix, which tells BIO, BILUO and
    BIOES from IO; None in the IO scheme."""
    return next((tag for tag in tags if _PREFIXED.fullmatch(tag)), None)


def is_certain_tag(value: str) -> bool:
    """Tell whether a value can hardly be a word: O, or a letter, a dash and a class.
    Bare class names look like words."""
    return value == OUTSIDE or re.fullmatch(r"[A-Z]-\S+", value) is not None


def is_inside(tag: str) -> bool:
    """Tell whether a tag says that a word is in an entity."""
    return tag != OUTSIDE and tag not in MISSING_FORMS


def is_bare_label(value: str) -> bool:
    """Tell whether a value may be a class without a prefix: most words are, too."""
    form = _BARE_LABEL.fullmatch(value) and not _OTHER_PREFIX.match(value)
    return bool(form) and value != OUTSIDE.lower()


@lru_cache(maxsize=1000)
def parse_tag(tag: str, prefixed: Optional[str]) -> tuple[str, str]:
    """Take a tag apart.

    prefixed (Optional[str]): A prefixed tag of the same file, None if it is IO.
    RETURNS (tuple[str, str]): One of B I L U O or MISSING, and the class, "" for none.
        BIOES is given as BILUO, a bare class name as I.
    RAISES (ValueError): If the tag has none of the known forms, or no class.
    """
    if tag in MISSING_FORMS:
        return MISSING, ""
    if tag == OUTSIDE:
        return OUTSIDE, ""
    if match := _PREFIXED.fullmatch(tag):
        prefix, label = match.groups()
        if _SEVERAL.search(label):
            raise ValueError(f"several tags in one, {tag!r:.100}: give a word one tag")
        return _CANONICAL.get(prefix, prefix), check_label(label)
    if not is_bare_label(tag):
        raise ValueError(f"unknown tag {tag!r:.100}: {_HELP}")
    if prefixed is not None:
        raise ValueError(
            f"tag {tag!r:.100} has no prefix, but {prefixed!r:.100} in the same file "
            f"has: write B-{tag:.100} and I-{tag:.100}, or rename the other class"
        )
    return "I", check_label(tag)


def check_label(label: str) -> str:
    """Give a class back if it can be told from others in every file that we write.
    RAISES (ValueError): If it is empty, means "no entity", is nothing but a prefix, or
    holds line breaks, tabs, bytes that are no UTF-8 or the like, begins or ends with a
    sign that nobody sees, or is too long for a name."""
    if (
        label in (OUTSIDE, MISSING, "")
        or label != label.strip()
        or _PREFIX_ONLY.fullmatch(label)
        or _CONTROL.search(label)
        or is_hidden(label[0])
        or is_hidden(label[-1])
        or len(label) > MAX_LABEL_CHARS
    ):
        raise ValueError(
            f"{label!r:.100} is no class of entities: rename it, eg to PER"
        )
    return label


def is_hidden(character: str) -> bool:
    """Tell whether nobody sees a character: a blank of any kind, a byte order mark, or
    what joins or divides words without a space."""
    return character.isspace() or unicodedata.category(character) == "Cf"


def tags_to_entities(tags: Sequence[str], prefixed: Optional[str]) -> Entities:
    """Read the entities from the tags of one sentence, one per word. `prefixed` and
    errors are those of `parse_tag`."""
    spans: list[Entity] = []
    missing: list[int] = []
    continued = False
    for i, tag in enumerate(tags):
        prefix, label = parse_tag(tag, prefixed)
        if prefix == MISSING:
            missing.append(i)
        if continued and prefix in ("I", "L") and label == spans[-1][2]:
            spans[-1] = (spans[-1][0], i + 1, label)
        elif label:
            spans.append((i, i + 1, label))
        continued = prefix in ("B", "I")
    return Entities(spans, missing)


def doc_to_tags(doc: Doc) -> list[str]:
    """Write the entities of a Doc as BIO tags, MISSING where it has no annotation."""
    # Words blocked for entities, which files have no sign for, are outside.
    return [
        f"{token.ent_iob_}-{token.ent_type_}"
        if token.ent_type_
        else OUTSIDE
        if token.ent_iob_
        else MISSING
        for token in doc
    ]
