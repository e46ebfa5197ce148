"""Copies of Docs without annotation."""

import spacy
from spacy.tokens import Doc, Span

from spacy_entlm.corpus.docs import unannotated


def test_a_copy_has_the_words_and_nothing_else():
    nlp = spacy.blank("en")
    doc = Doc(nlp.vocab, words=["Dr", ".", "Who"], spaces=[False, True, False])
    doc.set_ents([Span(doc, 2, 3, "PER")])
    copy = unannotated(doc)
    assert (copy.text, copy.ents, copy.vocab) == ("Dr. Who", (), doc.vocab)
    assert not copy.has_annotation("ENT_IOB")
    assert doc.ents
    other = spacy.blank("de").vocab
    assert unannotated(doc, other).vocab is other
