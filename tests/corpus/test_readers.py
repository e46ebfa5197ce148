import gzip
import lzma
from pathlib import Path

import pytest

from spacy_entlm.corpus.readers import DataError, read_docs

from .sentence import entities, jsonl, words

SHARED = Path(__file__).parents[2].parent / "shared" / "data"
needs_shared = pytest.mark.skipif(not SHARED.is_dir(), reason="no shared data")


# Columns


@pytest.mark.parametrize("extension", ["conll", "iob", "bio", "tsv", "txt"])
@pytest.mark.parametrize("separator", ["\t", " ", "  "])
def test_columns_are_read_word_first_tag_last(read, extension, separator):
    lines = [["Angela", "NN", "B-PER"], ["Ruiz", "NN", "I-PER"], ["left", "VB", "O"]]
    text = "\n".join(separator.join(line) for line in lines)
    docs, report = read(f"a.{extension}", f"{text}\n\n\n{text}\n")
    assert [words(doc) for doc in docs] == [["Angela", "Ruiz", "left"]] * 2
    assert entities(docs[0]) == [("Angela Ruiz", "PER")]
    assert (report.docs, report.words, report.entities) == (2, 6, {"PER": 2})


def test_words_keep_their_tokenisation_for_training(read):
    (doc,), _ = read("a.conll", "U.S.-based B-X\ndon't O\n")
    assert doc.has_unknown_spaces
    assert [token.whitespace_ for token in doc] == [" ", " "]


def test_tags_in_the_first_column_are_detected(read):
    docs, _ = read("a.bio", "O\twhat\nB-GENRE\tromantic\n\nO\t-\n")
    assert words(docs[0]) == ["what", "romantic"]
    assert entities(docs[0]) == [("romantic", "GENRE")]
    assert words(docs[1]) == ["-"]


def test_words_that_look_like_tags_stay_words_if_the_last_column_has_tags(read):
    (doc,), _ = read("a.bio", "O\tO\nB-X\tB-PER\n")
    assert words(doc) == ["O", "B-X"]
    assert entities(doc) == [("B-X", "PER")]


def test_docstart_and_comment_lines_are_skipped(read):
    text = (
        "-DOCSTART- -X- O O\n\n# newdoc\n# newpar id = 1\n# id 17\tx\n# text = Lima\n"
    )
    text += "Lima NN I-NP B-LOC\n"
    docs, _ = read("a.conll", text)
    assert [words(doc) for doc in docs] == [["Lima"]]


def test_a_word_that_is_a_hash_sign_is_no_comment(read):
    (doc,), _ = read("a.conll", "# O\n1 O\n")
    assert words(doc) == ["#", "1"]


def test_windows_line_ends_and_byte_order_mark_are_read(read):
    docs, _ = read("a.conll", b"\xef\xbb\xbfLima B-LOC\r\n\r\nParis B-LOC\r\n")
    assert [words(doc) for doc in docs] == [["Lima"], ["Paris"]]


def test_unusual_separators_of_unicode_belong_to_words(read):
    (doc,), _ = read("a.conll", "10\u00a0km O\na\u2028b O\n")
    assert words(doc) == ["10\u00a0km", "a\u2028b"]


def test_words_may_hold_blanks_between_tabs(read):
    (doc,), _ = read("a.tsv", "New York\tB-LOC\nO\tO\n")
    assert words(doc) == ["New York", "O"]


def test_empty_last_column_is_missing_annotation(read):
    (doc,), _ = read("a.tsv", "Lima\tB-LOC\nis\t\nbig\t-\nhere\tO\n")
    assert [token.ent_iob_ for token in doc] == ["B", "", "", "O"]


def test_blank_word_is_dropped_with_its_tag_and_counted(read):
    (doc,), report = read("a.tsv", "Ann\tB-PER\n\u00a0\tI-PER\nLee\tI-PER\n")
    assert entities(doc) == [("Ann Lee", "PER")]
    assert report.skipped == {"blank words": 1}


def test_changed_number_of_columns_is_an_error_with_its_line(error_of):
    message = error_of("a.conll", "Lima NN B-LOC\n\nNew York NN O\n")
    assert "line 3: 4 column(s) where line 1 has 3: 'New York NN O'" in message


def test_single_column_is_an_error(error_of):
    assert "line 2: only one column ('Lima')" in error_of("a.conll", "\nLima\n")


def test_unknown_tag_is_an_error_with_its_line(error_of):
    message = error_of("a.conll", "Lima B-LOC\nis O\n\nbig Q-LOC\n")
    assert "line 4: unknown tag 'Q-LOC'" in message


def test_mixed_schemes_are_an_error_with_their_line(error_of):
    assert "line 1: tag 'LOC' has no prefix" in error_of("a.iob", "Lima LOC\na B-X\n")


# Inline markup


@pytest.mark.parametrize("extension", ["txt", "md"])
def test_inline_markup_is_read_and_removed(read, extension):
    text = "[Angela Ruiz](PER) flew to [Lima](LOC).\n\nIt [rained].\n"
    docs, report = read(f"a.{extension}", text)
    assert [doc.text for doc in docs] == ["Angela Ruiz flew to Lima.", "It [rained]."]
    assert entities(docs[0]) == [("Angela Ruiz", "PER"), ("Lima", "LOC")]
    assert docs[1].ents == ()
    assert report.entities == {"PER": 1, "LOC": 1}


def test_blanks_inside_brackets_do_not_belong_to_the_entity(read):
    (doc,), report = read("a.txt", "to [ Lima ](LOC) now")
    assert entities(doc) == [("Lima", "LOC")]
    assert not report.misaligned


@pytest.mark.parametrize(
    "line", ["[Lima](", "[Lima]()", "[Lima](my class)", "[a](http://b.c)", "[ ](LOC)"]
)
def test_broken_markup_is_an_error_with_its_line(error_of, line):
    message = error_of("a.md", f"[Lima](LOC)\n{line}\n")
    assert ", line 2: " in message


def test_what_may_be_a_slip_in_the_markup_is_told(read):
    text = "[Lima](LOC)\n[Lima (LOC) is [1] (see LOC).\n[Lima] (LOC), [it] (was)\n"
    docs, report = read("a.txt", text)
    assert [len(doc.ents) for doc in docs] == [1, 0, 0]
    assert report.slips == ["line 2: [Lima (LOC)", "line 3: [Lima] (LOC)"]
    told = report.problems()
    assert told[0].startswith("2 places look like marks and are read as text")
    assert told[1:] == [f"  e.g. {slip}" for slip in report.slips]


def test_a_slip_throughout_a_file_is_shown(error_of):
    message = error_of("a.txt", "It rained .\n[Lima] (LOC) is far .\n")
    assert "(is '[Lima] (LOC)' meant as such?)" in message
    assert "meant" not in error_of("a.txt", "It rained [a lot] (said Ann) .\n")


def test_blanks_after_a_bracket_take_no_time(read):
    _, report = read("a.txt", f"[Lima](LOC)\n[ a{' ' * 200_000}b\n")
    assert not report.slips


# Files and formats


@pytest.mark.parametrize("pack", ["gz", "xz"])
def test_packed_text_is_read(read, error_of, pack):
    compress = {"gz": gzip.compress, "xz": lzma.compress}[pack]
    for name, text in [
        ("a.conll", "Lima B-LOC\n"),
        ("a.jsonl", jsonl({"text": ["Lima"], "label": ["B-LOC"]})),
        ("a.txt", "[Lima](LOC)\n"),
    ]:
        (doc,), _ = read(f"{name}.{pack}", compress(text.encode()))
        assert entities(doc) == [("Lima", "LOC")]
    assert "cannot be unpacked" in error_of(f"a.conll.{pack}", b"Lima B-LOC\n")
    assert "unknown extension" in error_of(f"a.spacy.{pack}", b"")


def test_format_can_be_forced(read):
    (doc,), _ = read("a.data", "Lima B-LOC\n", format="conll")
    assert entities(doc) == [("Lima", "LOC")]
    (doc,), _ = read("a.conll", "to [Lima](LOC)", format="inline")
    assert entities(doc) == [("Lima", "LOC")]


def test_prose_in_a_txt_file_is_an_error(error_of):
    message = error_of("a.txt", "It rained.\nWe left.\n")
    assert "neither columns of words and tags nor [words](LABEL) marks" in message


def test_unknown_extension_is_an_error(error_of):
    assert "unknown extension '.pdf'" in error_of("a.pdf", "x")


def test_unknown_format_is_an_error(tmp_path, nlp):
    path = tmp_path / "a.conll"
    path.write_text("Lima O")
    with pytest.raises(DataError, match=r"unknown format 'pdf': choose auto, .*conll"):
        read_docs(path, nlp, format="pdf")


@pytest.mark.parametrize("name", ["a.conll", "a.jsonl", "a.md", "a.txt", "a.spacy"])
@pytest.mark.parametrize("content", ["", " \n\n"])
def test_empty_file_is_an_error(error_of, name, content):
    assert "the file is empty" in error_of(name, content)


def test_missing_file_and_folder_are_errors(tmp_path, nlp):
    with pytest.raises(DataError, match=r"none\.conll: no such file"):
        read_docs(tmp_path / "none.conll", nlp)
    with pytest.raises(DataError, match="is a folder"):
        read_docs(str(tmp_path), nlp)


def test_bytes_that_are_not_utf8_are_an_error_with_their_place(error_of):
    message = error_of("a.conll", "Lima B-LOC\nCórdoba B-LOC\n".encode("latin-1"))
    assert "line 2: not UTF-8: byte 0xf3 at offset 1" in message


def test_file_without_any_annotation_is_an_error(error_of):
    assert "no annotated docs in 1 read" in error_of("a.conll", "Lima -\nis -\n")
    rejected = jsonl({"text": "a", "answer": "reject"})
    message = error_of("a.jsonl", rejected)
    assert "no annotated docs in 0 read (left out: 1 text not accepted" in message


def test_progress_goes_through_the_records(read):
    seen = []

    def progress(records):
        for record in records:
            seen.append(record)
            yield record

    docs, _ = read("a.conll", "a O\n\nb O\n", progress=progress)
    assert len(docs) == len(seen) == 2


# Real data


@needs_shared
@pytest.mark.parametrize(
    "name, n_docs, n_entities",
    [
        ("conll03/test.jsonl", 3453, 5648),
        ("mit_movie/engtest.bio", 2443, 5339),
        ("wikigold/dev.jsonl", 280, 650),
    ],
)
def test_real_corpora_are_read_whole(nlp, name, n_docs, n_entities):
    docs, report = read_docs(SHARED / name, nlp)
    assert len(docs) == report.docs == n_docs
    assert sum(report.entities.values()) == n_entities
    assert not report.problems()


@pytest.mark.parametrize("label", ["व्यक्ति", "Straße", "שֵׁם", "ชื่อคน"])
def test_classes_may_be_written_in_any_script(read, label):
    texts = {
        "a.md": f"[Ann]({label}) left",
        "b.tsv": f"Ann\t{label}\nleft\tO\n",
        "c.tsv": f"Ann\tB-{label}\nleft\tO\n",
    }
    for name, text in texts.items():
        (doc,), _ = read(name, text)
        assert [ent.label_ for ent in doc.ents] == [label]


def test_a_forgotten_bracket_is_told_quickly(read):
    """Text without it took time that doubled with each letter."""
    text = "[张三](PER" + "去了北京市朝阳区的一家公司上班然后回到家里" * 4 + "。\n"
    with pytest.raises(DataError):
        read("a.md", text)
    docs, _ = read("a.md", "[张三](人名) 去了 [北京](地名)。\n")
    assert [ent.label_ for ent in docs[0].ents] == ["人名", "地名"]
