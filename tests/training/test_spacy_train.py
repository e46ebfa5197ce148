"""`spacy train` with our schedule and logger."""

import logging

import pytest
import spacy
from spacy.cli.train import train as spacy_train
from spacy.tokens import DocBin
from spacy.training import Example

NAME = "entlm_ner"
CONFIG = """
[paths]
train = null
backbone = null

[nlp]
lang = "xx"
pipeline = ["entlm_ner"]

[components]

[components.entlm_ner]
factory = "entlm_ner"

[components.entlm_ner.model]
@architectures = "spacy-entlm.EntLM.v1"
name = ${paths.backbone}

[components.entlm_ner.model.get_spans]
@span_getters = "spacy-transformers.doc_spans.v1"

[corpora]

[corpora.train]
@readers = "spacy.Corpus.v1"
path = ${paths.train}

[corpora.dev]
@readers = "spacy.Corpus.v1"
path = ${paths.train}

[training]
max_epochs = 2
max_steps = 0
eval_frequency = 3
patience = 0
dropout = 0.0
seed = 1
gpu_allocator = null
accumulate_gradient = 1
annotating_components = []
train_corpus = "corpora.train"
dev_corpus = "corpora.dev"

[training.batcher]
@batchers = "spacy.batch_by_sequence.v1"
size = 4

[training.logger]
@loggers = "spacy-entlm.TrainingLogger.v1"
console_output = true

[training.optimizer]
@optimizers = "Adam.v1"
L2 = 0.0
grad_clip = 0.0

[training.optimizer.learn_rate]
@schedules = "spacy-entlm.decay_to_zero.v1"
initial_rate = 0.01
epochs = ${training.max_epochs}
batch_size = ${training.batcher.size}
examples = ${corpora.train}

[initialize]

[initialize.components]

[initialize.components.entlm_ner]

[initialize.components.entlm_ner.label_words]
PER = ["John", "Mary"]
LOC = ["Paris", "London"]
ORG = ["Corp", "Bank"]
"""
# A label has to outscore all words, which no untrained one does; it learns nothing.
NOTHING = {
    "components.entlm_ner.model.rivals": "vocabulary",
    "training.optimizer.learn_rate.initial_rate": 1e-9,
}
WEIGHTS = ["compact.safetensors", "label_rows.safetensors"]


@pytest.fixture
def run(bert, make_examples, tmp_path):
    """Runs `spacy train` into a folder of its own."""
    config, data = tmp_path / "train.cfg", tmp_path / "train.spacy"
    config.write_text(CONFIG)
    examples = make_examples(spacy.blank("xx"))
    DocBin(docs=[eg.reference for eg in examples]).to_disk(data)

    def train(name, **overrides):
        paths = {"paths.train": str(data), "paths.backbone": str(bert)}
        spacy_train(config, tmp_path / name, overrides={**paths, **overrides})
        return tmp_path / name / "model-last"

    return train


def weights_of(folder):
    return [(folder / NAME / "model" / name).read_bytes() for name in WEIGHTS]


def test_one_seed_gives_the_same_weights_bit_for_bit(run):
    first, again = weights_of(run("first")), weights_of(run("again"))
    assert first == again
    assert weights_of(run("other", **{"training.seed": 2})) != first


def test_trained_pipeline_finds_what_it_has_seen(run, annotated, entities, capsys):
    folder = run("model", **{"training.max_epochs": 25})
    nlp = spacy.load(folder)
    for text, annotation in annotated:
        assert entities(nlp(text)) == annotation["entities"]
    assert nlp.meta["performance"]["ents_f"] == 1.0
    # The table of spaCy's own logger.
    assert "ENTS_F" in capsys.readouterr().out
    # Its config's variables are not filled in there.
    optimizer = nlp.resume_training()
    assert 0 < float(optimizer.learn_rate) < 0.01
    nlp.update([Example.from_dict(nlp.make_doc(text), annotation)], sgd=optimizer)
    assert entities(nlp(text)) == annotation["entities"]


def test_accumulated_gradients_train_as_well(run, annotated, entities):
    overrides = {"training.accumulate_gradient": 2, "training.max_epochs": 40}
    nlp = spacy.load(run("model", **overrides))
    text, annotation = annotated[0]
    assert entities(nlp(text)) == annotation["entities"]


def test_training_that_learned_nothing_says_so(run, caplog):
    with caplog.at_level(logging.WARNING, logger="spacy.entlm"):
        folder = run("model", **NOTHING)
    messages = [record.getMessage() for record in caplog.records]
    assert sum("no entity is found" in message for message in messages) == 1
    assert (folder / NAME / "model").is_dir()


def test_training_that_learned_something_does_not(run, caplog):
    with caplog.at_level(logging.WARNING, logger="spacy.entlm"):
        run("model", **{"training.max_epochs": 25})
    assert not any("no entity is found" in r.getMessage() for r in caplog.records)


def test_trained_pipeline_is_trained_again_from_its_own_weights(run, tmp_path):
    """[components.entlm_ner] source = ... in the config."""
    folder = run("model", **{"training.max_epochs": 25})
    config = spacy.util.load_config(tmp_path / "train.cfg", interpolate=False)
    config["components"][NAME] = {"source": str(folder), "component": NAME}
    config["initialize"]["components"] = {}
    config.to_disk(tmp_path / "more.cfg")
    paths = {"paths.train": str(tmp_path / "train.spacy")}
    rate = {"training.optimizer.learn_rate.initial_rate": 1e-9}
    spacy_train(tmp_path / "more.cfg", tmp_path / "more", overrides={**paths, **rate})
    nlp = spacy.load(tmp_path / "more" / "model-last")
    assert nlp.meta["performance"]["ents_f"] == 1.0


def test_frozen_component_stays_as_it_was(run, tmp_path):
    folder = run("model")
    config = spacy.util.load_config(tmp_path / "train.cfg", interpolate=False)
    config["nlp"]["pipeline"] = [NAME, "textcat"]
    config["components"] = {
        NAME: {"source": str(folder), "component": NAME},
        "textcat": {"factory": "textcat"},
    }
    config["training"]["frozen_components"] = [NAME]
    config["initialize"]["components"] = {"textcat": {"labels": ["A", "B"]}}
    config.to_disk(tmp_path / "frozen.cfg")
    paths = {"paths.train": str(tmp_path / "train.spacy"), "training.max_epochs": 1}
    spacy_train(tmp_path / "frozen.cfg", tmp_path / "frozen", overrides=paths)
    assert weights_of(tmp_path / "frozen" / "model-last") == weights_of(folder)


def test_sentences_of_an_annotating_component_train_to_the_end(run, tmp_path, caplog):
    """The last look at the training data needs the sentences, too."""
    config = spacy.util.load_config(tmp_path / "train.cfg", interpolate=False)
    config["nlp"]["pipeline"] = ["sentencizer", NAME]
    config["components"]["sentencizer"] = {"factory": "sentencizer"}
    getter = {"@span_getters": "spacy-transformers.sent_spans.v1"}
    config["components"][NAME]["model"]["get_spans"] = getter
    config["training"]["annotating_components"] = ["sentencizer"]
    config.to_disk(tmp_path / "train.cfg")
    with caplog.at_level(logging.WARNING, logger="spacy.entlm"):
        folder = run("model", **NOTHING)
    assert "no entity is found" in caplog.text
    assert spacy.load(folder)("Anna .").has_annotation("SENT_START")


def test_data_that_is_not_there_is_named(run):
    with pytest.raises(FileNotFoundError, match=r"nowhere\.spacy"):
        run("model", **{"paths.train": "nowhere.spacy"})


def test_config_with_an_unknown_key_is_refused(run, capsys):
    with pytest.raises(SystemExit) as caught:
        run("model", **{"components.entlm_ner.treshold": 0.5})
    assert caught.value.code == 1
    assert "treshold" in capsys.readouterr().out
