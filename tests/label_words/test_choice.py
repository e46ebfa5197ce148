"""Which words stand for a class: given ones, the backbone's own, or searched ones."""

import logging

import pytest

from spacy_entlm.label_words.choice import choose_label_words, match_class_names

OWN = {"PER": ["john", "mary"], "LOC": ["paris", "china"], "ORG": ["bbc"]}


@pytest.fixture
def search():
    """A search that finds these words, and notes which classes it was asked for."""

    def searched(labels):
        searched.asked.append(labels)
        return {label: searched.words[label] for label in labels if searched.words}

    searched.asked = []
    searched.words = {"PER": ["colonel"], "LOC": ["county"], "GENE": ["brca"]}
    return searched


def never(labels):
    raise AssertionError(f"There is nothing to search for {labels}")


@pytest.mark.parametrize(
    "label, words",
    [
        ("PER", ["john", "mary"]),
        ("per", ["john", "mary"]),
        ("Person", ["john", "mary"]),
        ("people", ["john", "mary"]),
        ("LOCATION", ["paris", "china"]),
        ("place", ["paris", "china"]),
        ("organisation", ["bbc"]),
        ("Organization", ["bbc"]),
        ("GPE", None),
        ("GENE", None),
    ],
)
def test_classes_are_matched_by_name(label, words):
    assert match_class_names([label], OWN).get(label) == words


def test_a_class_without_own_words_is_not_known():
    assert match_class_names(["PER"], {"PER": []}) == {}


def test_words_that_are_given_are_taken():
    """The first row of the table: even where the backbone has words of its own."""
    wanted = {"PER": ["Ann"], "GENE": ["gene"]}
    assert choose_label_words(wanted, OWN, never) == wanted


def test_the_backbones_own_words_come_before_searched_ones(search):
    """The second row, with the third for a class that the backbone does not know."""
    wanted = {"Person": [], "GENE": [], "LOC": []}
    assert choose_label_words(wanted, OWN, search) == {
        "Person": ["john", "mary"],
        "GENE": ["brca"],
        "LOC": ["paris", "china"],
    }
    assert search.asked == [["GENE"]]


def test_nothing_is_searched_that_is_not_needed():
    chosen = choose_label_words({"PER": [], "LOC": ["river"]}, OWN, never)
    assert chosen == {"PER": ["john", "mary"], "LOC": ["river"]}


def test_words_are_searched_where_the_backbone_has_none(search):
    """The last row."""
    wanted = {"LOC": [], "PER": []}
    assert choose_label_words(wanted, {}, search) == {
        "LOC": ["county"],
        "PER": ["colonel"],
    }
    assert search.asked == [["LOC", "PER"]]


def test_a_class_one_of_whose_own_words_is_given_to_another_is_searched(search):
    wanted = {"GPE": ["china", "france"], "LOC": [], "PER": []}
    assert choose_label_words(wanted, OWN, search) == {
        "GPE": ["china", "france"],
        "LOC": ["county"],
        "PER": ["john", "mary"],
    }
    assert search.asked == [["LOC"]]


def test_a_class_one_of_whose_own_words_is_found_for_another_is_searched(search):
    search.words["GPE"] = ["china", "france"]
    assert choose_label_words({"LOC": [], "GPE": []}, OWN, search) == {
        "LOC": ["county"],
        "GPE": ["china", "france"],
    }
    assert search.asked == [["GPE"], ["LOC"]]


def test_classes_keep_their_order_and_may_be_left_without_words(search):
    search.words.clear()
    chosen = choose_label_words({"GENE": [], "PER": [], "ORG": ["Acme"]}, OWN, search)
    assert list(chosen.items()) == [
        ("GENE", []),
        ("PER", ["john", "mary"]),
        ("ORG", ["Acme"]),
    ]


def test_what_was_chosen_is_told(search, caplog):
    caplog.set_level(logging.INFO, logger="spacy.entlm")
    choose_label_words({"PER": [], "GENE": []}, OWN, search)
    found, own = (record.message for record in caplog.records)
    assert "found" in found and "brca" in found and "john" not in found
    assert "of the backbone" in own and "john" in own and "brca" not in own
    caplog.clear()
    choose_label_words({"PER": ["Ann"]}, OWN, search)
    assert not caplog.records


def test_what_is_given_is_not_changed():
    wanted = {"PER": [], "GENE": ["gene"]}
    chosen = choose_label_words(wanted, OWN, never)
    chosen["PER"].append("more")
    chosen["GENE"].append("more")
    assert wanted == {"PER": [], "GENE": ["gene"]}
    assert OWN["PER"] == ["john", "mary"]
