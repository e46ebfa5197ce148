"""Whatever a file holds, reading gives Docs or a DataError that names the file."""

import json
import tempfile
from pathlib import Path

import pytest
import spacy
from hypothesis import given
from hypothesis import strategies as st

from spacy_entlm.corpus.readers import DataError, read_docs

NLP = spacy.blank("en")
EXTENSIONS = [".conll", ".txt", ".md", ".jsonl", ".spacy"]

words = st.sampled_from(["Lima", "O", "B-PER", "[a](B)", "](", "#", "-", "\u00a0", "é"])
gaps = st.sampled_from([" ", "\t", "\n", "\n\n", "\r\n"])
texts = st.lists(st.tuples(words, gaps)).map(lambda pairs: "".join(map("".join, pairs)))
values = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 9) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["text", "label", "spans", "start", "end"]), inner
        )
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


@given(entries=st.lists(values | st.fixed_dictionaries({"text": values}), max_size=3))
def test_any_json(entries):
    lines = "\n".join(json.dumps(entry) for entry in entries)
    read(lines.encode("utf-8"), ".jsonl")


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
