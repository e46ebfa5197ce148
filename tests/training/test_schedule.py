"""Learning rates: the decay, and what suits a backbone."""

import json
import logging
import shutil
from itertools import islice

import pytest
import spacy
from spacy.tokens import DocBin
from thinc.api import registry

from spacy_entlm.training.schedule import (
    decay_to_zero,
    learn_rate_for_width,
    steps_to_zero,
    suitable_learn_rate,
)


@pytest.fixture
def examples(tmp_path):
    """A training file of 10 sentences: 3 steps of 4 an epoch."""
    nlp = spacy.blank("en")
    path = tmp_path / "train.spacy"
    DocBin(docs=[nlp.make_doc("Anna .") for _ in range(10)]).to_disk(path)
    return path


def first(rates, n):
    return list(islice(rates, n))


def test_linear_decay_begins_at_the_rate_and_would_reach_zero_after_the_last_step():
    assert first(steps_to_zero(1.0, 4), 4) == [1.0, 0.75, 0.5, 0.25]


@pytest.mark.parametrize("n_steps", [1, 2, 100])
def test_no_step_has_a_rate_of_zero(n_steps):
    rates = first(steps_to_zero(1.0, n_steps), n_steps + 5)
    assert rates[0] == 1.0
    assert min(rates) > 0
    assert rates == sorted(rates, reverse=True)
    # A training that goes on keeps the last rate.
    assert set(rates[n_steps - 1 :]) == {rates[-1]}


def test_number_of_steps_follows_from_the_data(examples):
    schedule = registry.schedules.get("spacy-entlm.decay_to_zero.v1")
    assert schedule is decay_to_zero
    rates = first(schedule(1.0, 2, 4, str(examples)), 6)
    assert rates == pytest.approx([1, 5 / 6, 4 / 6, 3 / 6, 2 / 6, 1 / 6])


@pytest.mark.parametrize(
    "epochs, max_steps, n_steps",
    [(2, 0, 6), (2, 3, 3), (2, 100, 6), (0, 5, 5), (-1, 5, 5)],
)
def test_decay_ends_where_the_training_does(examples, epochs, max_steps, n_steps):
    rates = decay_to_zero(1.0, epochs, 4, str(examples), max_steps=max_steps)
    expected = [1 - step / n_steps for step in range(n_steps)]
    assert first(rates, n_steps + 1) == pytest.approx([*expected, expected[-1]])


@pytest.mark.parametrize("epochs", [0, -1])
def test_training_without_an_end_is_refused(examples, epochs):
    with pytest.raises(ValueError, match=rf"max_epochs = {epochs} .* set max_steps"):
        next(decay_to_zero(1.0, epochs, 4, str(examples)))


def test_data_may_be_a_folder_of_files(examples):
    shutil.copy(examples, examples.parent / "more.spacy")
    rates = first(decay_to_zero(1.0, 1, 4, str(examples.parent)), 5)
    assert rates == pytest.approx([1, 0.8, 0.6, 0.4, 0.2])


@pytest.mark.parametrize("missing", [None, "nowhere/train.spacy"])
def test_without_the_data_the_rate_is_constant(missing):
    """A trained pipeline is loaded where its training data is not."""
    assert first(decay_to_zero(0.5, 20, 4, missing), 4) == [0.5] * 4


@pytest.mark.parametrize("width, rate", [(768, 1e-4), (384, 3e-4)])
def test_rule_by_width_gives_the_measured_rates(width, rate):
    assert learn_rate_for_width(width) == pytest.approx(rate)


def test_rule_by_width_falls_with_the_width_and_has_a_limit():
    rates = [learn_rate_for_width(width) for width in (8, 128, 256, 512, 768, 1024)]
    assert rates == sorted(rates, reverse=True)
    assert rates[0] == 1e-3
    assert 0 < rates[-1] < 1e-4


def test_rate_that_suits_a_backbone_comes_from_its_width(backbone):
    assert suitable_learn_rate(str(backbone)) == learn_rate_for_width(32) == 1e-3


def store(bert, folder, content):
    shutil.copytree(bert, folder, dirs_exist_ok=True)
    (folder / "pretrain.json").write_text(content)
    return str(folder)


def test_rate_stored_beside_the_backbone_wins(bert, tmp_path, examples):
    backbone = store(bert, tmp_path / "b", json.dumps({"learn_rate": 0.02}))
    assert suitable_learn_rate(backbone) == 0.02
    rates = decay_to_zero(None, 1, 4, str(examples), backbone)
    assert next(rates) == 0.02


@pytest.mark.parametrize("content", ["{}", '{"learn_rate": null}', '{"steps": 3}'])
def test_stored_settings_without_a_rate_leave_it_to_the_width(bert, tmp_path, content):
    assert suitable_learn_rate(store(bert, tmp_path / "b", content)) == 1e-3


@pytest.mark.parametrize(
    "content, message",
    [
        ("{", "broken JSON"),
        ('{"learn_rate": "much"}', "cannot be read: learn_rate"),
        ("[1]", "is no JSON object"),
        ('"x"', "is no JSON object"),
    ],
)
def test_stored_rate_that_cannot_be_read_is_named(bert, tmp_path, content, message):
    backbone = store(bert, tmp_path / "b", content)
    with pytest.raises(ValueError, match=rf"pretrain\.json: {message}"):
        suitable_learn_rate(backbone)


def test_backbone_that_is_gone_gives_the_papers_rate_and_a_warning(caplog):
    with caplog.at_level(logging.WARNING, logger="spacy.entlm"):
        assert suitable_learn_rate("nobody/has-this-model") == 1e-4
    assert "nobody/has-this-model" in caplog.text
    assert suitable_learn_rate(None) == 1e-4
