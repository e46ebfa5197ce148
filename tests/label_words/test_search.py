"""The search for label words in annotated sentences (paper, Eq. 5 and 8)."""

import pytest

from spacy_entlm.label_words.search import (
    count_words,
    passes_conflict_filter,
    search_data,
)
from spacy_entlm.label_words.words import LabelWordError


def tagged(text):
    """Pairs of a word and its class, from text such as John/PER lives/O."""
    return [tuple(pair.rsplit("/", 1)) for pair in text.split()]


def count(*sentences):
    return count_words([tagged(sentence) for sentence in sentences])


def test_words_are_counted_per_class():
    counts = count("John/PER met/O John/PER", "met/O John/LOC")
    assert counts["PER"] == {"John": 2}
    assert counts["LOC"] == {"John": 1}
    assert counts["O"] == {"met": 2}


@pytest.mark.parametrize(
    "n_inside, n_other, passes", [(7, 3, True), (6, 4, False), (5, 5, False)]
)
def test_conflict_filter_wants_more_than_the_threshold(n_inside, n_other, passes):
    counts = count(*["May/PER"] * n_inside, *["May/O"] * n_other)
    assert passes_conflict_filter("May", "PER", counts) == passes


def test_conflict_filter_counts_other_classes_too():
    counts = count(*["Washington/PER"] * 6, *["Washington/LOC"] * 4)
    assert not passes_conflict_filter("Washington", "PER", counts)


def test_word_that_was_never_seen_does_not_pass():
    assert not passes_conflict_filter("Ann", "PER", count("John/PER"))


def test_most_frequent_words_come_first_and_ties_keep_their_order():
    counts = count("Bo/PER Al/PER Cy/PER Al/PER")
    assert search_data(counts) == {"PER": ["Al", "Bo", "Cy"]}


def test_no_class_gets_more_than_top_k():
    counts = count("Bo/PER Al/PER Cy/PER")
    assert search_data(counts, top_k=2) == {"PER": ["Bo", "Al"]}


def test_words_of_one_character_and_without_a_letter_are_out():
    counts = count("J/PER 42/PER --/PER Al/PER")
    assert search_data(counts) == {"PER": ["Al"]}


def test_words_outside_entities_are_no_class():
    assert search_data(count("John/PER lives/O")) == {"PER": ["John"]}


def test_words_of_one_piece_are_preferred():
    counts = count("Zyx/PER Zyx/PER John/PER")
    assert search_data(counts, is_usable=lambda word: word == "John") == {
        "PER": ["John"]
    }
    # Where there is none, the others still say more than nothing.
    assert search_data(counts, is_usable=lambda word: False) == {"PER": ["Zyx", "John"]}


def test_ambiguous_words_are_taken_where_no_other_is_left():
    counts = count("May/PER May/O May/O")
    assert search_data(counts) == {"PER": ["May"]}


def test_class_without_a_word_is_named():
    with pytest.raises(LabelWordError, match="no label word for 'LOC'"):
        search_data(count("John/PER J/LOC"))
    with pytest.raises(LabelWordError, match="no label word for 'ORG'"):
        search_data(count("John/PER"), labels=["PER", "ORG"])
