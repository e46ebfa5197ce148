"""Texts that come in again, with other marks, in parts, or with keys of their own."""

import json

import pytest
import spacy

from spacy_entlm.files.errors import DataError
from spacy_entlm.workbench.adding import Added, NewText
from spacy_entlm.workbench.changes import ACCEPT, IGNORE, OPEN
from spacy_entlm.workbench.docs import export
from spacy_entlm.workbench.reading import Texts, count_long
from spacy_entlm.workbench.store import Store

from .conftest import new_store, read

WORDS = [("Anna", True), ("met", True), ("Bob", False)]


def write(path, *entries):
    path.parent.mkdir(exist_ok=True)
    path.write_text("\n".join(map(json.dumps, entries)), encoding="utf8")
    return path


def lines(path):
    return [json.loads(line) for line in path.read_text(encoding="utf8").splitlines()]


def test_marks_of_a_text_that_is_there_are_taken(store):
    store.add_texts([NewText(WORDS, is_test=False)])
    number = store.counts()["texts"]
    added = store.add_texts([NewText(WORDS, [(0, 1, "PER")])])
    assert added == Added(marked=1)
    assert store.text(number)["marks"] == [[0, 1, 1]]
    assert store.text(number)["answer"] == ACCEPT
    assert "1 text that came without marks before got them" in added.lines()


def test_of_two_different_marks_both_are_shown_and_a_person_decides(store):
    first = NewText(WORDS, [(0, 1, "PER")], False)
    added = store.add_texts([first, NewText(WORDS, [(0, 1, "PER"), (2, 3, "PER")])])
    assert added == Added(new=1, differing=1)
    number = store.counts()["texts"]
    text = store.text(number)
    assert text["marks"] == [[0, 1, 1]]
    assert text["others"] == [[[0, 1, 1], [2, 3, 1]]]
    assert number in store.doubtful()
    store.answer(number, ACCEPT, [(2, 3, 1)], text["version"])
    assert number not in store.doubtful()
    # The same command comes back: it was decided.
    again = store.add_texts([first, NewText(WORDS, [(0, 1, "PER"), (2, 3, "PER")])])
    assert again == Added()
    assert store.text(number)["marks"] == [[2, 3, 1]]


def test_a_persons_marks_stay_where_a_file_has_others(store):
    store.add_texts([NewText(WORDS, is_test=False)])
    number = store.counts()["texts"]
    store.answer(number, ACCEPT, [(0, 1, 1)], 0)
    added = store.add_texts([NewText(WORDS, [(0, 1, "ORG")])])
    assert added == Added(differing=1)
    assert store.text(number)["marks"] == [[0, 1, 1]]


@pytest.mark.parametrize("parts", [("train", "test"), ("test", "train")])
def test_a_text_in_train_and_test_is_in_the_test_part_and_that_is_said(store, parts):
    new = [NewText(WORDS, [(0, 1, "PER")], part == "test") for part in parts]
    added = store.add_texts(new)
    number = store.counts()["texts"]
    assert store.text(number)["is_test"]
    assert added == Added(new=1, moved=int(parts[1] == "test"))
    # Where a person moved it, it stays.
    store.move(number, False)
    assert store.add_texts(new) == Added()
    assert not store.text(number)["is_test"]


def test_long_texts_come_out_as_they_came_in_with_their_keys(tmp_path):
    text = "Anna met Bob.  They left.\nBerlin was cold. " + "It rained. " * 30
    path = write(
        tmp_path / "texts.jsonl",
        {"text": text, "id": "a7", "meta": {"page": 3}},
        {"text": "Short.", "id": "b"},
    )
    store = new_store(tmp_path, "PER")
    store.add_texts(read(path))
    store.move(1, False)
    numbers = range(1, store.counts()["texts"] + 1)
    for number in numbers:
        shown = store.text(number)
        if shown["is_test"]:
            store.move(number, False)
        marks = [(0, 1, 1)] if shown["words"][0][0] == "Anna" else []
        if shown["words"][0][0] != "Short":
            store.answer(number, ACCEPT, marks, shown["version"])
    export(store, tmp_path / "data")
    (entry,) = lines(tmp_path / "data" / "train.jsonl")
    assert entry["text"] == text.strip()
    assert (entry["id"], entry["meta"]) == ("a7", {"page": 3})
    (span,) = entry["spans"]
    assert entry["text"][span["start"] : span["end"]] == "Anna"
    (rest,) = lines(tmp_path / "data" / "unlabeled.jsonl")
    assert rest == {"text": "Short.", "id": "b"}


def test_of_a_text_that_is_answered_in_part_the_parts_come_out(tmp_path):
    path = write(tmp_path / "texts.jsonl", {"text": "Ann left. Bob came.", "id": 1})
    store = Store(tmp_path / "file")
    store.add_texts(read(path, unit="sentences"))
    for number in (1, 2):
        store.move(number, False)
    store.answer(1, ACCEPT, [], store.text(1)["version"])
    export(store, tmp_path / "data")
    (done,) = lines(tmp_path / "data" / "train.jsonl")
    (rest,) = lines(tmp_path / "data" / "unlabeled.jsonl")
    assert (done["text"], done["part"], done["id"]) == ("Ann left.", [0, 9], 1)
    assert rest == {"text": "Bob came.", "part": [10, 19], "id": 1}


def test_a_text_that_came_twice_comes_out_twice(tmp_path):
    path = write(tmp_path / "t.jsonl", {"text": "A.", "id": 1}, {"text": "A.", "id": 2})
    store = Store(tmp_path / "file")
    store.add_texts(read(path))
    store.add_texts(read(path))
    store.move(1, False)
    store.answer(1, ACCEPT, [], store.text(1)["version"])
    export(store, tmp_path / "data")
    assert [x["id"] for x in lines(tmp_path / "data" / "train.jsonl")] == [1, 2]


@pytest.mark.parametrize(
    "unit, n", [("documents", 1), ("paragraphs", 2), ("sentences", 3), (None, 1)]
)
def test_long_texts_are_shown_as_is_asked_for(tmp_path, unit, n):
    path = write(tmp_path / "t.jsonl", {"text": "One. Two.\n\nThree."})
    (document,) = read(path, unit=unit)
    assert len(document.parts) == n


def test_only_a_unit_that_there_is_can_be_asked_for():
    with pytest.raises(ValueError, match="documents, paragraphs, sentences"):
        Texts(spacy.blank("xx"), "words")


def test_long_texts_are_counted_before_it_is_asked(tmp_path):
    path = tmp_path / "long.txt"
    path.write_text("Anna sleeps. " * 40 + "\n\nShort one.\n", encoding="utf8")
    assert count_long(path, spacy.blank("xx")) == 1


def test_a_folder_without_texts_is_refused(tmp_path):
    with pytest.raises(DataError, match="has no train"):
        list(read(tmp_path))


def test_a_tenth_of_many_documents_is_for_the_test_with_all_their_parts(tmp_path):
    entries = [{"text": f"A{i} left. B{i} came.", "id": i} for i in range(300)]
    path = write(tmp_path / "t.jsonl", *entries)
    store = Store(tmp_path / "file")
    store.add_texts(read(path, unit="sentences"))
    parts = [store.text(number)["is_test"] for number in range(1, 601)]
    assert parts[::2] == parts[1::2]
    assert 30 <= sum(parts) <= 90


def test_a_file_of_the_first_version_is_opened_with_all_that_it_has(tmp_path):
    import sqlite3

    from spacy_entlm.workbench.database import create_database

    path = tmp_path / "file"
    create_database(path)
    with sqlite3.connect(path) as db:
        db.execute("INSERT INTO classes VALUES (1, 'PER')")
        words = json.dumps(WORDS)
        db.execute("INSERT INTO texts VALUES (1, 'Anna met Bob', ?, 0, 0.5)", (words,))
        db.execute("INSERT INTO answers VALUES (1, 'accept', '[[0, 1, 1]]', 1)")
    db.close()
    store = Store(path)
    assert store.counts()["marks"] == {1: 1}
    assert store.text(1)["answer"] == ACCEPT
    assert export(store, tmp_path / "data") == ["train.jsonl"]
    assert Store(path).text(1)["answer"] == ACCEPT  # once more


def test_an_answer_that_is_none_is_not_written(tmp_path, store, gold):
    text = store.text(1)
    store.answer(1, IGNORE, gold(text), 0)
    assert export(store, tmp_path / "data") == ["unlabeled.jsonl"]
    assert store.text(2)["answer"] == OPEN
