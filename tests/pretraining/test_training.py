"""The training loop: its loss, schedule, clock, randomness, and all backbones."""

from collections import namedtuple
from types import SimpleNamespace

import numpy as np
import pytest
import torch
import transformers

from spacy_entlm.backbones.loading import load_masked_lm
from spacy_entlm.files.errors import DataError
from spacy_entlm.pretraining import loop
from spacy_entlm.pretraining.batches import Masker, PackedSequences, score_masked
from spacy_entlm.pretraining.checkpoint import State, make_optimizer
from spacy_entlm.pretraining.loop import Training
from spacy_entlm.pretraining.settings import Settings

Report = namedtuple("Report", "step done loss speed")


@pytest.fixture(scope="module")
def make_training(lines):
    """A training of a tiny backbone: (folder, **settings) -> Training. Its reports and
    the states that it saves are in lists of these names."""

    def make(folder, *, dropout=None, **settings):
        names = ("hidden_dropout_prob", "attention_probs_dropout_prob")
        names = (*names, "dropout", "attention_dropout", "mlp_dropout")
        dropouts = {} if dropout is None else dict.fromkeys(names, dropout)
        masked_lm = load_masked_lm(folder, transformer_config=dropouts)
        tokenizer = masked_lm.tokenizer
        options = {"batch_size": 4, "length": 16, "checkpoint_minutes": 1e9}
        options["precision"] = "float32"
        settings = Settings(**{**options, **settings})
        stream = [i for line in lines for i in tokenizer(line).input_ids[1:]]
        prefix, suffix = masked_lm.special_pieces()
        reports, states = [], []
        training = Training(
            masked_lm=masked_lm,
            optimizer=make_optimizer(masked_lm),
            sequences=PackedSequences(
                np.array(stream), settings.length, prefix, suffix, settings.seed
            ),
            settings=settings,
            save=lambda state: states.append((state.step, state.pieces)),
            report=lambda *report: reports.append(Report(*report)),
        )
        training.reports, training.states = reports, states
        return training

    return make


def test_loss_and_gradients_are_those_of_transformers(backbone, lines):
    """Which scores all positions and leaves those out that are not masked."""
    whole = transformers.AutoModelForMaskedLM.from_pretrained(backbone).eval()
    masked_lm = load_masked_lm(backbone).eval()
    tokenizer = masked_lm.tokenizer
    ids = np.array([tokenizer(" ".join(lines[:9])).input_ids[:24]] * 3)
    masker = Masker(tokenizer, 0.2)
    batch = masker.mask(ids, np.random.default_rng(3))
    labels = np.full(ids.size, -100)
    labels[batch.positions] = batch.targets
    tensors = [torch.from_numpy(part) for part in batch]
    expected = whole(
        input_ids=tensors[0], labels=torch.from_numpy(labels.reshape(ids.shape))
    ).loss
    expected.backward()
    scores = score_masked(masked_lm, tensors[0], tensors[1])
    assert scores.shape == (len(batch.positions), len(tokenizer))
    loss = torch.nn.functional.cross_entropy(scores, tensors[2])
    loss.backward()
    torch.testing.assert_close(loss, expected)
    ours = masked_lm.body.get_input_embeddings().weight.grad
    theirs = whole.get_input_embeddings().weight.grad
    torch.testing.assert_close(ours, theirs, atol=1e-6, rtol=1e-4)


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_every_backbone_learns(backbone, make_training, precision):
    training = make_training(
        backbone, steps=30, learn_rate=5e-3, dropout=0.0, precision=precision
    )
    state = State()
    training.run(state)
    losses = [report.loss for report in training.reports]
    assert np.mean(losses[-5:]) < np.mean(losses[:5]) - 0.5
    assert {p.dtype for p in training.masked_lm.parameters()} == {torch.float32}
    assert (state.step, state.pieces) == (30, 30 * 4 * 16)
    assert training.states == [(30, 30 * 4 * 16)]
    assert not training.masked_lm.training


def test_learning_rate_rises_and_falls_to_zero(bert, make_training):
    training = make_training(bert, steps=1, learn_rate=0.5)
    rates = [training.learn_rate_at(i / 100) for i in range(101)]
    assert rates[0] == rates[100] == 0.0
    assert rates[3] == pytest.approx(0.25)
    assert max(rates) == rates[6] == pytest.approx(0.5)
    assert rates[53] == pytest.approx(0.25)


@pytest.fixture
def seconds(monkeypatch):
    """A clock that goes on by ten seconds each time it is read."""
    now = SimpleNamespace(seconds=0.0)

    def read():
        now.seconds += 10.0
        return now.seconds

    monkeypatch.setattr(loop.time, "perf_counter", read)
    return now


def test_a_training_that_time_ends_has_decayed(bert, make_training, seconds):
    training = make_training(bert, steps=10**6, minutes=5.0)
    rates = []
    update = training.optimizer.step

    def step():
        rates.append(training.optimizer.param_groups[0]["lr"])
        update()

    training.optimizer.step = step
    state = State()
    training.run(state)
    assert state.step == 30
    assert max(rates) > 0.9 * training.learn_rate
    assert rates[-1] < 0.05 * training.learn_rate
    assert training.reports[-1].done == pytest.approx(1.0)


def test_the_clock_goes_on_where_it_stopped(bert, make_training, seconds):
    training = make_training(bert, minutes=5.0)
    state = State(step=20, seconds=200.0)
    training.run(state)
    assert (state.step, state.seconds) == (30, 300.0)


def test_steps_end_a_training_before_its_time(bert, make_training, seconds):
    training = make_training(bert, steps=3, minutes=60.0)
    assert training.done(1, 0.0) == pytest.approx(1 / 3)
    assert training.done(1, 1800.0) == pytest.approx(0.5)
    state = State()
    training.run(state)
    assert state.step == 3


def test_checkpoints_come_at_intervals(bert, make_training, seconds):
    training = make_training(bert, steps=10, checkpoint_minutes=0.5)
    state = State()
    training.run(state)
    steps = [step for step, _ in training.states]
    assert steps[-1] == 10
    assert 3 <= len(steps) <= 5
    assert [step for step, _ in state.losses] == steps
    # A report tells the mean since the checkpoint before.
    shown = [training.reports[step - 1].loss for step in steps]
    assert [loss for _, loss in state.losses] == shown


def test_loss_that_is_no_number_stops_before_a_checkpoint(bert, make_training):
    training = make_training(bert, steps=5)
    training.masked_lm.decoder.bias.data[7] = float("nan")
    with pytest.raises(DataError, match=r"loss is nan at step 1: .*--learn-rate"):
        training.run(State())
    assert training.states == []


def test_gradients_are_clipped_together(bert, make_training):
    training = make_training(bert, steps=3)
    training.masked_lm.decoder.weight.data *= 10
    norms = []
    update = training.optimizer.step

    def step():
        grads = [p.grad.norm() for p in training.masked_lm.parameters()]
        norms.append(float(torch.stack(grads).norm()))
        update()

    training.optimizer.step = step
    training.run(State())
    assert norms == pytest.approx([1.0] * 3, abs=1e-3)


def test_matrices_decay_and_the_rest_does_not(bert):
    masked_lm = load_masked_lm(bert)
    decaying, others = make_optimizer(masked_lm).param_groups
    assert (decaying["weight_decay"], others["weight_decay"]) == (0.01, 0.0)
    names = {id(p): name for name, p in masked_lm.named_parameters()}
    for group, is_matrix in ((decaying, True), (others, False)):
        for parameter in group["params"]:
            name = names.pop(id(parameter))
            special = name.endswith("bias") or "LayerNorm" in name
            assert special != is_matrix, name
    assert not names


def test_the_callers_random_numbers_stay(bert, make_training):
    torch.manual_seed(11)
    expected = torch.rand(3)
    torch.manual_seed(11)
    make_training(bert, steps=2).run(State())
    assert torch.equal(torch.rand(3), expected)
