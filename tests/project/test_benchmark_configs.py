"""The configs of the project's benchmarks say what the runner understands."""

from pathlib import Path

import pytest
import srsly

from spacy_entlm.evaluation.compare.config import read_config

ROOT = Path(__file__).resolve().parents[2]
CONFIGS = sorted((ROOT / "project" / "benchmarks" / "configs").glob("*.yml"))


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.stem)
def test_config_is_valid(path):
    config = read_config(path)
    assert config.title
    assert all(config.grid(name) for name in config.datasets)


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.stem)
def test_a_seed_fixes_the_result(path):
    """float32, which no measurement of the processor replaces."""
    config = srsly.read_yaml(path)
    assert "precision" not in srsly.json_dumps(
        [config.get("methods"), config.get("variants")]
    )


def test_table3_has_every_variant_of_the_paper():
    (path,) = (path for path in CONFIGS if path.stem == "table3")
    config = read_config(path)
    n_cells = sum(len(config.grid(name)) for name in config.datasets)
    assert n_cells * len(config.variants) == 288
