"""Lexicons from anybody: a clear error in little time and memory. More of what a line
may hold stands in tests/lexicon/test_readers.py."""

import gzip
import json
import lzma
import os

import pytest

from spacy_entlm.files.errors import DataError
from spacy_entlm.lexicon.labels import read_label_map
from spacy_entlm.lexicon.readers import read_lexicon
from spacy_entlm.lexicon.wikidata import read_config

LONG = "x" * 1_000_000


@pytest.fixture
def error_of(tmp_path, at_most):
    """The error about a file, which is one line of bounded length."""

    def error_of(name, content, read=read_lexicon, **limits):
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        with pytest.raises(DataError) as caught, at_most(**{"seconds": 60, **limits}):
            read(path)
        message = str(caught.value)
        assert str(path) in message
        assert len(message) < len(str(path)) + 1200 and "\n" not in message
        return message.removeprefix(str(path))

    return error_of


@pytest.mark.parametrize("pack", [gzip.compress, lzma.compress])
@pytest.mark.parametrize("name", ["a.tsv", "a.csv", "a.jsonl", "a.list"])
def test_packed_line_of_any_length_takes_little_memory(error_of, pack, name):
    packed = pack(b"x" * 20 * 2**20)
    suffix = "gz" if pack is gzip.compress else "xz"
    message = error_of(f"{name}.{suffix}", packed, megabytes=80)
    assert message.startswith(", line 1: has more than 16,777,216 characters")


@pytest.mark.parametrize(
    "name, content",
    [
        ("a.tsv", LONG),
        ("a.tsv", f"Lima\t{LONG}"),
        ("a.tsv", f"Lima\tLOC\t{LONG}\tatlas"),
        ("a.tsv", "\t".join([LONG] * 9)),
        ("a.csv", f'"{LONG}'),
        ("a.csv", '"' + "Lima,LOC\n" * 100_000),
        ("a.csv", f"Lima,{LONG}"),
        ("a.list", LONG),
        ("a.jsonl", json.dumps({LONG: LONG})),
        ("a.jsonl", json.dumps({"name": [LONG], "label": "X"})),
        ("a.jsonl", json.dumps({"name": "L", "label": [LONG]})),
        ("a.jsonl", json.dumps({"name": "L", "label": LONG})),
        ("a.jsonl", json.dumps({"name": "L", "label": "X", "weight": LONG})),
        ("a.jsonl", json.dumps({"name": "L", "label": "X", "source": [LONG]})),
        ("a.jsonl", '{"name": "L", "label": "X", "weight": 1' + "0" * 4000 + "}"),
        ("a.jsonl", '{"label": "X", "pattern": ' + "[" * 900 + "]" * 900 + "}"),
        ("a.jsonl", "{" * 100_000),
        ("a.jsonl", b"\xff\xfe\x00"),
        ("a.tsv", b"\xff\xfeL\x00\t"),
        ("a.tsv", "a\0b\tLOC"),
        ("a.jsonl", json.dumps({"name": "\x1b[2J", "label": "LOC"})),
        ("a.csv", "\0"),
    ],
)
def test_bad_lexicon_is_one_short_line(error_of, name, content):
    error_of(name, content)


def test_error_about_types_is_short(error_of):
    content = "".join(f"Lima\t{LONG}{i}\n" for i in range(3))
    error_of("a.tsv", content, lambda path: read_lexicon(path, label_map={"A": "B"}))


@pytest.mark.parametrize(
    "content",
    [
        "[" * 100_000,
        "3",
        '{"A": 3}',
        json.dumps({"A": LONG}),
        json.dumps({LONG: "B C"}),
        json.dumps([LONG]),
        b"\xff",
        "",
    ],
)
@pytest.mark.parametrize(
    "read", [lambda path: read_label_map([str(path)]), read_config]
)
def test_bad_map_is_one_short_line(tmp_path, content, read):
    path = tmp_path / "a.json"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(DataError) as caught:
        read(path)
    assert len(str(caught.value)) < 1200 and "\n" not in str(caught.value)


def test_byte_order_mark_is_no_part_of_a_name(tmp_path):
    for name, encoding in (("a.tsv", "utf-8-sig"), ("b.tsv", "utf-16")):
        (tmp_path / name).write_text("Lima\tLOC\nRome\tLOC\n", encoding=encoding)
        entries, _ = read_lexicon(tmp_path / name)
        assert [entry.name for entry in entries] == ["Lima", "Rome"]


def test_pipe_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "a.tsv")
    with pytest.raises(DataError, match="no regular file"):
        read_lexicon(tmp_path / "a.tsv")


def test_many_labels_are_read_in_time(tmp_path, at_most):
    n = 20_000
    (tmp_path / "a.tsv").write_text("".join(f"name {i}\tL{i}\n" for i in range(n)))
    with at_most(60):
        entries, _ = read_lexicon(tmp_path / "a.tsv")
    assert len({entry.label for entry in entries}) == n
