"""A masked LM that reads the text of a field."""

import pytest
import torch

from spacy_entlm.backbones.loading import load_masked_lm
from spacy_entlm.files.errors import DataError
from spacy_entlm.pretraining import field
from spacy_entlm.pretraining.evaluation import evaluate
from spacy_entlm.pretraining.field import guess_hidden


@pytest.fixture
def masked_lm(bert):
    return load_masked_lm(bert)


def same(one, other):
    pairs = zip(one.state_dict().values(), other.state_dict().values())
    return all(torch.equal(*pair) for pair in pairs)


def test_hidden_pieces_of_the_text_are_guessed_better(masked_lm, lines):
    before = evaluate(masked_lm, lines, 16)["loss"]
    guess_hidden(masked_lm, lines * 20, seed=1)
    assert evaluate(masked_lm, lines, 16)["loss"] < before - 0.1


def test_a_seed_repeats_and_random_numbers_outside_stay(bert, lines):
    torch.manual_seed(5)
    expected = torch.rand(3)
    models = [load_masked_lm(bert) for _ in range(3)]
    torch.manual_seed(5)
    for masked_lm, seed in zip(models, (1, 1, 2)):
        guess_hidden(masked_lm, iter(lines), seed)
    assert torch.equal(torch.rand(3), expected)
    assert same(models[0], models[1]) and not same(models[0], models[2])


@pytest.mark.parametrize("most, expected", [(500, range(20, 60)), (2, [2])])
def test_long_texts_are_read_in_part(masked_lm, lines, monkeypatch, most, expected):
    steps = []

    class Spy(field.Training):
        def _update(self, step, *args):
            steps.append(step)
            return super()._update(step, *args)

    monkeypatch.setattr(field, "Training", Spy)
    monkeypatch.setattr(field, "MAX_STEPS", most)
    guess_hidden(masked_lm, lines * 20, seed=1)
    assert len(steps) in expected


def test_less_than_a_sequence_is_enough_and_nothing_is_not(masked_lm):
    guess_hidden(masked_lm, ["Anna"], seed=1)
    with pytest.raises(DataError, match="holds no words"):
        guess_hidden(masked_lm, ["", " ", "\u16a0 \u16a2"], seed=1)
