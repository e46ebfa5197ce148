"""Counts of words per class: of Docs, and by the form that a backbone reads."""

from collections import Counter

import spacy
from spacy.tokens import Doc, Span

from spacy_entlm.label_words.search import count_docs, fold_counts


def test_words_of_docs_are_counted_per_class():
    nlp = spacy.blank("en")
    doc = nlp("Ann met  Bob in Rome .")
    entities = [Span(doc, 0, 1, "PER"), Span(doc, 3, 4, "PER")]
    doc.set_ents(entities, missing=[doc[5:6]])
    assert count_docs([doc]) == {
        "PER": {"Ann": 1, "Bob": 1},
        "O": {"met": 1, "in": 1, ".": 1},
    }


def test_docs_that_are_not_annotated_do_not_count():
    assert count_docs([Doc(spacy.blank("en").vocab, words=["Ann"])]) == {}


def test_words_of_one_form_are_added_up():
    counts = {"PER": Counter({"Ann": 1, "ANN": 2, "\u200b": 1})}
    folded = fold_counts(counts, lambda word: word.strip("\u200b").lower())
    assert folded == {"PER": {"ann": 3}}
