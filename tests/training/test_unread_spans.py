"""Marks that lie where training does not look are told."""

import logging

import pytest
import spacy
from spacy.tokens import Span
from spacy.training import Example

from spacy_entlm.training.examples import to_examples

NLP = spacy.blank("en")


def make_doc(**attrs):
    doc = NLP.make_doc("Mira Holt left")
    doc.set_ents([])
    doc.spans["sc"] = [Span(doc, 0, 2, "PER")]
    doc.spans["sc"].attrs.update(attrs)
    return doc


@pytest.mark.parametrize("as_example", [False, True])
def test_marks_in_doc_spans_are_told(caplog, as_example):
    doc = make_doc()
    given = Example(NLP.make_doc(doc.text), doc) if as_example else doc
    with caplog.at_level(logging.WARNING, "spacy.entlm"):
        to_examples(NLP, [given])
    assert "Docs with marks in doc.spans" in caplog.text
    assert "'Mira Holt' (PER) in doc.spans['sc'], example 1" in caplog.text


def test_what_a_pipeline_found_is_no_mark(caplog):
    with caplog.at_level(logging.WARNING, "spacy.entlm"):
        to_examples(NLP, [make_doc(scores=[0.5])])
    assert not caplog.text
