"""Sentences with entities, made by hand."""

import pytest
import spacy
from spacy.tokens import Doc, Span


@pytest.fixture(scope="session")
def make_doc():
    """Makes a sentence from words and entities (start, end, class)."""
    vocab = spacy.blank("xx").vocab

    def make(words, entities=()):
        doc = Doc(vocab, words=words.split())
        doc.set_ents([Span(doc, *entity) for entity in entities])
        return doc

    return make
