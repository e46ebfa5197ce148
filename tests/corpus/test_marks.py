"""Marks that are rejected, contradict each other or their text, or are not read."""

import json

import pytest
import spacy
from spacy.tokens import Doc, DocBin, Span, SpanGroup

from spacy_entlm.corpus.readers import DataError

from .sentence import FOUND, LOC, PER, TEXT, entities, jsonl


def tags(doc):
    return [token.ent_iob_ for token in doc]


# Prodigy


@pytest.mark.parametrize("answer", ["reject", "ignore"])
def test_spans_that_are_rejected_are_left_out_and_counted(read, answer):
    spans = [
        {**PER, "answer": "accept"},
        {"start": 10, "end": 14, "label": "PER", "answer": answer},
    ]
    entry = {"text": TEXT, "spans": spans, "answer": "accept"}
    (doc,), report = read("a.jsonl", jsonl(entry))
    assert entities(doc) == FOUND[:1]
    assert "left out: 1 rejected span" in report.lines()[0]
    assert "1 rejected span: left out" in report.problems()


def test_marks_of_one_text_on_several_lines_are_joined(read):
    entries = [
        {"text": TEXT, "spans": [span], "answer": "accept", "_input_hash": 1}
        for span in (PER, LOC, LOC)
    ]
    (doc,), report = read("a.jsonl", jsonl(*entries))
    assert entities(doc) == FOUND
    assert any("joined: 1" in line for line in report.lines())


def test_a_text_that_stands_twice_with_the_same_marks_stays_twice(read):
    entry = {"text": TEXT, "spans": [PER, LOC]}
    docs, report = read("a.jsonl", jsonl(entry, entry))
    assert [entities(doc) for doc in docs] == [FOUND] * 2
    assert not report.problems()


def test_marks_that_contradict_each_other_count_as_not_annotated(read):
    other = {**PER, "end": 4, "label": "ORG"}
    lines = [{"text": TEXT, "spans": [span]} for span in (PER, other, LOC)]
    (doc,), report = read("a.jsonl", jsonl(*lines))
    assert entities(doc) == FOUND[1:]
    assert tags(doc)[:3] == ["", "", "O"]
    assert any(line.startswith("Marks that contradict") for line in report.lines())


def test_a_mark_that_was_accepted_and_rejected_counts_as_not_annotated(read):
    lines = [
        {"text": TEXT, "spans": [PER, LOC], "answer": "accept"},
        {"text": TEXT, "spans": [LOC], "answer": "reject"},
    ]
    (doc,), report = read("a.jsonl", jsonl(*lines))
    assert entities(doc) == FOUND[:1]
    assert tags(doc)[3] == ""
    assert any("'Ulmstadt' (LOC)" in line for line in report.lines())


# Label Studio


def result(field, start, end, label, text=None):
    value = {"start": start, "end": end, "labels": [label]}
    value.update({} if text is None else {"text": text})
    return {"from_name": "l", "to_name": field, "type": "labels", "value": value}


def task(data, *results):
    return {"data": data, "annotations": [{"result": list(results)}]}


def test_a_mark_is_on_the_field_that_it_names(read):
    data = {"text": TEXT, "title": "Late night news"}
    tasks = [
        task(data, result("title", 0, 10, "DATE", "Late night")),
        task(data, result("text", 0, 9, "PER")),
    ]
    docs, _ = read("a.json", json.dumps(tasks))
    found = [(doc.text, entities(doc)) for doc in docs]
    assert ("Late night news", [("Late night", "DATE")]) in found
    assert (TEXT, FOUND[:1]) in found
    assert not any("DATE" in str(ents) for text, ents in found if text == TEXT)


def test_the_words_of_a_mark_tell_its_field_where_no_name_does(read):
    data = {"body": TEXT, "title": "Late night news"}
    marks = [
        result("t", 0, 10, "DATE", "Late night"),
        result("b", 0, 9, "PER", TEXT[:9]),
    ]
    docs, _ = read("a.json", json.dumps([task(data, *marks)]))
    assert {doc.text: entities(doc) for doc in docs} == {
        TEXT: FOUND[:1],
        "Late night news": [("Late night", "DATE")],
    }


def test_a_mark_on_a_field_that_is_not_told_is_an_error(error_of):
    data = {"body": TEXT, "title": "Late night news"}
    message = error_of("a.json", json.dumps([task(data, result("t", 0, 4, "PER"))]))
    assert "entry 1: " in message and "'t'" in message and "title" in message


def test_json_min_tells_by_the_marks_which_field_is_annotated(read):
    mark = {"start": 0, "end": 9, "text": "Mira Holt", "labels": ["PER"]}
    tasks = [
        {"body": TEXT, "mood": "calm", "label": [mark], "annotation_id": 3},
        {"body": "It rained.", "mood": "calm", "annotator": 1, "annotation_id": 4},
    ]
    docs, _ = read("a.json", json.dumps(tasks))
    assert [(doc.text, entities(doc)) for doc in docs] == [
        (TEXT, FOUND[:1]),
        ("It rained.", []),
    ]


# A span's own text


def shifted(kind, start, end, text, spaced="A B " + TEXT):
    if kind == "label-studio":
        return "a.json", json.dumps(
            [task({"text": spaced}, result("text", start, end, "PER", text))]
        )
    span = {"start": start, "end": end, "label": "PER", "text": text}
    return "a.jsonl", jsonl({"text": spaced, "spans": [span]})


@pytest.mark.parametrize("kind", ["label-studio", "jsonl"])
def test_a_span_follows_its_own_text_where_that_stands_near_by(read, kind):
    (doc,), report = read(*shifted(kind, 0, 9, "Mira Holt"))
    assert entities(doc) == FOUND[:1]
    shown = " ".join(report.lines())
    assert "put where their text stands near by: 1" in shown
    assert "'Mira Holt' (PER) where 'A B Mira ' stands" in shown


@pytest.mark.parametrize("kind", ["label-studio", "jsonl"])
@pytest.mark.parametrize("text", ["Bo Ek", "t"])
def test_a_span_whose_text_is_not_once_near_by_is_not_annotated(read, kind, text):
    (doc,), report = read(*shifted(kind, 4, 13, text))
    assert not doc.ents
    assert tags(doc)[:5] == ["O", "O", "", "", "O"]
    shown = " ".join(report.lines())
    assert f"'{text}' (PER) where 'Mira Holt' stands" in shown


def test_offsets_behind_the_text_follow_their_words_too(read):
    (doc,), _ = read(*shifted("jsonl", 20, 29, "Ulmstadt.", TEXT))
    assert entities(doc)[0][1] == "PER"


def test_offsets_that_count_halves_of_emoji_are_mended(read):
    text = "\U0001f600\U0001f600 Mira Holt left"
    (doc,), _ = read(*shifted("label-studio", 5, 14, "Mira Holt", text))
    assert entities(doc) == FOUND[:1]


def test_other_blanks_in_a_span_are_no_other_text(read):
    (doc,), report = read(*shifted("jsonl", 0, 9, "Mira Holt", "Mira\nHolt left"))
    assert len(doc.ents) == 1 and not report.problems()


# Marks in the text


@pytest.mark.parametrize(
    "slip", ["[Bob] (PER)", "[Bob]{PER}", "[Bob][PER]", "(Bob)[PER]"]
)
def test_what_nearly_is_a_mark_is_told(read, slip):
    _, report = read("a.txt", f"[Lima](LOC) is far\n{slip} left\n")
    assert report.slips == [f"line 2: {slip}"]
    _, report = read("a.txt", f"[Ann](per) came\n{slip} left\n")
    assert report.slips == [f"line 2: {slip}"]


@pytest.mark.parametrize("label", ["museum_object", "MuseumObject", "PERS", "place2"])
def test_what_is_written_as_only_classes_are_is_a_slip_of_any_class(read, label):
    _, report = read("a.txt", f"[Lima](LOC) is far\nA [bronze lamp] ({label})\n")
    assert report.slips == [f"line 2: [bronze lamp] ({label})"]


@pytest.mark.parametrize("word", ["sic", "Ed", "see"])
def test_other_words_behind_brackets_are_text(read, word):
    _, report = read("a.txt", f"[Lima](LOC) is far\nA [bronze lamp] ({word})\n")
    assert not report.slips


def test_marks_with_an_object_are_read(read):
    text = '[Lima]{"entity": "LOC", "role": "to"} and [Rome](LOC)\n'
    (doc,), _ = read("a.md", text)
    assert doc.text == "Lima and Rome"
    assert entities(doc) == [("Lima", "LOC"), ("Rome", "LOC")]
    (doc,), _ = read("a.txt", '[Lima]{"entity": "LOC"}\n')
    assert entities(doc) == [("Lima", "LOC")]


@pytest.mark.parametrize(
    "mark", ['[x]{"entity": 3}', '[x]{"entity": "a}', '[x]{"label": "PER"}']
)
def test_a_broken_object_of_a_mark_is_an_error(error_of, mark):
    assert ", line 2: " in error_of("a.md", f"[Lima](LOC)\n{mark}\n")


# Marks that are not read


@pytest.mark.parametrize("tagged", ["B-PER I-PER O O", ["B-PER", "I-PER", "O", "O"]])
@pytest.mark.parametrize("key", ["labels", "ner_tags", "tags"])
def test_tags_beside_a_text_are_read_where_there_is_one_for_each_word(
    read, key, tagged
):
    (doc,), _ = read("a.jsonl", jsonl({"text": "Mira Holt left .", key: tagged}))
    assert entities(doc) == FOUND[:1]


@pytest.mark.parametrize(
    "entry",
    [
        {"labels": "B-PER I-PER O"},
        {"ner_tags": ["B-PER", "O"]},
        {"marks": [[0, 9, "PER"]]},
        {"annotation": {"entities": [[0, 9, "PER"]]}},
        {"annotations": {"spans": [PER]}},
    ],
)
def test_marks_in_a_form_that_is_not_read_are_counted(read, entry):
    (key,) = entry
    known = {"text": "Ann left", "spans": [[0, 3, "PER"]]}
    if key == "annotation":
        known = {"text": "Ann left", "label": [[0, 3, "PER"]]}
    docs, report = read("a.jsonl", jsonl(known, {"text": TEXT, **entry}))
    assert len(docs) == 2
    assert report.unread == {key: 1}


@pytest.mark.parametrize(
    "entry", [{}, {"labels": "B-PER I-PER O"}, {"marks": [1]}, {"ners": {"a": 1}}]
)
def test_a_file_of_text_without_a_mark_is_refused_where_marks_are_the_point(
    read, tmp_path, entry
):
    _, report = read("a.jsonl", jsonl({"text": TEXT, **entry}))
    with pytest.raises(DataError) as caught:
        report.check_marks(tmp_path / "a.jsonl")
    assert all(repr(key) in str(caught.value) for key in entry)


def test_texts_that_say_that_they_have_no_entity_are_no_error(read, tmp_path):
    for name, text in [
        ("a.jsonl", jsonl({"text": TEXT, "spans": []})),
        ("a.conll", "Ann O\nleft O\n"),
        ("a.jsonl", jsonl({"text": ["a"], "label": ["O"]})),
    ]:
        _, report = read(name, text)
        report.check_marks(tmp_path / name)


def test_marks_in_doc_spans_are_told(read, error_of, nlp):
    doc = Doc(nlp.vocab, words=["Mira", "Holt", "left"])
    doc.spans["sc"] = SpanGroup(doc, spans=[Span(doc, 0, 2, "PER")])
    message = error_of("a.spacy", DocBin(docs=[doc]).to_bytes())
    assert "doc.spans" in message
    doc.set_ents([Span(doc, 0, 1, "PER")])
    _, report = read("a.spacy", DocBin(docs=[doc, doc]).to_bytes())
    shown = " ".join(report.lines())
    assert "Docs with marks in doc.spans" in shown and "'Mira Holt' (PER)" in shown


def test_spans_that_are_the_entities_are_not_told(read):
    doc = spacy.blank("en")("Mira Holt left")
    doc.set_ents([Span(doc, 0, 2, "PER")])
    doc.spans["found"] = list(doc.ents)
    _, report = read("a.spacy", DocBin(docs=[doc]).to_bytes())
    assert not report.problems()
