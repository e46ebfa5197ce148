"""What `spacy_entlm.train` takes as examples, and that it takes no more than that."""

import logging
import random

import numpy
import pytest
import spacy
import torch
from spacy.language import Language
from spacy.tokens import Doc, Span
from spacy.training import Example

import spacy_entlm

NAME = "entlm_ner"
SENTENCES = {"@span_getters": "spacy-transformers.sent_spans.v1"}


@pytest.fixture
def nlp(bert, blank_nlp):
    return blank_nlp(bert)


@pytest.fixture
def taught(nlp, monkeypatch):
    """Trains on pairs; gives the examples that the training got."""
    given = []
    fit = "spacy_entlm.training.recipe.fit"
    monkeypatch.setattr(fit, lambda nlp, names, data, _: given.extend(data) or {})
    monkeypatch.setattr("spacy_entlm.training.recipe.warn_if_nothing_learned", print)

    def teach(*pairs):
        spacy_entlm.train(nlp, pairs)
        return given

    return teach


def told(caplog):
    return [record.getMessage() for record in caplog.records]


# Marks


def test_blanks_at_the_ends_of_a_mark_do_not_count(taught, caplog):
    with caplog.at_level(logging.WARNING, "spacy.entlm"):
        text = "Anna lives in  Rome \n"
        (example,) = taught(
            (text, {"entities": [(0, 5, "PER"), (13, 21, "LOC")]}),
        )
    ents = [(ent.text, ent.label_) for ent in example.reference.ents]
    assert ents == [("Anna", "PER"), ("Rome", "LOC")]
    assert not told(caplog)


def test_marks_off_the_words_are_told_with_text_and_words(taught, caplog, recwarn):
    with caplog.at_level(logging.WARNING, "spacy.entlm"):
        pairs = [
            ("Anna lives in Rome", {"entities": [(0, 4, "PER"), (15, 18, "LOC")]}),
            ("The Berliners", {"entities": [(4, 10, "LOC")]}),
        ]
        first, second = taught(*pairs)
    (line,) = told(caplog)
    assert "2 spans do not begin and end where words do" in line
    assert "'ome' (LOC) in 'Rome', example 1" in line
    assert "'Berlin' (LOC) in 'Berliners', example 2" in line
    assert first.get_aligned_ner() == ["U-PER", "O", "O", None]
    assert second.get_aligned_ner() == ["O", None]
    assert not [warning for warning in recwarn if "W030" in str(warning.message)]


@pytest.mark.parametrize(
    "annotation, problem",
    [
        ({"ents": [(0, 4, "PER")]}, "'ents' instead of \"entities\""),
        ({"spans": {"sc": [(0, 4, "PER")]}}, "'spans' instead of \"entities\""),
        ({}, 'nothing instead of "entities"'),
        ({"entities": [(0, 400, "PER")]}, "does not lie in its text of 13 characters"),
        ({"entities": [(4, 0, "PER")]}, "does not lie in its text"),
        ({"entities": [(0, 4)]}, "span .* needs whole numbers"),
        ({"entities": [("0", "4", "PER")]}, "span .* needs whole numbers"),
        ({"entities": ["O", "U-PER"]}, "2 tags for 4 words"),
        ({"entities": [(0, 4, "PER")], "word": ["Anna"]}, "word"),
    ],
)
def test_what_cannot_be_read_is_one_line(nlp, annotation, problem):
    pairs = [("Rome", {"entities": [(0, 4, "LOC")]}), ("Anna in Rome.", annotation)]
    with pytest.raises(ValueError, match=problem) as caught:
        spacy_entlm.train(nlp, pairs)
    assert str(caught.value).startswith("Example 2: ")
    assert "\n" not in str(caught.value)
    assert not nlp.get_pipe(NAME).is_initialized


def test_other_forms_of_annotation_are_read_as_spacy_reads_them(taught, nlp):
    words = {"words": ["Anna", "left", "."], "entities": ["U-PER", "O", "O"]}
    doc = nlp.make_doc("Rome .")
    doc.set_ents([Span(doc, 0, 1, "LOC")])
    nested = Example(doc, doc).to_dict()
    tags, places, both = taught(
        ("Anna left .", words),
        ("Rome .", nested),
        ("Rome", {"entities": [(0, 4, "LOC")], "cats": {"A": 1.0}}),
    )
    assert [ent.text for ent in tags.reference.ents] == ["Anna"]
    assert [ent.text for ent in places.reference.ents] == ["Rome"]
    assert [ent.text for ent in both.reference.ents] == ["Rome"]


@pytest.mark.parametrize(
    "tags",
    [
        ["B-PER", "I-PER", "O", "B-LOC"],
        ["B-PER", "L-PER", "O", "U-LOC"],
        ["B-PER", "E-PER", "O", "S-LOC"],
        ["PER", "PER", "O", "LOC"],
    ],
)
def test_tags_of_words_may_follow_any_scheme(taught, tags):
    words = ["Anna", "Lee", "left", "Rome"]
    (example,) = taught(("Anna Lee left Rome", {"words": words, "entities": tags}))
    ents = [(ent.text, ent.label_) for ent in example.reference.ents]
    assert ents == [("Anna Lee", "PER"), ("Rome", "LOC")]


def test_words_without_a_tag_carry_no_loss(taught):
    (example,) = taught(("Anna Lee left", {"entities": ["U-PER", None, "-"]}))
    assert example.get_aligned_ner() == ["U-PER", None, None]


def test_marks_of_tags_are_joined_as_in_a_file(taught):
    marks = [(0, 4, "B-PER"), (5, 8, "I-PER")]
    (example,) = taught(("Anna Lee left", {"entities": marks}))
    ents = [(ent.text, ent.label_) for ent in example.reference.ents]
    assert ents == [("Anna Lee", "PER")]


def test_classes_that_are_the_words_themselves_are_an_error(nlp):
    marks = [(0, 4, "Anna"), (10, 14, "Rome")]
    with pytest.raises(ValueError, match="class"):
        spacy_entlm.train(nlp, [("Anna left Rome", {"entities": marks})])


# What is the caller's


@Language.component("wants_sentences")
def wants_sentences(doc):
    doc.user_data["n_sentences"] = len(list(doc.sents))
    return doc


def test_components_before_it_do_not_run_unasked(nlp, annotated):
    """One that wants sentences, for instance."""
    nlp.add_pipe("wants_sentences", first=True)
    assert spacy_entlm.train(nlp, annotated, epochs=1)[NAME]


@pytest.mark.parametrize("in_config", [False, True])
def test_components_that_are_named_annotate(bert, blank_nlp, annotated, in_config):
    nlp = blank_nlp(bert, model={"get_spans": SENTENCES})
    nlp.add_pipe("sentencizer", first=True)
    named = {} if in_config else {"annotates": ["sentencizer"]}
    if in_config:
        nlp.config["training"]["annotating_components"] = ["sentencizer"]
    examples = [Example.from_dict(nlp.make_doc(t), dict(a)) for t, a in annotated]
    assert spacy_entlm.train(nlp, examples, epochs=1, **named)[NAME]
    for example in examples:
        assert not example.predicted.has_annotation("SENT_START")
        assert not example.reference.has_annotation("SENT_START")


def test_a_model_of_sentences_without_them_says_what_to_do(bert, blank_nlp, annotated):
    nlp = blank_nlp(bert, model={"get_spans": SENTENCES})
    nlp.add_pipe("sentencizer", first=True)
    with pytest.raises(ValueError, match=r'annotates=\["sentencizer"\]') as caught:
        spacy_entlm.train(nlp, annotated, epochs=1)
    assert "add_pipe" not in str(caught.value)
    assert not nlp.get_pipe(NAME).is_initialized


@pytest.mark.parametrize("name", ["sentencizr", "entlm_ner", "tagger"])
def test_what_annotates_stands_before_it(nlp, annotated, name):
    nlp.add_pipe("sentencizer", first=True)
    nlp.add_pipe("tagger")
    problem = f"annotates names '{name}', .* before 'entlm_ner'; these are: sentencizer"
    with pytest.raises(ValueError, match=problem):
        spacy_entlm.train(nlp, annotated, annotates=[name])


def test_docs_of_the_caller_stay_as_they_are(nlp, annotated):
    doc = nlp.make_doc(annotated[0][0])
    doc.set_ents([doc.char_span(*span) for span in annotated[0][1]["entities"]])
    predicted = Doc(nlp.vocab, words=[token.text for token in doc])
    before = doc.to_bytes(), predicted.to_bytes()
    spacy_entlm.train(nlp, [doc, Example(predicted, doc)], epochs=2)
    assert (doc.to_bytes(), predicted.to_bytes()) == before


def numbers():
    return random.random(), numpy.random.rand(), float(torch.rand(1))


@pytest.mark.parametrize("settings", [{}, {"trainings": 2}])
def test_random_numbers_of_the_caller_go_on(nlp, annotated, settings):
    drawn = []
    for trains in (False, True):
        random.seed(5), numpy.random.seed(5), torch.manual_seed(5)
        numbers()
        if trains:
            spacy_entlm.train(nlp, annotated, epochs=1, **settings)
        drawn.append(numbers())
    assert drawn[0] == drawn[1]


def test_they_go_on_if_a_training_fails(nlp, annotated):
    torch.manual_seed(5)
    expected = torch.rand(2)
    torch.manual_seed(5)

    def stop(epoch, losses):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        spacy_entlm.train(nlp, annotated, epochs=1, callback=stop)
    assert torch.equal(torch.rand(2), expected)


# Components by another name, peers, and disabled ones


def test_a_component_that_another_pipeline_calls_otherwise(
    trained, annotated, entities, tmp_path
):
    other = spacy.blank("xx")
    other.add_pipe(NAME, source=trained, name="people")
    text, known = annotated[0][0], annotated[0][1]["entities"]
    for nlp, name in ((trained, NAME), (other, "people")):
        assert list(spacy_entlm.train(nlp, annotated, epochs=1)) == [name]
        assert spacy_entlm.calibrate(nlp, annotated)
        exported = spacy_entlm.export(nlp, tmp_path / name)
        assert exported.pipe_names == [name]
        assert entities(exported(text)) == known


def test_label_words_beside_a_peer(nlp, bert, annotated, label_words):
    """Which has none, but gets the classes."""
    nlp.add_pipe("bert_tagger", config={"model": {"name": str(bert)}})
    history = spacy_entlm.train(nlp, annotated, label_words=label_words, epochs=1)
    assert list(history) == [NAME, "bert_tagger"]
    new = [("A red house .", {"entities": [(2, 5, "COLOR")]})]
    words = {"COLOR": ["red"]}
    spacy_entlm.train(nlp, [*annotated, *new], label_words=words, epochs=1)
    assert all("COLOR" in nlp.get_pipe(name).labels for name in history)


def test_a_disabled_component_is_told(nlp, annotated):
    nlp.disable_pipe(NAME)
    for call in (spacy_entlm.train, spacy_entlm.calibrate):
        with pytest.raises(ValueError, match=r"nlp\.enable_pipe\('entlm_ner'\)"):
            call(nlp, annotated)
    assert nlp.component_names == [NAME]
