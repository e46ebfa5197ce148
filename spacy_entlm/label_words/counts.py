"""Counts of words per class: of Docs, their sums, and their files."""

from collections import Counter
from pathlib import Path
from typing import Callable, Collection, Dict, Iterable, Iterator, Tuple, Union

from pydantic import NonNegativeInt, TypeAdapter, ValidationError
from spacy.tokens import Doc

from ..files.errors import DataError
from ..files.json_lines import dump_json, read_json
from .search import OUTSIDE, Counts, count_words

TAG_PREFIXES = ("B-", "I-")
VALUE_SHOWN = 40
_FORM = TypeAdapter(Dict[str, Dict[str, NonNegativeInt]])


def count_docs(docs: Iterable[Doc]) -> Counts:
    """Count how often each word of annotated Docs stands inside each class.

    docs (Iterable[Doc]): Annotated. Words whose annotation is missing do not count.
    RETURNS (Dict[str, Counter]): Per class, "O" among them, word -> count.
    """

    def tagged(doc: Doc) -> Iterator[Tuple[str, str]]:
        for token in doc:
            if token.ent_iob and not token.is_space:
                yield token.text, token.ent_type_ or OUTSIDE

    return dict(count_words(tagged(doc) for doc in docs))


def merge_counts(parts: Iterable[Counts]) -> Counts:
    """Add counts up, for instance those of the shards of a corpus, in order of first
    appearance."""
    total: Counts = {}
    for counts in parts:
        for label, counter in counts.items():
            total.setdefault(label, Counter()).update(counter)
    return total


def fold_counts(counts: Counts, fold: Callable[[str], str]) -> Counts:
    """Count words by the form in which a backbone reads them.

    fold (Callable[[str], str]): Gives that form; empty: the word is left out.
    RETURNS (Dict[str, Counter]): Words of one form are added up.
    """
    folded: Counts = {}
    for label, counter in counts.items():
        folded[label] = Counter()
        for word, count in counter.items():
            form = fold(word)
            if form:
                folded[label][form] += count
    return folded


def strip_tags(counts: Counts, labels: Collection[str]) -> Counts:
    """Take the prefixes of tags off the keys ("I-PER"), if every key has one.

    labels (Collection[str]): Classes that are known. A key that is one of them is
        no tag, though it may look like one ("B-CELL").
    """
    tagged = all(key.startswith(TAG_PREFIXES) for key in counts)
    if not tagged or any(key in labels for key in counts):
        return counts
    return merge_counts({key[2:]: counter} for key, counter in counts.items())


def read_counts(path: Union[str, Path]) -> Counts:
    """Read counts of words per class from a JSON file.

    RETURNS (Dict[str, Counter]): Word -> count per class.
    RAISES (DataError): If the file is missing, no JSON, or holds something else.
    """
    path = Path(path)
    try:
        counts = _FORM.validate_python(read_json(path), strict=True)
    except ValidationError as err:
        first = err.errors()[0]
        place = ", ".join(repr(key) for key in first["loc"]) or "the file"
        raise DataError(
            f'holds no counts of the form {{"PER": {{"word": 3}}}}: {place} is '
            f"{str(first['input'])[:VALUE_SHOWN]!r}",
            path=path,
        ) from err
    unnamed = [words for label, words in counts.items() if not label.strip()]
    if any(unnamed):
        raise DataError("a label is empty, but has words", path=path)
    return {label: Counter(words) for label, words in counts.items() if label.strip()}


def write_counts(counts: Counts, path: Path) -> None:
    """Write counts of words per class as JSON."""
    path.write_bytes(dump_json(counts))
