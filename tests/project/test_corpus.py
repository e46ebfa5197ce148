"""What the shipped corpus promises."""

from collections import Counter
from pathlib import Path

import pytest
import spacy

from spacy_entlm.corpus.readers import read_docs

NEWS = Path(__file__).resolve().parents[2] / "project" / "assets" / "news"
CLASSES = {"PER", "LOC", "ORG", "MISC"}


@pytest.fixture(scope="module")
def parts():
    nlp = spacy.blank("en")
    return {part: read_docs(NEWS / f"{part}.txt", nlp) for part in ("train", "test")}


def entities(docs):
    return [(ent.text.lower(), ent.label_) for doc in docs for ent in doc.ents]


def test_sizes(parts):
    (train, _), (test, _) = parts["train"], parts["test"]
    assert len(train) + len(test) >= 450
    assert len(test) >= 150
    counts = Counter(label for _, label in entities(train))
    assert set(counts) == CLASSES
    assert min(counts.values()) > 50


def test_at_least_half_of_the_test_entities_are_new(parts):
    known = {text for text, _ in entities(parts["train"][0])}
    found = [text for text, _ in entities(parts["test"][0])]
    assert sum(text not in known for text in found) >= len(found) / 2


def test_every_mark_falls_on_words(parts):
    for _, report in parts.values():
        assert not report.misaligned
        assert not report.skipped


def test_no_sentence_twice(parts):
    texts = [doc.text for docs, _ in parts.values() for doc in docs]
    assert len(set(texts)) == len(texts)
