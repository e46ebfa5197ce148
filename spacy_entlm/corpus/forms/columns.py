"""Sentences in columns: a line for each word, with its tag."""

import re
from collections import Counter
from itertools import groupby
from typing import Iterable, Optional, Sequence

from ...files.errors import DataError, located
from ...files.text import Line
from ..reading_report import INNER
from ..records import WordRecord
from ..tags import is_certain_tag, is_inside
from .roles import (
    TAG_NAMES,
    WORD_NAMES,
    Roles,
    find_roles,
    header_names,
    is_unlike,
    named_roles,
)
from .source import Source

DOCSTART = "-DOCSTART-"
# Ids and other remarks before a sentence ("# id 17", "# text = ..."), as CoNLL-U and
# later shared tasks have them; a word "#" has a tag behind it, not a key.
_COMMENT = re.compile(
    r"#\s+(id\s|new(doc|par)\b|[\w.:-]+\s*=)|#((sent|doc|par)_?id|id|text) ?="
)
# Only ASCII: a no-break space may be a word or part of one.
_GAP = re.compile(r"[ \t]+")
# Of a word that is written as one and stands in several rows after it, and of one that
# is not written (CoNLL-U has ten columns).
_RANGE = re.compile(r"\d+[-.]\d+")
_CONLLU_WIDTH = 10
_LANGUAGE = re.compile(r"[a-z]{2,3}(-[a-z]+)*:(?=.)")
# So many words show that something stands before each.
_LEAST_CODED = 3
# So many rows show whether a tag stands behind each word.
_N_ROWS_SEEN = 100
# So many sentences show what the columns of a file are whose first row is doubtful.
_N_SENTENCES_SEEN = 200
# Between a word and its tag where a whole sentence stands on a line.
_JOINTS = "/|_"

# The number of a line, and the values of its columns.
Row = tuple[int, list[str]]


def read_columns(lines: Iterable[Line], source: Source) -> list[WordRecord]:
    """Read sentences in columns, separated by blank lines. Which columns hold words and
    tags is asked for (`source.columns`), or else their content tells.
    RAISES (DataError): If the number of columns changes, or there is only one, or the
    content does not tell."""
    sentences = _split_columns(lines)
    rows = [row for sentence in sentences for row in sentence]
    if not rows:
        return []
    with located(source.path):
        check_joined((line, " ".join(row)) for line, row in rows[:_N_ROWS_SEEN])
    _check_columns(rows, source)
    sentences, roles = choose_roles(sentences, source, line=rows[0][0])
    sentences = divide_numbered(sentences, roles, source)
    sentences = _without_language(sentences, roles, source)
    if roles.inner is not None:
        both = [(row[roles.inner], row[roles.tag]) for _, row in sum(sentences, [])]
        inner = [tag for tag, outer in both if tag != outer and is_inside(tag)]
        begun = [tag for tag in inner if not tag.startswith(("I-", "L-", "E-"))]
        source.report.skipped[INNER] += len(begun)
    return [word_record(sentence, roles) for sentence in sentences]


def choose_roles(
    sentences: list[list[Row]], source: Source, *, line: Optional[int] = None
) -> tuple[list[list[Row]], Roles]:
    """The rows without a header, and the columns that are asked for, or else those that
    the content tells. The report says which.

    line (Optional[int]): That of the first row in the file, for the message.
    RAISES (DataError): If there are no such columns, or nothing tells.
    """
    first = sentences[0][0][1]
    header, sentences = _take_header(sentences, source.columns)
    try:
        if source.columns is not None:
            roles = named_roles(source.columns, header, len(first))
        else:
            roles = _tell_roles(header, sentences)
    except ValueError as error:
        values = ", ".join(f"{i} {value!r:.40}" for i, value in enumerate(first, 1))
        hint = "say it, eg `convert --columns 1,2` (word,tag)"
        problem = f"{error} (the first row is {values}): {hint}"
        raise DataError(problem, path=source.path, line=line) from error
    source.report.understood = str(roles) + (" (row 1 a header)" if header else "")
    return sentences, roles


def _tell_roles(header: Sequence[str], sentences: Sequence[Sequence[Row]]) -> Roles:
    """Find the columns by what is in them, or by the names of a header row, which tell
    a word from its lemma.
    RAISES (ValueError): If neither tells."""
    names = header_names(header)
    words = [i for i, name in enumerate(names) if name in WORD_NAMES]
    try:
        found = find_roles([[row for _, row in sentence] for sentence in sentences])
        # A column of whole texts may be called so, too.
        if len(words) == 1 and words[0] != found.tag and names[words[0]] != "text":
            found = found._replace(word=words[0])
        return found
    except ValueError:
        tags = [i for i, name in enumerate(names) if name in TAG_NAMES]
        if len(words) == len(tags) == 1:
            return Roles(*words, *tags)
        raise


def _take_header(
    sentences: list[list[Row]], asked: Optional[str] = None
) -> tuple[list[str], list[list[Row]]]:
    """The names in the first row, [] if it is none of names, and the rows without it,
    also where it comes again. asked: The columns that are asked for; what names them
    there is a header."""
    first = sentences[0][0][1]
    names = {*header_names(first)}
    rest = [[row for row in sentence if row[1] != first] for sentence in sentences]
    rest = [sentence for sentence in rest if sentence]
    named = [part.strip().casefold() for part in (asked or "").split(",")]
    if rest and any(named) and {*named} <= {name.casefold() for name in first}:
        return list(first), rest
    if not rest or any(map(is_certain_tag, first)):
        return [], sentences
    if TAG_NAMES & names and WORD_NAMES & names:
        return list(first), rest
    is_header = _is_other(first, rest)
    return (list(first), rest) if is_header else ([], sentences)


def _is_other(first: Sequence[str], sentences: Sequence[Sequence[Row]]) -> bool:
    """Whether a row is none of words: it names the tags or the words of the others in
    another language, or other columns of theirs are of another kind."""
    try:
        roles = _tell_roles([], sentences[:_N_SENTENCES_SEEN])
    except ValueError:
        return False
    rows = [row for sentence in sentences for _, row in sentence]
    names = header_names(first)
    is_alone = all(row[roles.tag] != first[roles.tag] for row in rows)
    if names[roles.tag] in TAG_NAMES or (is_alone and names[roles.word] in WORD_NAMES):
        return True
    return is_unlike(first, rows, roles.tag)


def divide_numbered(
    sentences: list[list[Row]], roles: Roles, source: Source
) -> list[list[Row]]:
    """Divide rows without a blank one between them where another column numbers their
    sentences, 1, 1, 1, 2, 2, or their words, 1, 2, 3, 1, 2.
    RAISES (DataError): If a blank line stands behind each word."""
    _check_blank_lines(sentences, roles, source)
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
        if len(numbers) == len(rows) and _begin_anew(numbers):
            starts = [n for n, number in enumerate(numbers) if number == numbers[0]]
            return [rows[a:b] for a, b in zip(starts, [*starts[1:], None])]
    return sentences


def _begin_anew(numbers: Sequence[int]) -> bool:
    """Whether numbers count from 0 or 1, and several times so."""
    steps = [b - a for a, b in zip(numbers, numbers[1:]) if b != numbers[0]]
    is_count = numbers[0] in (0, 1) and bool(steps) and {*steps} == {1}
    return is_count and numbers.count(numbers[0]) > 1


def _check_blank_lines(
    sentences: Sequence[Sequence[Row]], roles: Roles, source: Source
) -> None:
    """RAISES (DataError): If each sentence is one word, and entities go over several of
    them."""
    if any(len(rows) > 1 for rows in sentences):
        return
    rows = [row for sentence in sentences for row in sentence]
    for (_, before), (number, row) in zip(rows, rows[1:]):
        tag, last = row[roles.tag], before[roles.tag]
        if tag[:2] in ("I-", "L-", "E-") and last[1:] == tag[1:] and last[0] in "BI":
            raise DataError(
                f"{row[roles.word]!r:.60} goes on with the entity of another sentence, "
                "and each sentence is one word: a blank line stands behind each word, "
                "or each has a number of its own sentence. Leave only what divides "
                "sentences",
                path=source.path,
                line=number,
            )


def _split_columns(lines: Iterable[Line]) -> list[list[Row]]:
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


def check_joined(lines: Iterable[Line]) -> None:
    """RAISES (ValueError): If each word has its tag behind it, as in Ann/B-PER."""
    pieces = [piece for _, line in lines for piece in line.split()]
    for sign in _JOINTS:
        tags = [piece.rpartition(sign)[2] for piece in pieces if sign in piece[1:]]
        if tags and len(tags) == len(pieces) and any(map(is_certain_tag, tags)):
            raise ValueError(
                f"each word has its tag behind it ({pieces[0]!r:.60}), which is not "
                "read: write a line for each word, and a tab before its tag"
            )


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
    sentences = [part for rows in sentences for part in _divided(rows, width)]
    if width == _CONLLU_WIDTH:
        sentences = [
            [row for row in rows if not _RANGE.fullmatch(row[1][0])]
            for rows in sentences
        ]
    return [sentence for sentence in sentences if sentence]


def _divided(rows: list[Row], width: int) -> list[list[Row]]:
    """Rows without remarks between them, "# id = 2", which divide sentences."""
    if all(len(row) == width for _, row in rows):
        return [rows]
    parts: list[list[Row]] = [[]]
    for number, row in rows:
        if len(row) != width and _COMMENT.match(" ".join(row)):
            parts.append([])
        else:
            parts[-1].append((number, row))
    return parts


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


def _without_language(
    sentences: list[list[Row]], roles: Roles, source: Source
) -> list[list[Row]]:
    """Rows whose words have no language before them, where all words of several have
    the same one: en:Ann, as WikiANN writes it."""
    rows = [row for sentence in sentences for _, row in sentence]
    first = _LANGUAGE.match(rows[0][roles.word])
    code = first[0] if first else ""
    are_coded = all(row[roles.word].startswith(code) for row in rows)
    if not code or not are_coded or len(rows) < _LEAST_CODED:
        return sentences
    source.report.understood += f", without {code!r} before each"
    for row in rows:
        row[roles.word] = row[roles.word].removeprefix(code)
    return sentences


def word_record(
    sentence: Sequence[Row], roles: Roles, unit: str = "line"
) -> WordRecord:
    """A record of the rows of a sentence. unit: What their numbers count."""
    return WordRecord(
        [row[roles.word] for _, row in sentence],
        [row[roles.tag] for _, row in sentence],
        [number for number, _ in sentence],
        unit,
    )


def fits_columns(lines: Sequence[Line]) -> bool:
    """Whether lines are rows of one width with a column of tags. Lines of prose may
    have as many words each."""
    sentences = _split_columns(lines)
    rows = [row for sentence in sentences for _, row in sentence]
    if len({len(row) for row in rows}) != 1 or len(rows[0]) < 2:
        return False
    if any(2 * sum(map(is_certain_tag, values)) >= len(rows) for values in zip(*rows)):
        return True
    try:
        header, sentences = _take_header(sentences)
        tag = _tell_roles(header, sentences).tag
    except ValueError:
        return False
    return any(is_certain_tag(row[tag]) for row in rows)
