"""A teaching from end to end, on a tiny model."""

import json
import shutil

import numpy
import pytest
import spacy
import torch
from safetensors.numpy import load_file
from spacy.training import Example
from transformers import AutoModelForMaskedLM

from spacy_entlm.backbones.errors import BackboneError
from spacy_entlm.backbones.name_map import NameMap
from spacy_entlm.backbones.recommended import reads_names
from spacy_entlm.files.errors import DataError
from spacy_entlm.teaching.loop import Loop
from spacy_entlm.teaching.settings import Settings

NAME = "entlm_ner"
# By heart, at half of the layers, too.
LEARN = {
    **{"steps": 200, "lines": 10, "learn_rate": 1e-2, "dropout": 0.0, "held_out": 0.0},
    "checkpoint_minutes": 60.0,
}


def report_of(folder):
    return json.loads((folder / "pretrain.json").read_text(encoding="utf8"))


@pytest.fixture(scope="module")
def kinds_of_names():
    return {"PER": "person", "LOC": "city", "ORG": "company"}


def test_classes_are_found_by_the_names_that_were_taught(
    teach, blank_nlp, annotated, entities, kinds_of_names, tmp_path
):
    """Fine ones and coarse ones, with all layers and with half of them."""
    teach("out", **LEARN, texts=0)
    assert reads_names(str(tmp_path / "out"))
    coarse = {"PER": "writer", "LOC": "location", "ORG": "group"}
    for labels, layers in (
        (kinds_of_names, None),
        (coarse, None),
        (kinds_of_names, 1),
    ):
        nlp = blank_nlp(tmp_path / "out", labels=labels, model={"layers": layers})
        wrong = sum(
            entities(nlp(text)) != annotation["entities"]
            for text, annotation in annotated
        )
        assert wrong <= 1


def test_what_was_taught_is_a_start_for_a_training(
    teach, blank_nlp, annotated, tmp_path
):
    teach("out", **{**LEARN, "steps": 60})
    nlp = blank_nlp(tmp_path / "out", labels=["person", "city"])
    examples = [
        Example.from_dict(nlp.make_doc(text), {"entities": []}) for text, _ in annotated
    ]
    nlp.initialize(lambda: examples)
    assert nlp.get_pipe(NAME).labels == ("person", "city")
    assert nlp.get_pipe(NAME).label_data["city"] == ["city"]


@pytest.mark.parametrize("family", ["bert", "roberta", "xlm-roberta"])
def test_each_family_can_be_taught(teach, backbone_folder, blank_nlp, tmp_path, family):
    backbone = str(backbone_folder(family))
    report = teach("out", run={"backbone": backbone}, steps=2)
    assert report["backbone"] == backbone_folder(family).name
    assert numpy.isfinite([loss for _, loss in report["losses"]]).all()
    nlp = blank_nlp(tmp_path / "out", labels=["person", "city"])
    assert nlp("Anna left Rome .").has_annotation("ENT_IOB")
    AutoModelForMaskedLM.from_pretrained(tmp_path / "out")


@pytest.mark.parametrize("family", ["distilbert", "modernbert", "albert"])
def test_others_cannot_and_say_so(teach, backbone_folder, names, family):
    with pytest.raises(ValueError, match="cannot be taught: its head is not known"):
        teach("out", run={"backbone": str(backbone_folder(family))})
    assert names() == ["marked.jsonl", "text.txt"]


def test_the_report_tells_what_was_done(teach, tmp_path, bert, lines):
    report = teach("out", seed=3, held_out=0.4)
    assert report_of(tmp_path / "out") == report
    assert report["backbone"] == bert.name
    assert [file["name"] for file in report["line_files"]] == ["marked.jsonl"]
    assert [file["name"] for file in report["text"]] == ["text.txt"]
    assert [step for step, _ in report["losses"]] == [1, 2, 3, 4]
    assert (report["steps"], report["kinds"], report["device"]) == (4, 6, "cpu")
    assert 0 < report["marked_lines"] < 10
    assert report["settings"]["seed"] == 3
    for part in ("before", "after"):
        assert set(report[part]) == {"loss", "f1"}
    assert report["before"]["loss"] != report["after"]["loss"]
    *_, f1, loss, wrote = teach.lines
    assert f1.startswith("  F1 ") and "(before: " in f1
    assert loss.startswith("  loss ") and wrote == f"Wrote {tmp_path / 'out'}"


def test_nothing_is_measured_without_held_out_lines(teach):
    report = teach("out", held_out=0.0)
    assert report["before"] == report["after"] == {}
    assert any("nothing was measured" in line for line in teach.lines)


def test_without_a_step_the_backbone_stays_as_it_is(teach, bert, tmp_path):
    report = teach("out", steps=0)
    assert (report["steps"], report["losses"]) == (0, [])
    assert report["before"] == report["after"]
    weights = (tmp_path / "out" / "model.safetensors").read_bytes()
    assert weights == (bert / "model.safetensors").read_bytes()
    name_map = NameMap.load(tmp_path / "out", 32)
    assert not name_map.weight.any() and not name_map.bias.any()


def test_a_backbone_that_reads_names_goes_on_from_its_map(teach, naming, tmp_path):
    teach("out", run={"backbone": str(naming)}, steps=0)
    ours, theirs = (NameMap.load(folder, 32) for folder in (tmp_path / "out", naming))
    assert torch.equal(ours.weight, theirs.weight)
    assert torch.equal(ours.bias, theirs.bias)


def test_a_map_of_another_width_is_refused(teach, bert, tmp_path, names):
    backbone = shutil.copytree(bert, tmp_path / "lm")
    NameMap(8).save(backbone)
    with pytest.raises(DataError, match="name_map"):
        teach("out", run={"backbone": str(backbone)})
    assert "out.unfinished" not in names()


def test_word_embeddings_stay_and_all_else_learns(teach, bert, tmp_path):
    teach("out", steps=3, learn_rate=1e-2)
    before, after = (
        AutoModelForMaskedLM.from_pretrained(folder).state_dict()
        for folder in (bert, tmp_path / "out")
    )
    stayed = {name for name in before if torch.equal(before[name], after[name])}
    assert {name for name in stayed if "LayerNorm" not in name and name[0] != "x"} == {
        "bert.embeddings.word_embeddings.weight",
        "cls.predictions.decoder.weight",
    }


def test_one_seed_repeats_and_another_does_not(teach, weights):
    teach("first", seed=5)
    teach("again", seed=5)
    teach("other", seed=6)
    assert weights("first") == weights("again") != weights("other")


def test_weights_can_be_a_mean_with_those_of_before(teach, tmp_path):
    found = {}
    for out, settings in (
        ("before", {"steps": 0}),
        ("after", {"steps": 4}),
        ("mean", {"steps": 4, "start_share": 0.25}),
    ):
        teach(out, **settings)
        arrays = (tmp_path / out / name for name in ("model", "name_map"))
        found[out] = {
            name: array
            for path in arrays
            for name, array in load_file(path.with_suffix(".safetensors")).items()
        }
    before, after = found["before"], found["after"]
    assert any((after[name] != array).any() for name, array in before.items())
    for name, array in found["mean"].items():
        expected = 0.25 * before[name] + 0.75 * after[name]
        numpy.testing.assert_allclose(array, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")
def test_other_processes_change_nothing(teach, weights):
    teach("alone")
    teach("together", workers=2)
    assert weights("alone") == weights("together")


@pytest.mark.parametrize(
    "settings",
    [
        {"half": False},
        {"texts": 0},
        {"text_weight": 0.0},
        {"dropout": 0.5},
        {"precision": "bfloat16"},
        {"lines": 3},
    ],
)
def test_settings_change_what_is_learned(teach, weights, settings):
    teach("plain", held_out=0.0)
    report = teach("other", held_out=0.0, **settings)
    assert weights("plain") != weights("other")
    assert report["settings"] | settings == report["settings"]


def test_sets_and_wordings_change_what_is_learned(teach, weights, tmp_path):
    labels = {"who": ["@PER"], "where": ["city"]}
    (tmp_path / "sets.json").write_text(json.dumps([{"labels": labels}]))
    (tmp_path / "types.tsv").write_text("writer\tPER\nperson\tPER\n")
    (tmp_path / "words.tsv").write_text("city\ten\thouse\n")
    files = {
        "label_sets": tmp_path / "sets.json",
        "types": tmp_path / "types.tsv",
        "wordings": tmp_path / "words.tsv",
    }
    teach("plain", steps=8)
    report = teach("other", steps=8, **files)
    assert weights("plain") != weights("other")
    assert [file["name"] for file in report["files"]] == [
        *("sets.json", "types.tsv", "words.tsv")
    ]
    # Where they lie on somebody's disk is nobody's business.
    assert str(tmp_path) not in (tmp_path / "other" / "pretrain.json").read_text()


def test_text_that_the_model_cannot_read_at_once_is_cut(teach):
    assert teach("out", length=1000, steps=1)["steps"] == 1


def test_it_ends_after_a_time_too(teach, monkeypatch):
    """Whatever comes first; without either it is ten passes over the lines."""
    report = teach("out", steps=10**6, minutes=0.02)
    assert 0 < report["steps"] < 10**6
    assert 1.2 <= report["seconds"] < 10
    ends = []
    monkeypatch.setattr(Loop, "run", lambda self, state: ends.append(self.steps))
    teach("passes", steps=None, lines=4, held_out=0.0)
    teach("time", steps=None, minutes=1.0)
    assert ends == [25, None]


def test_a_loss_that_is_no_number_ends_it(teach, monkeypatch, names):
    update = Loop._update

    def spoiled(self, *args):
        return update(self, *args) * float("nan")

    monkeypatch.setattr(Loop, "_update", spoiled)
    with pytest.raises(DataError, match=r"is nan at step 1.*--learn-rate"):
        teach("out")
    assert "out" not in names()


@pytest.mark.parametrize(
    "change, message",
    [
        ({"run": {"backbone": "nobody/has-this"}}, "nobody/has-this"),
        ({"held_out": 1.0}, "All 10 lines are held out"),
        ({"device": "abacus"}, "--device 'abacus' cannot be used"),
    ],
)
def test_what_cannot_be_used_is_told_and_leaves_nothing(teach, names, change, message):
    with pytest.raises((DataError, BackboneError), match=message) as error:
        teach("out", **change)
    assert "\n" not in str(error.value)
    assert names() == ["marked.jsonl", "text.txt"]


@pytest.mark.parametrize(
    "entry, message",
    [
        ({"text": "It rains ."}, "nothing to learn"),
        ({"text": "red " * 99, "labels": ["city"]}, "No line is short enough"),
    ],
)
def test_lines_that_teach_nothing_are_told(teach, write_lines, names, entry, message):
    lines = [write_lines("in.jsonl", [entry] * 3)]
    with pytest.raises(DataError, match=message):
        teach("out", run={"lines": lines})
    assert "out.unfinished" not in names()


def test_held_out_lines_that_are_too_long_are_not_measured(teach, write_lines, marked):
    """Which lines are held out depends on their text."""
    long = [{"text": f"{i} " + "red " * 99, "labels": ["city"]} for i in range(40)]
    lines = [write_lines("in.jsonl", [*marked, *long])]
    report = teach("out", run={"lines": lines}, held_out=0.02)
    assert report["marked_lines"] <= 10


@pytest.mark.parametrize(
    "settings, message",
    [
        ({"steps": -1}, "--steps -1: "),
        ({"minutes": 0}, "--minutes 0: "),
        ({"lines": 0}, "--lines-per-step 0: "),
        ({"texts": -1}, "--texts-per-step -1: "),
        ({"length": 7}, "--length 7: "),
        ({"learn_rate": 0.0}, "--learn-rate 0.0: "),
        ({"learn_rate": float("nan")}, "--learn-rate nan: "),
        ({"dropout": 1.0}, "--dropout 1.0: "),
        ({"mask_share": 0}, "--mask-share 0: "),
        ({"held_out": 1.5}, "--held-out 1.5: "),
        ({"precision": "half"}, "--precision half: "),
        ({"workers": -2}, "--workers -2: "),
        ({"seed": -1}, "--seed -1: "),
        ({"speed": 1}, "--speed 1: "),
    ],
)
def test_a_setting_without_such_a_value_is_refused(settings, message):
    with pytest.raises(DataError, match=message):
        Settings(**settings)


def test_the_taught_model_is_a_pipeline_without_its_folder(
    teach, blank_nlp, tmp_path, texts
):
    teach("out")
    nlp = blank_nlp(tmp_path / "out", labels=["person", "city"])
    nlp.to_disk(tmp_path / "saved")
    expected = [doc.spans[NAME].attrs["scores"].tolist() for doc in nlp.pipe(texts)]
    shutil.rmtree(tmp_path / "out")
    loaded = spacy.load(tmp_path / "saved")
    found = [doc.spans[NAME].attrs["scores"].tolist() for doc in loaded.pipe(texts)]
    assert found == expected
