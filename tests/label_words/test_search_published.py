"""The label words that the paper's authors published, from their own counts."""

from pathlib import Path

import pytest
import spacy

from spacy_entlm.corpus.readers import read_docs
from spacy_entlm.label_words.counts import count_docs, read_counts
from spacy_entlm.label_words.search import SearchSettings, search_label_words
from spacy_entlm.label_words.words import read_label_words

CONLL = Path(__file__).resolve().parents[2].parent / "shared" / "data" / "conll03"
pytestmark = pytest.mark.skipif(not CONLL.is_dir(), reason="no shared data")

STRICT = {
    "PER": "Michael John David Thomas Martin Paul",
    "ORG": "Corp Inc Commission Union Bank Party",
    "LOC": "England Germany Australia France Russia Italy",
    "MISC": "Palestinians Russian Chinese Russians English Olympic",
}


@pytest.fixture(scope="module")
def data():
    return count_docs(read_docs(CONLL / "distant.txt", spacy.blank("en"))[0])


@pytest.fixture(scope="module")
def lm():
    return read_counts(CONLL / "label_frac.json")


def words(data, lm, **settings):
    found = search_label_words(data, lm, SearchSettings(**settings))
    return {label: search.words for label, search in found.items()}


def test_with_smoothing_they_are_those_of_the_authors_file(data, lm):
    published = read_label_words(CONLL / "label_words.json")
    assert words(data, lm, smoothing=True) == published


def test_without_smoothing_they_are_those_of_the_paper(data, lm):
    expected = {label: line.split() for label, line in STRICT.items()}
    assert words(data, lm) == expected


def test_defaults_are_those_of_the_paper():
    assert SearchSettings() == SearchSettings("data-lm", 6, 0.6, False)
