"""The pipeline: its answers are those of a call, and it does not grow."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
import spacy
from spacy.language import Language

from spacy_entlm import confidence
from spacy_entlm.serving import reader as module
from spacy_entlm.serving.reader import Failure, Reader


@pytest.fixture(scope="module")
def reader(trained_folder):
    return Reader(str(trained_folder))


def expected(nlp, text):
    doc = nlp(text)
    return [
        {
            "start": ent.start_char,
            "end": ent.end_char,
            "label": ent.label_,
            "score": pytest.approx(confidence(ent), abs=2e-4),
        }
        for ent in doc.ents
    ]


def same_answers(answers):
    """Equal up to the last digits of scores."""
    return [
        [{**ent, "score": pytest.approx(ent["score"], abs=2e-4)} for ent in entities]
        for entities in answers
    ]


def test_answers_are_those_of_a_call(reader, trained, texts):
    texts = [*texts, "", " \n ", "😀 Anna é Berlin ."]
    answers = reader.read(texts)
    assert answers == [expected(trained, text) for text in texts]
    assert sum(map(len, answers)) > 10
    assert reader.read([]) == []


def test_copies_read_at_the_same_time(trained_folder, reader, texts, monkeypatch):
    two = Reader(str(trained_folder), n_copies=2)
    batches = [texts[start::7] for start in range(7)] * 4
    with ThreadPoolExecutor(2) as threads:
        answers = list(threads.map(two.read, batches))
    assert answers == [same_answers(reader.read(batch)) for batch in batches]
    # Each waits for the other one: in turn they would not come to an end.
    met, read = threading.Barrier(2, timeout=60), module._read
    seen = []

    def read_together(nlp, texts):
        met.wait()
        seen.append(nlp)
        return read(nlp, texts)

    monkeypatch.setattr(module, "_read", read_together)
    with ThreadPoolExecutor(2) as threads:
        list(threads.map(two.read, [texts, texts]))
    assert {id(nlp) for nlp in seen} == {id(nlp) for nlp in two.copies}


def test_words_of_texts_are_forgotten(reader):
    reader.read(["Anna"])
    before = len(reader.copies[0].vocab.strings)
    reader.read([f"w{i}x lives in y{i}z ." for i in range(200)])
    assert len(reader.copies[0].vocab.strings) == before


@Language.component("serving_test_fails")
def fails_on_rain(doc):
    if "rains" in doc.text:
        raise ValueError("no rain")
    return doc


def test_a_text_that_fails_does_not_take_others_with_it(trained_folder, texts):
    reader = Reader(str(trained_folder))
    alone = reader.read(texts)
    reader.copies[0].add_pipe("serving_test_fails")
    with_failure = reader.read(texts)
    bad = texts.index("It rains a lot in Paris .")
    assert isinstance(with_failure[bad], Failure)
    assert "no rain" in with_failure[bad].problem
    del alone[bad], with_failure[bad]
    assert with_failure == same_answers(alone)


def test_a_text_that_spacy_refuses_is_a_failure(trained_folder):
    reader = Reader(str(trained_folder))
    reader.copies[0].max_length = 20
    good, bad = reader.read(["Anna", "x" * 21])
    assert good[0]["label"] == "PER" and isinstance(bad, Failure)


def test_entities_of_another_component_have_no_score(tmp_path):
    nlp = spacy.blank("en")
    ruler = nlp.add_pipe("entity_ruler")
    ruler.add_patterns([{"label": "LOC", "pattern": "Rome"}])
    nlp.to_disk(tmp_path / "rules")
    (answer,) = Reader(str(tmp_path / "rules")).read(["In Rome"])
    assert answer == [{"start": 3, "end": 7, "label": "LOC", "score": None}]


def test_what_cannot_be_loaded_leaves_the_old_pipeline(reader, tmp_path):
    old, path = reader.copies, reader.pipeline
    reader.pipeline = str(tmp_path)
    with pytest.raises(OSError):
        reader.load()
    reader.pipeline = path
    assert reader.copies is old
