"""The search by data, by LM and by both (paper, Eq. 5-8)."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_entlm.evaluation.label_words.search_report import MAX_LISTED, make_report
from spacy_entlm.label_words.search import (
    OUTSIDE,
    SearchSettings,
    search_label_words,
)
from spacy_entlm.label_words.words import LabelWordError


def counts(**classes):
    return {label: Counter(words) for label, words in classes.items()}


DATA = counts(
    PER={"Ann": 3, "Bob": 2, "May": 5, "Cy": 1},
    LOC={"Rome": 4, "May": 1},
    O={"May": 20, "the": 9},
)
LM = counts(PER={"Bob": 5, "Eve": 9, "Ann": 2, "May": 3}, LOC={"Rome": 1})


def words(data, lm=None, *, get_pieces=None, labels=None, **settings):
    found = search_label_words(
        data, lm, SearchSettings(**settings), get_pieces=get_pieces, labels=labels
    )
    return {label: search.words for label, search in found.items()}


def test_data_ranks_by_occurrences():
    assert words(DATA, method="data") == {"PER": ["Ann", "Bob", "Cy"], "LOC": ["Rome"]}


def test_lm_ranks_by_predictions_of_words_that_the_text_has():
    assert words(DATA, LM, method="lm")["PER"] == ["Bob", "Ann"]


def test_data_lm_ranks_by_the_product_and_is_strict():
    assert words(DATA, LM)["PER"] == ["Bob", "Ann"]


def test_smoothing_lets_a_word_count_as_one_where_it_is_missing():
    data = counts(PER={"Ann": 3, "Cy": 20, "Bob": 2})
    assert words(data, LM, smoothing=True)["PER"] == ["Cy", "Bob", "Ann"]


def test_smoothing_takes_no_word_that_the_text_does_not_hold():
    assert "Eve" not in words(DATA, LM, smoothing=True)["PER"]


def test_ties_keep_the_order_of_the_lm_counts_then_of_the_data():
    data = counts(PER={"Dan": 2, "Ann": 1, "Bob": 2, "Cy": 2})
    lm = counts(PER={"Bob": 1, "Ann": 2})
    assert words(data, lm, smoothing=True)["PER"] == ["Bob", "Ann", "Dan", "Cy"]
    assert words(data, method="data")["PER"] == ["Dan", "Bob", "Cy", "Ann"]


def test_top_k_of_one_gives_discrete_label_words():
    assert words(DATA, method="data", top_k=1) == {"PER": ["Ann"], "LOC": ["Rome"]}


def test_words_of_one_character_and_without_a_letter_are_out():
    data = counts(PER={"J": 9, "42": 9, "--": 9, "Al": 1})
    assert words(data, method="data") == {"PER": ["Al"]}


@pytest.mark.parametrize("threshold, kept", [(0.59, ["Ann"]), (0.6, [])])
def test_conflict_filter_counts_other_classes_and_outside(threshold, kept):
    data = counts(PER={"Ann": 6}, LOC={"Ann": 2}, O={"Ann": 2})
    assert words(data, method="data", threshold=threshold)["PER"] == kept


def test_words_of_one_piece_come_first_and_others_fill_up():
    pieces = {"Ann": ["A", "##nn"], "Bob": ["Bob"], "Cy": ["C", "##y"]}
    search = {"get_pieces": pieces.__getitem__, "method": "data", "labels": ["PER"]}
    assert words(DATA, **search, top_k=1) == {"PER": ["Bob"]}
    assert words(DATA, **search, top_k=2) == {"PER": ["Bob", "Ann"]}
    assert words(DATA, **search) == {"PER": ["Bob", "Ann", "Cy"]}


def test_words_that_the_vocabulary_cannot_say_are_out():
    got = words(DATA, get_pieces=lambda word: [], method="data", labels=["PER"])
    assert got == {"PER": []}


def test_class_without_entities_gets_no_words():
    assert words(DATA, method="data", labels=["ORG"]) == {"ORG": []}


def test_what_was_left_out_is_told_with_its_counts():
    found = search_label_words(DATA, LM, SearchSettings(method="lm"))["PER"]
    (conflict,) = found.conflicts
    assert (conflict.word, conflict.data, conflict.lm) == ("May", 5, 3)
    assert conflict.by_class == {"PER": 5, "LOC": 1, OUTSIDE: 20}
    assert conflict.ratio == pytest.approx(5 / 26)
    assert [word.word for word in found.unseen] == ["Eve"]


def test_only_words_that_would_have_been_chosen_are_told():
    settings = SearchSettings(method="data", top_k=1)
    assert [
        word.word for word in search_label_words(DATA, None, settings)["PER"].conflicts
    ] == ["May"]
    data = counts(PER={"Ann": 9, "May": 5}, O={"May": 20})
    assert not search_label_words(data, None, settings)["PER"].conflicts


@pytest.mark.parametrize(
    "settings, message",
    [
        ({"method": "both"}, "method is one of data, lm, data-lm, not 'both'"),
        ({"top_k": 0}, "top_k must be at least 1, not 0"),
        ({"threshold": 1.0}, "threshold is a share"),
        ({"threshold": -0.1}, "threshold is a share"),
        ({"method": "data", "smoothing": True}, "smoothing belongs to"),
    ],
)
def test_settings_that_cannot_be_are_refused(settings, message):
    with pytest.raises(LabelWordError, match=message):
        SearchSettings(**settings)


def test_lm_method_without_lm_counts_is_refused():
    with pytest.raises(LabelWordError, match="needs LM counts"):
        search_label_words(DATA)


def report(data=DATA, lm=LM, **settings):
    settings = SearchSettings(**settings)
    found = search_label_words(data, lm, settings)
    return make_report(found, settings, data, lm)


def test_report_holds_the_counts_behind_each_word():
    entry = report()["PER"]
    assert entry["entity_words"] == 11
    assert entry["lm_predictions"] == 19
    assert entry["words"][0] == {
        "word": "Bob",
        "score": 10,
        "data": 2,
        "lm": 5,
        "ratio": 1.0,
        "by_class": {"PER": 2},
    }
    assert entry["conflicts"][0]["why"] == (
        "5 of 26 are PER, not more than 0.6: 1 LOC, 20 O"
    )


def test_report_lists_some_and_counts_all_that_were_left_out():
    both = {f"word{i}" + "x" * i: 1 for i in range(MAX_LISTED + 5)}
    entry = report(counts(PER=both, O=both), method="data")["PER"]
    assert entry["n_conflicts"] == MAX_LISTED + 5
    assert len(entry["conflicts"]) == MAX_LISTED


@pytest.mark.parametrize(
    "data, lm, settings, advice",
    [
        (counts(O={"a": 1}), LM, {}, "no entity of it in the annotated text"),
        (DATA, counts(), {}, "the LM predicts no word for it"),
        (DATA, LM, {}, "in both counts: 3 (try --smoothing)"),
        (DATA, LM, {}, "stand elsewhere: 1 (try a --threshold below 0.6)"),
        (DATA, LM, {"method": "lm"}, "try --method data"),
        (DATA, LM, {"method": "data"}, "annotate more text"),
    ],
)
def test_class_with_too_few_words_is_told_what_helps(data, lm, settings, advice):
    settings = SearchSettings(**settings)
    found = search_label_words(data, lm, settings, labels=["PER"])
    assert advice in make_report(found, settings, data, lm)["PER"]["advice"]


def test_class_with_all_its_words_needs_no_advice():
    assert report(top_k=2)["PER"]["advice"] == ""


WORD_COUNTS = st.dictionaries(
    st.sampled_from(["Ann", "Bob", "May", "Rome", "x", "--"]), st.integers(1, 9)
).map(Counter)
ALL_COUNTS = st.fixed_dictionaries({"PER": WORD_COUNTS, "LOC": WORD_COUNTS})


@given(ALL_COUNTS, ALL_COUNTS, st.integers(1, 4), st.floats(0.5, 0.99), st.booleans())
def test_chosen_words_pass_the_filter_best_first(data, lm, top_k, threshold, smoothing):
    settings = SearchSettings("data-lm", top_k, threshold, smoothing)
    found = search_label_words({**data, OUTSIDE: Counter(May=3)}, lm, settings)
    for label, search in found.items():
        scores = [word.score for word in search.chosen]
        assert scores == sorted(scores, reverse=True)
        assert len(scores) <= top_k
        assert all(word.ratio > threshold for word in search.chosen)
        assert all(word.data == data[label][word.word] for word in search.chosen)
    # Above one half no word passes for two classes.
    chosen = [word for search in found.values() for word in search.words]
    assert len(chosen) == len(set(chosen))


@given(ALL_COUNTS, ALL_COUNTS)
def test_strict_words_are_in_both_counts(data, lm):
    for label, search in search_label_words(data, lm).items():
        assert all(data[label][word] and lm[label][word] for word in search.words)
