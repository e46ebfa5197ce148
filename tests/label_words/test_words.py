"""The label-word map: what is read, what is refused."""

import json

import pytest

from spacy_entlm.label_words.words import (
    LabelWordError,
    check_label_words,
    read_label_words,
)


def test_words_are_stripped_and_repeated_ones_left_out_in_order():
    words = {"PER": [" John ", "Mary", "John", "", "  "]}
    assert check_label_words(words) == {"PER": ["John", "Mary"]}


@pytest.mark.parametrize("prefix", ["I-", "B-"])
def test_prefixes_of_tags_are_taken_off(prefix):
    words = {f"{prefix}PER": ["John"], f"{prefix}LOC": ["Paris"]}
    assert check_label_words(words) == {"PER": ["John"], "LOC": ["Paris"]}


def test_words_of_both_prefixes_are_joined():
    words = {"B-PER": ["John"], "I-PER": ["Smith", "John"]}
    assert check_label_words(words) == {"PER": ["John", "Smith"]}


def test_a_label_that_only_looks_like_a_tag_stays_as_it_is():
    words = {"B-CELL": ["lymphocyte"], "VIRUS": ["virus"]}
    assert check_label_words(words) == words


@pytest.mark.parametrize(
    "words, message",
    [
        (["John"], r"must be a map .* not list"),
        ({"PER": "John"}, r"Label 'PER': expected a list of words, not 'John'"),
        ({"PER": None}, r"Label 'PER': expected a list of words"),
        ({"PER": ["John", 3]}, r"Label 'PER': not all words are text"),
        ({"": ["John"]}, r"Labels must be non-empty strings"),
        ({7: ["John"]}, r"Labels must be non-empty strings"),
        ({"B\udcf6den": []}, r"B.udcf6den' holds a character that is no UTF-8"),
        ({"PER": ["Jos\ud83d"]}, r"Jos.ud83d' holds a character that is no UTF-8"),
    ],
)
def test_what_is_no_label_word_map_is_refused(words, message):
    with pytest.raises(LabelWordError, match=message):
        check_label_words(words)


def test_label_words_are_read_from_json(tmp_path):
    path = tmp_path / "words.json"
    path.write_text(json.dumps({"I-PER": ["José"]}), encoding="utf8")
    assert read_label_words(path) == {"PER": ["José"]}


@pytest.mark.parametrize(
    "content, message",
    [
        (b"{", "broken JSON"),
        (b'{"PER": 3}', "Label 'PER'"),
        (b"\xff\xfe\x00", "broken JSON"),
        (None, "no such file"),
    ],
)
def test_unreadable_file_is_named(tmp_path, content, message):
    path = tmp_path / "words.json"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ValueError, match=message) as caught:
        read_label_words(path)
    assert str(path) in str(caught.value)


def test_keys_that_are_classes_for_sure_are_left_alone(tmp_path):
    words = {"B-CELL": ["lymphocyte"]}
    assert check_label_words(words) == {"CELL": ["lymphocyte"]}
    assert check_label_words(words, tags=False) == words
    path = tmp_path / "words.json"
    path.write_text(json.dumps(words), encoding="utf8")
    assert read_label_words(path, tags=False) == words
