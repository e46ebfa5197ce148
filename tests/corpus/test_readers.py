import gzip
import json
import lzma
from pathlib import Path

import pytest
import spacy
from spacy.tokens import Doc, DocBin, Span

from spacy_entlm.corpus.readers import DataError, read_docs

SHARED = Path(__file__).parents[2].parent / "shared" / "data"
needs_shared = pytest.mark.skipif(not SHARED.is_dir(), reason="no shared data")


@pytest.fixture(scope="module")
def nlp():
    return spacy.blank("en")


@pytest.fixture
def read(tmp_path, nlp):
    """Write content under a file name and read it."""

    def read(name, content, **kwargs):
        path = tmp_path / name
        data = content if isinstance(content, bytes) else content.encode("utf-8")
        path.write_bytes(data)
        return read_docs(path, nlp, **kwargs)

    return read


@pytest.fixture
def error_of(read):
    """Read bad content and return the message of the error."""

    def error_of(name, content, **kwargs):
        with pytest.raises(DataError) as caught:
            read(name, content, **kwargs)
        assert name in str(caught.value)
        return str(caught.value)

    return error_of


def words(doc):
    return [token.text for token in doc]


def entities(doc):
    return [(ent.text, ent.label_) for ent in doc.ents]


def jsonl(*entries):
    return "".join(json.dumps(entry) + "\n" for entry in entries)


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
    text = "-DOCSTART- -X- O O\n\n# id 17\tx\n# text = Lima\nLima NN I-NP B-LOC\n"
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


# JSON lines


def test_json_lines_of_words_and_tags_are_read(read):
    entry = {"text": ["Angela", "Ruiz", "left"], "label": ["U-PER", "U-PER", "O"]}
    docs, report = read("a.jsonl", jsonl(entry) + "\n" + jsonl(entry))
    assert [entities(doc) for doc in docs] == [[("Angela", "PER"), ("Ruiz", "PER")]] * 2
    assert report.docs == 2


def test_json_lines_with_offsets_are_tokenised(read):
    entry = {
        "text": "Angela Ruiz left.",
        "spans": [{"start": 0, "end": 11, "label": "PER", "token_start": 0}],
        "answer": "accept",
        "_input_hash": 1,
    }
    (doc,), _ = read("a.jsonl", jsonl(entry))
    assert words(doc) == ["Angela", "Ruiz", "left", "."]
    assert entities(doc) == [("Angela Ruiz", "PER")]
    assert not doc.has_unknown_spaces


@pytest.mark.parametrize("entry", [{}, {"spans": []}, {"spans": None}])
def test_text_without_spans_has_no_entities(read, entry):
    (doc,), _ = read("a.jsonl", jsonl({"text": "It rained.", **entry}))
    assert [token.ent_iob_ for token in doc] == ["O", "O", "O"]


def test_lines_that_the_annotator_did_not_accept_are_skipped_and_counted(read):
    entries = [{"text": t, "answer": t} for t in ["accept", "reject", "ignore"]]
    docs, report = read("a.jsonl", jsonl(*entries))
    assert [doc.text for doc in docs] == ["accept"]
    assert report.skipped == {"lines not accepted by the annotator": 2}


def test_empty_texts_are_skipped_and_counted(read):
    entries = [{"text": " "}, {"text": []}, {"text": [" "]}, {"text": "Hi"}]
    docs, report = read(
        "a.jsonl", jsonl(*({"label": ["O"] * len(e["text"]), **e} for e in entries))
    )
    assert [doc.text for doc in docs] == ["Hi"]
    assert report.skipped == {"empty texts": 3, "blank words": 1}


def test_misaligned_spans_are_counted_shown_and_made_missing(read):
    text = "Flights to Limas and to Lima"
    spans = [
        {"start": 11, "end": 15, "label": "LOC"},
        {"start": 24, "end": 28, "label": "LOC"},
    ]
    docs, report = read("a.jsonl", jsonl(*[{"text": text, "spans": spans}] * 7))
    assert [token.ent_iob_ for token in docs[0]] == ["O", "O", "", "O", "O", "B"]
    assert report.misaligned == {"LOC": 7}
    assert report.misaligned_examples[0] == "'Lima' (LOC) in 'Limas', line 1"
    assert len(report.misaligned_examples) == 5
    assert any("7 spans do not fall on token" in line for line in report.lines())


def test_span_over_several_words_with_a_cut_word_makes_all_of_them_missing(read):
    span = {"start": 0, "end": 9, "label": "LOC"}
    (doc,), _ = read("a.jsonl", jsonl({"text": "New Yorkers came", "spans": [span]}))
    assert [token.ent_iob_ for token in doc] == ["", "", "O"]


def test_longest_of_overlapping_spans_is_kept_and_others_counted(read):
    spans = [
        {"start": 0, "end": 3, "label": "A"},
        {"start": 0, "end": 11, "label": "B"},
        {"start": 0, "end": 11, "label": "C"},
        {"start": 9, "end": 16, "label": "D"},
    ]
    entry = {"text": "The New Yor k it was", "spans": spans}
    (doc,), report = read("a.jsonl", jsonl(entry))
    assert entities(doc) == [("The New Yor", "B")]
    assert report.overlapping == 3
    assert "3 spans overlap a longer one: left out" in report.lines()


@pytest.mark.parametrize(
    "line, what",
    [
        ('{"text": ', "broken JSON"),
        ("[" * 100_000, "broken JSON"),
        ('["a"]', "a JSON list where an object is needed"),
        ('{"words": ["a"]}', 'no "text" that is a string or a list of words (keys'),
        ('{"text": ["a"]}', '"label" must be a list of strings, not None'),
        ('{"text": ["a"], "label": []}', '1 words in "text" but 0 tags in "label"'),
        ('{"text": ["a"], "label": [null]}', '"label" holds None'),
        ('{"text": ["a"], "label": "O"}', "must be a list of strings, not 'O'"),
        ('{"text": [1], "label": ["O"]}', '"text" holds 1'),
        ('{"text": ["a"], "label": ["B"]}', "tag 'B' has no prefix, but 'B-X'"),
        ('{"text": ["\\ud800"], "label": ["O"]}', "spaCy refuses this text"),
        ('{"text": "a", "spans": {"start": 0}}', '"spans" must be a list'),
        ('{"text": "a", "spans": [3]}', 'span 3 needs whole numbers "start"'),
        ('{"text": "a", "spans": [{"start": true, "end": 1}]}', "needs whole numbers"),
        (
            '{"text": "a", "spans": [{"start": 0, "end": 1}]}',
            'and a "label" that is a string',
        ),
        (
            '{"text": "a", "spans": [{"start": 0, "end": 2, "label": "X"}]}',
            "does not lie in its text of 1 characters",
        ),
        (
            '{"text": "a", "spans": [{"start": 1, "end": 1, "label": "X"}]}',
            "does not lie in its text",
        ),
    ],
)
def test_bad_json_line_is_an_error_with_its_line(error_of, line, what):
    good = '{"text": ["a"], "label": ["B-X"]}\n\n'
    message = error_of("a.jsonl", good + line + "\n")
    assert ", line 3: " in message
    assert what in message


@pytest.mark.parametrize(
    "annotation",
    [
        {"label": [[0, 3, "PER"], [12, 16, "LOC"]], "Comments": [], "id": 7},
        {"labels": [[0, 3, "PER"], [12, 16, "LOC"]], "meta": {"a": [1]}},
        {"entities": [[0, 3, "PER"], [12, 16, "LOC"]]},
        {"entities": [{"start": 0, "end": 3, "label": "PER"}, [12, 16, "LOC"]]},
        {
            "entities": [
                {"id": 1, "label": "PER", "start_offset": 0, "end_offset": 3},
                {"id": 2, "label": "LOC", "start_offset": 12, "end_offset": 16},
            ],
            "relations": [],
        },
        {
            "spans": [[0, 3, "PER"], [12, 16, "LOC"]],
            **{"label": "PER", "tokens": [{"text": "Ann"}], "_input_hash": [1]},
        },
    ],
)
def test_spans_of_other_tools_are_read(read, annotation):
    (doc,), report = read("a.jsonl", jsonl({"text": "Ann lives i Lima", **annotation}))
    assert entities(doc) == [("Ann", "PER"), ("Lima", "LOC")]
    assert not report.problems()


def test_lists_that_are_not_read_are_named(read):
    span = [0, 1, "X"]
    texts = {"text": "a", "spans": [span], "entities": [span], "annotations": [1]}
    words = {"text": ["a"], "label": ["O"], "ner_tags": [1], "meta": [1]}
    _, report = read("a.jsonl", jsonl(texts, texts, words))
    assert report.unread == {"entities": 2, "annotations": 2, "ner_tags": 1}
    assert "2 lines have a list 'annotations', which is not read" in report.lines()


@pytest.mark.parametrize("label", ["O", "-", "B-", "", " ", "A\tB", "A\nB", " A"])
def test_label_that_no_file_can_hold_is_refused_with_its_place(error_of, nlp, label):
    good = jsonl({"text": ["a", "b"], "label": ["B-X", "O"]})
    spans = [{"start": 0, "end": 1, "label": label}]
    message = error_of("a.jsonl", good + jsonl({"text": "a", "spans": spans}))
    assert ", line 2: " in message and "is no class of entities" in message
    if label:
        doc = Doc(nlp.vocab, words=["a"])
        doc.set_ents([Span(doc, 0, 1, label)])
        message = error_of("a.spacy", DocBin(docs=[doc, doc]).to_bytes())
        assert "doc 1: " in message and "is no class of entities" in message


@pytest.mark.parametrize(
    "name, content",
    [
        ("a.jsonl", jsonl({"text": ["a"], "label": ["B-O"]})),
        ("a.jsonl", jsonl({"text": ["a"], "label": ["B-A\nB"]})),
        ("a.conll", "a B-O\n"),
        ("a.conll", "a B-B-\n"),
        ("a.md", "[a](O)\n"),
    ],
)
def test_label_of_a_tag_or_of_markup_is_refused_too(error_of, name, content):
    message = error_of(name, content)
    assert ", line 1: " in message and "is no class of entities" in message


def test_text_longer_than_the_pipeline_allows_is_an_error_with_its_line(tmp_path):
    nlp = spacy.blank("en")
    nlp.max_length = 10
    path = tmp_path / "a.jsonl"
    path.write_text(jsonl({"text": "short"}, {"text": "much too long"}))
    with pytest.raises(DataError, match="line 2: spaCy refuses this text"):
        read_docs(path, nlp)


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


def test_json_lines_in_a_txt_file_are_detected(read):
    (doc,), _ = read("a.txt", jsonl({"text": "It rained."}))
    assert len(doc) == 3


def test_prose_in_a_txt_file_is_an_error(error_of):
    message = error_of("a.txt", "It rained.\nWe left.\n")
    assert "neither columns of words and tags nor [words](LABEL) markup" in message


def test_unknown_extension_is_an_error(error_of):
    assert "unknown extension '.csv'" in error_of("a.csv", "x")


def test_unknown_format_is_an_error(tmp_path, nlp):
    path = tmp_path / "a.conll"
    path.write_text("Lima O")
    with pytest.raises(DataError, match="unknown format 'xml': choose auto, conll"):
        read_docs(path, nlp, format="xml")


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
    assert "no annotated docs in 0 read (left out: 1 lines not accepted" in message


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
