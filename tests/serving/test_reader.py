"""The pipeline: its answers are those of a call, and it does not grow."""

import pytest
import spacy
from spacy.language import Language

from spacy_entlm import confidence
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


def test_words_of_texts_are_forgotten(reader):
    reader.read(["Anna"])
    before = len(reader.nlp.vocab.strings)
    reader.read([f"w{i}x lives in y{i}z ." for i in range(200)])
    assert len(reader.nlp.vocab.strings) == before


@Language.component("serving_test_fails")
def fails_on_rain(doc):
    if "rains" in doc.text:
        raise ValueError("no rain")
    return doc


def test_a_text_that_fails_does_not_take_others_with_it(trained_folder, texts):
    reader = Reader(str(trained_folder))
    alone = reader.read(texts)
    reader.nlp.add_pipe("serving_test_fails")
    with_failure = reader.read(texts)
    bad = texts.index("It rains a lot in Paris .")
    assert isinstance(with_failure[bad], Failure)
    assert "no rain" in with_failure[bad].problem
    del alone[bad], with_failure[bad]
    assert with_failure == same_answers(alone)


def test_a_text_that_spacy_refuses_is_a_failure(trained_folder):
    reader = Reader(str(trained_folder))
    reader.nlp.max_length = 20
    good, bad = reader.read(["Anna", "x" * 21])
    assert good[0]["label"] == "PER" and isinstance(bad, Failure)


def test_entities_of_another_component_have_no_score(tmp_path):
    nlp = spacy.blank("en")
    ruler = nlp.add_pipe("entity_ruler")
    ruler.add_patterns([{"label": "LOC", "pattern": "Rome"}])
    nlp.to_disk(tmp_path / "rules")
    (answer,) = Reader(str(tmp_path / "rules")).read(["In Rome"])
    assert answer == [{"start": 3, "end": 7, "label": "LOC", "score": None}]
