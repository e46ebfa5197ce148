"""Lines of a text file to records: words with tags, or a text with spans."""

import re
from pathlib import Path
from typing import Any, Iterable, NamedTuple, Sequence

from ..files.errors import DataError, located
from ..files.json_lines import load_object
from ..files.text import Line
from .report import NOT_ACCEPTED, CorpusReport
from .tags import MISSING_FORMS, check_label, is_certain_tag

CONLL, JSONL, INLINE = "conll", "jsonl", "inline"
# Also vowel signs and the like, which are no letters, but no address of a link.
LABEL = r"[^\W\d_](?:[\w-]|[^\x00-\x7f\s\w])*"
INLINE_MARKUP = re.compile(rf"\[([^\[\]]+)\]\(({LABEL})\)")
# What may be meant as such: the bracket is not closed, or a space stands before "(".
INLINE_SLIP = re.compile(rf"\[[^\[\]()]*[^\[\]()\s]\]?\s*\(\s*({LABEL})\s*\)")
# The spans of a text: Prodigy's and ours, spaCy's, doccano's.
SPAN_KEYS = ("spans", "entities", "label", "labels")
# Lists that say nothing about entities.
_OTHER_LISTS = ("text", "tokens", "meta", "id", "Comments", "comments")
DOCSTART = "-DOCSTART-"
# Ids and other remarks before a sentence ("# id 17", "# text = ..."), as CoNLL-U and
# later shared tasks have them; a word "#" has a tag behind it, not a key.
_COMMENT = re.compile(r"#\s+(id\s|new(doc|par)\b|[\w.:-]+\s*=)")
# Only ASCII: a no-break space may be a word or part of one.
_COLUMN_GAP = re.compile(r"[ \t]+")


class CharSpan(NamedTuple):
    """A span of a text: character offsets, the end exclusive, and its class."""

    start: int
    end: int
    label: str


class WordRecord(NamedTuple):
    """Words with one tag each, and the line where each stands."""

    words: list[str]
    tags: list[str]
    lines: list[int]


class TextRecord(NamedTuple):
    """A text with spans, and where it stands: the number of a line or of an entry."""

    text: str
    spans: list[CharSpan]
    number: int
    unit: str = "line"


Record = WordRecord | TextRecord
Row = tuple[int, list[str]]


def parse_conll(
    lines: Iterable[Line], path: Path, report: CorpusReport
) -> list[WordRecord]:
    """Read sentences in columns, separated by blank lines: the word is in the first
    column and the tag in the last, or the reverse (see _is_tag_first).
    RAISES (DataError): If the number of columns changes, or there is only one."""
    sentences = split_columns(lines)
    rows = [row for sentence in sentences for row in sentence]
    if rows:
        _check_columns(rows, path)
    word, tag = (-1, 0) if _is_tag_first(rows) else (0, -1)
    return [
        WordRecord(
            [columns[word] for _, columns in sentence],
            [columns[tag] for _, columns in sentence],
            [number for number, _ in sentence],
        )
        for sentence in sentences
    ]


def split_columns(lines: Iterable[Line]) -> list[list[Row]]:
    """Split lines into sentences: line numbers with the columns' values."""
    sentences: list[list[Row]] = [[]]
    tabbed = None
    for number, line in lines:
        is_comment = not sentences[-1] and _COMMENT.match(line)
        if not line.strip() or is_comment or DOCSTART in line.split():
            if sentences[-1]:
                sentences.append([])
            continue
        if tabbed is None:
            tabbed = "\t" in line
        if tabbed:
            columns = [value.strip() for value in line.split("\t")]
        else:
            columns = _COLUMN_GAP.split(line.strip(" \t"))
        sentences[-1].append((number, columns))
    return [sentence for sentence in sentences if sentence]


def _is_tag_first(rows: Sequence[Row]) -> bool:
    """Tell whether the first column holds the tags, as in the MIT corpora: all of its
    values look like tags (bare class names do not) and those of the last do not."""

    def all_tags(column: int) -> bool:
        values = {columns[column] for _, columns in rows} - MISSING_FORMS
        return bool(values) and all(is_certain_tag(value) for value in values)

    return all_tags(0) and not all_tags(-1)


def _check_columns(rows: Sequence[Row], path: Path) -> None:
    first_number, first = rows[0]
    if len(first) < 2:
        raise DataError(
            f"only one column ({first[0]!r:.100}): a line needs a word and its tag, "
            "separated by a tab or spaces",
            path=path,
            line=first_number,
        )
    for number, columns in rows:
        if len(columns) != len(first):
            raise DataError(
                f"{len(columns)} column(s) where line {first_number} has {len(first)}: "
                f"{' '.join(columns)!r:.100}. Give every line the same columns, and "
                "put a blank line between sentences",
                path=path,
                line=number,
            )


def parse_jsonl(
    lines: Iterable[Line], path: Path, report: CorpusReport
) -> list[Record]:
    """Read JSON lines, of words with tags or of texts with spans. The report counts
    lines that the annotator did not accept, and keys whose lists are not read.
    RAISES (DataError): If a line is no JSON object, or lacks what it must have."""
    records: list[Record] = []
    for number, line in lines:
        if not line.strip():
            continue
        entry = load_object(line, path, number, form='{"text": ..., ...}')
        if entry.get("answer", "accept") != "accept":
            report.skipped[NOT_ACCEPTED] += 1
            continue
        with located(path, number):
            record, read = _parse_entry(entry, number)
        records.append(record)
        others = entry.keys() - {read, *_OTHER_LISTS}
        lists = (key for key in others if entry[key] and isinstance(entry[key], list))
        report.unread.update(key for key in lists if not key.startswith("_"))
    return records


def _parse_entry(entry: dict[str, Any], number: int) -> tuple[Record, str]:
    """A line's record, and the key of its annotation."""
    text = entry.get("text")
    if isinstance(text, list):
        words, tags = _strings(entry, "text"), _strings(entry, "label")
        if len(words) != len(tags):
            raise ValueError(
                f'{len(words)} words in "text" but {len(tags)} tags in "label": give '
                "one tag per word"
            )
        return WordRecord(words, tags, [number] * len(words)), "label"
    if isinstance(text, str):
        key = "spans"  # an empty list says that there is none, whatever else is there
        if not isinstance(entry.get(key), list):
            key = next((key for key in SPAN_KEYS if _holds_spans(entry, key)), key)
        spans = [parse_span(span, text) for span in entry.get(key) or []]
        return TextRecord(text, spans, number), key
    raise ValueError(
        f'no "text" that is a string or a list of words (keys: {list(entry)!s:.100}): '
        'write {"text": [words], "label": [tags]} or {"text": "...", "spans": [...]}'
    )


def _holds_spans(entry: dict[str, Any], key: str) -> bool:
    value = entry.get(key)
    first = value[0] if isinstance(value, list) and value else value
    if "label" in key and isinstance(first, str):
        return False  # classes of the text
    if value and not isinstance(value, list):
        raise ValueError(f'"{key}" must be a list of spans, not {value!r:.100}')
    return bool(value)


def _strings(entry: dict[str, Any], key: str) -> list[str]:
    values = entry.get(key)
    if not isinstance(values, list):
        raise ValueError(f'"{key}" must be a list of strings, not {values!r:.100}')
    for value in values:
        if not isinstance(value, str):
            raise ValueError(f'"{key}" holds {value!r:.100}, which is not a string')
    return values


def parse_span(span: Any, text: str) -> CharSpan:
    """A span of a text, an object or a list, without blanks at its ends.
    RAISES (ValueError): If it is none, or does not lie in the text."""
    start = end = label = None
    if isinstance(span, list) and len(span) == 3:
        start, end, label = span
    elif isinstance(span, dict):
        start, end = (span.get(k, span.get(f"{k}_offset")) for k in ("start", "end"))
        label = span.get("label")
    # type() and not isinstance(): true and false are no offsets.
    if type(start) is not int or type(end) is not int or not isinstance(label, str):
        raise ValueError(
            f'span {span!r:.100} needs whole numbers "start" and "end" and a "label" '
            "that is a string: write an object of these, or a list"
        )
    if not 0 <= start < end <= len(text):
        raise ValueError(
            f"span {span!r:.100} does not lie in its text of {len(text)} characters: "
            "offsets count characters from 0, the end is exclusive"
        )
    # Blanks around an entity do not belong to it; a span of blanks is none (readers).
    part = text[start:end].rstrip() or text[start:end]
    start, end = start + len(part) - len(part.lstrip() or part), start + len(part)
    return CharSpan(start, end, check_label(label))


def parse_inline(
    lines: Iterable[Line], path: Path, report: CorpusReport
) -> list[TextRecord]:
    """Read one sentence a line with its entities marked [like this](LABEL).
    RAISES (DataError): If a bracket is closed but no label follows."""
    records = []
    for number, line in lines:
        if line.strip():
            with located(path, number):
                records.append(TextRecord(*_strip_markup(line.strip()), number))
    labels = {span.label for record in records for span in record.spans}
    for record in records:
        slips = [x[0] for x in INLINE_SLIP.finditer(record.text) if x[1] in labels]
        report.slips += [f"line {record.number}: {slip:.100}" for slip in slips]
    return records


def _strip_markup(line: str) -> tuple[str, list[CharSpan]]:
    text, position = "", 0
    spans = []
    for match in INLINE_MARKUP.finditer(line):
        text += _unmarked(line[position : match.start()])
        entity, label = match.groups()
        # Blanks inside the brackets belong to the text, not to the entity.
        start = len(text) + len(entity) - len(entity.lstrip())
        end = len(text) + len(entity.rstrip())
        if start >= end:
            raise ValueError(f"nothing is marked in {match.group()!r:.100}")
        spans.append(CharSpan(start, end, check_label(label)))
        text += entity
        position = match.end()
    return text + _unmarked(line[position:]), spans


def _unmarked(text: str) -> str:
    # A slip in the markup would otherwise turn into words of the text.
    if "](" in text:
        raise ValueError(
            f"markup not understood in {text.strip()!r:.100}: write [words](LABEL), the"
            " label in letters, digits, '-' and '_', with no bracket inside a bracket"
        )
    return text
