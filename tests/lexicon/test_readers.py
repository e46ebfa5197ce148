"""Lexicons of every form, good and bad."""

import gzip
import json
import lzma
import time
from collections import Counter
from pathlib import Path

import pytest

from spacy_entlm.files.errors import DataError
from spacy_entlm.lexicon.entries import (
    BROKEN_NAMES,
    EMPTY_NAMES,
    LONG_NAMES,
    MAX_NAME_WORDS,
    ODD_PATTERNS,
    UNLABELLED,
    Entry,
    write_lexicon,
)
from spacy_entlm.lexicon.readers import read_lexicon

ROOT = Path(__file__).parents[2]
SHARED = ROOT.parent / "shared" / "data" / "gazetteers"
ASSET = ROOT / "project" / "assets" / "news" / "lexicon.jsonl"

LIMA = Entry("Lima", "LOC")
ANN = Entry("Ann Petrova", "PER")


@pytest.fixture
def write(tmp_path):
    """Writes a file and gives its path."""

    def write(name, content):
        path = tmp_path / name
        data = content.encode("utf-8") if isinstance(content, str) else content
        pack = {".xz": lzma.compress, ".gz": gzip.compress}.get(path.suffix, bytes)
        path.write_bytes(pack(data))
        return path

    return write


JSONL = '{"name": "Lima", "label": "LOC"}\n\n{"name": "Ann Petrova", "label": "PER"}\n'
PATTERNS = (
    '{"label": "LOC", "pattern": "Lima", "id": "lima"}\n'
    '{"label": "PER", "pattern": [{"ORTH": "Ann"}, {"TEXT": "Petrova"}]}\n'
)


@pytest.mark.parametrize(
    "name, content",
    [
        ("a.jsonl", JSONL),
        ("a.jsonl.xz", JSONL),
        ("a.JSONL.gz", JSONL),
        ("a.jsonl", JSONL.replace("\n", "\r\n")),
        ("a.jsonl", "\ufeff" + JSONL),
        ("a.jsonl", PATTERNS),
        ("a.tsv", "Lima\tLOC\nAnn Petrova\tPER\n"),
        ("a.tsv.xz", "Lima\tLOC\n\nAnn Petrova\tPER"),
        ("a.tsv", "label\tname\nLOC\tLima\nPER\tAnn Petrova\n"),
        ("a.csv", "Lima,LOC\nAnn Petrova,PER\n"),
        ("a.csv", "Lima;LOC\nAnn Petrova;PER\n"),
        ("a.csv.gz", 'name,type\n"Lima",LOC\n"Ann Petrova",PER\n'),
    ],
)
def test_every_form_gives_the_same_entries(write, name, content):
    entries, report = read_lexicon(write(name, content))
    assert entries == [LIMA, ANN]
    assert report.problems() == []


@pytest.mark.parametrize(
    "content, names",
    [
        ("AT&amp;T,ORG\nLima,LOC\n", ["AT&amp;T", "Lima"]),
        ("Foo; Bar\nBaz\n", ["Foo; Bar", "Baz"]),
        ("AT&T; Inc\n", ["AT&T; Inc"]),
        ("Li; Bo,PER\nLi; Al,PER\n", ["Li; Bo", "Li; Al"]),
    ],
)
def test_a_name_may_hold_a_semicolon(write, content, names):
    entries, _ = read_lexicon(write("a.csv", content), label="ORG")
    assert [entry.name for entry in entries] == names


def test_a_comma_is_the_decimal_sign_where_semicolons_divide(write):
    for header in ("", "name;label;weight\n"):
        path = write("a.csv", f"{header}Lima;LOC;0,5\nBo;PER;2\n")
        entries, _ = read_lexicon(path)
        assert entries == [Entry("Lima", "LOC", 0.5), Entry("Bo", "PER", 2.0)]


def test_plain_list_takes_the_label_given(write):
    path = write("a.txt", "Ann\n\n  Bo Li  \n")
    entries, _ = read_lexicon(path, label="PER")
    assert entries == [Entry("Ann", "PER"), Entry("Bo Li", "PER")]
    with pytest.raises(DataError, match=r"no name has a label: .* --label"):
        read_lexicon(path)


def test_format_may_be_named(write):
    path = write("names", "Lima\tLOC\n")
    assert read_lexicon(path, format="tsv")[0] == [LIMA]
    with pytest.raises(DataError, match="unknown extension ''"):
        read_lexicon(path)
    with pytest.raises(DataError, match="unknown format 'xml'"):
        read_lexicon(path, format="xml")


def test_weight_and_source_are_read_and_written(write, tmp_path):
    content = (
        '{"name": "Lima", "label": "LOC", "weight": 3, "source": "atlas"}\n'
        '{"name": "Ann", "label": "PER", "weight": 0.5}\n'
        '{"name": "Bo", "label": "PER"}\n'
    )
    path = write("a.jsonl", content)
    entries, _ = read_lexicon(path)
    assert entries[0] == Entry("Lima", "LOC", 3.0, "atlas")
    for name in ("b.jsonl", "b.jsonl.xz", "b.jsonl.gz"):
        write_lexicon(entries, tmp_path / name)
        assert read_lexicon(tmp_path / name)[0] == entries
    assert (tmp_path / "b.jsonl").read_text(encoding="utf-8") == content


@pytest.mark.parametrize(
    "cells, entry",
    [
        ("Lima\tLOC\tatlas", Entry("Lima", "LOC", None, "atlas")),
        ("Lima\tLOC\t2.5", Entry("Lima", "LOC", 2.5)),
        ("Lima\tLOC\t7\tatlas", Entry("Lima", "LOC", 7.0, "atlas")),
        ("Lima\tLOC\t\tatlas", Entry("Lima", "LOC", None, "atlas")),
    ],
)
def test_columns_hold_weight_and_source(write, cells, entry):
    assert read_lexicon(write("a.tsv", cells + "\n"))[0] == [entry]


def test_quotes_belong_to_names_in_tsv_but_not_in_csv(write):
    content = '"Lima"{}LOC\n'
    assert read_lexicon(write("a.tsv", content.format("\t")))[0][0].name == '"Lima"'
    assert read_lexicon(write("a.csv", content.format(",")))[0][0].name == "Lima"


def test_label_map_renames_and_leaves_out_what_it_does_not_name(write):
    path = write("a.tsv", "Lima\tGPE\nAnn\tPERSON\nMonday\tDATE\nBo\tPERSON\n")
    entries, report = read_lexicon(path, label_map={"PERSON": "PER", "GPE": "LOC"})
    assert [(e.name, e.label) for e in entries] == [
        ("Lima", "LOC"),
        ("Ann", "PER"),
        ("Bo", "PER"),
    ]
    assert report.unmapped == {"DATE": 1}
    assert "DATE 1" in report.problems()[0]


def test_label_map_that_maps_nothing_names_the_types(write):
    path = write("a.tsv", "Lima\tGPE\nAnn\tPERSON\n")
    with pytest.raises(DataError, match=r"\(PER\) maps none of .*: GPE, PERSON"):
        read_lexicon(path, label_map={"PER": "PER"})


def test_bad_names_are_left_out_and_counted(write):
    long = " ".join(["word"] * 500)
    names = ["Lima", "", "  ", "Li\x00ma", "O\x92Brien", "Caf\ufffd", long, "\u200b"]
    entries, report = read_lexicon(
        write(
            "a.jsonl", "\n".join(json.dumps({"name": n, "label": "X"}) for n in names)
        )
    )
    assert [entry.name for entry in entries] == ["Lima"]
    assert report.left_out == {EMPTY_NAMES: 3, BROKEN_NAMES: 3, LONG_NAMES: 1}
    lines = "\n".join(report.problems())
    assert "'Li\\x00ma', line 4" in lines
    assert len(lines) < 1000


def test_names_are_tidied_but_keep_their_joiners(write):
    content = "\u200eAnn\u00a0 \tPetrova\u200f\nمی\u200cروم\nSoft\u00adly\n"
    entries, _ = read_lexicon(write("a.txt", content), label="PER")
    assert [e.name for e in entries] == ["Ann Petrova", "می\u200cروم", "Softly"]


def test_longest_name_that_is_kept(write):
    words = ["word"] * MAX_NAME_WORDS
    path = write("a.txt", f"{' '.join(words)}\n{' '.join([*words, 'more'])}\n")
    entries, report = read_lexicon(path, label="X")
    assert len(entries) == 1 and report.left_out == {LONG_NAMES: 1}


def test_lone_surrogate_of_a_json_escape_is_left_out(write):
    content = '{"name": "a\\ud800", "label": "X"}\n{"name": "b", "label": "X"}\n'
    entries, report = read_lexicon(write("a.jsonl", content))
    assert [e.name for e in entries] == ["b"] and report.left_out == {BROKEN_NAMES: 1}


def test_a_million_duplicates_are_counted_fast(write):
    path = write("a.tsv", "Lima\tLOC\n" * 1_000_000)
    start = time.perf_counter()
    entries, report = read_lexicon(path)
    assert time.perf_counter() - start < 30
    assert entries == [LIMA] and report.duplicates == 999_999
    assert report.problems() == ["999,999 duplicates: kept once"]


def test_of_duplicates_the_heaviest_is_kept(write):
    content = "Lima\tLOC\nLima\tLOC\t2\nLima\tLOC\t5\nLima\tLOC\t3\nLima\tPER\n"
    entries, report = read_lexicon(write("a.tsv", content))
    assert entries == [Entry("Lima", "LOC", 5.0), Entry("Lima", "PER")]
    assert report.duplicates == 3


def test_names_without_a_label_are_counted(write):
    entries, report = read_lexicon(write("a.tsv", "Lima\tLOC\nAnn\nBo\t \n"))
    assert entries == [LIMA] and report.left_out == {UNLABELLED: 2}


def test_patterns_that_are_more_than_words_are_counted(write):
    patterns = [
        "Lima",
        [{"LOWER": "new"}, {"LOWER": "york"}],
        [{"ORTH": {"IN": ["a", "b"]}}],
        [{"ORTH": "a", "OP": "+"}],
        [{"POS": "PROPN"}],
        [],
        7,
    ]
    lines = [json.dumps({"label": "LOC", "pattern": p}) for p in patterns]
    entries, report = read_lexicon(write("a.jsonl", "\n".join(lines)))
    assert [e.name for e in entries] == ["Lima", "new york"]
    assert report.left_out == {ODD_PATTERNS: 5}


@pytest.mark.parametrize(
    "name, content, text",
    [
        ("a.jsonl", '{"name": "Lima"', "line 1: broken JSON"),
        ("a.jsonl", '\n["Lima"]', "line 2: a JSON list where an object is needed"),
        ("a.jsonl", '{"label": "LOC"}', 'no "name" that is a string'),
        ("a.jsonl", '{"name": 7, "label": "LOC"}', 'no "name" that is a string'),
        ("a.jsonl", '{"name": "Lima", "label": ["LOC"]}', "which is no string"),
        ("a.jsonl", '{"name": "L", "label": "X", "weight": "9"}', "no number"),
        ("a.jsonl", '{"name": "L", "label": "X", "weight": true}', "no number"),
        ("a.jsonl", '{"name": "L", "label": "X", "weight": -1}', "must be 0 or more"),
        ("a.jsonl", '{"name": "L", "label": "X", "weight": NaN}', "must be 0 or more"),
        ("a.jsonl", '{"name": "L", "label": "X", "source": 7}', "no string"),
        ("a.jsonl", '{"name": "L", "label": "A B"}', "line 1: 'A B' is no label"),
        ("a.jsonl", "[" * 100_000, "broken JSON"),
        ("a.tsv", "L\tX\t\t\t\n", "5 columns"),
        ("a.tsv", "L\tX\nL\tO\n", "line 2: 'O' is no label"),
        ("a.tsv", "L\tX\tmany\tatlas\n", "weight 'many' is no number"),
        ("a.csv", 'L,X\n"Li"ma,X\n', "line 2: broken CSV"),
        ("a.csv", 'L,X\n"Lima,X\n', "broken CSV"),
        ("a.tsv", "", "no name that can be used: it is empty"),
        ("a.tsv", "\n\tLOC\n", "no name that can be used (1 empty names)"),
        ("a.tsv", b"Lima\tLOC\nM\xfcller\tPER\n", "line 2: not UTF-8: byte 0xfc"),
        ("a.tsv.xz", b"Lima\tLOC\nM\xfcller\tPER\n", "line 2: not UTF-8: byte 0xfc"),
    ],
)
def test_bad_files_name_place_and_value(write, name, content, text):
    path = write(name, content)
    with pytest.raises(DataError) as error:
        read_lexicon(path)
    assert str(error.value).startswith(str(path))
    assert text in str(error.value)


def test_damaged_archives_and_missing_files_are_named(tmp_path, write):
    for name, data in [("a.tsv.xz", b"no xz"), ("a.tsv.gz", b"no gzip")]:
        (tmp_path / name).write_bytes(data)
        with pytest.raises(DataError, match="cannot be unpacked after line 0"):
            read_lexicon(tmp_path / name)
    for name in ("b.tsv.xz", "b.tsv.gz"):
        path = write(name, "".join(f"name {i * i}\tX\n" for i in range(9999)))
        path.write_bytes(path.read_bytes()[:-1000])
        with pytest.raises(DataError, match="cannot be unpacked after line"):
            read_lexicon(path)
    with pytest.raises(DataError, match="no such file"):
        read_lexicon(tmp_path / "c.tsv")
    with pytest.raises(DataError, match="is a folder"):
        read_lexicon(tmp_path, format="tsv")


def test_lexicon_of_the_project_is_whole():
    entries, report = read_lexicon(ASSET)
    assert not report.problems()
    counts = Counter(entry.label for entry in entries)
    assert counts.keys() == {"LOC", "MISC", "ORG", "PER"}
    assert all(n >= 250 for n in counts.values()) and sum(counts.values()) > 2000
    assert all(" " not in e.name for e in entries if e.label == "PER")
    sources = {e.source for e in entries}
    assert {"country", "city", "given name", "surname", "company"} <= sources


@pytest.mark.slow
@pytest.mark.skipif(not SHARED.is_dir(), reason="no shared data")
def test_a_large_lexicon_is_read():
    label_map = {"PERSON": "PER", "GPE": "LOC", "LOC": "LOC", "FAC": "LOC"}
    entries, report = read_lexicon(SHARED / "lexicon.tsv.xz", label_map=label_map)
    assert len(entries) + report.duplicates + report.unmapped.total() == 860_715 - sum(
        report.left_out.values()
    )
    assert {entry.label for entry in entries} == {"PER", "LOC"}


def test_a_first_line_may_name_other_columns_than_the_class(write):
    path = write("names.csv", "name,weight\nLima,3\nRome,4\n")
    entries, _ = read_lexicon(path, label="LOC")
    assert [(e.name, e.label, e.weight) for e in entries] == [
        ("Lima", "LOC", 3),
        ("Rome", "LOC", 4),
    ]
