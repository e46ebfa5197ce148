"""The config of a comparison: what it means, and what is said of a wrong one."""

import pytest
import spacy

from spacy_entlm.decoding.io import IODecoder
from spacy_entlm.decoding.viterbi import ViterbiDecoder
from spacy_entlm.evaluation.compare.config import METHODS, read_config
from spacy_entlm.files.errors import DataError


def test_yaml_is_read_and_values_can_be_set_over_it(tmp_path, data, bert):
    path = tmp_path / "c.yml"
    path.write_text(
        f"datasets: {{tiny: {{data: {data}, limit: 3}}}}\n"
        f"backbones: {{b: {{path: {bert}}}}}\nmethods: [entlm, nnshot]\n"
    )
    config = read_config(path, {"datasets.tiny.limit": 2, "settings.epochs": 7})
    assert config.datasets["tiny"].limit == 2
    assert config.settings.epochs == 7
    assert config.methods["nnshot"].factory == "nnshot"
    assert list(config.variants) == [""]


def test_splits_and_seeds_may_differ_by_shots(make, raw_config):
    dataset = {**raw_config["datasets"]["tiny"], "splits": [1, 2]}
    config = make(
        datasets={"tiny": dataset}, shots=[5, 20], seeds={5: [1, 2, 3], 20: [1]}
    )
    grid = config.grid("tiny")
    assert [cell for cell in grid if cell[0] == 20] == [(20, 1, 1), (20, 2, 1)]
    assert len(grid) == 2 * 3 + 2
    with pytest.raises(DataError, match="given for K = 5, but not for 9"):
        make(shots=[9], seeds={5: [1]})


@pytest.mark.parametrize(
    "values, message",
    [
        ({"methods": ["entlm", "magic"]}, "unknown method 'magic': choose from entlm"),
        ({"settings": {"shape": "cosine"}}, "settings.shape: there is no such setting"),
        ({"settings": {"epochs": 0}}, "settings.epochs.*not 0"),
        ({"colour": "red"}, r"colour: there is no such setting \(docs/comparing\.md"),
        ({"variants": {"a": {"settings": {"rate": 1}}}}, "rate: there is no such"),
        ({"datasets": {}}, "datasets"),
        (
            {"datasets": {"a": {"train": "a", "test": "b", "data": "c"}}},
            "`data`, a folder, or",
        ),
        ({"datasets": {"a": {"test": "b"}}}, "two files, `train`, `test`"),
    ],
)
def test_wrong_values_are_named(make, values, message):
    with pytest.raises(DataError, match=message):
        make(**values)


@pytest.mark.parametrize(
    "text, message",
    [
        *(("- a\n", r"holds no config: see docs/comparing\.md"), ("a: [", "no YAML")),
        ("", "holds no config"),
    ],
)
def test_files_that_are_no_config_are_named(tmp_path, text, message):
    path = tmp_path / "c.yml"
    path.write_text(text)
    with pytest.raises(DataError, match=message):
        read_config(path)


def test_a_value_cannot_be_set_inside_of_another_value(make):
    with pytest.raises(DataError, match="cannot set methods"):
        make({"methods.entlm.x": 1})


def test_settings_of_a_variant_replace_those_of_the_comparison(make):
    config = make(
        settings={"epochs": 3}, variants={"a": {"settings": {"batch_size": 8}}}
    )
    settings = config.settings_of(config.variants["a"])
    assert (settings.epochs, settings.batch_size) == (3, 8)


@pytest.mark.parametrize(
    "name, decoder", [("entlm", IODecoder), ("entlm_struct", ViterbiDecoder)]
)
def test_entlm_decodes_each_word_by_itself_and_entlm_struct_whole_sentences(
    name, decoder
):
    method = METHODS[name]
    pipe = spacy.blank("en").add_pipe(method.factory, config=method.config)
    assert type(pipe.decoder) is decoder
