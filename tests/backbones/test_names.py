"""Names of backbones: the package's own, recorded ones, and all others."""

import json
import logging

import pytest

from spacy_entlm.backbones import names
from spacy_entlm.backbones.errors import BackboneError
from spacy_entlm.backbones.names import resolve_backbone, write_record


@pytest.fixture
def assets(tmp_path, monkeypatch):
    """A folder of assets with the small model's configuration in it."""
    folder = tmp_path / "assets" / "entlm-mini"
    folder.mkdir(parents=True)
    (folder / "config.json").write_text("{}")
    monkeypatch.setattr(names, "ASSETS", tmp_path / "assets")
    names._say_that_larger_is_better.cache_clear()
    return folder


def test_the_packages_own_is_found_wherever_one_works(assets, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "entlm-mini").mkdir()
    assert resolve_backbone("entlm-mini") == str(assets)
    assert resolve_backbone("./entlm-mini") == "./entlm-mini"


@pytest.mark.parametrize("name", ["bert-base-cased", "/models/entlm-mini", "a.json"])
def test_other_names_stand_for_themselves(assets, name):
    assert resolve_backbone(name) == name


def test_larger_ones_are_recommended_once(assets, caplog):
    caplog.set_level(logging.INFO, logger="spacy.entlm")
    for _ in range(3):
        resolve_backbone("entlm-mini")
    resolve_backbone("bert-base-cased")
    (record,) = caplog.records
    assert record.levelname == "INFO"
    assert "larger one gives better results" in record.message
    assert 'name = "bert-base-cased"' in record.message


def test_a_copy_without_the_model_says_so(monkeypatch, tmp_path):
    monkeypatch.setattr(names, "ASSETS", tmp_path)
    with pytest.raises(BackboneError, match="'entlm-mini' is not in this copy") as err:
        resolve_backbone("entlm-mini")
    assert str(tmp_path / "entlm-mini") in str(err.value)


def test_record_names_a_backbone_or_a_folder_beside_it(assets, tmp_path):
    record = tmp_path / "backbone.json"
    write_record(record, name="bert-base-cased", steps=3)
    assert json.loads(record.read_text())["steps"] == 3
    assert resolve_backbone(record) == "bert-base-cased"
    write_record(record, name="bert-base-cased", folder="backbone")
    assert resolve_backbone(str(record)) == str(tmp_path / "backbone")
    write_record(record, name="entlm-mini")
    assert resolve_backbone(record) == str(assets)


@pytest.mark.parametrize("content", ["{", "[]", "{}", "3", '{"folder": 3}'])
def test_broken_record_is_told(tmp_path, content):
    record = tmp_path / "backbone.json"
    record.write_text(content)
    with pytest.raises(BackboneError, match="records no backbone"):
        resolve_backbone(record)
