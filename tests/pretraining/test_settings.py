"""Options that cannot be, each with its message, and nothing left behind."""

from pathlib import Path

import pytest

from spacy_entlm.files.errors import DataError
from spacy_entlm.pretraining.settings import Settings


@pytest.mark.parametrize(
    "settings, message",
    [
        ({"steps": -1}, "--steps -1: .* greater than or equal to 0"),
        ({"batch_size": 0}, "--batch-size 0: .* greater than or equal to 1"),
        ({"length": 4}, "--length 4: .* greater than or equal to 8"),
        ({"learn_rate": 2.0}, "--learn-rate 2.0: .* less than 1"),
        ({"epochs": 0}, "--epochs 0: .* greater than 0"),
        ({"held_out": 1.5}, "--held-out 1.5: .* less than or equal to 1"),
        ({"mask_share": 0}, "--mask-share 0: .* greater than 0"),
        ({"few_shot_learn_rate": 0.0}, "--few-shot-learn-rate 0.0: "),
        ({"precision": "auto"}, "--precision auto: .*'float32' or 'bfloat16'"),
        ({"lexicon": ["a.tsv"]}, "--lexicon .*--add-vocab"),
        ({"minutes": float("nan")}, "--minutes nan: .*finite"),
        ({"seed": -1}, "--seed -1"),
    ],
)
def test_settings_out_of_range_are_refused(settings, message):
    with pytest.raises(DataError, match=message) as caught:
        Settings(**settings)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "run, settings, message",
    [
        ({"text": []}, {}, "at least one file"),
        ({"text": [Path("none.txt")]}, {}, "none.txt: no such file"),
        ({"backbone": "/none/at/all"}, {}, "Cannot find the masked LM"),
        ({}, {"length": 65}, "--length 65: the model takes at most 64"),
        ({}, {"device": "gpu"}, "--device 'gpu' cannot be used"),
        ({}, {"lexicon": ["none.tsv"], "add_vocab": 1}, "none.tsv: no such file"),
    ],
)
def test_wrong_options_are_told_and_leave_nothing(
    pretrain, run, settings, message, names
):
    with pytest.raises(ValueError, match=message):
        pretrain("out", run=run, **settings)
    assert names() == ["text.txt"]
