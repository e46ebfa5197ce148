"""The configs that are shipped, and what spaCy makes of a short one."""

from pathlib import Path

import pytest
import spacy
from spacy.cli.debug_config import debug_config
from spacy.cli.debug_data import debug_data
from spacy.cli.init_config import fill_config
from spacy.cli.train import train
from spacy.tokens import DocBin
from spacy.util import load_config, load_model_from_config
from thinc.api import Config

from spacy_entlm.training.schedule import MAX_UPDATES, MIN_UPDATES

CONFIGS = Path(__file__).resolve().parents[2] / "configs"


def test_entlm_config_is_filled(tmp_path):
    _, filled = fill_config(tmp_path / "filled.cfg", CONFIGS / "entlm.cfg")
    shipped = Config().from_disk(CONFIGS / "entlm.cfg", interpolate=False)
    assert filled == shipped


def test_the_tokenizer_is_that_of_the_language():
    overrides = {"nlp.lang": "zh"}
    config = load_config(CONFIGS / "entlm.cfg", overrides, interpolate=True)
    nlp = load_model_from_config(config, auto_fill=True)
    assert len(nlp.make_doc("去了北京")) == 4


def test_settings_are_those_of_the_paper():
    training = Config().from_disk(CONFIGS / "entlm.cfg")["training"]
    assert training["batcher"]["size"] == 4
    assert training["max_epochs"] == 20
    assert training["batcher"]["min_updates"] == MIN_UPDATES
    assert training["batcher"]["max_updates"] == MAX_UPDATES
    assert training["optimizer"]["L2"] == training["optimizer"]["grad_clip"] == 0


def test_short_config_becomes_the_same_component_but_for_the_files(tmp_path):
    _, filled = fill_config(tmp_path / "filled.cfg", CONFIGS / "base.cfg")
    shipped = Config().from_disk(CONFIGS / "entlm.cfg")
    ours, theirs = filled["components"]["entlm_ner"], shipped["components"]["entlm_ner"]
    assert ours["decoder"].pop("require") is True
    assert theirs["decoder"].pop("require") is False
    assert ours == theirs


@pytest.mark.parametrize("config", ["entlm.cfg", "base.cfg"])
def test_spacy_train_takes_it(config, bert, blank_nlp, make_examples, tmp_path):
    docs = [eg.reference for eg in make_examples(blank_nlp(bert))]
    DocBin(docs=docs).to_disk(tmp_path / "train.spacy")
    fill_config(tmp_path / "filled.cfg", CONFIGS / config)
    key = (
        "paths.backbone" if config == "entlm.cfg" else "components.entlm_ner.model.name"
    )
    overrides = {
        "paths.train": str(tmp_path / "train.spacy"),
        "paths.dev": str(tmp_path / "train.spacy"),
        "training.max_steps": 3,
        key: str(bert),
    }
    train(tmp_path / "filled.cfg", tmp_path / "out", overrides=overrides)
    nlp = spacy.load(tmp_path / "out" / "model-last")
    assert set(nlp.get_pipe("entlm_ner").labels) == {"PER", "LOC", "ORG"}


def test_spacys_own_commands_look_at_it(bert, blank_nlp, make_examples, tmp_path):
    """`debug config` and `debug data`, which fill nothing in. The latter calls fewer
    than 100 texts an error. Without a dev part the examples are that."""
    docs = [eg.reference for eg in make_examples(blank_nlp(bert))]
    DocBin(docs=docs * 11).to_disk(tmp_path / "train.spacy")
    overrides = {
        "paths.train": str(tmp_path / "train.spacy"),
        "paths.backbone": str(bert),
    }
    debug_config(CONFIGS / "entlm.cfg", overrides=overrides)
    debug_data(CONFIGS / "entlm.cfg", config_overrides=overrides, no_format=True)
