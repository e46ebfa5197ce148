"""Sentences in columns: a line for each word, with its tag."""

import re
from collections import Counter
from itertools import groupby
from typing import Iterable, Optional, Sequence

from ...files.errors import DataError
from ...files.text import Line
from ..records import WordRecord
from ..report import INNER
from ..tags import MISSING_FORMS, OUTSIDE, is_certain_tag
from .roles import TAG_NAMES, WORD_NAMES, Roles, find_roles, named_roles
from .source import Source

DOCSTART = "-DOCSTART-"
# Ids and other remarks before a sentence ("# id 17", "# text = ..."), as CoNLL-U and
# later shared tasks have them; a word "#" has a tag behind it, not a key.
_COMMENT = re.compile(r"#\s+(id\s|new(doc|par)\b|[\w.:-]+\s*=)")
# Only ASCII: a no-break space may be a word or part of one.
_GAP = re.compile(r"[ \t]+")
# Of a word that is written as one and stands in several rows after it, and of one that
# is not written (CoNLL-U has ten columns).
_RANGE = re.compile(r"\d+[-.]\d+")
_CONLLU_WIDTH = 10

# The number of a line, and the values of its columns.
Row = tuple[int, list[str]]


def read_columns(lines: Iterable[Line], source: Source) -> list[WordRecord]:
    """Read sentences in columns, separated by blank lines. Which columns hold words and
    tags is asked for (`source.columns`), or else their content tells.
    RAISES (DataError): If the number of columns changes, or there is only one, or the
    content does not tell."""
    sentences = split_columns(lines)
    rows = [row for sentence in sentences for row in sentence]
    if not rows:
        return []
    _check_columns(rows, source)
    header, sentences = take_header(sentences)
    roles = choose_roles(header, sentences, rows[0][1], source, line=rows[0][0])
    sentences = divide_numbered(sentences, roles)
    source.report.understood = str(roles) + (" (row 1 a header)" if header else "")
    if roles.inner is not None:
        inner = sum(_begins(row[roles.inner]) for _, row in sum(sentences, []))
        source.report.skipped[INNER] += inner
    return [_record(sentence, roles) for sentence in sentences]


def choose_roles(
    header: Sequence[str],
    sentences: Sequence[Sequence[Row]],
    first: Sequence[str],
    source: Source,
    *,
    line: Optional[int] = None,
) -> Roles:
    """The columns that are asked for, or else those that `tell_roles` finds.

    first (Sequence[str]): The first row, and line (Optional[int]): its line in the
        file, for the message.
    RAISES (DataError): If there are no such columns, or nothing tells.
    """
    try:
        if source.columns is not None:
            return named_roles(source.columns, header, len(first))
        return tell_roles(header, sentences)
    except ValueError as error:
        hint = "say it, eg --columns 1,2 (word,tag)"
        problem = f"{error} ({describe_row(first)}): {hint}"
        raise DataError(problem, path=source.path, line=line) from error


def describe_row(row: Sequence[str]) -> str:
    """A row with the numbers of its columns, for a message."""
    values = (f"{i} {value!r:.40}" for i, value in enumerate(row, 1))
    return f"the first row is {', '.join(values)}"


def tell_roles(header: Sequence[str], sentences: Sequence[Sequence[Row]]) -> Roles:
    """Find the columns by what is in them, or by the names of a header row.
    RAISES (ValueError): If neither tells."""
    try:
        return find_roles([[row for _, row in sentence] for sentence in sentences])
    except ValueError:
        names = [name.strip("# ").casefold() for name in header]
        words = [i for i, name in enumerate(names) if name in WORD_NAMES]
        tags = [i for i, name in enumerate(names) if name in TAG_NAMES]
        if len(words) == len(tags) == 1:
            return Roles(*words, *tags)
        raise


def take_header(
    sentences: list[list[Row]],
) -> tuple[list[str], list[list[Row]]]:
    """The names in the first row, [] if it is none of names, and the rows without it,
    also where it comes again."""
    first = sentences[0][0][1]
    names = [name.strip("# ").casefold() for name in first]
    rest = [[row for row in sentence if row[1] != first] for sentence in sentences]
    rest = [sentence for sentence in rest if sentence]
    if not rest or any(map(is_certain_tag, first)) or not TAG_NAMES & {*names}:
        return [], sentences
    is_header = bool(WORD_NAMES & {*names})
    if not is_header:
        try:  # another language's names
            tag = tell_roles([], rest).tag
        except ValueError:
            return [], sentences
        is_header = names[tag] in TAG_NAMES
    return (list(first), rest) if is_header else ([], sentences)


def divide_numbered(sentences: list[list[Row]], roles: Roles) -> list[list[Row]]:
    """Divide rows without a blank one between them where another column numbers their
    sentences: 1, 1, 1, 2, 2."""
    rows = [row for sentence in sentences for row in sentence]
    if len(sentences) != 1:
        return sentences
    for i in range(min(roles.word, len(rows[0][1]))):
        values = [row[i] for _, row in rows]
        numbers = [int(value) for value in values if value.isdecimal()]
        is_ordered = len(numbers) == len(rows) and numbers == sorted(numbers)
        if is_ordered and 1 < len({*numbers}) < len(rows):
            groups = groupby(rows, key=lambda row: row[1][i])
            return [list(group) for _, group in groups]
    return sentences


def split_columns(lines: Iterable[Line]) -> list[list[Row]]:
    """Split lines into sentences: line numbers with the columns' values, without
    comments."""
    sentences: list[list[Line]] = [[]]
    for number, line in lines:
        if not sentences[-1] and _COMMENT.match(line):
            continue
        if line.strip() and DOCSTART not in line.split():
            sentences[-1].append((number, line))
        elif sentences[-1]:
            sentences.append([])
    whole = [line for sentence in sentences for _, line in sentence]
    tabbed = 2 * sum("\t" in line for line in whole) > len(whole)
    found = [[(n, _split(line, tabbed)) for n, line in rows] for rows in sentences]
    return _drop_remarks(found)


def _split(line: str, tabbed: bool) -> list[str]:
    if tabbed:
        return [value.strip() for value in line.split("\t")]
    return _GAP.split(line.strip(" \t"))


def _drop_remarks(sentences: list[list[Row]]) -> list[list[Row]]:
    """Without lines before a sentence that begin with "#" and have other columns, and
    without CoNLL-U's rows that are no words."""
    widths = Counter(len(row) for sentence in sentences for _, row in sentence)
    width = widths.most_common(1)[0][0] if widths else 0
    for rows in sentences:
        while rows and rows[0][1][0].startswith("#") and len(rows[0][1]) != width:
            rows.pop(0)
    if width == _CONLLU_WIDTH:
        sentences = [
            [row for row in rows if not _RANGE.fullmatch(row[1][0])]
            for rows in sentences
        ]
    return [sentence for sentence in sentences if sentence]


def _check_columns(rows: Sequence[Row], source: Source) -> None:
    first_number, first = rows[0]
    if len(first) < 2:
        raise DataError(
            f"only one column ({first[0]!r:.100}): a line needs a word and its tag, "
            "separated by a tab or spaces",
            path=source.path,
            line=first_number,
        )
    for number, columns in rows:
        if len(columns) != len(first):
            raise DataError(
                f"{len(columns)} column(s) where line {first_number} has {len(first)}: "
                f"{' '.join(columns)!r:.100}. Give every line the same columns, and "
                "put a blank line between sentences",
                path=source.path,
                line=number,
            )


def _begins(tag: str) -> bool:
    inside = tag != OUTSIDE and tag not in MISSING_FORMS
    return inside and not tag.startswith(("I-", "L-", "E-"))


def _record(sentence: Sequence[Row], roles: Roles) -> WordRecord:
    return WordRecord(
        [row[roles.word] for _, row in sentence],
        [row[roles.tag] for _, row in sentence],
        [number for number, _ in sentence],
    )


def fits_columns(lines: Sequence[Line]) -> bool:
    """Whether lines are rows of one width with a column of tags. Lines of prose may
    have as many words each."""
    sentences = split_columns(lines)
    rows = [row for sentence in sentences for _, row in sentence]
    if len({len(row) for row in rows}) != 1 or len(rows[0]) < 2:
        return False
    if any(2 * sum(map(is_certain_tag, values)) >= len(rows) for values in zip(*rows)):
        return True
    try:
        header, sentences = take_header(sentences)
        tag = tell_roles(header, sentences).tag
    except ValueError:
        return False
    return any(is_certain_tag(row[tag]) for row in rows)
