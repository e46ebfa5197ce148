"""What tools export and data sets hold: nothing of it is lost in silence."""

import json

import pytest

from spacy_entlm.corpus.readers import DataError, read_docs

from .sentence import FOUND, LOC, PER, TAGS, TEXT, WORDS, entities, jsonl

# JSON


def test_a_key_that_stands_twice_is_an_error(error_of):
    first = '"spans": [{"start": 0, "end": 9, "label": "PER"}]'
    line = f'{{"text": "{TEXT}", {first}, "spans": []}}'
    for name, text in [("a.jsonl", line), ("a.json", f"[{line}]")]:
        assert "'spans' stands twice" in error_of(name, text)


def test_a_key_that_stands_twice_with_one_value_is_no_error(read):
    line = f'{{"text": "{TEXT}", "id": 1, "id": 1, "entities": [[0, 9, "PER"]]}}\n'
    (doc,), _ = read("a.jsonl", line)
    assert entities(doc) == FOUND[:1]


def test_who_marked_a_text_and_how_long_says_nothing_of_its_form(read):
    entry = {"text": TEXT, "spans": [PER, LOC], "annotator": "bo", "lead_time": 2.5}
    (doc,), _ = read("a.jsonl", jsonl(entry))
    assert entities(doc) == FOUND


def test_a_source_and_other_objects_make_no_manifest(read):
    entry = {"source": "news", "tokens": WORDS, "ner_tags": TAGS, "meta": {"a": 1}}
    (doc,), report = read("a.jsonl", jsonl(entry))
    assert entities(doc) == FOUND and not report.skipped


def test_the_answers_to_other_jobs_of_a_manifest_are_told(read):
    mark = {"label": "PER", "startOffset": 0, "endOffset": 9}
    job = {"annotations": {"entities": [mark]}}
    other = {"annotations": {"entities": [{**mark, "label": "X"}]}}
    (doc,), report = read("a.manifest", jsonl({"source": TEXT, "one": job, "b": other}))
    assert entities(doc) == FOUND[:1]
    assert report.unread == {"b": 1}


@pytest.mark.parametrize("key", ["type", "entity_type", "entity_group", "tag"])
def test_the_words_of_a_span_are_not_its_class(read, key):
    spans = [
        {"start": 0, "end": 9, "entity": "Mira Holt", key: "PER"},
        {"start": 15, "end": 23, "entity": "Ulmstadt", key: "LOC"},
    ]
    (doc,), _ = read("a.jsonl", jsonl({"text": TEXT, "entities": spans}))
    assert entities(doc) == FOUND


def test_a_file_whose_classes_are_the_words_themselves_is_an_error(error_of):
    spans = [{**PER, "label": "Mira Holt"}, {**LOC, "label": "Ulmstadt"}]
    message = error_of("a.jsonl", jsonl({"text": TEXT, "spans": spans}))
    assert "'Mira Holt'" in message and "class" in message
    rows = "text,entity,start,end\n"
    rows += f"{TEXT},Mira Holt,0,9\n{TEXT},Ulmstadt,15,23\n"
    assert "class" in error_of("a.csv", rows)


def test_groups_of_spans_beside_entities_are_told(read):
    entry = {"text": TEXT, "ents": [PER, LOC], "spans": {"sc": [PER]}}
    (doc,), report = read("a.json", json.dumps(entry))
    assert entities(doc) == FOUND
    assert report.unread == {"spans": 1}


def test_offsets_that_count_words_are_told(tmp_path, nlp):
    spans = [[0, 2, "PER"], [3, 4, "LOC"]]
    path = tmp_path / "a.jsonl"
    path.write_text(jsonl({"text": TEXT, "tokens": WORDS, "entities": spans}))
    _, report = read_docs(path, nlp)
    with pytest.raises(DataError, match="count words"):
        report.check_marks(path)


def test_spans_of_words_without_a_text_are_asked_for(error_of):
    entry = {"tokens": WORDS, "entities": [{"type": "PER", "start": 0, "end": 2}]}
    message = error_of("a.jsonl", jsonl(entry))
    assert "'entities'" in message and "ner_tags" in message


def test_parts_of_speech_under_tags_are_not_taken_for_those_of_names(read):
    entry = {"tokens": WORDS, "tags": ["NNP", "NNP", "VBD", "NNP", "."], "ner": TAGS}
    (doc,), report = read("a.jsonl", jsonl(entry))
    assert entities(doc) == FOUND
    assert report.unread == {"tags": 1}


def test_answers_of_several_people_in_argilla_that_differ_are_told(read):
    answers = [{"value": [PER], "user_id": "a"}, {"value": [LOC], "user_id": "b"}]
    record = {"fields": {"text": TEXT}, "responses": {"spans": answers}}
    (doc,), report = read("a.json", json.dumps([record]))
    assert entities(doc) == FOUND[:1]
    assert any("several answers" in line for line in report.problems())
    answers[1]["value"] = [PER]
    _, report = read("a.json", json.dumps([record]))
    assert not report.problems()


def test_numbers_are_not_named_by_another_feature(error_of, tmp_path):
    feature = {"names": ["O", "B-X"], "_type": "ClassLabel"}
    features = {"ner_tags": {"feature": {"dtype": "int64"}}, "pos": feature}
    infos = {"default": {"features": features}}
    (tmp_path / "dataset_infos.json").write_text(json.dumps(infos))
    entry = {"tokens": WORDS, "ner_tags": [1, 0, 1, 0, 0]}
    message = error_of("a.jsonl", jsonl(entry), place="dataset_infos.json")
    assert "names no tags" in message


def test_numbers_that_are_named_in_two_ways_are_asked_for(read, error_of, tmp_path):
    def named(*names):
        return {"features": {"ner_tags": {"feature": {"names": ["O", *names]}}}}

    path = tmp_path / "dataset_infos.json"
    path.write_text(json.dumps({"a": named("B-PER"), "b": named("B-ACTOR")}))
    entry = {"tokens": ["Mira", "left"], "ner_tags": [1, 0]}
    assert "--labels" in error_of("a.jsonl", jsonl(entry))
    path.write_text(json.dumps({"a": named("B-PER"), "b": named("B-PER")}))
    (doc,), _ = read("a.jsonl", jsonl(entry))
    assert entities(doc) == [("Mira", "PER")]


def test_a_value_that_is_no_number_is_no_key_that_stands_twice(error_of):
    line = '{"text": "Ann", "spans": [{"start": 0, "end": NaN, "label": "A"}]}\n'
    assert "needs whole numbers" in error_of("a.jsonl", line)


def test_words_without_tags_are_told_as_such(error_of):
    entry = {"sentence": TEXT, "words": WORDS, "golden-entity-mentions": [[0, 2]]}
    message = error_of("a.json", json.dumps([entry]))
    assert "no tags" in message and "golden-entity-mentions" in message


def test_a_task_of_json_min_may_have_other_answers_and_no_mark(read):
    own = {"annotator": 1, "annotation_id": 2, "created_at": "2024-01-01"}
    choices = {"mood": [{"choices": ["calm"]}], **own}
    mark = {"start": 0, "end": 9, "text": "Mira Holt", "labels": ["PER"]}
    tasks = [
        {"text": TEXT, "label": [mark], **choices},
        {"text": "It rained.", **choices},
    ]
    docs, report = read("a.json", json.dumps(tasks))
    assert [entities(doc) for doc in docs] == [FOUND[:1], []]
    assert report.understood == "Label Studio's JSON_MIN"


def test_words_with_tags_and_who_gave_them_are_no_json_min(read):
    entry = {"tokens": WORDS, "ner_tags": TAGS, "annotator": "bo", "lead_time": 2.5}
    (doc,), _ = read("a.jsonl", jsonl({**entry, "text": TEXT}))
    assert entities(doc) == FOUND


REFUSED = [
    {"accept": False},
    {"correct": False},
    {"is_deleted": True},
    {"rejected": True},
    {"status": "Discarded"},
    {"status": "rejected"},
]


@pytest.mark.parametrize("said", REFUSED)
def test_what_was_refused_in_other_words_is_left_out_and_counted(read, said):
    lines = [{"text": TEXT, "spans": [PER, {**LOC, **said}]}]
    lines.append({"text": "Ann left.", "spans": [[0, 3, "PER"]], **said})
    (doc,), report = read("a.jsonl", jsonl(*lines))
    assert entities(doc) == FOUND[:1]
    assert sum(report.skipped.values()) == 2


@pytest.mark.parametrize(
    "said", [{"accept": True}, {"accept": ["PER"]}, {"status": "done"}, {"deleted": 0}]
)
def test_what_was_not_refused_is_read(read, said):
    lines = [{"text": TEXT, "spans": [PER, {**LOC, **said}], **said}]
    (doc,), report = read("a.jsonl", jsonl(*lines))
    assert entities(doc) == FOUND and not report.skipped
