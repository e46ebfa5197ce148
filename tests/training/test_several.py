"""Several trainings on the same examples, of which the weights become the mean."""

import pytest
import spacy
import srsly
import torch

import spacy_entlm
from spacy_entlm.files.tensors import save_tensors
from spacy_entlm.training import several
from spacy_entlm.training.several import average_trained

NAME = "entlm_ner"


@pytest.fixture
def trained_with(bert, blank_nlp, fit):
    """Trains a new pipeline."""

    def train(**settings):
        nlp = blank_nlp(bert)
        history = fit(nlp, **settings)
        train.history = history
        return nlp

    return train


@pytest.fixture
def single(trained_with, weights_of):
    """The weights of trainings with the seeds 1 to 3."""
    return [weights_of(trained_with(seed=seed)) for seed in (1, 2, 3)]


def mean(weights):
    return {
        key: sum(each[key] for each in weights) / len(weights) for key in weights[0]
    }


def assert_same(weights, expected):
    for key, tensor in weights.items():
        # A training ends with half precision (training/weights.py).
        torch.testing.assert_close(tensor, expected[key], rtol=2e-3, atol=1e-4, msg=key)


def test_weights_are_the_mean_of_single_trainings(trained_with, single, weights_of):
    nlp = trained_with(seed=1, trainings=3)
    assert_same(weights_of(nlp), mean(single))
    assert len(trained_with.history[NAME]) == 30  # of one training


def test_a_trained_pipeline_becomes_the_mean(
    trained_with, single, weights_of, make_examples
):
    nlp = trained_with(seed=1)
    average_trained(nlp, make_examples(nlp), trainings=1, seed=1)
    assert_same(weights_of(nlp), single[0])
    average_trained(nlp, make_examples(nlp), trainings=2, learn_rate=0.01, seed=1)
    with pytest.raises(AssertionError):
        assert_same(weights_of(nlp), single[0])


def test_what_fails_leaves_the_first_training(
    trained_with, single, weights_of, make_examples, monkeypatch
):
    nlp = trained_with(seed=1)
    begun = []

    def stop(nlp, names, examples, settings):
        begun.append(settings.seed)
        if len(begun) == 2:
            raise KeyboardInterrupt
        with torch.no_grad():
            for parameter in nlp.get_pipe(NAME).network.parameters():
                parameter += 1

    monkeypatch.setattr(several, "fit", stop)
    with pytest.raises(KeyboardInterrupt):
        average_trained(nlp, make_examples(nlp), trainings=3, seed=1)
    assert begun == [2, 3]
    assert_same(weights_of(nlp), single[0])


def test_a_component_that_goes_on_does_so_several_times(
    trained_with, weights_of, make_examples
):
    """From what it knows, and so that it forgets no more."""
    nlp = trained_with(seed=1)
    before = weights_of(nlp)
    spacy_entlm.train(nlp, make_examples(nlp)[:1], trainings=2, seed=1)
    assert not all(torch.equal(weights_of(nlp)[key], before[key]) for key in before)


def test_there_is_at_least_one_training(trained_with):
    with pytest.raises(ValueError, match="trainings must be at least 1, not 0"):
        trained_with(trainings=0)


def test_trainings_start_from_rows_that_were_given(bert, trained_with, tmp_path):
    pipe = trained_with(seed=1).get_pipe(NAME)
    width = pipe.network.label_rows.weight.shape[1]
    row = torch.arange(float(width))
    save_tensors(tmp_path / "rows.safetensors", {"LOC": row})
    network = several.untrained_network(pipe, tmp_path / "rows.safetensors")
    number = pipe.labels.index("LOC")
    assert torch.equal(network.rows[number], row)
    assert not torch.equal(several.untrained_network(pipe).rows[number], row)


@pytest.mark.parametrize("start", [None, "name", "words", "both"])
def test_trainings_start_from_names_or_words_as_the_first_did(
    naming, blank_nlp, make_examples, tmp_path, start
):
    """Also those of a pipeline that was loaded."""
    nlp = blank_nlp(naming, start=start)
    searched = {"PER": ["mary", "john"], "LOC": ["rome"]}
    srsly.write_json(tmp_path / "words.json", searched)
    nlp.config["initialize"]["components"][NAME] = {
        "searched_words": str(tmp_path / "words.json"),
        "label_words": {"ORG": ["a bank", "green house"]},
    }
    nlp.initialize(lambda: make_examples(nlp))
    nlp.to_disk(tmp_path / "model")
    pipe = spacy.load(tmp_path / "model").get_pipe(NAME)
    begun = several.untrained_network(pipe)
    assert begun.label_words == pipe.label_data
    for row, expected in zip(begun.rows, pipe.network.rows):
        torch.testing.assert_close(row, expected, atol=1e-5, rtol=1e-5)
