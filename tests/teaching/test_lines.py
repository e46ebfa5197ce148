"""Lines in which names are marked with their kinds."""

import gzip
import json
import lzma

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_entlm.files.errors import DataError
from spacy_entlm.teaching.lines import Mark, clean_kind, read_marked_lines

LINE = {
    "text": "Anna left Rome",
    "lang": "en",
    "spans": [
        {"start": 10, "end": 14, "kinds": ["City", "human_settlement", "city"]},
        {"start": 0, "end": 4, "label": "PERSON"},
    ],
}


def test_a_line_has_its_marks_from_left_to_right(write_lines):
    (line,) = read_marked_lines([write_lines("in.jsonl", [LINE])])
    assert (line.text, line.lang, line.labels) == ("Anna left Rome", "en", ())
    assert line.marks == (
        Mark(0, 4, ("person",)),
        Mark(10, 14, ("city", "human settlement")),
    )


def test_a_line_may_be_read_for_fixed_labels(write_lines):
    spans = [{"start": 0, "end": 4, "label": "PER"}]
    entry = {"text": "Anna left", "labels": ["PER", "Loc", "PER"], "spans": spans}
    (line,) = read_marked_lines([write_lines("in.jsonl", [entry])])
    assert line.labels == ("per", "loc")
    assert line.marks == (Mark(0, 4, ("per",)),)


def test_what_may_be_left_out(write_lines):
    entries = [
        {"text": "Nothing here", "lang": None},
        {"text": "Anna", "spans": [{"start": 0, "end": 4, "kinds": ["", " _ "]}]},
    ]
    for line in read_marked_lines([write_lines("in.jsonl", entries)]):
        assert (line.lang, line.marks, line.labels) == ("", (), ())


def test_other_fields_are_not_read(write_lines):
    """Those of the shipped corpus, and any that a user adds."""
    more = {"id": "en-1", "source": "written", "licence": None, "field": ["a"]}
    spans = [{**span, "score": 0.5} for span in LINE["spans"]]
    paths = [
        write_lines("in.jsonl", [{**LINE, "labels": None}]),
        write_lines("more.jsonl", [{**LINE, **more, "spans": spans}]),
    ]
    plain, other = read_marked_lines(paths)
    assert plain == other


def test_files_may_be_packed_and_are_read_in_their_order(tmp_path, write_lines):
    for open_, name in ((gzip.open, "b.jsonl.gz"), (lzma.open, "c.jsonl.xz")):
        with open_(tmp_path / name, "wt") as file:
            file.write(json.dumps({**LINE, "lang": name[0]}) + "\n\n")
    paths = [write_lines("a.jsonl", [LINE] * 2), *sorted(tmp_path.glob("[bc]*"))]
    assert [line.lang for line in read_marked_lines(paths)] == ["en", "en", "b", "c"]


@pytest.mark.parametrize(
    "kind, cleaned",
    [
        ("City", "city"),
        (" human_settlement ", "human settlement"),
        ("building/road-bridge", "building road bridge"),
        ("a\tb\n c", "a b c"),
        ("x" * 99, "x" * 60),
        ("Straße", "straße"),
    ],
)
def test_kinds_have_one_form(kind, cleaned):
    assert clean_kind(kind) == cleaned == clean_kind(cleaned)


def span(start=0, end=4, **kinds):
    return {"start": start, "end": end, **(kinds or {"kinds": ["person"]})}


@pytest.mark.parametrize(
    "change",
    [
        {"text": 3},
        {"text": None},
        {"spans": 3},
        {"spans": [3]},
        {"spans": [{"start": 0, "end": 4}]},
        {"spans": [{"start": 0, "kinds": ["person"]}]},
        {"spans": [span(0, 4), span(3, 6)]},
        {"spans": [span(-1, 4)]},
        {"spans": [span(4, 4)]},
        {"spans": [span(10, 15)]},
        {"spans": [span("0", "4")]},
        {"spans": [span(0.0, 4.0)]},
        {"spans": [span(False, True)]},
        {"spans": [span(kinds="person")]},
        {"spans": [span(kinds=None)]},
        {"spans": [span(kinds=[3])]},
        {"spans": [span(label=3)]},
        {"labels": "person"},
        {"labels": ["city"], "spans": [span(kinds=["person"])]},
        {"labels": ["city", "place"], "spans": [span(kinds=["city", "place"])]},
    ],
)
def test_what_is_no_marked_line_is_told_with_its_number(write_lines, change):
    path = write_lines("in.jsonl", [LINE, {**LINE, **change}])
    with pytest.raises(DataError, match=r"in\.jsonl, line 2: no marked line") as error:
        list(read_marked_lines([path]))
    assert "\n" not in str(error.value) and '"kinds": ["city", "place"]' in str(
        error.value
    )


@pytest.mark.parametrize(
    "content, told",
    [
        (b"{", "line 1: broken JSON"),
        (b"[]", "line 1: a JSON list where an object is needed"),
        (b"{}", r"line 1: no marked line \(KeyError: 'text'\)"),
        (b'{"text": "a"}\n\xff', "line 2: not UTF-8"),
    ],
)
def test_what_cannot_be_read_is_told(tmp_path, content, told):
    path = tmp_path / "in.jsonl"
    path.write_bytes(content)
    with pytest.raises(DataError, match=told):
        list(read_marked_lines([path]))
    with pytest.raises(DataError, match="no such file"):
        list(read_marked_lines([tmp_path / "none.jsonl"]))


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["start", "end", "kinds", "label", "x"]), inner, max_size=4
        )
    ),
    max_leaves=9,
)
entries = st.dictionaries(
    st.sampled_from(["text", "spans", "labels", "lang"]), anything, max_size=4
)


@given(entries, st.text(max_size=20))
def test_any_object_is_a_marked_line_or_told(tmp_path_factory, entry, text):
    path = tmp_path_factory.getbasetemp() / "any.jsonl"
    for one in (entry, {**entry, "text": text}):
        path.write_text(json.dumps(one) + "\n", encoding="utf8")
        try:
            (line,) = read_marked_lines([path])
        except DataError as error:
            assert str(error).startswith(f"{path}, line 1: ")
        else:
            ends = [0, *(mark.end for mark in line.marks)]
            assert all(mark.start >= end for mark, end in zip(line.marks, ends))
            assert all(mark.kinds and all(mark.kinds) for mark in line.marks)
