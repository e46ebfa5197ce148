"""Label words that a backbone brings along."""

import pytest

from spacy_entlm.label_words.choice import match_own, prefer_own

OWN = {"PER": ["john", "mary"], "LOC": ["paris", "china"], "ORG": ["bbc"]}


@pytest.mark.parametrize(
    "label, words",
    [
        ("PER", ["john", "mary"]),
        ("per", ["john", "mary"]),
        ("Person", ["john", "mary"]),
        ("LOCATION", ["paris", "china"]),
        ("organisation", ["bbc"]),
        ("GPE", None),
        ("GENE", None),
    ],
)
def test_classes_are_matched_by_name(label, words):
    assert match_own([label], OWN).get(label) == words


def test_a_class_without_own_words_is_not_known():
    assert match_own(["PER"], {"PER": []}) == {}


def test_own_words_come_before_those_that_were_found():
    found = {"PER": ["de", "colonel"], "GENE": ["brca"], "LOC": ["county"]}
    assert prefer_own(found, OWN) == {
        **{"PER": ["john", "mary"], "GENE": ["brca"]},
        "LOC": ["paris", "china"],
    }
    assert prefer_own(found, {}) == found


def test_a_class_whose_words_stand_for_another_keeps_what_was_found():
    found = {"GPE": ["china", "france"], "LOC": ["river"]}
    assert prefer_own(found, OWN) == found
