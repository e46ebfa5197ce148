"""Which column holds the words, and which the tags: their content tells."""

import re
from typing import NamedTuple, Optional, Sequence

from ..tag_forms import OTHER_OUTSIDE, strip_hidden
from ..tags import MISSING_FORMS, OUTSIDE, is_bare_label, is_certain_tag, is_inside

_TAG_NAMES = """tag tags label labels ner ne iob bio bilou bioes entity entities class
ner_tag ner_tags nertag iob_tag bio_tag ne_tag named_entity ner_label ner_type ne_type
entity_type etikett klasse entität étiquette entité etiqueta entidad etichetta entità"""
TAG_NAMES = frozenset(_TAG_NAMES.split())
_WORD_NAMES = "word words token tokens form text wort mot palabra palavra parola"
WORD_NAMES = frozenset(_WORD_NAMES.split())
# Where all tags of a column are phrases, these are no entities.
_PHRASES = "NP VP PP ADVP ADJP SBAR PRT CONJP INTJ LST UCP PNP"
_CHUNKS = frozenset(_PHRASES.split())
# Parts of speech, as universal dependencies, the Penn treebank and STTS call them.
_PARTS_OF_SPEECH = """ADJ ADP ADV AUX CCONJ CONJ DET INTJ NOUN NUM PART PRON PROPN PRT
PUNCT SCONJ SYM VERB X _ . , : ; ? ! ( ) `` '' " # $ -LRB- -RRB- HYPH NFP ADD AFX GW XX
CC CD DT EX FW IN JJ JJR JJS LS MD NN NNS NNP NNPS PDT POS PRP PRP$ RB RBR RBS RP TO UH
VB VBD VBG VBN VBP VBZ WDT WP WP$ WRB ADJA ADJD APPR APPRART APPO APZR ART CARD ITJ KOUI
KOUS KON KOKOM NE PDS PDAT PIS PIAT PIDAT PPER PPOSS PPOSAT PRELS PRELAT PRF PWS PWAT
PWAV PAV PROAV PTKZU PTKNEG PTKVZ PTKANT PTKA TRUNC VVFIN VVIMP VVINF VVIZU VVPP VAFIN
VAIMP VAINF VAPP VMFIN VMINF VMPP XY $. $, $("""
_POS = frozenset(_PARTS_OF_SPEECH.split())
_ID = re.compile(
    r"[^\W\d]{0,12}[\W_]{0,2}\d+([\W_]\d+)*"  # 7, 1-2, w3, s1.4, Sentence: 1
    r"|(?=[\da-f-]*\d)[\da-f-]{8,}"  # a hash
    r"|\w+://\S*|www\.\S+|\S+\.(txt|xml|html?|json)"
)
# Of BIO, BILUO, BIOES and BMEWO.
_PREFIX = re.compile(r"[BILUESMW]-")
# Where tags have no prefix, this share of them is O, at least.
_LEAST_OUTSIDE = 0.2
# So many rows show that numbers count something.
_LEAST_COUNTED = 3
# Values of a column, one for each row.
Column = list[str]


class Roles(NamedTuple):
    """Columns, counted from 0. inner: One of tags inside those of `tag`."""

    word: int
    tag: int
    inner: Optional[int] = None

    def __str__(self) -> str:
        return f"columns {self.word + 1} word, {self.tag + 1} tag"


def header_names(row: Sequence[str]) -> list[str]:
    """The values of a row as they may stand in `TAG_NAMES` and `WORD_NAMES`."""
    return [re.sub(r"[\s-]+", "_", name.strip("# ").casefold()) for name in row]


def is_unlike(first: Sequence[str], rows: Sequence[Sequence[str]], tag: int) -> bool:
    """Whether a first row, whose tag none of the others has, is not of their kind in
    another column: it has no number or id where they have one, or no part of speech."""
    if any(row[tag] == first[tag] for row in rows):
        return False
    kinds = (_ID.fullmatch, _POS.__contains__)
    return any(
        not is_kind(first[i]) and all(is_kind(row[i]) for row in rows)
        for i in range(len(first))
        for is_kind in kinds
        if i != tag
    )


def find_roles(sentences: Sequence[Sequence[Sequence[str]]]) -> Roles:
    """Tell the columns of words and of tags by what is in them.

    sentences (Sequence): The rows of each, of one width, which is 2 or more.
    RAISES (ValueError): If the content does not tell.
    """
    rows = [row for sentence in sentences for row in sentence]
    columns = [list(values) for values in zip(*rows)]
    values = [_as_tags(column) for column in columns]
    tagged = _tag_columns(values)
    tag, inner = _outermost(values, tagged)
    others = [i for i in range(len(columns)) if i != tag and i not in tagged]
    if not others:  # words that look like tags
        others = [i for i in range(len(columns)) if i not in (tag, inner)]
    return Roles(_find_word(columns, others, sentences), tag, inner)


def named_roles(asked: str, header: Sequence[str], width: int) -> Roles:
    """The columns that `--columns` names, by numbers from 1 or as the header does.
    RAISES (ValueError): If there are no such columns."""
    parts = [part.strip() for part in asked.split(",")]
    names = [name.casefold() for name in header]
    found = []
    for part in parts:
        if part.isdecimal() and 1 <= int(part) <= width:
            found.append(int(part) - 1)
        elif part.casefold() in names:
            found.append(names.index(part.casefold()))
        else:
            named = f" or a name of the header ({', '.join(header)})" if header else ""
            raise ValueError(
                f"--columns {asked!r:.60}: {part!r:.60} is no column: give numbers "
                f"from 1 to {width}{named}"
            )
    if len(found) != 2 or found[0] == found[1]:
        raise ValueError(f"--columns {asked!r:.60}: name two, eg 1,2 (word,tag)")
    return Roles(*found)


def _as_tags(values: Column) -> Column:
    """A column as one of tags: other signs for "no entity" beside tags with a prefix
    are as blank."""
    shown = [strip_hidden(value) for value in values]
    tags = [x for x in shown if is_certain_tag(x) and x != OUTSIDE]
    if not tags or not all(map(_PREFIX.match, tags)):
        return shown
    return ["" if value in OTHER_OUTSIDE else value for value in shown]


def _tag_columns(columns: list[Column]) -> list[int]:
    """Columns that may hold the tags. RAISES (ValueError): If there is none."""
    n_rows = len(columns[0])
    counts = [sum(map(is_certain_tag, values)) for values in columns]
    blanks = [sum(value in MISSING_FORMS for value in values) for values in columns]
    numbered = range(len(columns))
    whole = [i for i in numbered if counts[i] and counts[i] + blanks[i] == n_rows]
    if whole:
        return whole
    bare = [
        i
        for i in numbered
        if counts[i] >= _LEAST_OUTSIDE * n_rows
        and all(is_bare_label(x) or is_certain_tag(x) for x in columns[i] if x != "-")
    ]
    if bare:
        return bare
    # Where a tag is wrong, the reading tells it with its line.
    found = [i for i in numbered if 2 * counts[i] >= n_rows]
    if not found and len(columns) == 2 and blanks[1] == n_rows:
        return [1]
    most = max((counts[i] for i in found), default=0)
    found = [i for i in found if counts[i] == most]
    if not found:
        raise ValueError("no column of tags (O, B-..., I-...) was found")
    return found


def _outermost(columns: list[Column], tagged: list[int]) -> tuple[int, Optional[int]]:
    """Of several columns of tags the one that has the entities, and one with entities
    inside these. RAISES (ValueError): If they do not say the same."""
    if len(columns) == 2:
        return tagged[-1], None
    is_chunk = {i: _labels(columns[i]) <= _CHUNKS for i in tagged}
    found = [i for i in tagged if not is_chunk[i]] or tagged
    inside = {i: {n for n, x in enumerate(columns[i]) if is_inside(x)} for i in found}
    widest = max(found, key=lambda i: (len(inside[i]), i))
    inner = None
    for i in found:
        same = sum(columns[i][n] == columns[widest][n] for n in inside[i])
        if i == widest or columns[i] == columns[widest] or not inside[i]:
            continue
        is_other = 2 * same > len(inside[i]) or not inside[i] <= inside[widest]
        if is_other or inner is not None:
            raise ValueError("several columns hold tags, and they differ")
        inner = i
    if inner is not None and inside[inner] == inside[widest]:
        raise ValueError("several columns hold tags, and they differ")
    return widest, inner


def _labels(values: Column) -> set[str]:
    return {value.rpartition("-")[2] for value in values if is_inside(value)}


def _find_word(
    columns: list[Column],
    others: list[int],
    sentences: Sequence[Sequence[Sequence[str]]],
) -> int:
    def is_of_sentence(i: int) -> bool:
        """An id or an address of the sentence is the same for all of its words."""
        sizes = [len({row[i] for row in rows}) for rows in sentences if len(rows) > 1]
        return bool(sizes) and max(sizes) == 1

    fit = [
        i
        for i in others
        if not all(_ID.fullmatch(x) or x in ("_", "-", "") for x in columns[i])
        and not set(columns[i]) <= _POS
        and not is_of_sentence(i)
    ]
    if fit:  # a lemma is no more varied than a word, and comes after it
        return max(fit, key=lambda i: (len(set(columns[i])), -i))
    (only, *more) = others
    counts = [int(x) for x in columns[only] if x.isdecimal()]
    is_count = len(counts) == len(columns[only]) >= _LEAST_COUNTED
    if more or (is_count and counts == sorted(counts)):
        raise ValueError("no column of words was found")
    return only
