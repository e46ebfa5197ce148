"""Which cells there are, and which of them are the same."""

import json

import pytest

from spacy_entlm.evaluation.compare.cells import make_jobs, plan_cells
from spacy_entlm.files.errors import DataError


def test_grid_is_the_product_of_what_varies(make):
    cells = plan_cells(
        make(splits=[1, 2], seeds=[1, 2, 3], methods=["entlm", "nnshot"])
    )
    assert len(cells) == 2 * 3 * 2
    assert len({cell.name for cell in cells}) == len(cells)


def test_methods_of_one_training_make_one_job(make):
    cells = plan_cells(make(methods=["entlm", "entlm_struct", "bert_tagger", "nnshot"]))
    jobs = make_jobs(cells)
    methods = [[cell.name.method for cell in job] for job in jobs]
    assert methods == [["entlm", "entlm_struct"], ["bert_tagger", "nnshot"]]


def test_settings_of_a_method_of_ones_own_make_trainings_of_their_own(make):
    """It is not known which of them the training needs."""
    methods = {"mine": {"factory": "entlm_ner"}}
    variants = {"a": {}, "sure": {"component": {"threshold": 0.9}}}
    jobs = make_jobs(plan_cells(make(methods=methods, variants=variants)))
    assert [[cell.name.variant for cell in job] for job in jobs] == [["a"], ["sure"]]


def test_variants_with_equal_label_words_are_one_cell(make, data, tmp_path):
    words = json.loads((data / "words.json").read_text())
    (tmp_path / "other.json").write_text(json.dumps({**words, "PER": ["Peter"]}))
    variants = {
        "a": {},
        "b": {"label_words": str(data / "words.json")},
        "c": {"label_words": str(tmp_path / "other.json")},
    }
    jobs = make_jobs(plan_cells(make(variants=variants)))
    named = [[cell.name.variant for cell in job] for job in jobs]
    assert named == [["a"], ["c"]]


@pytest.mark.parametrize(
    "change",
    [
        {"settings": {"epochs": 3}},
        {"seeds": [2]},
        {"splits": [2]},
        {"variants": {"": {"component": {"model": {"precision": "bfloat16"}}}}},
        {"variants": {"": {"component": {"threshold": 0.5}}}},
        {"methods": {"entlm": {"factory": "entlm_ner", "training": "other"}}},
    ],
)
def test_key_changes_with_what_figures_depend_on(make, change):
    (old,), (new,) = plan_cells(make()), plan_cells(make(**change))
    assert old.key != new.key


def test_key_changes_with_the_test_sentences(make, raw_config):
    (old,) = plan_cells(make())
    dataset = {**raw_config["datasets"]["tiny"], "limit": 3}
    (new,) = plan_cells(make(datasets={"tiny": dataset}))
    assert old.key != new.key


def test_key_does_not_depend_on_names_and_paths(make, raw_config, bert, tmp_path):
    (old,) = plan_cells(make())
    (tmp_path / "copy").symlink_to(bert)
    backbone = {"path": str(tmp_path / "copy"), "learn_rate": 0.01}
    datasets = {"other": raw_config["datasets"]["tiny"]}
    (new,) = plan_cells(make(datasets=datasets, backbones={"b": backbone}))
    assert old.key == new.key


def test_done_cells_are_left_out(make):
    cells = plan_cells(make(seeds=[1, 2]))
    assert make_jobs(cells, {cells[0].key}) == [[cells[1]]]


def test_a_class_without_example_is_named(make, raw_config, data, tmp_path):
    (tmp_path / "5shot").mkdir()
    (tmp_path / "test.jsonl").write_text((data / "test.jsonl").read_text())
    lines = (data / "5shot" / "1.jsonl").read_text().splitlines()
    kept = [line for line in lines if '"ORG"' not in line]
    (tmp_path / "5shot" / "1.jsonl").write_text("\n".join(kept) + "\n")
    dataset = {**raw_config["datasets"]["tiny"], "data": str(tmp_path)}
    with pytest.raises(DataError, match=r"1\.jsonl: K = 5, split 1: no example of O"):
        plan_cells(make(datasets={"tiny": dataset}))


def test_samples_are_drawn_where_no_split_is_given(make, raw_config, data):
    path = str(data / "test.jsonl")
    dataset = {**raw_config["datasets"]["tiny"], "data": None}
    dataset |= {"train": path, "test": path}
    cells = plan_cells(make(datasets={"tiny": dataset}, shots=[1], splits=[1, 2]))
    assert cells[0].key != cells[1].key
    again = plan_cells(make(datasets={"tiny": dataset}, shots=[1], splits=[1, 2]))
    assert [c.key for c in cells] == [c.key for c in again]


def test_what_is_missing_is_named(make, raw_config, tmp_path):
    dataset = raw_config["datasets"]["tiny"]
    with pytest.raises(DataError, match="there is no backbone /none"):
        plan_cells(make(backbones={"b": {"path": "/none"}}))
    with pytest.raises(DataError, match="'nothing', which is not installed"):
        plan_cells(make(methods={"mine": {"factory": "nothing"}}))
    with pytest.raises(DataError, match="its fields may be"):
        words = {**dataset, "label_words": "{fold}.json"}
        plan_cells(make(datasets={"tiny": words}))
    with pytest.raises(DataError, match="has no test"):
        plan_cells(make(datasets={"tiny": {**dataset, "data": str(tmp_path)}}))
    with pytest.raises(DataError, match=r"neither 7shot/1\.\* nor train"):
        plan_cells(make(shots=[7]))


def test_label_words_may_differ_by_split(make, raw_config, data, tmp_path):
    words = json.loads((data / "words.json").read_text())
    for split, word in ((1, "Mary"), (2, "Peter")):
        path = tmp_path / f"tiny-{split}.json"
        path.write_text(json.dumps({**words, "PER": [word]}))
    dataset = {**raw_config["datasets"]["tiny"]}
    dataset["label_words"] = str(tmp_path / "{dataset}-{split}.json")
    cells = plan_cells(make(datasets={"tiny": dataset}, splits=[1, 2]))
    assert [cell.label_words["PER"] for cell in cells] == [["Mary"], ["Peter"]]
