"""The label words that the paper's authors published, from their own counts.

`published.json` has the counts of the words that score highest; where the whole counts
lie beside the repository, it is compared with them.
"""

import json
from collections import Counter
from pathlib import Path

import pytest
import spacy

from spacy_entlm.corpus.readers import read_docs
from spacy_entlm.label_words.search import (
    SearchSettings,
    count_docs,
    search_label_words,
)
from spacy_entlm.label_words.words import read_label_words

CONLL = Path(__file__).resolve().parents[2].parent / "shared" / "data" / "conll03"
PUBLISHED = Path(__file__).with_name("published.json")
STRICT = {
    "PER": "Michael John David Thomas Martin Paul",
    "ORG": "Corp Inc Commission Union Bank Party",
    "LOC": "England Germany Australia France Russia Italy",
    "MISC": "Palestinians Russian Chinese Russians English Olympic",
}


def to_counts(read):
    return {label: Counter(words) for label, words in read.items()}


@pytest.fixture(scope="module")
def published(tmp_path_factory):
    """The authors' label words and counts."""
    parts = json.loads(PUBLISHED.read_text(encoding="utf8"))
    path = tmp_path_factory.mktemp("published") / "label_words.json"
    path.write_text(json.dumps(parts["label_words"]), encoding="utf8")
    counts = [to_counts(parts[name]) for name in ("data", "lm")]
    return read_label_words(path), *counts


def words(data, lm, **settings):
    found = search_label_words(data, lm, SearchSettings(**settings))
    return {label: search.words for label, search in found.items()}


def test_with_smoothing_they_are_those_of_the_authors_file(published):
    label_words, data, lm = published
    assert words(data, lm, smoothing=True) == label_words


def test_without_smoothing_they_are_those_of_the_paper(published):
    _, data, lm = published
    expected = {label: line.split() for label, line in STRICT.items()}
    assert words(data, lm) == expected


@pytest.mark.skipif(not CONLL.is_dir(), reason="no shared data")
@pytest.mark.parametrize("smoothing", [True, False])
def test_whole_counts_give_the_same(published, smoothing):
    label_words, data, lm = published
    docs, _ = read_docs(CONLL / "distant.txt", spacy.blank("en"))
    published_lm = json.loads((CONLL / "label_frac.json").read_text(encoding="utf8"))
    whole, whole_lm = count_docs(docs), to_counts(published_lm)
    assert read_label_words(CONLL / "label_words.json") == label_words
    found = words(whole, whole_lm, smoothing=smoothing)
    assert found == words(data, lm, smoothing=smoothing)
    for part, every in ((data, whole), (lm, whole_lm)):
        for label, counter in part.items():
            assert all(every[label][word] == n for word, n in counter.items())


def test_defaults_are_those_of_the_paper():
    assert SearchSettings() == SearchSettings("data-lm", 6, 0.6, False)
