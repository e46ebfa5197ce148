"""Kinds of a corpus, sets of labels that people use, and other wordings."""

import json

import pytest

from spacy_entlm.files.errors import DataError
from spacy_entlm.teaching.kinds import KindTable, read_label_sets, read_wordings
from spacy_entlm.teaching.lines import Mark, MarkedLine


def line(text, *marks, lang="en", labels=()):
    found = []
    for name, *kinds in marks:
        start = text.index(name)
        found.append(Mark(start, start + len(name), tuple(kinds)))
    return MarkedLine(text, lang, tuple(found), labels)


LINES = [
    line("Anna left Rome", ("Anna", "writer", "person"), ("Rome", "city", "place")),
    line("the writer left", ("writer", "profession")),
    line("Rome is large", ("Rome", "city")),
]


def near(table, kind):
    row = table.near[[table.index[kind]]].toarray()[0]
    return {name for name, is_near in zip(table.names, row) if is_near}


def test_kinds_that_were_marked_at_one_name_are_near():
    table = KindTable.of(LINES)
    assert table.names == ["writer", "person", "city", "place", "profession"]
    assert near(table, "writer") == {"writer", "person"}
    assert near(table, "place") == {"city", "place"}
    assert near(table, "profession") == {"profession"}


def test_labels_of_a_line_are_near_and_kinds_though_none_is_marked():
    table = KindTable.of([line("It rains", labels=("city", "river"))])
    assert table.names == ["city", "river"]
    assert near(table, "city") == {"city", "river"}


def test_frequent_kinds_are_drawn_more_often():
    table = KindTable.of(LINES)
    weights = dict(zip(table.names, table.weights))
    assert sum(weights.values()) == pytest.approx(1)
    assert weights["city"] == pytest.approx(2**0.5 * weights["place"])


def test_kinds_of_proper_names_are_told_by_their_capitals():
    """German nouns have some, too, and tell nothing."""
    german = line("Der Hund bellt", ("Hund", "animal"), lang="de")
    table = KindTable.of([*LINES, german, line("a dog", ("dog", "animal"))])
    of_names = {name for name, yes in zip(table.names, table.of_names) if yes}
    assert of_names == {"writer", "person", "city", "place"}


def test_lines_without_a_mark_teach_nothing():
    with pytest.raises(DataError, match="nothing to learn"):
        KindTable.of([line("It rains")])
    with pytest.raises(DataError, match="nothing to learn"):
        KindTable.of([])


@pytest.fixture
def read(tmp_path):
    """Reads sets of labels from what their file is to hold."""

    def read(sets, types=None):
        path, of_types = tmp_path / "sets.json", tmp_path / "types.tsv"
        content = sets if isinstance(sets, str) else json.dumps(sets)
        path.write_text(content, encoding="utf8")
        if types is not None:
            of_types.write_text(types, encoding="utf8")
        return read_label_sets(path, None if types is None else of_types)

    return read


def test_a_set_has_labels_of_kinds_and_of_all_kinds_of_a_type(read):
    labels = {"PER": ["person", "@PER"], "Loc": ["City", "@LOC"]}
    types = "writer\tPER\nSea_Port\tLOC\nriver\tLOC\n"
    (one,) = read([{"labels": labels, "names": True, "weight": 2}], types)
    assert one.kinds == {
        "per": {"person", "writer"},
        "loc": {"city", "sea port", "river"},
    }
    assert one.named == {"per": {"person"}, "loc": {"city"}}
    assert (one.of_names, one.weight) == ({"per", "loc"}, 2.0)


def test_what_a_set_may_leave_out(read):
    plain, some = read([{"labels": {"a": ["b"]}}, {"labels": {"a": []}, "names": "A"}])
    assert (plain.of_names, plain.weight) == (frozenset(), 1.0)
    assert some.of_names == {"a"}


@pytest.mark.parametrize(
    "sets",
    [
        "{",
        "3",
        "[3]",
        [{"names": True}],
        [{"labels": ["person"]}],
        [{"labels": {"a": 3}}],
        [{"labels": {"a": [3]}}],
        [{"labels": {"a": ["@NONE"]}}],
        [{"labels": {"a": ["b"]}, "weight": "much"}],
        [{"labels": {"a": ["b"]}, "weight": 0}],
        [{"labels": {"a": ["b"]}, "weight": -1}],
        '[{"labels": {"a": ["b"]}, "weight": NaN}]',
        '[{"labels": {"a": ["b"]}, "weight": Infinity}]',
    ],
)
def test_what_is_no_set_of_labels_is_told(read, sets):
    with pytest.raises(DataError, match=r"sets\.json: (holds no sets|broken JSON)"):
        read(sets, "writer\tPER\n")


def test_a_type_without_a_kind_is_told_with_its_line(read):
    with pytest.raises(DataError, match=r"types\.tsv, line 2: write KIND<tab>TYPE"):
        read([], "writer\tPER\nriver\n")


def test_kinds_have_other_wordings_in_languages(tmp_path):
    path = tmp_path / "words.tsv"
    path.write_text(
        "City\ten\ttown; large_town ;\n\ncity\tde\tStadt\ncity\ten\tmetropolis\n",
        encoding="utf8",
    )
    assert read_wordings(path) == {
        ("en", "city"): ["town", "large town", "metropolis"],
        ("de", "city"): ["stadt"],
    }


@pytest.mark.parametrize(
    "line", ["city\ten", "city", "a\tb\tc\td", "city\ten\t", "city\ten\t ; _"]
)
def test_a_line_without_a_wording_is_told_with_its_number(tmp_path, line):
    path = tmp_path / "words.tsv"
    path.write_text(f"city\tde\tStadt\n{line}\n", encoding="utf8")
    with pytest.raises(DataError, match=r"words\.tsv, line 2: write KIND<tab>LANG"):
        read_wordings(path)
