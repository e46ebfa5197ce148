"""The configs of the project's benchmarks say what `compare` understands, and its
scripts what the package has."""

import importlib.util
from pathlib import Path

import pytest
import srsly

from spacy_entlm.evaluation.compare.config import read_config

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = sorted((ROOT / "project" / "benchmarks").rglob("*.py"))
# What a script needs beside this package and its extras.
INSTALLED_BY_HAND = {"span_marker_ner": "span_marker", "serve_load": "aiohttp"}
CONFIGS = sorted((ROOT / "project" / "benchmarks" / "configs").glob("*.yml"))


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.stem)
def test_config_is_valid(path):
    config = read_config(path)
    assert config.title != "Comparison"
    assert all(config.grid(name) for name in config.datasets)


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.stem)
def test_a_seed_fixes_the_result(path):
    """float32, which no measurement of the processor replaces."""
    config = srsly.read_yaml(path)
    assert "precision" not in srsly.json_dumps(
        [config.get("methods"), config.get("variants")]
    )


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_script_can_be_imported(path, monkeypatch):
    """All that it takes from the package is there."""
    monkeypatch.syspath_prepend(str(path.parent))
    if path.stem in INSTALLED_BY_HAND:
        pytest.importorskip(INSTALLED_BY_HAND[path.stem])
    spec = importlib.util.spec_from_file_location(f"imported_{path.stem}", path)
    spec.loader.exec_module(importlib.util.module_from_spec(spec))
