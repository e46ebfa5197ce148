"""Whatever a file holds, reading gives Docs or a DataError that names the file."""

import json
import tempfile
from pathlib import Path

import pytest
import spacy
from hypothesis import given
from hypothesis import strategies as st

from spacy_entlm.corpus.forms.json_kinds import KINDS
from spacy_entlm.corpus.readers import DataError, read_docs

NLP = spacy.blank("en")
EXTENSIONS = [".conll", ".txt", ".md", ".jsonl", ".spacy", ".csv", ".tsv", ".xml"]
EXTENSIONS += [".yml", ".conllu", ".json", ".xlsx"]

KEYS = ["text", "label", "spans", "start", "end", "data", "annotations", "result"]
KEYS += ["value", "labels", "type", "to_name", "fields", "responses", "annotation"]
KEYS += ["tokens", "ner_tags", "tokenized_text", "ner", "content", "points", "source"]
KEYS += ["paragraphs", "sentences", "orth", "entities", "answer", "status"]

WORDS = ["Lima", "O", "B-PER", "[a](B)", "](", "#", "-", "\u00a0", "é", "7", '"', "_"]
WORDS += ["<B>a</B>", "<", "</A>", "text", "start", "end", "label", "nlu:", "{", "["]
words = st.sampled_from(WORDS)
gaps = st.sampled_from([" ", "\t", "\n", "\n\n", "\r\n", ",", ",", ";"])
texts = st.lists(st.tuples(words, gaps)).map(lambda pairs: "".join(map("".join, pairs)))
values = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 9) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner)
    ),
    max_leaves=9,
)


def read(content, extension):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"a{extension}"
        path.write_bytes(content)
        try:
            docs, report = read_docs(path, NLP)
        except DataError as error:
            assert str(path) in str(error)
            return
    assert report.docs == len(docs) > 0
    assert all(len(doc) for doc in docs)


@pytest.mark.parametrize("extension", EXTENSIONS)
@given(content=st.binary())
def test_any_bytes(content, extension):
    read(content, extension)


@pytest.mark.parametrize("extension", EXTENSIONS)
@given(text=texts)
def test_any_columns_and_markup(text, extension):
    read(text.encode("utf-8"), extension)


@given(
    entries=st.lists(
        values | st.dictionaries(st.sampled_from(KEYS), values, max_size=5), max_size=3
    )
)
def test_any_json(entries):
    lines = "\n".join(json.dumps(entry) for entry in entries)
    read(lines.encode("utf-8"), ".jsonl")
    read(json.dumps(entries).encode("utf-8"), ".json")


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
@given(data=st.data())
def test_a_part_of_any_json_form_may_be_anything(kind, data):
    """An object of a form, of which one value is another."""
    entry = json.loads(kind.example)
    places = list(containers(entry))
    where, key = data.draw(st.sampled_from(places))
    where[key] = data.draw(values)
    read(json.dumps([entry]).encode("utf-8"), ".json")


def containers(value):
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, inner in items:
        yield value, key
        if isinstance(inner, dict | list):
            yield from containers(inner)


@given(
    text=st.text(st.sampled_from("ab .,'\n\u00a0é"), min_size=1, max_size=20),
    spans=st.lists(st.tuples(st.integers(0, 20), st.integers(0, 20)), max_size=5),
)
def test_any_spans_in_any_text(text, spans):
    entry = {
        "text": text,
        "spans": [{"start": a, "end": b, "label": "X"} for a, b in spans],
    }
    read(json.dumps(entry).encode("utf-8"), ".jsonl")
