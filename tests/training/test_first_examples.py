"""What examples do to a component that has classes already: it began by their names, or
was trained before; and what is known of its backbone."""

import json
import logging
import shutil

import pytest
import spacy
import torch
from spacy.tokens import Doc
from spacy.training import Example
from thinc.api import Adam

import spacy_entlm
from spacy_entlm.training.adam import build_adam
from spacy_entlm.training.schedule import StepsToZero

NAME = "entlm_ner"
LABELS = ["PER", "LOC", "ORG"]
VITERBI = {"@misc": "spacy-entlm.viterbi_decoder.v1"}


@pytest.fixture
def named(knowing, blank_nlp):
    """A pipeline that has the names of classes, and nothing else."""
    return blank_nlp(knowing, labels=LABELS, decoder=VITERBI)


@pytest.fixture
def fits(monkeypatch):
    """The settings and the examples of trainings, of which none takes place."""
    given = []

    def fit(nlp, names, data, settings):
        given.append((settings, data))
        return {name: [] for name in names}

    monkeypatch.setattr("spacy_entlm.training.recipe.fit", fit)
    return given


def found(nlp, texts):
    return [
        {(ent.start_char, ent.end_char, ent.label_) for ent in doc.ents}
        for doc in nlp.pipe(texts)
    ]


def only(label, annotated):
    """The annotated texts with the entities of one class."""
    return [
        (text, {"entities": [x for x in known["entities"] if x[2] == label]})
        for text, known in annotated
    ]


# Classes without examples


@pytest.mark.parametrize("by_name", [True, False])
def test_classes_without_examples_are_not_unlearned(
    named, trained, annotated, texts, by_name
):
    nlp = named if by_name else trained
    before = found(nlp, texts)
    assert {label for spans in before for *_, label in spans} == {*LABELS}
    data = only("PER", annotated)
    spacy_entlm.train(nlp, data, epochs=10, learn_rate=5e-3, share=1)
    assert found(nlp, texts) == before


def test_what_an_example_marks_counts_whatever_is_found_there(trained, annotated):
    """ "Berlin" is a person now."""
    text = "Anna Smith lives in Berlin ."
    data = [(text, {"entities": [(0, 10, "PER"), (20, 26, "PER")]})]
    spacy_entlm.train(trained, data, share=1, learn_rate=5e-3)
    assert found(trained, [text]) == [{(0, 10, "PER"), (20, 26, "PER")}]


def test_examples_without_any_entity_teach_that_there_is_none(trained):
    text = "Anna Smith lives in Berlin ."
    assert found(trained, [text]) != [set()]
    data = [(text, {"entities": []})]
    spacy_entlm.train(trained, data, share=1, learn_rate=5e-3)
    assert found(trained, [text]) == [set()]


def test_places_are_those_of_the_words_of_the_example(trained, fits):
    """Also where the annotated Doc has other words."""
    doc = trained.make_doc("Anna left Berlin .")
    words = ["An", "na", "left", "Berlin", "."]
    gold = Doc(trained.vocab, words=words, spaces=[False, True, True, True, False])
    gold.set_ents([gold.char_span(0, 4, label="PER")])
    spacy_entlm.train(trained, [Example(doc, gold)])
    ((_, (example,)),) = fits
    assert example.get_aligned_ner() == ["U-PER", "O", None, "O"]


# The first examples of a component that began by names


@pytest.mark.parametrize("predicts_first", [True, False])
def test_it_gets_the_whole_recipe(named, annotated, fits, predicts_first):
    if predicts_first:
        named(annotated[0][0])
    pipe = named.get_pipe(NAME)
    spacy_entlm.train(named, annotated[:4])
    ((settings, _),) = fits
    assert not pipe.is_trained
    assert settings.epochs == 60
    assert settings.learn_rate == pytest.approx(pipe.learn_rate)
    assert settings.start_pull == 1.2


def test_decoder_and_calibration_follow_from_them(
    named, knowing, blank_nlp, annotated, fits
):
    """As if it had been initialised with them."""
    texts = [text for text, _ in annotated]
    found(named, texts)
    pipe = named.get_pipe(NAME)
    before, sure_before = pipe.decoder.to_bytes(), pipe.calibration
    spacy_entlm.train(named, annotated)
    assert pipe.decoder.to_bytes() != before
    assert pipe.calibration != sure_before
    other = blank_nlp(knowing, labels=LABELS, decoder=VITERBI)
    spacy_entlm.train(other, annotated)
    assert other.get_pipe(NAME).decoder.to_bytes() == pipe.decoder.to_bytes()
    assert other.get_pipe(NAME).calibration == pipe.calibration


@pytest.mark.parametrize("predicts_first", [True, False])
def test_a_class_that_it_lacks_starts_from_its_name(
    knowing, blank_nlp, annotated, predicts_first
):
    nlp = blank_nlp(knowing, labels=["PER"])
    if predicts_first:
        nlp("Anna")
    spacy_entlm.train(nlp, annotated, epochs=1)
    assert nlp.get_pipe(NAME).label_data == {
        "PER": ["person"],
        "LOC": ["location"],
        "ORG": ["organization"],
    }


def test_afterwards_it_is_trained(named, annotated, fits, make_examples, tmp_path):
    named.initialize(lambda: make_examples(named))
    assert not named.get_pipe(NAME).is_trained
    named.update(make_examples(named), sgd=Adam(1e-4))
    named.to_disk(tmp_path)
    loaded = spacy.load(tmp_path)
    assert named.get_pipe(NAME).is_trained and loaded.get_pipe(NAME).is_trained
    spacy_entlm.train(loaded, annotated[:4])
    assert fits[0][0].epochs == 20


# A class that a trained component does not know


@pytest.mark.parametrize("factory", [NAME, "bert_tagger"])
def test_an_unknown_class_is_told_before_anything_changes(
    bert, annotated, weights_of, factory
):
    nlp = spacy.blank("xx")
    nlp.add_pipe(factory, config={"model": {"name": str(bert)}})
    spacy_entlm.train(nlp, annotated, epochs=1)
    before = weights_of(nlp, factory)
    data = [*annotated, ("A ghost .", {"entities": [(2, 7, "GHOST")]})]
    with pytest.raises(ValueError, match=r"label_words=\{'GHOST': ") as caught:
        spacy_entlm.train(nlp, data, batch_size=1, share=1)
    assert "PER, LOC, ORG" in str(caught.value)
    after = weights_of(nlp, factory)
    assert all(torch.equal(before[key], after[key]) for key in before)
    assert nlp.get_pipe(factory).labels == ("PER", "LOC", "ORG")


def test_of_several_new_classes_none_is_added_if_one_cannot(trained, annotated):
    words = {"RED": ["red"], "NOTHING": []}
    with pytest.raises(ValueError, match="'NOTHING' has no usable label word"):
        spacy_entlm.train(trained, annotated, label_words=words)
    assert trained.get_pipe(NAME).labels == ("PER", "LOC", "ORG")


# What is known of the backbone


@pytest.fixture
def saved(naming, blank_nlp, annotated, tmp_path):
    """A trained pipeline whose backbone, with a learning rate of its own, is beside."""
    backbone = shutil.copytree(naming, tmp_path / "backbone")
    (backbone / "pretrain.json").write_text(json.dumps({"learn_rate": 0.002}))
    nlp = blank_nlp(backbone)
    spacy_entlm.train(nlp, annotated, epochs=1)
    nlp.to_disk(tmp_path / "pipeline")
    return tmp_path / "pipeline"


def test_a_training_goes_on_without_the_folder_of_the_backbone(
    saved, annotated, weights_of
):
    runs = []
    for _ in range(2):
        nlp = spacy.load(saved)
        history = spacy_entlm.train(nlp, annotated, epochs=3)
        rate = float(nlp.resume_training().learn_rate)
        runs.append((history, weights_of(nlp), rate))
        shutil.rmtree(saved.parent / "backbone", ignore_errors=True)
    (history, weights, rate), (again, others, same_rate) = runs
    assert history == again
    assert rate == same_rate == pytest.approx(0.0005)
    assert all(torch.equal(weights[key], others[key]) for key in weights)


@pytest.mark.parametrize("content", [None, '{"train_vocabulary": false}'])
def test_a_model_of_an_earlier_version_counts_as_trained(saved, content):
    """Which said less of itself, or nothing."""
    path = saved / NAME / "model" / "training.json"
    path.unlink()
    if content is not None:
        path.write_text(content)
    pipe = spacy.load(saved).get_pipe(NAME)
    assert pipe.is_trained
    assert pipe.learn_rate == 0.002
    shutil.rmtree(saved.parent / "backbone")
    assert spacy.load(saved).get_pipe(NAME).learn_rate == 1e-3  # by its width


@pytest.mark.parametrize(
    "change",
    [
        {"n_updates": -1},
        {"n_updates": True},
        {"n_updates": 1.5},
        {"learn_rate": 0},
        {"learn_rate": "fast"},
        {"learn_rate": True},
        {"more": 1},
    ],
)
def test_broken_facts_are_told(saved, change):
    path = saved / NAME / "model" / "training.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **change}))
    with pytest.raises(ValueError, match=r"training\.json.* no facts of a training"):
        spacy.load(saved)


def test_what_changes_in_the_config_is_logged(bert, blank_nlp, annotated, caplog):
    nlp = blank_nlp(bert)
    with caplog.at_level(logging.INFO, "spacy.entlm"):
        for _ in range(2):
            spacy_entlm.train(nlp, annotated, epochs=1)
    told = [x for x in caplog.messages if x.startswith("[training.optimizer]")]
    assert ["0.001," in told[0], "0.00025," in told[1]] == [True, True]
    assert len(told) == 2


@pytest.mark.parametrize("start_pull", [None, 0.0])
def test_a_config_without_that_folder_holds_weights_all_the_same(
    saved, make_examples, start_pull
):
    pulls = []
    for _ in range(2):
        nlp, rates = spacy.load(saved), StepsToZero(0.001, 9)
        backbone = str(saved.parent / "backbone")
        optimizer = build_adam(rates, backbone=backbone, start_pull=start_pull)
        nlp.update(make_examples(nlp), sgd=optimizer)
        pulls.append(optimizer.pull)
        shutil.rmtree(backbone, ignore_errors=True)
    assert pulls[0] == pulls[1]
    assert (pulls[0] > 0) == (start_pull is None)
