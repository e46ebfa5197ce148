"""The decay of the learning rate."""

import json
import shutil
import textwrap
from itertools import islice

import pytest
import spacy
from spacy.tokens import DocBin
from thinc.api import Config, registry

from spacy_entlm.training.schedule import StepsToZero, decay_to_zero


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
    assert first(StepsToZero(1.0, 4), 4) == [1.0, 0.75, 0.5, 0.25]


@pytest.mark.parametrize("n_steps", [1, 2, 100])
def test_no_step_has_a_rate_of_zero(n_steps):
    rates = first(StepsToZero(1.0, n_steps), n_steps + 5)
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


def test_of_variables_that_are_not_filled_in_the_rate_is_constant_and_gentle():
    rates = decay_to_zero(1.0, "${training.max_epochs}", 4, max_steps=100)
    assert first(rates, 3) == [0.25] * 3


@pytest.mark.parametrize("epochs", [0, -1])
def test_training_without_an_end_is_refused(examples, epochs):
    with pytest.raises(ValueError, match=rf"max_epochs = {epochs} .* set max_steps"):
        next(decay_to_zero(1.0, epochs, 4, str(examples)))


def test_data_may_be_a_folder_of_files(examples):
    shutil.copy(examples, examples.parent / "more.spacy")
    rates = first(decay_to_zero(1.0, 1, 4, str(examples.parent)), 5)
    assert rates == pytest.approx([1, 0.8, 0.6, 0.4, 0.2])


@pytest.mark.parametrize("limit, n_steps", [(0, 6), (5, 4)])
def test_what_the_reader_of_a_corpus_gives_counts(examples, limit, n_steps):
    config = f"""
    [corpora]
    [corpora.train]
    @readers = "spacy.Corpus.v1"
    path = {json.dumps(str(examples))}
    gold_preproc = false
    limit = {limit}
    [rates]
    @schedules = "spacy-entlm.decay_to_zero.v1"
    initial_rate = 1.0
    epochs = 2
    batch_size = 4
    examples = ${{corpora.train}}
    """
    filled = Config().from_str(textwrap.dedent(config))
    assert spacy.util.registry.resolve(filled)["rates"].n_steps == n_steps
    examples.unlink()
    assert spacy.util.registry.resolve(filled)["rates"].n_steps == 1


@pytest.mark.parametrize("missing", [None, "nowhere/train.spacy"])
def test_without_the_data_the_rate_is_constant(missing):
    """A trained pipeline is loaded where its training data is not."""
    assert first(decay_to_zero(0.5, 20, 4, missing), 4) == [0.5] * 4


def test_rate_may_be_that_of_the_backbone(bert, tmp_path, examples):
    backbone = tmp_path / "b"
    shutil.copytree(bert, backbone)
    (backbone / "pretrain.json").write_text(json.dumps({"learn_rate": 0.02}))
    assert next(decay_to_zero(None, 1, 4, str(examples), str(backbone))) == 0.02
