"""Names of backbones: the package's own, recorded ones, and all others."""

import logging

import pytest

from spacy_entlm.backbones import names
from spacy_entlm.backbones.errors import BackboneError
from spacy_entlm.backbones.names import resolve_backbone, warn_of_language


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


@pytest.mark.parametrize(
    "backbone, lang, n",
    [
        ("entlm-mini", "de", 1),
        ("entlm-mini", "en", 0),
        ("entlm-mini", "xx", 0),
        ("bert-base-german-cased", "de", 0),
    ],
)
def test_another_language_than_the_packages_own_has_read_is_told(
    backbone, lang, n, caplog
):
    warn_of_language("ner", backbone, lang)
    assert len(caplog.records) == n
    assert all("[ner]" in x.message and "'de'" in x.message for x in caplog.records)


def test_a_copy_without_the_model_says_so(monkeypatch, tmp_path):
    monkeypatch.setattr(names, "ASSETS", tmp_path)
    with pytest.raises(BackboneError, match="'entlm-mini' is not in this copy") as err:
        resolve_backbone("entlm-mini")
    assert str(tmp_path / "entlm-mini") in str(err.value)
