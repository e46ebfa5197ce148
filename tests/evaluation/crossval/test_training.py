"""A config becomes a training on some sentences."""

from pathlib import Path

import pytest

from spacy_entlm.evaluation.crossval.training import Trainer

CONFIG = Path(__file__).resolve().parents[3] / "configs" / "entlm.cfg"

# A training that a score on other data ends before so many steps.
STEPS = ("training.max_steps", "training.patience")


@pytest.fixture
def trainer(bert):
    def make(**changed):
        overrides = {
            "paths.backbone": str(bert),
            "nlp.lang": "xx",
            "training.max_epochs": 30,
            "training.optimizer.learn_rate.initial_rate": 0.01,
        }
        return Trainer(CONFIG, {**overrides, **changed})

    return make


@pytest.fixture
def docs(make_examples):
    def make(nlp):
        return [eg.reference for eg in make_examples(nlp)]

    return make


def gold(docs):
    return [[(ent.start, ent.end, ent.label_) for ent in doc.ents] for doc in docs]


def test_it_learns_what_it_is_trained_on_as_the_seed_says(trainer, docs):
    ours = trainer()
    sentences = docs(ours.nlp)
    outcome = ours.train_and_predict(sentences, sentences, seed=1)
    # Two entities of one class beside each other are none of these sentences.
    assert outcome.found == gold(sentences)
    assert set(outcome.label_words) == {"LOC", "ORG", "PER"}
    assert all(outcome.label_words.values())
    few = trainer(**{"training.max_epochs": 1, "training.batcher.min_updates": 0})
    first, again = (few.train_and_predict(sentences, sentences, seed=2) for _ in "ab")
    assert first == again
    assert first.found != gold(sentences)


def test_sentences_without_an_entity_teach_nothing(trainer, docs):
    ours = trainer()
    sentences = docs(ours.nlp)
    empty = [doc for doc in sentences if not doc.ents]
    assert ours.train_and_predict(empty, sentences[:2], seed=1).found == [[], []]


def test_fingerprint_is_that_of_settings_and_files(trainer, tmp_path):
    words = tmp_path / "words.json"
    words.write_text('{"PER": ["john"]}')
    named = {"paths.label_words": str(words)}
    first = trainer(**named).fingerprint()
    assert trainer(**named).fingerprint() == first
    # Replaced by the folds, or of no effect on what is learned.
    unused = {"paths.train": "x.spacy", "training.eval_frequency": 7}
    assert trainer(**named, **unused).fingerprint() == first
    assert trainer(**named, **{"training.max_epochs": 3}).fingerprint() != first
    words.write_text('{"PER": ["mary"]}')
    assert trainer(**named).fingerprint() != first


@pytest.mark.parametrize(
    "changed, message",
    [
        ({"components.entlm_ner.windoww": 3}, "windoww"),
        ({"training.epochs": 3}, "no setting training.epochs: correct"),
        ({"nowhere.x": 3}, "nowhere"),
        ({"training.max_epochs": 0}, "set max_steps"),
        (
            {**dict.fromkeys(STEPS, 10), "training.max_epochs": 0},
            "add --training.max_epochs",
        ),
        ({"nlp.pipeline": []}, "no component that finds entities"),
    ],
)
def test_settings_that_cannot_be_are_told(trainer, changed, message):
    with pytest.raises(ValueError, match=message):
        trainer(**changed)
