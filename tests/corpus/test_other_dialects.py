"""Data of the forms that we read, in ways of writing that went wrong: nothing of it is
taken wrongly in silence."""

import json

import pytest

from spacy_entlm.corpus.readers import DataError, read_docs

from .sentence import FOUND, LOC, PER, TEXT, WORDS, columns, entities, jsonl

SPANS = [PER, LOC]


# Tags


@pytest.mark.parametrize(
    "tags",
    [
        ("B-PER", "E-PER", "O", "W-LOC", "O"),  # BMEWO
        ("PER-B", "PER-I", "O", "LOC-B", "O"),
        ("PER_B", "PER_E", "O", "LOC_S", "O"),
        ("B-PER", "I-PER", "_", "B-LOC", "_"),
        ("B-PER", "I-PER", "0", "B-LOC", "0"),
        ("B-PER", "I-PER", "", "B-LOC", ""),
        ("B-PER", "I-PER\u200b", "O\u00a0", "\ufeffB-LOC", "O"),
    ],
)
def test_tags_of_other_tools_are_read(read, tags):
    (doc,), report = read("a.tsv", columns(*tags))
    assert entities(doc) == FOUND
    assert {token.ent_iob_ for token in doc} == {"B", "I", "O"}
    assert sorted(report.entities) == ["LOC", "PER"]


def test_middle_words_of_bmewo_are_read(read):
    tags = ["B-ORG", "M-ORG", "E-ORG", "O"]
    (doc,), _ = read(
        "a.conll", columns(*tags, words=["Bank", "of", "Ulmstadt", "fell"])
    )
    assert entities(doc) == [("Bank of Ulmstadt", "ORG")]


def test_a_sign_for_no_entity_may_be_that_of_most_words(read):
    words = [f"w{x}" for x in "abcdefghijkl"]
    (doc,), _ = read("a.tsv", columns("B-PER", *"_" * 11, words=words))
    assert entities(doc) == [("wa", "PER")]


def test_classes_that_end_in_a_letter_stay_classes(read):
    (doc,), _ = read("a.tsv", columns("VITAMIN-B", "O", "O", "O", "O"))
    assert entities(doc) == [("Mira", "VITAMIN-B")]


def test_two_tags_of_one_word_are_no_class(error_of):
    tags = ["B-PER|B-ACTOR", "O", "O", "O", "O"]
    assert "B-PER|B-ACTOR" in error_of("a.tsv", columns(*tags))


def test_words_of_which_none_is_outside_are_no_sentences(error_of):
    message = error_of(
        "a.csv", "text,label\nMira left the house.,travel\nIt rained.,x\n"
    )
    assert "not one word has the tag O" in message
    tokens = {"tokens": ["Mira", "left", "us"], "tags": ["NNP", "VBD", "PRP"]}
    assert "not one word has the tag O" in error_of("a.jsonl", jsonl(tokens))


def test_a_dash_in_the_place_of_every_o_is_told(read):
    (doc,), report = read("a.conll", columns("B-PER", "I-PER", "-", "B-LOC", "-"))
    assert entities(doc) == FOUND
    assert any("No word has the tag O" in line for line in report.problems())


# Spans


def test_spans_of_tags_are_joined(read):
    spans = [
        {"start": 0, "end": 4, "entity": "B-PER", "word": "Mira"},
        {"start": 5, "end": 7, "entity": "I-PER", "word": "Ho"},
        {"start": 7, "end": 9, "entity": "I-PER", "word": "##lt"},
        {"start": 10, "end": 14, "entity": "O", "word": "left"},
        {"start": 15, "end": 23, "entity": "I-LOC", "word": "Ulmstadt"},
    ]
    (doc,), _ = read("a.jsonl", jsonl({"text": TEXT, "entities": spans}))
    assert entities(doc) == FOUND


def test_tags_of_neighbours_that_begin_are_two_entities(read):
    spans = [[0, 4, "B-PER"], [5, 9, "B-PER"]]
    other = {"text": "Ann Lee left.", "entities": [[0, 3, "B-PER"], [4, 7, "I-PER"]]}
    (doc, _), _ = read("a.jsonl", jsonl({"text": TEXT, "entities": spans}, other))
    assert entities(doc) == [("Mira", "PER"), ("Holt", "PER")]


def test_a_class_that_looks_like_a_tag_stays_one(read):
    spans = [[0, 4, "B-CELL"], [5, 9, "T-CELL"]]
    (doc,), _ = read("a.jsonl", jsonl({"text": TEXT, "entities": spans}))
    assert entities(doc) == [("Mira", "B-CELL"), ("Holt", "T-CELL")]


@pytest.mark.parametrize("label", ["PER\u200b", "\ufeffPER", "\u2060PER"])
def test_a_class_with_signs_that_nobody_sees_is_an_error(error_of, label):
    spans = [{"start": 0, "end": 9, "label": label}]
    assert "is no class" in error_of("a.jsonl", jsonl({"text": TEXT, "spans": spans}))


def test_spans_under_keys_in_columns_are_read(read):
    entity = {"start": [0, 15], "end": [9, 23], "label": ["PER", "LOC"]}
    (doc,), _ = read("a.jsonl", jsonl({"text": TEXT, "entities": entity}))
    assert entities(doc) == FOUND


@pytest.mark.parametrize("key", ["data", "sentence", "content"])
def test_the_text_may_have_another_key(read, key):
    (doc,), _ = read("a.jsonl", jsonl({"id": 1, key: TEXT, "label": SPANS}))
    assert entities(doc) == FOUND


def test_texts_without_marks_beside_marked_ones_are_counted(read):
    lines = [{"text": TEXT, "spans": SPANS}, {"text": "It rained."}]
    _, report = read("a.jsonl", jsonl(*lines, {"text": "No.", "spans": []}))
    (line,) = report.problems()
    assert line.startswith("1 text does not say which entities it has")


@pytest.mark.parametrize(
    "first, last, said",
    [
        (0, -1, "the end is the last character"),
        (1, 1, "the first character is 1"),
        (1, 0, "the first character is 1 and the end is the last one"),
    ],
)
def test_offsets_that_are_counted_otherwise_are_told(tmp_path, nlp, first, last, said):
    spans = [[x["start"] + first, x["end"] + last, x["label"]] for x in SPANS]
    path = tmp_path / "a.jsonl"
    path.write_text(jsonl({"text": f"{TEXT} Yes.", "entities": spans}))
    _, report = read_docs(path, nlp)
    with pytest.raises(DataError, match=said):
        report.check_marks(path)
    spans.append([25, 28, "LOC"])
    path.write_text(jsonl({"text": f"{TEXT} Yes.", "entities": spans}))
    _, report = read_docs(path, nlp)
    report.check_marks(path)
    assert any(said in line for line in report.problems())


@pytest.mark.parametrize(
    "before, unit", [("\U0001f6a2", 2), ("\u00e9", 2), ("\u4e2d", 3)]
)
def test_offsets_in_bytes_or_halves_of_emoji_are_told(tmp_path, nlp, before, unit):
    spans = [[x["start"] + unit + 1, x["end"] + unit + 1, x["label"]] for x in SPANS]
    path = tmp_path / "a.jsonl"
    text = f"{before} {TEXT} Yes, they did."
    path.write_text(jsonl({"text": text, "entities": spans}))
    _, report = read_docs(path, nlp)
    said = "halves of emoji" if before == "\U0001f6a2" else "bytes of UTF-8"
    with pytest.raises(DataError, match=said):
        report.check_marks(path)


# Tables


def test_lists_as_numpy_prints_them_are_read(read):
    words, tags = "['Mira' 'Holt'\n \"left\"]", "['B-PER' 'I-PER' 'O']"
    text = f'tokens,ner_tags\n"{words}","{tags}"\n'.replace('"left"', '""left""')
    (doc,), _ = read("a.csv", text)
    assert entities(doc) == FOUND[:1]
    text = "tokens,ner_tags\n\"['Mira' 'Holt' 'left']\",[1 2 0]\n"
    (doc,), _ = read("a.csv", text, labels=["O", "B-PER", "I-PER"])
    assert entities(doc) == FOUND[:1]


def test_a_list_of_numpy_that_was_cut_is_an_error(error_of):
    words, tags = "['Mira' 'Holt' ... 'left']", "['B-PER' 'I-PER' ... 'O']"
    text = f'tokens,ner_tags\n"{words}","{tags}"\n'
    assert "row 2" in error_of("a.csv", text)


def test_a_sentence_a_row_with_a_list_of_tags_is_read(read):
    head, tags = (
        "Sentence #,Sentence,POS,Tag\n",
        "['B-per', 'I-per', 'O', 'B-geo', 'O']",
    )
    pos = "['NNP', 'NNP', 'VBD', 'NNP', '.']"
    text = f'{head}Sentence: 1,{" ".join(WORDS)},"{pos}","{tags}"\n'
    (doc,), _ = read("a.csv", text)
    assert entities(doc) == [("Mira Holt", "per"), ("Ulmstadt", "geo")]


def test_marks_of_comprehend_need_no_line(read, tmp_path):
    (tmp_path / "docs.txt").write_text(f"It rained.\n{TEXT}\n")
    rows = "File,Begin Offset,End Offset,Type\ndocs.txt,11,20,PER\ndocs.txt,26,34,LOC\n"
    (doc,), _ = read("a.csv", rows)
    assert entities(doc) == FOUND


def test_a_mark_of_comprehend_on_a_line_that_is_not_there_is_an_error(
    error_of, tmp_path
):
    (tmp_path / "docs.txt").write_text(f"{TEXT}\n\n")
    rows = "File,Line,Begin Offset,End Offset,Type\ndocs.txt,{},0,9,PER\n"
    assert "line 5 of docs.txt" in error_of("a.csv", rows.format(5))
    assert "line 1 of docs.txt" in error_of("a.csv", rows.format(1))


def test_what_comprehend_found_is_read_beside_its_texts(read, error_of, tmp_path):
    mark = {"BeginOffset": 0, "EndOffset": 9, "Score": 0.9, "Type": "PER"}
    lines = [
        {"Entities": [{**mark, "Text": "Mira Holt"}], "File": "docs.txt", "Line": 1},
        {"Entities": [], "File": "docs.txt", "Line": 0},
    ]
    message = error_of("a.jsonl", jsonl(*lines), place="docs.txt")
    assert "docs.txt: no such file" in message
    (tmp_path / "docs.txt").write_text(f"It rained.\n{TEXT}\n")
    docs, _ = read("a.jsonl", jsonl(*lines))
    assert [entities(doc) for doc in docs] == [FOUND[:1], []]
    lines[0]["Line"] = 7
    assert "line 7 of docs.txt" in error_of("a.jsonl", jsonl(*lines))
    del lines[0]["File"], lines[1]["File"]
    assert "without the text" in error_of("a.jsonl", jsonl(*lines))
    assert "without the text" in error_of("a.json", json.dumps(lines[0]))


# Label Studio, brat, inline marks, XML


def _task(*answers):
    return json.dumps([{"data": {"text": TEXT}, "annotations": [*answers]}])


def _mark(start, end, *labels):
    value = {"start": start, "end": end, "labels": [*labels]}
    return {"type": "labels", "from_name": "l", "to_name": "text", "value": value}


def test_other_answers_to_a_task_are_counted(read):
    one = {"result": [_mark(0, 9, "PER")]}
    both = {"result": [_mark(0, 9, "PER"), _mark(15, 23, "LOC")]}
    (doc,), report = read("a.json", _task(one, both))
    assert entities(doc) == FOUND[:1]
    assert any("several answers" in line for line in report.problems())
    _, report = read("a.json", _task(one, one))
    assert not report.problems()


def test_marks_of_several_labelings_are_told(read):
    drug = {**_mark(15, 23, "DRUG"), "from_name": "drugs"}
    (doc,), report = read("a.json", _task({"result": [_mark(0, 9, "PER"), drug]}))
    assert [label for _, label in entities(doc)] == ["PER", "DRUG"]
    said = " ".join(report.problems())
    assert "several labelings" in said and "drugs, l" in said


def test_marks_without_a_class_are_counted(read):
    (doc,), report = read(
        "a.json", _task({"result": [_mark(0, 9, "PER"), _mark(15, 23)]})
    )
    assert entities(doc) == FOUND[:1]
    assert "1 span without a class: left out" in report.problems()


def test_a_mark_of_brat_over_a_line_break_is_one(read, tmp_path):
    (tmp_path / "a.txt").write_text("We met Mira\nHolt in Ulm. North and South Ulm.\n")
    marks = "T1\tPER 7 11;12 16\tMira Holt\nT2\tLOC 25 30;41 44\tNorth Ulm\n"
    (doc,), report = read("a.ann", marks)
    assert entities(doc) == [("Mira\nHolt", "PER")]
    assert report.skipped["spans in several pieces"] == 1


def test_texts_of_brat_without_marks_beside_them_are_counted(tmp_path, nlp):
    (tmp_path / "a.txt").write_text(TEXT)
    (tmp_path / "a.ann").write_text("T1\tPER 0 9\tMira Holt\n")
    (tmp_path / "b.txt").write_text("It rained.")
    docs, report = read_docs(tmp_path, nlp)
    assert len(docs) == 1
    assert any("without an .ann file" in line for line in report.problems())


def test_a_bar_between_words_and_class_is_told(read):
    _, report = read("a.txt", "[Mira Holt|PER] left [Ulmstadt](LOC).\n")
    assert report.slips == ["line 1: [Mira Holt|PER]"]


@pytest.mark.parametrize("name", ["TITLE", "title", "item", "line"])
def test_a_tag_within_a_sentence_is_a_class(read, name):
    line = f"<s><PER>Mira</PER> read <{name}>Dunes</{name}> in <LOC>Ulm</LOC>.</s>\n"
    (doc,), _ = read("a.xml", line)
    assert entities(doc) == [("Mira", "PER"), ("Dunes", name), ("Ulm", "LOC")]


def test_tags_that_shape_a_text_do_not_cut_it(read):
    line = "<p>He <b>did</b> meet <PER>Mira <i>Holt</i></PER> in <LOC>Ulm</LOC>.</p>\n"
    (doc,), _ = read("a.xml", line)
    assert doc.text == "He did meet Mira Holt in Ulm."
    assert entities(doc) == [("Mira Holt", "PER"), ("Ulm", "LOC")]


def test_titles_and_sentences_stay_texts_of_their_own(read):
    text = (
        "<doc><title>News of <LOC>Ulm</LOC></title><s><PER>Mira</PER> left.</s></doc>"
    )
    docs, _ = read("a.xml", text + "\n")
    assert [doc.text for doc in docs] == ["News of Ulm", "Mira left."]
