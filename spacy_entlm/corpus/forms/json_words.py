"""JSON objects of words: with tags, which may be numbers, or with spans of words."""

import re
from pathlib import Path
from typing import Any, Iterable, Iterator, Optional, Sequence

import srsly

from ...files.errors import DataError
from ...files.json_lines import read_json
from ..reading_report import CorpusReport
from ..records import Record, WordRecord
from ..tags import MISSING, OUTSIDE, check_label, is_bare_label, is_certain_tag
from .source import Place, Source

WORD_KEYS = ("text", "tokens", "words")
TAG_KEYS = (
    *("label", "ner_tags", "tags", "labels", "ner", "ner_labels", "iob", "bio", "tag"),
)
CARD = "README.md"
# Files beside the data that may say what the numbers of tags mean.
LABEL_FILES = (
    *("label.json", "labels.json", "label2id.json", "id2label.json"),
    *("dataset_info.json", "dataset_infos.json", "label_config.json", "labels.txt"),
)


def words_key(entry: dict[str, Any]) -> Optional[str]:
    """The key of a list of words, not of objects."""
    for key in WORD_KEYS:
        value = entry.get(key)
        if isinstance(value, list) and not any(isinstance(x, dict) for x in value):
            return key
    return None


def tags_key(entry: dict[str, Any]) -> Optional[str]:
    """The key of the tags of words: the first that has a tag of names, or a number,
    for each word, or else the first."""
    keys = [key for key in TAG_KEYS if isinstance(entry.get(key), list)]
    n_words = len(entry.get(words_key(entry) or "", ()))
    fit = [
        key
        for key in keys
        if len(entry[key]) == n_words
        and any(type(x) is int or is_certain_tag(str(x)) for x in entry[key])
    ]
    return next(iter(fit or keys), None)


def parse_words(entry: dict[str, Any], place: Place, source: Source) -> WordRecord:
    """Read an object of words and tags: {"text": [words], "label": [tags]}, Hugging
    Face's and TNER's {"tokens", "ner_tags" or "tags"}; numbers need names.
    RAISES (ValueError): If there is not a tag for each word, or a number has no name.
    """
    word_key = words_key(entry) or "text"
    tag_key = tags_key(entry) or "label"
    words, tags = _strings(entry, word_key), entry.get(tag_key)
    if tag_key not in entry:
        raise ValueError(
            f'words in "{word_key}" and no tags (keys: {list(entry)!s:.100}): give a '
            'tag for each word under "ner_tags", or a "text" with spans of characters'
        )
    # type() and not isinstance(): true is no number.
    if isinstance(tags, list) and tags and all(type(tag) is int for tag in tags):
        tags = _named(tags, tag_key, source)
    else:
        tags = _strings(entry, tag_key)
    if len(words) != len(tags):
        raise ValueError(
            f'{len(words)} words in "{word_key}" but {len(tags)} tags in "{tag_key}": '
            "give one tag per word"
        )
    return WordRecord(words, tags, [place.number] * len(words), place.unit)


def parse_tag_string(
    entry: dict[str, Any], place: Place
) -> Optional[tuple[WordRecord, str]]:
    """A text with a tag for each of its words between blanks, in a string or a list,
    and the key of the tags; None if it has none."""
    for key in TAG_KEYS:
        value = entry.get(key)
        tags = value.split() if isinstance(value, str) else value
        if not isinstance(tags, list) or not all(isinstance(x, str) for x in tags):
            continue
        words = str(entry["text"]).split()
        is_tags = all(is_certain_tag(x) or is_bare_label(x) or x == "-" for x in tags)
        if is_tags and len(tags) == len(words) and any(map(is_certain_tag, tags)):
            lines = [place.number] * len(words)
            return WordRecord(words, tags, lines, place.unit), key
    return None


def spans_to_tags(
    n_words: int, spans: Iterable[tuple[int, int, str]], report: CorpusReport
) -> list[str]:
    """BIO tags of words from spans of words, the end exclusive. Of those that overlap
    the longest is kept.
    RAISES (ValueError): If a span does not lie in the words, or has no class."""
    tags = [OUTSIDE] * n_words
    ordered = sorted(spans, key=lambda span: (span[0] - span[1], span[0]))
    for start, end, label in ordered:
        if not 0 <= start < end <= n_words:
            raise ValueError(
                f"words {start} to {end - 1} ({label}) do not lie in {n_words} words: "
                "words count from 0"
            )
        if any(tag != OUTSIDE for tag in tags[start:end]):
            report.overlapping += 1
            continue
        check_label(label)
        tags[start:end] = [f"B-{label}", *[f"I-{label}"] * (end - start - 1)]
    return tags


def fits_gliner(entry: Any) -> bool:
    """Whether an object is GLiNER's."""
    return isinstance(entry, dict) and {"tokenized_text", "ner"} <= entry.keys()


def parse_gliner(entry: dict[str, Any], place: Place, source: Source) -> list[Record]:
    """Read GLiNER's {"tokenized_text": [words], "ner": [[first, last, label]]}, the
    last word included.
    RAISES (ValueError): If a span is none of these words."""
    words = _strings(entry, "tokenized_text")
    spans = entry.get("ner")
    if not isinstance(spans, list):
        raise ValueError(
            f'"ner" must be a list of [first, last, label], not {spans!r:.60}'
        )
    found = []
    for span in spans:
        if not (
            isinstance(span, list)
            and len(span) == 3
            and type(span[0]) is type(span[1]) is int
            and isinstance(span[2], str)
        ):
            raise ValueError(f"{span!r:.60} is no [first word, last word, label]")
        found.append((span[0], span[1] + 1, span[2]))
    tags = spans_to_tags(len(words), found, source.report)
    return [WordRecord(words, tags, [place.number] * len(words), place.unit)]


def _strings(entry: dict[str, Any], key: str) -> list[str]:
    values = entry.get(key)
    if not isinstance(values, list):
        raise ValueError(f'"{key}" must be a list of strings, not {values!r:.100}')
    for value in values:
        if not isinstance(value, str):
            raise ValueError(f'"{key}" holds {value!r:.100}, which is not a string')
    return values


def _named(tags: Sequence[int], key: str, source: Source) -> list[str]:
    if not source.labels:
        source.labels = read_label_names(source.path.parent, key)
    names = source.labels
    if not names:
        raise ValueError(
            f'"{key}" holds numbers ({list(tags)!s:.40}): say what they mean, eg '
            "--labels O,B-PER,I-PER (of `workbench`: --tags), or put label.json beside "
            "the file"
        )
    for tag in tags:
        # -100 is what Hugging Face leaves out of the loss.
        if tag != -100 and not 0 <= tag < len(names):
            raise ValueError(f'"{key}" holds {tag}, of {len(names)} names (from 0)')
    return [MISSING if tag == -100 else names[tag] for tag in tags]


def read_label_names(folder: Path, key: str = "ner_tags") -> list[str]:
    """Names of tags or classes by number, from a file beside the data: a list, a map of
    names to numbers or of numbers to names, the features of Hugging Face, or doccano's
    classes; [] if there is none.
    RAISES (DataError): If such a file holds something else."""
    for name in LABEL_FILES:
        path = folder / name
        if not path.is_file():
            continue
        if path.suffix == ".txt":
            lines = path.read_text(encoding="utf-8-sig").splitlines()
            return [line.strip() for line in lines if line.strip()]
        found = _names_of(read_json(path), key)
        if found is None:
            raise DataError("names no tags by number: write a list of them", path=path)
        return found
    return _names_of_card(folder / CARD, key)


def _names_of_card(path: Path, key: str) -> list[str]:
    """Names of numbers in the head of a data card, [] if it has none."""
    text = path.read_text(encoding="utf-8-sig") if path.is_file() else ""
    head = re.match(r"---\s*\n(.*?)\n---", text, re.DOTALL)
    try:
        value = srsly.yaml_loads(head[1]) if head else None
    except Exception:  # the parser's own kinds, which are not public
        return []
    features = (x for x in _objects_in(value) if x.get("name") == key)
    found = (_feature_names({key: feature}, key) for feature in features)
    return next(filter(None, found), [])


def _names_of(value: Any, key: str) -> Optional[list[str]]:
    if isinstance(value, list) and all(isinstance(x, str) for x in value):
        return value
    if isinstance(value, list):  # doccano's classes: ids and texts
        pairs = {x.get("id"): x.get("text") for x in value if isinstance(x, dict)}
        return _by_number(pairs)
    if not isinstance(value, dict):
        return None
    if names := _feature_names(value, key):
        return names
    numbers = {v: k for k, v in value.items() if isinstance(v, int | str)}
    return _by_number(value) or _by_number(numbers)


def _by_number(pairs: dict[Any, Any]) -> Optional[list[str]]:
    numbers = {
        int(number): name
        for number, name in pairs.items()
        if re.fullmatch(r"\d{1,6}", str(number)) and isinstance(name, str)
    }
    if not numbers or len(numbers) != len(pairs):
        return None
    return [numbers.get(i, MISSING) for i in range(max(numbers) + 1)]


def _feature_names(value: Any, key: str) -> Optional[list[str]]:
    """The names of a feature in Hugging Face's dataset_info.json, however deep.
    RAISES (ValueError): If the file names the numbers in several ways."""
    found: list[list[str]] = []
    for feature in _values_of(value, key):
        for names in _values_of(feature, "names"):
            listed = list(names.values()) if isinstance(names, dict) else names
            if isinstance(listed, list) and listed not in found:
                found.append(listed)
    if len(found) > 1:
        shown = "; ".join(",".join(map(str, names)) for names in found)
        raise ValueError(
            f"{key!r:.60} has several lists of names beside the file ({shown:.200}): "
            "say which, eg --labels O,B-PER,I-PER (of `workbench`: --tags)"
        )
    return found[0] if found else None


def _values_of(value: Any, key: str) -> Iterator[Any]:
    """What stands under a key, however deep."""
    return (one[key] for one in _objects_in(value) if key in one)


def _objects_in(value: Any) -> Iterator[dict[str, Any]]:
    """Objects in a value, however deep, and itself if it is one."""
    if isinstance(value, dict):
        yield value
    inner = value.values() if isinstance(value, dict) else value
    for one in inner if isinstance(value, dict | list) else []:
        yield from _objects_in(one)
