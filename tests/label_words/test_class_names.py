"""The words of a class's own name."""

import pytest

from spacy_entlm.label_words.class_names import words_of_names

VOCABULARY = {
    *("political", "party", "politician", "chemical", "compound", "sport", "sports"),
    *("team", "steam", "gene", "musical", "artist", "name", "person", "per", "form"),
}


def get_pieces(word):
    return [word] if word in VOCABULARY else ["some", "##thing"]


@pytest.mark.parametrize(
    "label, words",
    [
        ("politician", ["politician"]),
        ("PERSON", ["person"]),
        ("political_party", ["political", "party"]),
        ("political-party2", ["political", "party"]),
        ("PoliticalParty", ["political", "party"]),
        ("POLITICALParty", ["political", "party"]),
        ("politicalparty", ["political", "party"]),
        ("chemicalcompound", ["chemical", "compound"]),
        # The fewest words, and of these the longest first.
        ("sportsteam", ["sports", "team"]),
        ("gene gene", ["gene"]),
        # What is missing in the vocabulary is left out.
        ("musical_zither", ["musical"]),
        # An abbreviation is no word, even where it is spelled like one.
        ("PER", None),
        ("perform", None),
        ("zither", None),
        ("NAME", None),
        ("musical_name", ["musical"]),
        ("B2", None),
        ("", None),
    ],
)
def test_words_of_a_name(label, words):
    assert words_of_names([label], get_pieces).get(label) == words


def test_a_word_of_two_names_says_nothing():
    labels = ["sports team", "political team", "team"]
    assert words_of_names(labels, get_pieces) == {
        "sports team": ["sports"],
        "political team": ["political"],
    }


def test_a_long_name_is_taken_apart_quickly():
    assert words_of_names(["party" * 40], get_pieces) == {"party" * 40: ["party"]}
    assert words_of_names(["x" * 2000], get_pieces) == {}
