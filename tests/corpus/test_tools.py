"""What Label Studio and Argilla export, and what they import."""

import json

import pytest

from spacy_entlm.corpus.forms.argilla import argilla_record
from spacy_entlm.corpus.forms.label_studio import label_studio_task
from spacy_entlm.corpus.prodigy import annotated_entry
from spacy_entlm.corpus.readers import DataError

from .sentence import entities

TEXT = "Angela Ruiz left Lima."


def result(start, end, *labels, kind="labels"):
    value = {"start": start, "end": end, "text": TEXT[start:end], "labels": [*labels]}
    return {"from_name": "label", "to_name": "text", "type": kind, "value": value}


def task(*annotations, **data):
    return {"id": 1, "data": data or {"text": TEXT}, "annotations": [*annotations]}


def record(responses, **fields):
    return {"id": "1", "fields": fields or {"text": TEXT}, "responses": responses}


SPANS = [
    {"start": 0, "end": 11, "label": "PER"},
    {"start": 17, "end": 21, "label": "LOC"},
]


def test_the_ground_truth_counts_and_else_the_first_answer(read):
    one, other = {"result": [result(0, 6, "A")]}, {"result": [result(7, 11, "B")]}
    left_out = {"result": [], "was_cancelled": True}
    tasks = [task(one, other), task(one, {**other, "ground_truth": True})]
    docs, _ = read("a.json", json.dumps([*tasks, task(left_out, other)]))
    assert [entities(doc)[0][1] for doc in docs] == ["A", "B", "B"]


def test_what_nobody_answered_is_counted_and_not_read(read):
    found = {"result": [result(0, 11, "PER")]}
    suggestion = {"spans": {"value": SPANS, "score": None}}
    tasks = [
        {**task(), "predictions": [found]},
        task({**found, "was_cancelled": True}),
        {**record({}), "suggestions": suggestion},
        record({"spans": [{"value": SPANS, "status": "discarded"}]}),
        task({"result": []}),
    ]
    (doc,), report = read("a.json", json.dumps(tasks))
    assert not doc.ents and doc.has_annotation("ENT_IOB")
    assert sum(report.skipped.values()) == 4


def test_results_that_are_no_spans_are_counted(read):
    answer = {"result": [result(0, 6, "A"), result(0, 6, "x", kind="choices")]}
    _, report = read("a.json", json.dumps([task(answer)]))
    assert report.unread == {"choices": 1}


def test_an_empty_answer_to_another_question_hides_no_spans(read):
    topics = {"topics": [{"value": []}]}
    responses = {**topics, "spans": [{"value": SPANS}], "more": [{"value": SPANS[:1]}]}
    empty = {**topics, "spans": [{"value": []}]}
    content = [record(responses), record(empty), record(topics)]
    docs, report = read("a.json", json.dumps(content))
    assert list(map(len, map(entities, docs))) == [2, 0]
    assert sum(report.skipped.values()) == 1


def test_records_of_argilla_are_read(read):
    responses = {
        "quality": [{"value": "good", "user_id": "u"}],
        "order": [{"value": [{"value": "a", "rank": 1}]}],
        "names": [{"value": SPANS, "user_id": "u"}, {"value": [], "user_id": "v"}],
    }
    records = [record(responses), record(responses, sentence=TEXT)]
    docs, _ = read("a.json", json.dumps(records, indent=1))
    assert [entities(d) for d in docs] == [
        [("Angela Ruiz", "PER"), ("Lima", "LOC")]
    ] * 2


@pytest.mark.parametrize(
    "content, said",
    [
        ("[{", "broken JSON"),
        ("{}", "a JSON dict where a list is needed"),
        ("[1]", "entry 1: an object is needed, not 1"),
        ('[{"txt": "Lima"}]', 'entry 1: no "text" that is a string'),
        (json.dumps([task({"result": 1})]), '"result" must be a list, not 1'),
        (json.dumps([task(3)]), "an object is needed, not 3"),
        (json.dumps([task(image="a", audio="b")]), 'no "text" that is a string'),
        (json.dumps([task({"result": [result(0, 99, "A")]})]), "does not lie in its"),
        (json.dumps([task({"result": [result(0, 6, 7)]})]), "entry 1: span"),
        (json.dumps([record({})]), "no annotated docs"),
        (json.dumps([record(["a"])]), '"responses" must be an object'),
        ("[" * 100_000, "broken JSON"),
    ],
)
def test_bad_files_give_one_clear_line(read, content, said):
    with pytest.raises(DataError) as error:
        read("a.json", content)
    assert said in str(error.value) and "\n" not in str(error.value)


def test_what_does_not_align_names_its_entry(read):
    answer = {"result": [result(0, 3, "A"), result(17, 21, "LOC")]}
    _, report = read("a.json", json.dumps([task(answer)]))
    assert "entry 1" in report.misaligned_examples[0]


def test_what_is_written_for_a_tool_is_read_when_it_was_answered(read):
    (doc,), _ = read("a.json", json.dumps([record({"spans": [{"value": SPANS}]})]))
    entry = {**annotated_entry(doc), "meta": {"score": 1.2, "rarest": None}}
    for span in entry["spans"]:
        span["score"] = 0.5
    made = label_studio_task(entry)
    (predicted,) = made["predictions"]
    assert predicted["score"] == 0.5 and 0 <= predicted["result"][0]["score"] <= 1
    made["annotations"] = [{"result": predicted["result"]}]
    other = argilla_record(entry)
    assert other["metadata"] == {"score": 1.2}
    other["responses"] = {"spans": [{"value": other["suggestions"]["spans"]["value"]}]}
    docs, _ = read("a.json", json.dumps([made, other]))
    assert [entities(x) for x in docs] == [entities(doc)] * 2


def test_one_question_is_taken_for_all_records(read):
    """An empty answer to it is a text without entities, whatever another one says."""
    other = {"events": [{"value": SPANS[:1]}]}
    records = [
        record({"names": [{"value": SPANS}], **other}),
        record({"names": [{"value": []}], **other}),
    ]
    docs, _ = read("a.json", json.dumps(records))
    assert list(map(len, map(entities, docs))) == [2, 0]
