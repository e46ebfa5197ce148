"""Merging entries, choosing labels, label maps."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_entlm.files.errors import DataError
from spacy_entlm.lexicon.entries import (
    Entry,
    LexiconReport,
    choose_label,
    clean_name,
    find_ambiguous,
    merge_entries,
)
from spacy_entlm.lexicon.labels import read_label_map

weights = st.none() | st.integers(0, 3).map(float)
some_entries = st.lists(
    st.builds(Entry, st.sampled_from("abc"), st.sampled_from("XYZ"), weights)
)


def test_merged_lexicons_keep_each_name_once_per_label():
    first = [Entry("Lima", "LOC", 1.0, "a"), Entry("Ann", "PER")]
    second = [Entry("Lima", "LOC", 4.0, "b"), Entry("Ann", "PER", None, "b")]
    report = LexiconReport()
    merged = merge_entries([*first, *second, Entry("Lima", "ORG")], report)
    assert merged == [second[0], first[1], Entry("Lima", "ORG")]
    assert report.duplicates == 2


@given(some_entries)
def test_a_lexicon_merged_with_itself_stays_as_it_is(entries):
    report = LexiconReport()
    once = merge_entries(entries, LexiconReport())
    twice = merge_entries([*once, *once], report)
    assert twice == once and report.duplicates == len(once)


@pytest.mark.parametrize(
    "labels, chosen",
    [
        ({"PER": None}, "PER"),
        ({"PER": None, "LOC": None}, None),
        ({"PER": 2.0, "LOC": 2.0}, None),
        ({"PER": None, "LOC": 0.0}, None),
        ({"PER": 1.0, "LOC": 3.0}, "LOC"),
        ({"PER": None, "LOC": 3.0, "ORG": 3.0}, None),
        ({"PER": None, "LOC": 0.5}, "LOC"),
    ],
)
def test_the_heavier_label_wins_and_equal_ones_give_none(labels, chosen):
    assert choose_label(labels) == chosen


def test_ambiguous_names_are_found():
    entries = [Entry("Lima", "LOC", 2.0), Entry("Ann", "PER"), Entry("Lima", "PER")]
    assert find_ambiguous(entries) == {"Lima": ["LOC", "PER"]}


@given(st.text())
def test_a_clean_name_stays_as_it_is(text):
    name, problem = clean_name(text)
    if problem is None:
        assert clean_name(name) == (name, None)
        assert name == " ".join(name.split())


def test_label_maps_are_read_from_pairs_and_files(tmp_path):
    path = tmp_path / "map.json"
    path.write_text('{"FAC": "LOC", "PERSON": "PER"}')
    label_map = read_label_map(["PERSON=PER", "GPE=LOC, LOC=LOC\tORG=ORG", str(path)])
    assert label_map == {
        "PERSON": "PER",
        "GPE": "LOC",
        "LOC": "LOC",
        "ORG": "ORG",
        "FAC": "LOC",
    }


@pytest.mark.parametrize(
    "values, text",
    [
        (["PERSON"], "'PERSON' is no pair"),
        (["=PER"], "'=PER' is no pair"),
        (["PERSON="], "'' is no label"),
        (["PERSON=O"], "'O' is no label"),
        (["A=X", "A=Y"], "two labels, 'X' and 'Y'"),
        (["none.json"], "no such file"),
    ],
)
def test_bad_label_maps_are_errors(values, text, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(DataError, match=text):
        read_label_map(values)


@pytest.mark.parametrize("content", ["{", '["PER"]', '{"PERSON": 1}', "\xff"])
def test_bad_label_map_files_are_errors(content, tmp_path):
    path = tmp_path / "map.json"
    path.write_text(content, encoding="latin-1")
    with pytest.raises(DataError, match=r"map\.json: (broken JSON|no label map)"):
        read_label_map([str(path)])
