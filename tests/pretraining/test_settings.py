"""Options that cannot be, each with its message, and nothing left behind."""

from pathlib import Path

import pytest

from spacy_entlm.pretraining.settings import PretrainError, Settings


@pytest.mark.parametrize(
    "settings, message",
    [
        ({"steps": -1}, "--steps is 0 or more, not -1"),
        ({"batch_size": 0}, "--batch-size is 1 or more, not 0"),
        ({"length": 4}, "--length is 8 or more"),
        ({"learn_rate": 2.0}, "--learn-rate is above 0 and below 1"),
        ({"dropout": 1.0}, "--dropout is from 0 to below 1"),
        ({"held_out": 1.5}, "--held-out is from 0 to 1"),
        ({"precision": "float8"}, "--precision is one of"),
        ({"precision": "auto"}, "--precision is one of"),
        ({"new_vocab": 100, "add_vocab": 3}, "--new-vocab replaces the vocabulary"),
        ({"cased": True}, "--cased and --uncased belong to --new-vocab"),
        ({"lexicon": ["a.tsv"]}, "--lexicon chooses pieces"),
        ({"minutes": float("nan")}, "--minutes is 0 or more"),
    ],
)
def test_settings_out_of_range_are_refused(settings, message):
    with pytest.raises(PretrainError, match=message):
        Settings(**settings)


@pytest.mark.parametrize(
    "run, settings, message",
    [
        ({"new": Path("x.json")}, {}, "either --backbone or --new"),
        ({"backbone": None}, {}, "either --backbone or --new"),
        ({"text": []}, {}, "at least one file"),
        ({"text": [Path("none.txt")]}, {}, "none.txt: no such file"),
        ({"backbone": "/none/at/all"}, {}, "Cannot find the masked LM"),
        ({}, {"length": 65}, "--length 65: the model takes at most 64"),
        ({}, {"device": "gpu"}, "--device 'gpu' cannot be used"),
        ({}, {"lexicon": ["none.tsv"], "add_vocab": 1}, "none.tsv: no such file"),
        (
            {"backbone": None, "new": Path("x.json")},
            {"keep_vocab": 9},
            "a model from scratch takes --new-vocab",
        ),
        ({"few_shot_learn_rate": 0.0}, {}, "--few-shot-learn-rate"),
    ],
)
def test_wrong_options_are_told_and_leave_nothing(
    pretrain, run, settings, message, names
):
    with pytest.raises(ValueError, match=message):
        pretrain("out", run=run, **settings)
    assert names() == ["text.txt"]
