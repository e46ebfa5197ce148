"""Tags as other tools write them, in the forms that `tags` reads.

A tag may have its prefix behind ("PER-B"), the prefixes of BMEWO (M, W), another sign
for "no entity" ("_", "0", or nothing), and signs at its ends that nobody sees.
"""

import re
from typing import Iterable, Optional, Sequence

from .reading_report import CorpusReport
from .records import WordRecord
from .tags import MISSING, OUTSIDE, find_prefixed, is_hidden, is_inside

NO_OUTSIDE = (
    f"No word has the tag O. {MISSING!r} says that nobody looked at a word: write O if "
    "it is in no entity"
)
_BLANK = ""
# Signs for "no entity" in files whose tags have prefixes.
OTHER_OUTSIDE = frozenset(("_", "0"))
_BMEWO = re.compile(r"([MW])-(\S.*)", re.DOTALL)
_TO_BILUO = {"M": "I", "W": "U"}
_SUFFIXED = re.compile(r"(\S+)[-_]([BIMLUESW])")
# What only a prefix can be: many classes end in a B.
_INNER = frozenset("IMLE")
_PREFIXES = frozenset("BILUESMW")
# In records of so few words all may be names.
_MAX_WORDS_OF_NAMES = 2


def normalize_tags(
    records: Sequence[WordRecord], report: CorpusReport
) -> list[WordRecord]:
    """Records whose tags are in the forms of `parse_tag`. The report counts words
    without a tag in a file where no word is outside.

    records (Sequence[WordRecord]): All of a file.
    """
    known = _normal_forms({tag for record in records for tag in record.tags})
    found_tags = {*known.values()}
    named = found_tags - {MISSING, OUTSIDE}
    if named and MISSING in found_tags and OUTSIDE not in found_tags:
        report.noted[NO_OUTSIDE] = sum(r.tags.count(MISSING) for r in records)
        report.examples[NO_OUTSIDE] = []
    return [r._replace(tags=[known[tag] for tag in r.tags]) for r in records]


def _normal_forms(tags: Iterable[str]) -> dict[str, str]:
    """The forms that we read, of all tags of a file."""
    known = {tag: strip_hidden(tag) for tag in tags}
    shown = {*known.values()}
    prefixed = find_prefixed(shown) is not None
    suffixed = not prefixed and _are_suffixed(shown)
    # A file without O has another sign in its place.
    is_blank_outside = OUTSIDE not in shown and bool(shown - {_BLANK, MISSING})
    for tag, value in known.items():
        if value == _BLANK:
            known[tag] = OUTSIDE if is_blank_outside else value
        elif prefixed and value in OTHER_OUTSIDE:
            known[tag] = OUTSIDE
        elif prefixed and (found := _BMEWO.fullmatch(value)):
            known[tag] = f"{_TO_BILUO[found[1]]}-{found[2]}"
        elif suffixed and (found := _SUFFIXED.fullmatch(value)):
            known[tag] = f"{_TO_BILUO.get(found[2], found[2])}-{found[1]}"
    return known


def check_outside(records: Sequence[WordRecord], prefixed: Optional[str]) -> None:
    """RAISES (ValueError): If each word of a file is in an entity, and no tag has a
    prefix: these are no sentences, or no tags of entities."""
    tags = [tag for record in records for tag in record.tags]
    has_texts = any(" " in word for record in records for word in record.words)
    may_be_names = len(tags) <= _MAX_WORDS_OF_NAMES and not has_texts
    if prefixed is not None or may_be_names:
        return
    if all(map(is_inside, tags)):
        raise ValueError(
            f"not one word has the tag O, for no entity (the first is "
            f"{records[0].words[0]!r:.60}, {tags[0]!r:.60}): give sentences in which "
            "each word has its tag; a list of names is a lexicon (docs/lexicon.md)"
        )


def check_prefixes(records: Sequence[WordRecord]) -> None:
    """RAISES (ValueError): If the tags of a file are prefixes without a class: B, I."""
    tags = {tag for record in records for tag in record.tags if is_inside(tag)}
    inside = tags - OTHER_OUTSIDE
    if "B" in inside and inside <= _PREFIXES:
        raise ValueError(
            f"the tags are {', '.join(sorted(inside))} without a class: write B-PER, "
            "I-PER and so on, or whatever the class is called"
        )


def strip_hidden(tag: str) -> str:
    """A tag without signs at its ends that nobody sees: no-break spaces, byte order
    marks, joiners."""
    return tag.strip("".join(filter(is_hidden, tag)))


def _are_suffixed(tags: Iterable[str]) -> bool:
    found = [_SUFFIXED.fullmatch(tag) for tag in tags if is_inside(tag)]
    return bool(found) and all(found) and any(x and x[2] in _INNER for x in found)
