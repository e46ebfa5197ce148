"""Parts of a lexicon, for the study of its size."""

import importlib.util
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_entlm.files.errors import DataError
from spacy_entlm.lexicon.entries import Entry
from spacy_entlm.lexicon.readers import read_lexicon

BENCHMARKS = Path(__file__).resolve().parents[2] / "project" / "benchmarks"
SPEC = importlib.util.spec_from_file_location("subsample", BENCHMARKS / "subsample.py")
script = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(script)
subsample = script.subsample

LEXICON = [Entry(f"name{i}", "ABC"[i % 3], float(i)) for i in range(60)]
some_entries = st.lists(
    st.builds(Entry, st.sampled_from("abc"), st.sampled_from("XYZ")), min_size=1
)


def test_the_heaviest_of_every_label_are_kept_at_least_one():
    assert [e.name for e in subsample(LEXICON, 0.1)] == [
        f"name{i}" for i in range(54, 60)
    ]
    assert [e.label for e in subsample(LEXICON, 0.0001)] == ["A", "B", "C"]


def test_a_draw_is_told_by_the_seed():
    one, same, other = (
        subsample(LEXICON, 0.2, by_chance=True, seed=seed) for seed in (1, 1, 2)
    )
    assert one == same != other
    assert [sum(e.label == label for e in one) for label in "ABC"] == [4, 4, 4]


@given(some_entries, st.floats(0.01, 1), st.integers(0, 3), st.booleans())
def test_a_larger_share_holds_the_smaller_one(entries, fraction, seed, by_chance):
    settings = {"counts": {"a": 2, "b": 1}, "by_chance": by_chance, "seed": seed}
    small = subsample(entries, fraction / 2, **settings)
    large = subsample(entries, fraction, **settings)
    assert all(large.count(entry) >= small.count(entry) for entry in small)


def test_names_that_come_most_often_in_a_text_are_written(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = ("Lima", "Rome", "New York")
    lines = (json.dumps({"name": name, "label": "LOC"}) for name in names)
    Path("in.jsonl").write_text("\n".join(lines))
    Path("text.txt").write_text("New York or Rome\n\nNew York, lima\n")
    script.main(Path("in.jsonl"), Path("out.jsonl"), 0.34, Path("text.txt"))
    assert read_lexicon("out.jsonl")[0] == [Entry("New York", "LOC")]


@pytest.mark.parametrize(
    "fraction, text",
    [(0, "above 0 and up to 1"), (1.1, "above 0 and up to 1"), (1, "give --text")],
)
def test_bad_settings_are_errors(fraction, text):
    with pytest.raises(DataError, match=text):
        subsample([Entry("Lima", "LOC")], fraction)
