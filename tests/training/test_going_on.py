"""A trained pipeline goes on: what it learns anew, and what it keeps."""

import pytest
import spacy
import torch
from thinc.api import Adam

import spacy_entlm
from spacy_entlm.backbones.suitable import suitable_learn_rate

NAME = "entlm_ner"
NEW = [("Bern is far from Oslo .", {"entities": [(0, 4, "LOC"), (17, 21, "LOC")]})]


def distance(one, other):
    return sum(float((one[k] - other[k]).square().sum()) for k in one) ** 0.5


def test_weights_are_the_mean_of_new_and_old(trained, trained_folder, weights_of):
    before = weights_of(trained)
    settings = {"epochs": 3, "learn_rate": 1e-3}
    spacy_entlm.train(trained, NEW, share=1.0, **settings)
    new = weights_of(trained)
    nlp = spacy.load(trained_folder)
    spacy_entlm.train(nlp, NEW, **settings)
    for name, weights in weights_of(nlp).items():
        # One example counts a third, what was learned before as two.
        expected = before[name] + (new[name] - before[name]) / 3
        # A training ends with half precision (training/weights.py).
        assert torch.allclose(weights, expected, rtol=2e-3, atol=1e-6), name


def test_many_examples_weigh_more(trained, trained_folder, annotated, weights_of):
    moved = []
    for n in (1, len(annotated)):
        nlp = spacy.load(trained_folder)
        before = weights_of(nlp)
        spacy_entlm.train(nlp, annotated[:n], epochs=4 // n or 1)
        moved.append(distance(weights_of(nlp), before))
    assert moved[0] < moved[1]


def test_a_first_training_is_none_of_the_mean(bert, blank_nlp, fit, weights_of):
    runs = []
    for share in (None, 0.1):
        nlp = blank_nlp(bert)
        fit(nlp, epochs=2, share=share)
        runs.append(weights_of(nlp))
    assert distance(*runs) == 0


@pytest.fixture
def fits(trained, monkeypatch):
    """The settings of trainings, of which none takes place."""
    settings = []
    monkeypatch.setattr(
        "spacy_entlm.training.recipe.fit",
        lambda nlp, names, data, given: settings.append(given) or {NAME: []},
    )
    return settings


@pytest.mark.parametrize(
    "settings, epochs, rate",
    [
        ({}, 20, 0.5),
        ({"label_words": {"MYTH": ["cat"]}}, 60, 1.0),
        ({"share": 1}, 60, 1),
    ],
)
def test_it_takes_20_passes_at_half_the_rate_but_for_a_new_class_or_all_anew(
    trained, fits, settings, epochs, rate
):
    spacy_entlm.train(trained, NEW, **settings)
    backbone = trained.get_pipe(NAME).backbone
    assert fits[0].epochs == epochs
    assert fits[0].learn_rate == suitable_learn_rate(backbone) * rate


def test_a_class_is_new_until_it_has_learned(trained, fits, make_examples):
    """If it was added as spaCy's users do, too."""
    trained.resume_training()
    trained.get_pipe(NAME).add_label("MYTH", ["cat"])
    trained.rehearse(make_examples(trained), sgd=Adam(1e-4))  # says nothing of it
    spacy_entlm.train(trained, NEW)
    trained.update(make_examples(trained), sgd=Adam(1e-4))
    spacy_entlm.train(trained, NEW)
    assert [settings.epochs for settings in fits] == [60, 20]


@pytest.mark.parametrize("given", [None, {"CITY": []}, {"CITY": ["city"]}])
def test_a_new_class_starts_from_its_name_where_the_backbone_reads_names(
    naming, blank_nlp, annotated, given, monkeypatch
):
    """Or from what is given for it."""
    nlp = blank_nlp(naming)
    spacy_entlm.train(nlp, annotated, epochs=1)
    pipe, begun = nlp.get_pipe(NAME), []

    def fit(nlp, names, data, settings):
        begun.append(pipe.network.rows[pipe.labels.index("CITY")].detach().clone())
        return {NAME: []}

    monkeypatch.setattr("spacy_entlm.training.recipe.fit", fit)
    if given is None:
        given = {"CITY": ["a place to live"]}
    spacy_entlm.train(nlp, NEW, label_words=given, share=1.0)
    (text,) = given["CITY"] or ["city"]
    assert pipe.label_data["CITY"] == [text]
    torch.testing.assert_close(begun[0], pipe.network.row_of_name(text)[0])


@pytest.mark.parametrize("share", [0, -1, 1.5, float("nan")])
def test_a_share_is_above_0_and_at_most_1(trained, share):
    with pytest.raises(ValueError, match="share must be above 0"):
        spacy_entlm.train(trained, NEW, share=share)


# The optimizer that spaCy's own calls give


def rate_of(optimizer):
    return pytest.approx(float(optimizer.learn_rate))


def test_initialize_gives_the_rate_that_suits(bert, blank_nlp, make_examples):
    nlp = blank_nlp(bert)
    optimizer = nlp.initialize(lambda: make_examples(nlp))
    assert suitable_learn_rate(str(bert)) == rate_of(optimizer)
    assert optimizer.L2 == optimizer.grad_clip == 0


def test_resume_training_after_the_recipe_gives_a_quarter(nlp_of_recipe, tmp_path):
    quarter = suitable_learn_rate(nlp_of_recipe[1]) / 4
    nlp_of_recipe[0].to_disk(tmp_path)
    for nlp in (nlp_of_recipe[0], spacy.load(tmp_path)):
        assert quarter == rate_of(nlp.resume_training())


def test_the_optimizer_of_a_whole_training_is_over_after_the_recipe(
    bert, blank_nlp, annotated
):
    nlp = blank_nlp(bert)
    nlp.config["training"]["optimizer"] = {
        "@optimizers": "spacy-entlm.Adam.v1",
        "L2": 0.0,
        "learn_rate": {
            "@schedules": "spacy-entlm.decay_to_zero.v1",
            "epochs": "${training.max_epochs}",  # which spaCy leaves as it is here
        },
    }
    spacy_entlm.train(nlp, annotated, epochs=1)
    assert suitable_learn_rate(str(bert)) / 4 == rate_of(nlp.resume_training())


@pytest.fixture
def nlp_of_recipe(bert, blank_nlp, annotated):
    nlp = blank_nlp(bert)
    spacy_entlm.train(nlp, annotated, epochs=1)
    return nlp, str(bert)


def test_an_optimizer_that_was_chosen_stays(bert, blank_nlp, annotated):
    nlp = blank_nlp(bert)
    chosen = {"@optimizers": "Adam.v1", "learn_rate": 0.003}
    nlp.config["training"]["optimizer"] = chosen
    spacy_entlm.train(nlp, annotated, epochs=1)
    assert nlp.config["training"]["optimizer"] == chosen
    assert float(nlp.resume_training().learn_rate) == 0.003


def test_an_optimizer_of_another_section_stays(bert, blank_nlp, annotated):
    nlp = blank_nlp(bert)
    nlp.config["training"].update(optimizer="${mine}", annotating_components="${a.b}")
    nlp.config["mine"] = {"@optimizers": "Adam.v1", "learn_rate": 0.003}
    nlp.config["a"] = {"b": ["sentencizer"]}
    spacy_entlm.train(nlp, annotated, epochs=1)
    assert nlp.config["training"]["optimizer"] == "${mine}"


def test_a_rate_that_was_chosen_stays(bert, blank_nlp, annotated):
    nlp = blank_nlp(bert)
    schedule = {"@schedules": "spacy-entlm.decay_to_zero.v1", "max_steps": 9}
    chosen = {
        "@optimizers": "spacy-entlm.Adam.v1",
        "learn_rate": {**schedule, "initial_rate": 1e-5},
    }
    nlp.config["training"]["optimizer"] = chosen
    spacy_entlm.train(nlp, annotated, epochs=1)
    assert nlp.config["training"]["optimizer"] == chosen


def test_that_of_another_trained_component_stays(bert, blank_nlp, annotated):
    nlp = blank_nlp(bert)
    default = dict(nlp.config["training"]["optimizer"])
    nlp.add_pipe("tagger")
    spacy_entlm.train(nlp, annotated, epochs=1)
    assert nlp.config["training"]["optimizer"] == default


def test_another_optimizer_may_be_given(trained):
    optimizer = Adam(0.01)
    assert trained.resume_training(sgd=optimizer) is optimizer
