"""What is added to the scores of classes in prediction."""

import numpy
import pytest
import spacy
from spacy.tokens import Doc, Span

from spacy_entlm.model.bias import ScoreBias

NLP = spacy.blank("xx")
LABELS = ("PER", "LOC")
KEY = "names"


def make_doc(*names, n_words=4):
    """A Doc with known names: (start, end, label)."""
    doc = Doc(NLP.vocab, words=["a"] * n_words)
    doc.spans[KEY] = [Span(doc, *name) for name in names]
    return doc


def bias_of(*docs, **settings):
    settings = {
        "label_bias": 0.5,
        "lexicon_key": KEY,
        "lexicon_weight": 2.0,
        **settings,
    }
    return ScoreBias(**settings).of_words(docs, LABELS)


def test_without_names_it_is_one_number():
    plain = Doc(NLP.vocab, words=["a"])
    assert ScoreBias().of_words([plain], LABELS) == 0.0
    assert bias_of(plain) == bias_of(make_doc()) == bias_of() == 0.5


@pytest.mark.parametrize("setting", [{"lexicon_key": None}, {"lexicon_weight": 0.0}])
def test_names_may_say_nothing(setting):
    assert bias_of(make_doc((0, 2, "PER")), **setting) == 0.5


def test_each_word_of_a_name_adds_as_often_as_the_name_has_words():
    """In each Doc at its own words."""
    found = bias_of(make_doc((0, 1, "PER"), (2, 4, "LOC")), make_doc((1, 4, "PER")))
    lengths = numpy.zeros((8, 2))
    lengths[0, 0], lengths[2:4, 1], lengths[5:8, 0] = 1, 2, 3
    numpy.testing.assert_allclose(found, 0.5 + 2 * lengths)
    assert found.dtype == "float32"


def test_of_several_names_of_a_class_the_longest_counts():
    one = bias_of(make_doc((0, 3, "PER"), (1, 2, "PER"), (1, 2, "LOC")))
    other = bias_of(make_doc((1, 2, "LOC"), (1, 2, "PER"), (0, 3, "PER")))
    lengths = numpy.array([[3, 0], [3, 1], [3, 0], [0, 0]])
    numpy.testing.assert_allclose(one, 0.5 + 2 * lengths)
    assert (one == other).all()


def test_names_of_other_classes_say_nothing():
    assert bias_of(make_doc((0, 3, "DRUG"))) == 0.5
    found = bias_of(make_doc((0, 3, "DRUG"), (3, 4, "LOC")))
    assert (found[:3] == 0.5).all() and found[3].tolist() == [0.5, 2.5]
