"""How inputs are divided: every text is in one shard, whatever their size."""

import gzip
import lzma
from pathlib import Path

import pytest
from fsspec.implementations.local import LocalFileSystem
from fsspec.spec import AbstractBufferedFile
from hypothesis import given
from hypothesis import strategies as st
from spacy.tokens import DocBin

from spacy_entlm.files.errors import DataError
from spacy_entlm.files.text import MAX_LINE_CHARS
from spacy_entlm.scale.places import Place
from spacy_entlm.scale.reading import Failure, read_shard
from spacy_entlm.scale.shards import plan

some_lines = st.lists(st.text("abé\u4e1c \u2028", max_size=6), max_size=12)


def read(path, size=10):
    """What the shards of a file hold, and how many there are."""
    shards = plan(Place(str(path)).files(), size)
    return [item for shard in shards for item in read_shard(shard)], len(shards)


def texts(path, size=10):
    return [item.text for item in read(path, size)[0]]


@given(some_lines, st.sampled_from(["\n", "\r\n", "\r"]), st.integers(1, 40))
def test_each_line_is_in_one_shard(tmp_path_factory, lines, end, size):
    path = tmp_path_factory.mktemp("lines") / "in.txt"
    path.write_bytes(f"x{end}{end.join(lines)}".encode())
    whole = [line.strip() for line in ["x", *lines]]
    # Nothing stands behind the last end of a line.
    whole = whole if lines and lines[-1] else whole[: len(lines) or 1]
    items, _ = read(path, size)
    assert [item.text for item in items] == whole
    assert [item.entry["line"] for item in items] == [*range(1, len(whole) + 1)]


def test_byte_order_mark_is_no_text(tmp_path):
    (tmp_path / "in.txt").write_bytes("Anna\nRome\n".encode("utf-8-sig"))
    assert texts(tmp_path / "in.txt", 3) == ["Anna", "Rome"]


@pytest.mark.parametrize("extension, open_", [(".gz", gzip.open), (".xz", lzma.open)])
def test_packed_file_is_one_shard(tmp_path, extension, open_):
    path = tmp_path / f"in.txt{extension}"
    with open_(path, "wt") as file_:
        file_.write("Anna\n" * 50)
    items, n_shards = read(path)
    assert [item.text for item in items] == ["Anna"] * 50 and n_shards == 1
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(DataError, match="cannot be unpacked"):
        read(path)


def test_docs_are_read_as_texts(tmp_path, trained):
    path = tmp_path / "in.spacy"
    DocBin(docs=[trained("Anna left Rome ."), trained("")]).to_disk(path)
    assert texts(path) == ["Anna left Rome .", ""]


def test_blank_texts_are_records_too(tmp_path):
    path = tmp_path / "in.jsonl"
    path.write_text('{"id": 7, "text": "Anna"}\n\n{"id": 8, "text": " "}\n')
    items, _ = read(path)
    assert [(item.text, item.entry["id"]) for item in items] == [("Anna", 7), (" ", 8)]


def test_what_is_no_text_is_set_aside_and_the_rest_is_read(tmp_path):
    path = tmp_path / "in.jsonl"
    path.write_bytes(b'{"text": "Anna"}\n{"text": 1}\n{\n\xff\n{"text": "Rome"}\n')
    items, _ = read(path)
    problems = [item.problem for item in items if isinstance(item, Failure)]
    assert [i.text for i in items if not isinstance(i, Failure)] == ["Anna", "Rome"]
    for problem, part in zip(problems, ["no text in", "broken JSON", "not UTF-8"]):
        assert part in problem


def test_line_without_an_end_does_not_fill_the_memory(tmp_path):
    path = tmp_path / "in.txt"
    path.write_bytes(b"Anna\n" + b"x" * (MAX_LINE_CHARS + 5) + b"\nRome\n")
    items, _ = read(path, size=1 << 20)
    assert [getattr(item, "text", None) for item in items] == ["Anna", None, "Rome"]
    assert "divide it" in items[1].problem


def test_file_that_comes_in_ranges_of_bytes_is_read_as_others(tmp_path, monkeypatch):
    """As those of a store of objects do."""

    class Ranges(AbstractBufferedFile):
        def _fetch_range(self, start, end):
            return Path(self.path).read_bytes()[start:end]

    path = tmp_path / "in.txt"
    path.write_bytes(b"Anna\nRome\nLima\n" * 9)
    here = texts(path)
    monkeypatch.setattr(
        LocalFileSystem, "_open", lambda self, path, mode, **_: Ranges(self, path)
    )
    assert texts(path) == here == ["Anna", "Rome", "Lima"] * 9


def test_utf_16_is_refused(tmp_path):
    (tmp_path / "in.txt").write_text("Anna", encoding="utf-16")
    with pytest.raises(DataError, match="UTF-8"):
        read(tmp_path / "in.txt")


def test_files_of_a_folder_are_read_in_order_but_for_hidden_ones(tmp_path):
    for name in ("b.txt", "a.txt", ".c.txt", "_SUCCESS"):
        (tmp_path / name).write_text(name)
    assert texts(tmp_path) == ["a.txt", "b.txt"]
    assert texts(tmp_path / "b*") == ["b.txt"]
    (tmp_path / "note.pdf").write_text("x")
    with pytest.raises(DataError, match=r"unknown extension '\.pdf'"):
        read(tmp_path)


@pytest.mark.parametrize("name", ["none.txt", "none/*.txt"])
def test_missing_input_is_one_line(tmp_path, name):
    with pytest.raises(DataError, match="no such file"):
        read(tmp_path / name)


def test_empty_input_is_refused(tmp_path):
    (tmp_path / "in.txt").write_text("")
    with pytest.raises(DataError, match="empty"):
        read(tmp_path / "in.txt")
