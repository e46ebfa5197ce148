"""What annotated examples say about classes and their words."""

import logging
import re

import pytest
from spacy.tokens import Doc, Span
from spacy.training import Example
from spacy.vocab import Vocab

import spacy_entlm
from spacy_entlm.label_words.search_examples import search_in_examples
from spacy_entlm.label_words.words import LabelWordError
from spacy_entlm.pipeline.examples import warn_of_unknown_labels

VOCAB = Vocab()


def annotated(text):
    """From text such as John/PER lives/O."""
    words, tags = zip(*(pair.rsplit("/", 1) for pair in text.split()))
    ents = [tag if tag == "O" else f"B-{tag}" for tag in tags]
    return Doc(VOCAB, words=words, ents=ents)


def search(text, labels, several=(), others=()):
    def pieces(word):
        return [word, "##s"] if word in several else [word]

    return search_in_examples([annotated(text)], labels, str, pieces, others)


def test_words_of_one_piece_are_preferred():
    text = "Zyx/PER Zyx/PER John/PER"
    assert search(text, ["PER"], several=["Zyx"]) == {"PER": ["John"]}
    # Where there is none, the others still say more than nothing.
    assert search(text, ["PER"], several=["Zyx", "John"]) == {"PER": ["Zyx", "John"]}


def test_ambiguous_words_are_taken_where_no_other_is_left():
    text = "May/PER May/O May/O John/LOC"
    assert search(text, ["PER", "LOC"]) == {"PER": ["May"], "LOC": ["John"]}


def test_numbers_and_frequent_words_are_taken_where_a_class_has_no_other():
    text = "give/O it/O 5/NR or/O 10/NR before/REL 3/NR 5/NR"
    assert search(text, ["NR", "REL"]) == {"NR": ["5", "10", "3"], "REL": ["before"]}
    # Those of several pieces come last.
    assert search("10/X 99/X", ["X"], several=["10"]) == {"X": ["99"]}
    assert search("10/X", ["X"], several=["10"]) == {"X": ["10"]}


def test_what_two_classes_are_called_says_nothing():
    text = "Ritz/restaurant_type Ann/restaurant_name"
    found = search(text, ["restaurant_type"], others=["restaurant_name"])
    assert found == {"restaurant_type": ["Ritz"]}


def test_class_without_a_word_is_named():
    with pytest.raises(LabelWordError, match="no label word for 'ORG'"):
        search("John/PER", ["PER", "ORG"])


@pytest.mark.parametrize(
    "given, known, text",
    [
        (["INGREDIENTS", "TOOL"], [], "class INGREDIENTS, .*: is INGREDIENT meant"),
        (["tool"], [], "class tool, .*: is TOOL meant"),
        (["XYZ"], [], "class XYZ, for which there are label words$"),
        (["INGREDIENT", "TOOL"], [], None),
        (["INGREDIENTS"], ["INGREDIENTS"], None),
    ],
)
def test_label_words_of_a_class_without_examples_are_told(given, known, text, caplog):
    with caplog.at_level(logging.WARNING, "spacy.entlm"):
        warn_of_unknown_labels("entlm_ner", given, ["INGREDIENT", "TOOL"], known)
    if text is None:
        assert not caplog.messages
    else:
        (message,) = caplog.messages
        assert re.search(text, message)


def test_classes_of_another_vocabulary_are_named(trained):
    """Examples of Docs that were read with another pipeline."""
    gold = Doc(Vocab(), words=["Anna", "lives", "in", "Berlin", "."])
    gold.set_ents([Span(gold, 0, 1, "PER"), Span(gold, 3, 4, "FAR")])
    example = Example(Doc(trained.vocab, words=[t.text for t in gold]), gold)
    with pytest.raises(ValueError, match="has the label 'FAR', which is none"):
        trained.update([example])
    other = Doc(Vocab(), words=["Anna", "lives", "in", "Berlin", "."])
    other.set_ents([Span(other, 0, 1, "FURTHER")])
    assert spacy_entlm.calibrate(trained, [other])
