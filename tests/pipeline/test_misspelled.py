"""Label words for a class that no example has."""

import logging

import pytest


@pytest.mark.parametrize(
    "label, is_told", [("PERS", True), ("PER", False), ("I-PER", False)]
)
def test_a_misspelled_class_of_label_words_is_told_when_a_training_begins(
    blank_nlp, bert, make_examples, caplog, label, is_told
):
    nlp = blank_nlp(bert)
    words = {"label_words": {label: ["John"]}}
    nlp.config["initialize"]["components"]["entlm_ner"] = words
    with caplog.at_level(logging.WARNING, "spacy.entlm"):
        nlp.initialize(lambda: make_examples(nlp))
    told = [line for line in caplog.messages if "is PER meant?" in line]
    assert len(told) == is_told


def test_classes_with_the_same_label_words_are_told(
    blank_nlp, bert, make_examples, caplog
):
    nlp = blank_nlp(bert)
    words = {"PER": ["John", "Mary"], "LOC": ["Mary", "John"], "ORG": ["Corp"]}
    nlp.config["initialize"]["components"]["entlm_ner"] = {"label_words": words}
    with caplog.at_level(logging.WARNING, "spacy.entlm"):
        nlp.initialize(lambda: make_examples(nlp))
    (told,) = (line for line in caplog.messages if "alike" in line)
    assert "PER, LOC start alike (John, Mary): give each a word" in told
