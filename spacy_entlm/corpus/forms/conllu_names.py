"""CoNLL-U with entities in its last column (name=B-PER), as NorNE has them."""

import re
from typing import Any, Iterable, Sequence

import conllu
from conllu.exceptions import ParseException

from ...files.errors import DataError
from ...files.text import Line
from ..records import WordRecord
from ..tags import OUTSIDE
from .columns import read_columns
from .source import Source

_WIDTH = 10
_KEYS = ("name", "NER", "ner", "NE", "ne")
_MISC = re.compile(rf"(?:^|(?<=\|))({'|'.join(_KEYS)})=(?:O|[BILUES]-[^|]+)(?=\||$)")
# A token as the library gives it.
Token = dict[str, Any]


def _found_keys(line: str) -> list[str]:
    cells = line.split("\t")
    return _MISC.findall(cells[-1]) if len(cells) == _WIDTH else []


def fits_conllu(lines: Iterable[Line]) -> bool:
    """Whether rows have ten columns, and tags under a name in the last one."""
    return any(_found_keys(line) for _, line in lines)


def read_conllu(lines: Iterable[Line], source: Source) -> list[WordRecord]:
    """Read the words that a sentence has, and their tags; without one a word is
    outside. Other columns, or a name of the last one, may be asked for: "2,5", "2,NER".
    RAISES (DataError): If a row is broken, or several names have tags that differ."""
    numbered = list(lines)
    keys = list(dict.fromkeys(x for _, line in numbered for x in _found_keys(line)))
    asked = (source.columns or str(_WIDTH)).rpartition(",")[2].strip()
    if asked not in (str(_WIDTH), *keys):
        return read_columns(numbered, source)
    try:
        sentences = conllu.parse("\n".join(line for _, line in numbered) + "\n\n")
    except ParseException as error:
        raise DataError(f"no CoNLL-U ({error})", path=source.path) from error
    key = asked if asked in keys else _only_key(keys, sentences, source)
    source.report.understood = f"CoNLL-U, tags in the last column ({key}=...)"
    return [_record(sentence, key, n) for n, sentence in enumerate(sentences, 1)]


def _only_key(
    keys: Sequence[str], sentences: Sequence[Sequence[Token]], source: Source
) -> str:
    """The name under which the tags stand."""
    for key in keys[1:]:
        for sentence in sentences:
            if any(_tag(token, key) != _tag(token, keys[0]) for token in sentence):
                raise DataError(
                    f"the last column has tags under several names ({', '.join(keys)})"
                    f", and they differ: say which, eg "
                    f"`convert --columns 2,{key}` (word,tag)",
                    path=source.path,
                )
    return keys[0] if keys else _KEYS[0]


def _tag(token: Token, key: str) -> str:
    return str((token["misc"] or {}).get(key) or OUTSIDE)


def _record(sentence: Sequence[Token], key: str, number: int) -> WordRecord:
    # The id of a range of words, and of a word that is not written, is no number.
    words = [token for token in sentence if isinstance(token["id"], int)]
    tags = [_tag(token, key) for token in words]
    forms = [token["form"] for token in words]
    return WordRecord(forms, tags, [number] * len(words), "sentence")
