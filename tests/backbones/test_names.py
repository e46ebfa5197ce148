"""Names of backbones: the package's own, and all others."""

import pytest

from spacy_entlm.backbones import names
from spacy_entlm.backbones.errors import BackboneError
from spacy_entlm.backbones.names import resolve_backbone, warn_of_language


@pytest.fixture
def assets(tmp_path, monkeypatch):
    """A folder of assets with the package's configuration in it."""
    folder = tmp_path / "assets" / "entlm-base"
    folder.mkdir(parents=True)
    (folder / "config.json").write_text("{}")
    monkeypatch.setattr(names, "ASSETS", tmp_path / "assets")
    return folder


def test_the_packages_own_is_found_wherever_one_works(assets, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "entlm-base").mkdir()
    assert resolve_backbone("entlm-base") == str(assets)
    assert resolve_backbone("./entlm-base") == "./entlm-base"


@pytest.mark.parametrize("name", ["bert-base-cased", "/models/entlm-base", "a.json"])
def test_other_names_stand_for_themselves(assets, name):
    assert resolve_backbone(name) == name


def test_that_of_earlier_versions_is_told_to_be_gone(monkeypatch, tmp_path):
    with pytest.raises(BackboneError, match="'entlm-base' has taken its place"):
        resolve_backbone("entlm-mini")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "entlm-mini").mkdir()  # a copy of it
    assert resolve_backbone("entlm-mini") == "entlm-mini"


@pytest.mark.parametrize(
    "backbone, lang, n",
    [
        ("entlm-base", "th", 1),
        ("entlm-base", "he", 1),
        *(("entlm-base", lang, 0) for lang in ("en", "de", "ru", "el", "vi", "xx")),
        ("entlm-base", "zh", 0),
        ("some/thai-bert", "th", 0),
    ],
)
def test_a_script_that_the_packages_own_cannot_read_is_told(backbone, lang, n, caplog):
    warn_of_language("ner", backbone, lang)
    assert len(caplog.records) == n
    assert all("[ner]" in x.message and repr(lang) in x.message for x in caplog.records)


def test_a_copy_without_the_model_says_so(monkeypatch, tmp_path):
    monkeypatch.setattr(names, "ASSETS", tmp_path)
    with pytest.raises(BackboneError, match="'entlm-base' is not in this copy") as err:
        resolve_backbone("entlm-base")
    assert str(tmp_path / "entlm-base") in str(err.value)
