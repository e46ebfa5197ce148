"""Texts with marks come in in every form that is read, and go out in every one that is
written."""

import json

import pandas
import pytest
import spacy

from spacy_entlm.corpus.forms.all_forms import FORMS, JSON_KINDS
from spacy_entlm.corpus.forms.out import WRITERS
from spacy_entlm.corpus.readers import read_docs
from spacy_entlm.files.errors import DataError
from spacy_entlm.workbench.changes import ACCEPT, REJECT
from spacy_entlm.workbench.docs import export
from spacy_entlm.workbench.store import Store

from .conftest import new_store, new_texts, read


def first_mark(path, **settings):
    """The words and the class of the first mark that comes in."""
    (_, text), *_ = next(iter(read(path, **settings))).parts
    start, end, label = text.marks[0]
    return [word for word, _ in text.words[start:end]], label


@pytest.fixture
def marked(tmp_path):
    """A store in which the first text of each part of the data is accepted."""
    store = new_store(tmp_path, "PER", "LOC")
    store.add_texts(new_texts(["Ann met Bob", "Cid left", "Dan sang"], is_test=False))
    store.add_texts(new_texts(["Eve saw Rome", "Fay ran"], is_test=True))
    store.answer(1, ACCEPT, [(0, 1, 1), (2, 3, 1)], 0)
    store.answer(2, REJECT, [(0, 1, 1)], 0)
    store.answer(4, ACCEPT, [(0, 1, 1), (2, 3, 2)], 0)
    return store


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.name)
def test_every_form_of_files_comes_in(tmp_path, form):
    path = tmp_path / f"data{form.extensions[0]}"
    if form.name == "excel":
        rows = [["text", "start", "end", "label"], ["Ann flew.", 0, 3, "PER"]]
        pandas.DataFrame(rows).to_excel(path, header=False, index=False)
    else:
        path.write_text(form.example, encoding="utf8")
    if form.name == "brat":
        path.with_suffix(".txt").write_text("Ann flew.", encoding="utf8")
        assert first_mark(tmp_path) == (["Ann"], "PER")  # the folder
    words = {"inline": ["Ann", "Petrova"], "rasa": ["Lisbon"], "rasa-yaml": ["Lisbon"]}
    label = "city" if "rasa" in form.name else "PER"
    assert first_mark(path) == (words.get(form.name, ["Ann"]), label)


@pytest.mark.parametrize("kind", JSON_KINDS.values(), ids=lambda kind: kind.name)
def test_every_form_of_json_comes_in(tmp_path, kind):
    path = tmp_path / "data.jsonl"
    path.write_text(kind.example, encoding="utf8")
    assert first_mark(path) == (["Ann"], "PER")


def test_what_the_content_does_not_tell_can_be_said(tmp_path):
    path = tmp_path / "data.txt"
    path.write_text("B-PER Ann B-LOC\nO flew O\n", encoding="utf8")
    assert first_mark(path, columns="2,1") == (["Ann"], "PER")
    assert first_mark(path, columns="2,3") == (["Ann"], "LOC")
    numbers = tmp_path / "data.jsonl"
    numbers.write_text('{"tokens": ["Ann", "flew"], "ner_tags": [1, 0]}\n')
    assert first_mark(numbers, labels=["O", "B-PER"]) == (["Ann"], "PER")
    with pytest.raises(DataError, match="unknown format 'odd'"):
        list(read(path, format="odd"))


def test_annotated_texts_keep_their_ids_and_other_keys(tmp_path):
    path = tmp_path / "data.jsonl"
    entries = [
        {"text": "Ann left.", "id": 4, "spans": [[0, 3, "PER"]]},
        {"text": "Bob ran.", "id": 5, "meta": {"page": 1}, "spans": [[0, 3, "PER"]]},
    ]
    path.write_text("\n".join(map(json.dumps, entries)), encoding="utf8")
    store = Store(tmp_path / "file")
    # An earlier version took the texts without the keys.
    store.add_texts(new_texts(["Ann left."], is_test=False))
    store.add_texts(read(path))
    for number in (1, 2):
        store.move(number, False)
    assert export(store, tmp_path / "data") == ["train.jsonl"]
    lines = (tmp_path / "data" / "train.jsonl").read_text("utf8").splitlines()
    found = [json.loads(line) for line in lines]
    assert [(x["text"], x["id"], x.get("meta")) for x in found] == [
        ("Ann left.", 4, None),
        ("Bob ran.", 5, {"page": 1}),
    ]
    assert all(len(entry["spans"]) == 1 for entry in found)


@pytest.mark.parametrize("writer", WRITERS, ids=lambda writer: writer.name)
def test_every_form_goes_out(tmp_path, marked, writer):
    names = export(marked, tmp_path / "data", writer.name)
    extension = writer.extensions[0]
    parts = [f"train{extension}", f"test{extension}"]
    assert names == [*parts, "unlabeled.jsonl"]
    found = []
    for part in parts:
        docs, _ = read_docs(tmp_path / "data" / part, spacy.blank("xx"))
        for doc in docs:
            found.append((doc.text.strip(), [(e.text, e.label_) for e in doc.ents]))
    assert found == [
        ("Ann met Bob", [("Ann", "PER"), ("Bob", "PER")]),
        ("Eve saw Rome", [("Eve", "PER"), ("Rome", "LOC")]),
    ]
    (waiting,) = (tmp_path / "data" / "unlabeled.jsonl").read_text("utf8").splitlines()
    assert json.loads(waiting) == {"text": "Dan sang"}


def test_only_a_form_that_there_is_can_be_asked_for(tmp_path, marked):
    with pytest.raises(DataError, match="unknown form 'odd'"):
        export(marked, tmp_path / "data", "odd")
    assert not (tmp_path / "data").exists()
