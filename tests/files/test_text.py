"""Lines of text files, and which file of a folder is meant."""

import bz2
import gzip
import lzma
import os

import pytest

from spacy_entlm.files.errors import DataError
from spacy_entlm.files.json_lines import read_json, read_objects
from spacy_entlm.files.text import find_part, read_lines

LINES = [(1, "é a"), (2, ""), (3, "東京")]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
@pytest.mark.parametrize("name", ["a.txt", "a.txt.gz", "a.txt.xz"])
def test_encodings_ends_and_packing_do_not_matter(tmp_path, end, encoding, name):
    data = end.join(line for _, line in LINES).encode(encoding)
    opener = {"gz": gzip.open, "xz": lzma.open}.get(name.rsplit(".")[-1], open)
    with opener(tmp_path / name, "wb") as file:
        file.write(data)
    assert list(read_lines(tmp_path / name)) == LINES


@pytest.mark.parametrize(
    "content, message",
    [
        (gzip.compress(b"Ann flew.", mtime=0), r"is packed: end its name in \.gz"),
        (lzma.compress(b"Ann flew."), r"is packed: end its name in \.xz"),
        (bz2.compress(b"Ann flew."), r"is packed as bz2: unpack it"),
        (b"PK\3\4 and so on", r"is an archive: unpack it"),
        ("Ann flew.".encode("utf-16-le"), r"UTF-16 without its mark\. Save"),
        ("Ann flew.".encode("utf-16-be"), r"UTF-16 without its mark\. Save"),
    ],
    ids=["gzip", "xz", "bz2", "zip", "utf-16-le", "utf-16-be"],
)
def test_what_is_no_text_is_told_for_what_it_is(tmp_path, content, message):
    path = tmp_path / "a.txt"
    path.write_bytes(content)
    with pytest.raises(DataError, match=rf"a\.txt: .*{message}"):
        list(read_lines(path))


def test_a_text_may_begin_as_packed_files_do(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("BZhanov left.")
    assert [line for _, line in read_lines(path)] == ["BZhanov left."]


def test_long_lines_come_in_parts_of_one_number(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("aa bb cc\ndddddddd\ne")
    parts = list(read_lines(path, longest=4))
    assert "".join(part for number, part in parts if number == 1) == "aa bb cc"
    assert "".join(part for number, part in parts if number == 2) == "d" * 8
    assert max(len(part) for _, part in parts) == 4
    assert parts[0] == (1, "aa ")
    assert parts[-1] == (3, "e")


def test_bad_bytes_are_named_with_their_line(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes(b"a\nb\nM\xfcller\n")
    with pytest.raises(DataError, match="line 3: not UTF-8: byte 0xfc at offset 1"):
        list(read_lines(path))


def test_what_is_no_file_is_told_and_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for name, text in (
        ("none", "no such file"),
        (".", "is a folder"),
        ("pipe", "no regular file"),
    ):
        with pytest.raises(DataError, match=text):
            list(read_lines(tmp_path / name))


def test_part_of_a_folder_is_found_by_its_whole_name(tmp_path):
    (tmp_path / "unlabeled.conll.bak").write_text("x")
    (tmp_path / "unlabeled.txt.old").write_text("x")
    extensions = (".txt", ".jsonl")
    assert find_part(tmp_path, "unlabeled", extensions) is None
    assert find_part(tmp_path / "none", "unlabeled", extensions) is None
    (tmp_path / "unlabeled.TXT.gz").write_text("x")
    found = find_part(tmp_path, "unlabeled", extensions)
    assert found == tmp_path / "unlabeled.TXT.gz"
    (tmp_path / "unlabeled.jsonl").write_text("x")
    assert find_part(tmp_path, "unlabeled", extensions) == tmp_path / "unlabeled.jsonl"
    (tmp_path / "unlabeled.txt").write_text("x")
    with pytest.raises(DataError, match=r"unlabeled.txt, unlabeled.jsonl"):
        find_part(tmp_path, "unlabeled", extensions)


def test_json_that_is_broken_is_named(tmp_path):
    path = tmp_path / "a.json"
    for text in ("{", "[" * 100_000):
        path.write_text(text)
        with pytest.raises(DataError, match=r"a\.json: broken JSON"):
            read_json(path)
    path.write_text('{"a": 1}\n\n[2]\n')
    objects = read_objects(path, form='{"a": 1}')
    assert next(objects) == (1, {"a": 1})
    with pytest.raises(DataError, match="line 3: a JSON list"):
        next(objects)
