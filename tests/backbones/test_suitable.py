"""The learning rate that suits a backbone."""

import json
import logging
import shutil

import pytest

from spacy_entlm.backbones.suitable import (
    learn_rate_for_width,
    suitable_learn_rate,
)


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


def test_rate_stored_beside_the_backbone_wins(bert, tmp_path):
    backbone = store(bert, tmp_path / "b", json.dumps({"learn_rate": 0.02}))
    assert suitable_learn_rate(backbone) == 0.02


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
    caplog.clear()
    assert suitable_learn_rate(None) == suitable_learn_rate("") == 1e-4
    assert not caplog.records
