"""Text files as streams of lines: forms, bad input, bounded memory, held-out lines."""

import gzip
import json
import lzma
import tracemalloc

import pytest
import spacy
from hypothesis import given
from hypothesis import strategies as st
from spacy.tokens import DocBin

from spacy_entlm.corpus.texts import (
    MAX_LINE_CHARS,
    check_text_files,
    cut_text,
    read_texts,
)
from spacy_entlm.files.errors import DataError
from spacy_entlm.pretraining.pieces import hash_share

LINES = ["Ann lives in Rome .", "Zürich is 東京 .", "It rains ."]
CONTENT = "\ufeff" + "\r\n".join([LINES[0], "", f"  {LINES[1]}\t", LINES[2]])


def read(path):
    return list(read_texts([path]))


@pytest.mark.parametrize("name", ["a.txt", "a.TXT", "a.txt.xz", "a.txt.gz"])
def test_plain_text_is_read_packed_or_not(tmp_path, name):
    openers = {"xz": lzma.open, "gz": gzip.open}
    path = tmp_path / name
    with openers.get(name.split(".")[-1], open)(path, "wb") as file:
        file.write(CONTENT.encode("utf8"))
    assert read(path) == LINES


def test_json_lines_hold_texts_or_words(tmp_path):
    path = tmp_path / "a.jsonl"
    entries = [
        {"text": LINES[0], "spans": []},
        {"text": LINES[1].split(), "label": ["O"] * 4},
        {"tokens": LINES[2].split()},
    ]
    path.write_text("\n\n".join(map(json.dumps, entries)))
    assert read(path) == LINES


def test_docs_are_read(tmp_path):
    nlp = spacy.blank("en")
    DocBin(docs=list(map(nlp.make_doc, LINES))).to_disk(tmp_path / "a.spacy")
    assert read(tmp_path / "a.spacy") == LINES


def test_several_files_are_one_text(tmp_path):
    for i, line in enumerate(LINES):
        (tmp_path / f"{i}.txt").write_text(line, encoding="utf8")
    assert list(read_texts(sorted(tmp_path.glob("*.txt")))) == LINES


def test_half_a_character_in_json_becomes_a_question_mark(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text('{"text": "a \\ud83d b"}')
    assert read(path) == ["a ? b"]


def test_long_line_comes_in_parts_and_little_memory(tmp_path):
    """One line of 3 MB, of which never more than a few parts are in memory."""
    path = tmp_path / "a.txt"
    words = [f"wörd{i}" for i in range(300_000)]
    path.write_text(" ".join(words) + "\nend\n", encoding="utf8")
    tracemalloc.start()
    longest, n_words, last = 0, 0, ""
    for part in read_texts([path]):
        longest = max(longest, len(part))
        n_words += len(part.split())
        last = part
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert longest <= MAX_LINE_CHARS
    assert (n_words, last) == (300_001, "end")
    assert peak < 30 * MAX_LINE_CHARS


@given(st.text(alphabet="aé東😀", min_size=1), st.integers(2000, 6000))
def test_line_without_blanks_is_cut_between_characters(tmp_path_factory, word, times):
    path = tmp_path_factory.mktemp("text") / "a.txt"
    path.write_text(word * times, encoding="utf8")
    parts = read(path)
    assert "".join(parts) == word * times
    assert all(len(part) <= MAX_LINE_CHARS for part in parts)


@given(st.text(alphabet="ab \n", max_size=50), st.integers(1, 2000))
def test_parts_of_a_text_make_it_up(text, times):
    parts = list(cut_text(text * times))
    assert "".join(parts) == text * times
    assert all(len(part) <= MAX_LINE_CHARS for part in parts)


@pytest.mark.parametrize("name", ["a.txt", "a.jsonl", "a.txt.gz"])
def test_bytes_that_are_no_utf8_are_named_with_their_line(tmp_path, name):
    path = tmp_path / name
    good = b'{"text": "good"}\n'
    opener = gzip.open if name.endswith("gz") else open
    with opener(path, "wb") as file:
        file.write(good * 2 + b'{"text": "caf\xe9"}\n')
    with pytest.raises(DataError, match=f"{name}, line 3: not UTF-8: byte 0xe9"):
        read(path)


def test_bad_byte_far_into_a_long_line_is_named(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes(b"first\n" + b"word " * MAX_LINE_CHARS + b"\xff\n")
    with pytest.raises(DataError, match="line 2: not UTF-8"):
        read(path)


@pytest.mark.parametrize("line", ['{"text": 3}', '{"other": "a"}', "[1]", "{"])
def test_json_line_without_text_is_named(tmp_path, line):
    path = tmp_path / "a.jsonl"
    path.write_text('{"text": "a"}\n' + line)
    with pytest.raises(DataError, match="line 2: "):
        read(path)


@pytest.mark.parametrize("name", ["a.txt.xz", "a.txt.gz"])
def test_truncated_packed_file_is_told_apart_from_text(tmp_path, name):
    opener = lzma.open if name.endswith("xz") else gzip.open
    path = tmp_path / name
    with opener(path, "wb") as file:
        file.write(bytes(range(65, 91)) * 1000)
    path.write_bytes(path.read_bytes()[:-12])
    with pytest.raises(DataError, match="cannot be unpacked"):
        read(path)


@pytest.mark.parametrize("name", ["a.pdf", "a", "a.spacy.gz", "a.txt.zip"])
def test_other_extensions_are_refused(tmp_path, name):
    (tmp_path / name).write_text("text")
    with pytest.raises(DataError, match="unknown extension"):
        check_text_files([tmp_path / name])


def test_missing_file_and_folder_are_refused(tmp_path):
    with pytest.raises(DataError, match="no such file"):
        check_text_files([tmp_path / "none.txt"])
    with pytest.raises(DataError, match="is a folder"):
        check_text_files([tmp_path])


def test_held_out_lines_are_the_same_for_ever():
    """Figures of models are compared over years: these values are part of them."""
    assert hash_share("Ann lives in Rome.") == pytest.approx(0.47957661177220245)
    assert hash_share("") == pytest.approx(0.17009133619319527)


@pytest.mark.parametrize("share", [0.0, 0.1, 1.0])
def test_held_out_share_is_about_what_was_asked_for(share):
    n = sum(hash_share(f"line {i}") < share for i in range(4000))
    assert n == pytest.approx(4000 * share, abs=80 * (0 < share < 1))
