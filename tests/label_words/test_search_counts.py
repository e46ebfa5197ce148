"""Counts of words per class: of Docs, their sums, and their files."""

import json
from collections import Counter

import pytest
import spacy
from spacy.tokens import Doc, Span

from spacy_entlm.files.errors import DataError
from spacy_entlm.label_words.counts import (
    count_docs,
    fold_counts,
    merge_counts,
    read_counts,
    strip_tags,
    write_counts,
)


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


def test_counts_of_shards_add_up_in_order_of_first_appearance():
    first = {"PER": Counter(Bob=1, Ann=2)}
    second = {"LOC": Counter(Rome=1), "PER": Counter(Cy=1, Ann=1)}
    total = merge_counts([first, second])
    assert total == {"PER": {"Bob": 1, "Ann": 3, "Cy": 1}, "LOC": {"Rome": 1}}
    assert list(total["PER"]) == ["Bob", "Ann", "Cy"]
    assert first["PER"]["Ann"] == 2


def test_words_of_one_form_are_added_up():
    counts = {"PER": Counter({"Ann": 1, "ANN": 2, "\u200b": 1})}
    folded = fold_counts(counts, lambda word: word.strip("\u200b").lower())
    assert folded == {"PER": {"ann": 3}}


@pytest.mark.parametrize(
    "keys, labels, stripped",
    [
        (["I-PER", "B-PER"], ["PER"], ["PER"]),
        (["PER", "I-LOC"], ["PER", "LOC"], ["PER", "I-LOC"]),
        (["B-CELL", "B-BODY"], ["B-CELL"], ["B-CELL", "B-BODY"]),
    ],
)
def test_prefixes_of_tags_are_taken_off(keys, labels, stripped):
    counts = {key: Counter(word=1) for key in keys}
    assert list(strip_tags(counts, labels)) == stripped


def test_stripped_tags_of_one_class_are_added_up():
    counts = {"B-PER": Counter(Ann=1), "I-PER": Counter(Ann=2)}
    assert strip_tags(counts, []) == {"PER": {"Ann": 3}}


def test_counts_survive_a_file(tmp_path):
    counts = {"PER": Counter({"Zoë": 2, '"<': 1}), "LOC": Counter()}
    write_counts(counts, tmp_path / "counts.json")
    again = read_counts(tmp_path / "counts.json")
    assert again == counts
    assert list(again["PER"]) == ["Zoë", '"<']


def test_empty_label_without_words_is_left_out(tmp_path):
    path = tmp_path / "counts.json"
    path.write_text('{"PER": {"Ann": 1}, "": {}}')
    assert read_counts(path) == {"PER": {"Ann": 1}}


@pytest.mark.parametrize(
    "value, message",
    [
        (["Ann"], "the file is"),
        ({"PER": ["Ann", "Bob"]}, "'PER' is"),
        ({"made_by": "x" * 100}, "'made_by' is 'x{40}'"),
        ({"PER": {"Ann": "3"}}, "'PER', 'Ann' is '3'"),
        ({"PER": {"Ann": 1.5}}, "'PER', 'Ann' is '1.5'"),
        ({"PER": {"Ann": True}}, "'PER', 'Ann' is 'True'"),
        ({"PER": {"Ann": -1}}, "'PER', 'Ann' is '-1'"),
        ({" ": {"Ann": 1}}, "a label is empty"),
    ],
)
def test_counts_of_another_form_are_refused(tmp_path, value, message):
    path = tmp_path / "counts.json"
    path.write_text(json.dumps(value))
    with pytest.raises(DataError, match=message) as caught:
        read_counts(path)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize(
    "content, message",
    [(None, "no such file"), (b"\xff\xfe", "broken JSON"), (b"", "broken JSON")],
)
def test_unreadable_file_is_named(tmp_path, content, message):
    path = tmp_path / "counts.json"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(DataError, match=message) as caught:
        read_counts(path)
    assert str(path) in str(caught.value)
