"""Each component in spaCy's own training loop."""

import pytest
import spacy
import torch
from spacy.cli.train import train as spacy_train
from spacy.tokens import DocBin
from spacy.training import Example

from spacy_entlm.training import schedule

CONFIG = """
[paths]
train = null
backbone = null
frozen = null

[nlp]
lang = "xx"
pipeline = ["sentencizer","earlier","later"]

[components]

[components.sentencizer]
factory = "sentencizer"

[components.earlier]
source = ${paths.frozen}
component = "entlm_ner"

[components.later]
factory = "FACTORY"

[components.later.model]
@architectures = "spacy-entlm.ARCHITECTURE.v1"
name = ${paths.backbone}

[components.later.model.get_spans]
@span_getters = "spacy-transformers.sent_spans.v1"

[corpora]

[corpora.train]
@readers = "spacy.Corpus.v1"
path = ${paths.train}

[corpora.dev]
@readers = "spacy.Corpus.v1"
path = ${paths.train}

[training]
max_epochs = 20
max_steps = 0
eval_frequency = 5
patience = 0
seed = 1
gpu_allocator = null
accumulate_gradient = 2
frozen_components = ["earlier"]
annotating_components = ["sentencizer","earlier","later"]
train_corpus = "corpora.train"
dev_corpus = "corpora.dev"

[training.batcher]
@batchers = "spacy.batch_by_sequence.v1"
size = 4

[training.optimizer]
@optimizers = "spacy-entlm.Adam.v1"

[training.optimizer.learn_rate]
@schedules = "spacy-entlm.decay_to_zero.v1"
initial_rate = 0.01
epochs = ${training.max_epochs}
batch_size = ${training.batcher.size}
examples = ${paths.train}
max_steps = ${training.max_steps}
"""
N_BATCHES = 3


@pytest.fixture
def train(factory, bert, saved_folder, annotated, tmp_path):
    """Runs `spacy train` with overrides; gives the pipeline's folder."""
    nlp = spacy.blank("xx")
    docs = [Example.from_dict(nlp.make_doc(t), gold).reference for t, gold in annotated]
    DocBin(docs=docs).to_disk(tmp_path / "train.spacy")
    architecture = "EntLM" if factory == "entlm_ner" else "Tagger"
    config = CONFIG.replace("FACTORY", factory).replace("ARCHITECTURE", architecture)
    (tmp_path / "config.cfg").write_text(config)

    def run(**overrides):
        paths = {
            "paths.train": str(tmp_path / "train.spacy"),
            "paths.backbone": str(bert),
            "paths.frozen": str(saved_folder("entlm_ner")),
        }
        spacy_train(
            tmp_path / "config.cfg", tmp_path / "out", overrides={**paths, **overrides}
        )
        return tmp_path / "out" / "model-last"

    return run


def test_trained_between_frozen_and_annotating_components(
    train, factory, saved_folder, annotated
):
    nlp = spacy.load(train())
    frozen = spacy.load(saved_folder("entlm_ner")).get_pipe("entlm_ner")
    kept = nlp.get_pipe("earlier").network.state_dict()
    for name, weights in frozen.network.state_dict().items():
        assert torch.equal(kept[name], weights)
    examples = [Example.from_dict(nlp.make_doc(t), gold) for t, gold in annotated]
    # What the loop measured with the weights of that moment.
    assert nlp.meta["performance"]["ents_f"] == pytest.approx(
        nlp.evaluate(examples)["ents_f"]
    )
    assert nlp.meta["performance"]["ents_f"] > 0.8
    assert any(req.startswith("spacy-entlm>=") for req in nlp.meta["requirements"])


@pytest.mark.parametrize(
    "max_epochs, max_steps, n_steps",
    [(20, 0, 20 * N_BATCHES), (0, 10, 10), (-1, 10, 10), (20, 10, 10)],
)
@pytest.mark.parametrize("factory", ["entlm_ner"], indirect=True)
def test_rate_decays_to_the_end(train, monkeypatch, max_epochs, max_steps, n_steps):
    schedules = []
    StepsToZero = schedule.StepsToZero

    def record(*args):
        rates = []
        schedules.append(rates)
        for rate in StepsToZero(*args):
            rates.append(rate)
            yield rate

    monkeypatch.setattr(schedule, "StepsToZero", record)
    settings = {"training.max_epochs": max_epochs, "training.max_steps": max_steps}
    train(**settings, **{"training.accumulate_gradient": 1})
    rates = schedules[-1]  # spaCy makes one more when it initialises
    assert rates[:n_steps] == pytest.approx(
        [0.01 * (1 - step / n_steps) for step in range(n_steps)]
    )
    # One is drawn before the first step; spaCy takes one step more with max_steps.
    assert n_steps <= len(rates) <= n_steps + 2


@pytest.mark.parametrize("factory", ["entlm_ner"], indirect=True)
def test_training_without_an_end_has_no_decay(train):
    with pytest.raises(ValueError, match="set max_steps"):
        train(**{"training.max_epochs": -1})


@pytest.mark.parametrize("factory", ["entlm_ner"], indirect=True)
def test_averages_are_what_is_saved(train):
    averaged = spacy.load(train(**{"training.optimizer.use_averages": True}))
    network = averaged.get_pipe("later").network
    moved = {n: p.detach().clone() for n, p in network.named_parameters()}
    last = spacy.load(train(**{"training.optimizer.use_averages": False}))
    network = last.get_pipe("later").network
    assert any(not torch.equal(moved[n], p) for n, p in network.named_parameters())
