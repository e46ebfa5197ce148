"""The config of a benchmark: what it means, and what is said of a wrong one."""

import pytest

from spacy_entlm.evaluation.compare.config import (
    Settings,
    Variant,
    fill_name,
    make_config,
    merge_settings,
    read_config,
)
from spacy_entlm.evaluation.compare.errors import BenchmarkError


def test_yaml_is_read_and_values_can_be_set_over_it(tmp_path, data, bert):
    path = tmp_path / "c.yml"
    path.write_text(
        f"datasets: {{tiny: {{data: {data}, limit: 3}}}}\n"
        f"backbones: {{b: {{path: {bert}}}}}\nmethods: [entlm, lexicon]\n"
    )
    config = read_config(path, {"datasets.tiny.limit": 2, "settings.epochs": 7})
    assert config.datasets["tiny"].limit == 2
    assert config.settings.epochs == 7
    assert list(config.chosen_methods()) == ["entlm", "lexicon"]
    assert config.chosen_variants() == {"": Variant()}


def test_splits_and_seeds_may_differ_by_shots(make, raw_config):
    dataset = {**raw_config["datasets"]["tiny"], "splits": [1, 2]}
    config = make(
        datasets={"tiny": dataset}, shots=[5, 20], seeds={5: [1, 2, 3], 20: [1]}
    )
    grid = config.grid("tiny")
    assert [cell for cell in grid if cell[0] == 20] == [(20, 1, 1), (20, 2, 1)]
    assert len(grid) == 2 * 3 + 2
    with pytest.raises(BenchmarkError, match="given for K = 5, but not for 9"):
        make(shots=[9], seeds={5: [1]})


@pytest.mark.parametrize(
    "values, message",
    [
        ({"methods": ["entlm", "magic"]}, "unknown method 'magic': choose from entlm"),
        ({"methods": {"mine": {"factory": "nothing"}}}, "'nothing', which is not inst"),
        ({"settings": {"shape": "square"}}, "settings.shape.*not 'square'"),
        ({"settings": {"epochs": 0}}, "settings.epochs.*not 0"),
        ({"colour": "red"}, "colour: there is no such setting"),
        ({"variants": {"a": {"settings": {"rate": 1}}}}, "rate: there is no such"),
        ({"datasets": {}}, "datasets"),
        ({"datasets": {"a": {"train": "a", "test": "b", "data": "c"}}}, "either"),
        ({"datasets": {"a": {"test": "b"}}}, "needs `train`"),
    ],
)
def test_wrong_values_are_named(make, values, message):
    with pytest.raises(BenchmarkError, match=message):
        make(**values)


@pytest.mark.parametrize(
    "text, message",
    [("- a\n", "holds list"), ("a: [", "is no YAML"), ("", "holds NoneType")],
)
def test_files_that_are_no_config_are_named(tmp_path, text, message):
    path = tmp_path / "c.yml"
    path.write_text(text)
    with pytest.raises(BenchmarkError, match=message):
        read_config(path)
    with pytest.raises(BenchmarkError, match="cannot read the config"):
        read_config(tmp_path / "none.yml")


def test_a_value_cannot_be_set_inside_of_another_value(raw_config):
    with pytest.raises(BenchmarkError, match="cannot set methods"):
        make_config(raw_config, "test.yml", {"methods.entlm.x": 1})


def test_settings_of_a_variant_replace_those_of_the_benchmark():
    settings = merge_settings(Settings(epochs=3), Variant(settings={"shape": "cosine"}))
    assert (settings.epochs, settings.shape) == (3, "cosine")


def test_fields_of_a_file_name_are_filled():
    path = fill_name("w/{dataset}/{shots}/{split}.json", dataset="d", shots=5, split=2)
    assert str(path) == "w/d/5/2.json"
    with pytest.raises(BenchmarkError, match="its fields may be"):
        fill_name("{fold}.json", dataset="d")
