"""CoNLL-U with entities in its last column (name=B-PER), as NorNE has them."""

import re
from io import StringIO
from typing import Iterable, Sequence

import conllu
from conllu.exceptions import ParseException

from ...files.errors import DataError
from ...files.text import Line
from ..records import WordRecord
from ..tags import OUTSIDE
from .source import Source

_WIDTH = 10
_KEYS = ("name", "NER", "ner", "NE", "ne")
_MISC = re.compile(rf"(?:^|\|)({'|'.join(_KEYS)})=(?:O|[BILUES]-[^|]+)(?:\||$)")


def _key(line: str) -> str:
    cells = line.split("\t")
    found = _MISC.search(cells[-1]) if len(cells) == _WIDTH else None
    return found[1] if found else ""


def fits_conllu(lines: Iterable[Line]) -> bool:
    """Whether rows have ten columns, and tags under a name in the last one."""
    return any(_key(line) for _, line in lines)


def read_conllu(lines: Iterable[Line], source: Source) -> list[WordRecord]:
    """Read the words that a sentence has, and their tags; without one a word is
    outside.
    RAISES (DataError): If a row is broken."""
    whole = [line for _, line in lines]
    key = next(filter(None, map(_key, whole)), _KEYS[0])
    try:
        sentences = conllu.parse(StringIO("\n".join(whole) + "\n\n").read())
    except ParseException as error:
        raise DataError(f"no CoNLL-U ({error})", path=source.path) from error
    source.report.understood = f"CoNLL-U, tags in the last column ({key}=...)"
    return [_record(sentence, key, n) for n, sentence in enumerate(sentences, 1)]


def _record(sentence: Sequence[dict], key: str, number: int) -> WordRecord:
    # The id of a range of words, and of a word that is not written, is no number.
    words = [token for token in sentence if isinstance(token["id"], int)]
    tags = [str((token["misc"] or {}).get(key) or OUTSIDE) for token in words]
    forms = [token["form"] for token in words]
    return WordRecord(forms, tags, [number] * len(words), "sentence")
