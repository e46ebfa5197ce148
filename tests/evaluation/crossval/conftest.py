"""Sentences with entities, made by hand."""

import pytest
import spacy
from spacy.tokens import Doc


@pytest.fixture(scope="session")
def make_doc():
    """Makes a sentence from words and entities (start, end, class)."""
    vocab = spacy.blank("xx").vocab

    def make(words, entities=(), missing=()):
        doc = Doc(vocab, words=words.split())
        ents = [doc[start:end] for start, end, _ in entities]
        for span, (_, _, label) in zip(ents, entities):
            span.label_ = label
        doc.set_ents(ents, missing=[doc[i : i + 1] for i in missing])
        return doc

    return make
