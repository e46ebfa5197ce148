"""Which of the classes that a backbone learned is meant by a class of the user."""

from types import SimpleNamespace

import numpy
import pytest
import torch

from spacy_entlm.label_words.learned import recognise_classes
from spacy_entlm.label_words.rows import Rows

# Each word's feature says which row wins at it.
WORDS = {"city": ["city"], "river": ["river", "sea"], "disease": ["disease"]}
ROWS = Rows(5 * torch.eye(3), torch.zeros(3))
CITY, RIVER, DISEASE = torch.eye(3)
NOTHING = torch.zeros(3)
# The vocabulary: rows of words that mean much the same are alike.
MEANING = torch.eye(4)
VOCABULARY = {
    **{"city": MEANING[0], "river": MEANING[1], "disease": MEANING[2]},
    **{"illness": MEANING[2] + 0.3 * MEANING[3], "other": MEANING[3]},
}


@pytest.fixture
def recognise():
    """Recognises classes by the features and classes of words."""

    def of(features, classes, labels, same_name=(), same_end=()):
        def read_words(docs, *, wanted, whole):
            assert whole
            index = numpy.flatnonzero(wanted)
            rows = torch.stack(features)[torch.from_numpy(index)]
            return SimpleNamespace(features=rows, first_words=index)

        words = list(VOCABULARY)
        reader = SimpleNamespace(
            read_words=read_words,
            vocabulary=Rows(torch.stack([*VOCABULARY.values()]), None),
            word_ids=lambda word: [words.index(word)] if word in words else [],
        )
        return recognise_classes(
            reader,
            [],
            numpy.array(classes),
            labels,
            learned_words=WORDS,
            learned_rows=ROWS,
            same_name=dict(same_name),
            same_end=dict(same_end),
        )

    return of


def test_a_class_is_the_one_whose_row_wins_at_its_entities(recognise):
    found = recognise([RIVER, NOTHING, CITY, RIVER], [1, -1, 0, 1], ["K0", "K1"])
    assert found == {"K0": ["city"], "K1": ["river", "sea"]}


def test_two_classes_are_never_the_same_one(recognise):
    """The one at whose entities it wins more often has it."""
    features = [CITY, CITY, CITY, DISEASE, DISEASE]
    found = recognise(features, [0, 0, 1, 1, 2], ["K0", "K1", "K2"])
    assert found == {"K0": ["city"], "K2": ["disease"]}


def test_a_class_that_is_like_none_has_none(recognise):
    found = recognise([NOTHING, NOTHING], [0, 1], ["K0", "K1"])
    assert found == {}


def test_what_wins_everywhere_tells_nothing(recognise):
    assert recognise([CITY, CITY, DISEASE, DISEASE], [0, 1, 0, 1], ["K0", "K1"]) == {}


def test_the_only_class_is_told_by_its_own_entities(recognise):
    assert recognise([DISEASE, NOTHING], [0, -1], ["K0"]) == {"K0": ["disease"]}


def test_entities_of_other_classes_are_what_a_class_is_told_from(recognise):
    """Those of a class whose words are given: it takes part, and gets nothing."""
    assert recognise([CITY, CITY], [0, 1], ["K0"]) == {}
    assert recognise([CITY, RIVER], [0, 1], ["K0"]) == {"K0": ["city"]}


def test_a_name_decides_between_classes_that_are_alike(recognise):
    features = [CITY, CITY + 0.1 * RIVER, DISEASE]
    found = recognise(features, [0, 1, 2], ["K0", "city", "K2"], {"city": ["city"]})
    assert found == {"city": ["city"], "K2": ["disease"]}


def test_a_class_keeps_its_name_where_another_wins_at_its_entities(recognise):
    """An actor is a person, and yet not what PER learned."""
    found = recognise(
        [CITY, DISEASE], [0, 1], ["river", "K1"], {"river": WORDS["river"]}
    )
    assert found == {"river": ["river", "sea"], "K1": ["disease"]}


def test_a_name_is_enough_without_an_entity(recognise):
    found = recognise([CITY], [1], ["disease", "K1"], {"disease": ["disease"]})
    assert found == {"disease": ["disease"], "K1": ["city"]}


def test_a_name_stays_with_its_class_where_examples_of_another_are_like_it(recognise):
    """DNA is named after the protein that it makes, and protein keeps its row."""
    found = recognise([CITY, RIVER], [0, 1], ["DNA", "city"], {"city": ["city"]})
    assert found == {"city": ["city"]}


def test_two_classes_of_one_name(recognise):
    """Persons and people are PER: the first one is."""
    same = {"city": ["city"], "town": ["city"]}
    assert recognise([CITY, CITY], [0, 1], ["city", "town"], same) == {"city": ["city"]}


def test_the_end_of_a_name_decides_where_the_examples_do_not(recognise):
    """Against a class that wins far more often it does not count."""
    ends = {"capital_city": ["city"]}
    found = recognise([CITY, CITY], [0, 1], ["capital_city", "K1"], same_end=ends)
    assert found == {"capital_city": ["city"]}
    found = recognise([DISEASE, RIVER], [0, 1], ["capital_city", "K1"], same_end=ends)
    assert found == {"capital_city": ["disease"], "K1": ["river", "sea"]}


def test_a_name_that_means_the_same_is_taken_where_the_examples_say_nothing(recognise):
    labels = ["chronic_illness", "other"]
    assert recognise([NOTHING, NOTHING], [0, 1], labels) == {labels[0]: ["disease"]}
    assert recognise([CITY, CITY], [0, -1], labels[:1]) == {labels[0]: ["city"]}


def test_a_name_that_ends_alike_takes_no_class_with_the_name_of_another(recognise):
    found = recognise(
        [RIVER, NOTHING],
        [0, 1],
        ["capital_city", "river"],
        {"river": WORDS["river"]},
        {"capital_city": ["city"]},
    )
    assert found == {"river": ["river", "sea"], "capital_city": ["city"]}
