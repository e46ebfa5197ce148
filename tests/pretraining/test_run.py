"""From text files to a model folder: what is written, measured and reported."""

import json
import shutil

import pytest
import torch
import transformers
from safetensors.torch import load_file

from spacy_entlm.backbones.compact import COMPACT_FILE
from spacy_entlm.backbones.loading import load_masked_lm
from spacy_entlm.backbones.name_map import NameMap
from spacy_entlm.backbones.recommended import NAME_MAP_FILE
from spacy_entlm.backbones.suitable import suitable_learn_rate
from spacy_entlm.files.errors import DataError
from spacy_entlm.pretraining import pieces

WEIGHTS = "model.safetensors"


def test_model_folder_is_what_transformers_reads(pretrain, names, tmp_path, bert):
    report = pretrain("out")
    assert names() == ["out", "text.txt"]
    _, info = transformers.AutoModelForMaskedLM.from_pretrained(
        tmp_path / "out", output_loading_info=True
    )
    assert not any(info.values())
    before = load_file(bert / WEIGHTS)
    after = load_file(tmp_path / "out" / WEIGHTS)
    assert before.keys() == after.keys()
    assert not any(torch.equal(before[key], after[key]) for key in before)
    config = json.loads((tmp_path / "out" / "config.json").read_text())
    assert config == json.loads((bert / "config.json").read_text())
    assert report == json.loads((tmp_path / "out" / "pretrain.json").read_text())


def test_report_holds_what_is_to_be_known(pretrain, tmp_path, bert):
    report = pretrain("out", add_vocab=2)
    assert (report["steps"], report["pieces_seen"]) == (4, 4 * 4 * 16)
    assert report["seconds"] > 0 and report["pieces_per_second"] > 0
    assert [step for step, _ in report["losses"]] == [1, 2, 3, 4]
    assert report["settings"]["add_vocab"] == 2
    assert report["versions"]["torch"] == torch.__version__
    assert report["vocabulary"]["words_added"] == 2
    assert report["pretraining_learn_rate"] == 1e-3  # by the rule, for width 32
    for when in ("held_out", "held_out_before"):
        assert report[when]["loss"] > 0 and report[when]["lines"] > 3
    assert report["held_out"] != report["held_out_before"]
    corpus = report["corpus"]
    assert corpus["lines"] + corpus["held_out_lines"] == 60
    text = (tmp_path / "out" / "pretrain.json").read_text()
    assert str(tmp_path) not in text and str(bert) not in text
    assert any(line.startswith("  perplexity of a char") for line in pretrain.lines)


def test_same_settings_give_the_same_weights(pretrain, weights):
    pretrain("one")
    pretrain("two", checkpoint_minutes=100.0)
    pretrain("three", seed=1)
    assert weights("one") == weights("two") != weights("three")


def test_held_out_lines_teach_nothing(pretrain, weights, text, lines, tmp_path):
    """Other held-out lines in their places give the same model and vocabulary."""
    report = pretrain("one", add_vocab=3)
    other = tmp_path / "other.txt"
    kept = [line for line in lines if pieces.hash_share(line) >= 0.2]
    spare = (f"{line} petropolis petropolis" for line in lines)
    moved = [line for line in spare if pieces.hash_share(line) < 0.2]
    assert len(moved) > 2
    other.write_text("\n".join([*moved, *kept]))
    again = pretrain("two", run={"text": [other]}, add_vocab=3)
    assert report["vocabulary"] == again["vocabulary"]
    assert weights("one") == weights("two")
    assert again["held_out"]["loss"] != report["held_out"]["loss"]


@pytest.mark.parametrize("content", ["", "\n  \n\t\n"])
def test_empty_text_is_refused(pretrain, text, content, names):
    text.write_text(content)
    with pytest.raises(DataError, match="holds no words"):
        pretrain("out")
    assert names() == ["text.txt"]


def test_text_that_is_no_utf8_leaves_nothing(pretrain, text, names):
    text.write_bytes(b"anna\ncaf\xe9\n")
    with pytest.raises(DataError, match=r"text\.txt, line 2: not UTF-8"):
        pretrain("out")
    assert names() == ["text.txt"]


def test_text_shorter_than_a_sequence_is_learned(pretrain, text):
    text.write_text("anna lives in rome\n")
    report = pretrain("out", length=64, held_out=0.0)
    assert report["sequence_pieces"] < 12
    assert report["pieces_seen"] == 4 * 4 * report["sequence_pieces"]
    assert report["held_out"]["loss"] is None
    assert "Too little text is held out" in pretrain.lines[-2]


def test_text_that_is_all_held_out_is_refused(pretrain):
    with pytest.raises(DataError, match=r"All 60 lines .*smaller --held-out"):
        pretrain("out", held_out=1.0)


def test_no_steps_only_measure(pretrain, bert, tmp_path):
    report = pretrain("out", steps=0, held_out=1.0)
    assert report["steps"] == report["pieces_seen"] == 0
    assert report["held_out"]["lines"] == 60
    before, after = load_file(bert / WEIGHTS), load_file(tmp_path / "out" / WEIGHTS)
    assert all(torch.equal(before[key], after[key]) for key in before)


def test_neither_steps_nor_minutes_is_one_pass(pretrain):
    report = pretrain("out", steps=None, minutes=None)
    # 14 of 16 pieces of a sequence are text.
    n_sequences = report["corpus"]["train"] // 14
    assert report["steps"] == -(-n_sequences // 4)


def test_passes_may_be_given(pretrain):
    one = pretrain("one", steps=None, epochs=1)
    two = pretrain("two", steps=None, epochs=0.5)
    assert one["steps"] == pytest.approx(2 * two["steps"], abs=1)
    assert pretrain("three", steps=2, epochs=1)["steps"] == 2


def test_text_may_be_a_data_folder(pretrain, text, tmp_path):
    data = tmp_path / "data"
    data.mkdir()
    with pytest.raises(DataError, match=r"data: has no unlabeled\.txt"):
        pretrain("out", run={"text": [data]})
    shutil.copy(text, data / "unlabeled.txt")
    shutil.copy(text, data / "unlabeled.conll.bak")
    report = pretrain("out", run={"text": [data]})
    assert [file["name"] for file in report["text"]] == ["unlabeled.txt"]
    (data / "unlabeled.jsonl").write_text('{"text": "anna"}')
    with pytest.raises(DataError, match=r"unlabeled\.txt, unlabeled\.jsonl"):
        pretrain("other", run={"text": [data]})


def test_half_precision_is_stored_and_measured(pretrain, tmp_path):
    pretrain("whole")
    report = pretrain("half", half=True)
    again = pretrain("again", run={"backbone": str(tmp_path / "half")}, steps=0)
    assert again["held_out"] == pytest.approx(report["held_out"], rel=1e-6)
    whole, half = (load_file(tmp_path / name / WEIGHTS) for name in ("whole", "half"))
    assert {tensor.dtype for tensor in half.values()} == {torch.float16}
    assert all(torch.equal(whole[key].half(), half[key]) for key in whole)
    config = json.loads((tmp_path / "half" / "config.json").read_text())
    assert config["torch_dtype"] == "float16"


def test_recommended_learning_rate_is_kept_or_given(pretrain, tmp_path):
    assert "learn_rate" not in pretrain("none")
    pretrain("given", few_shot_learn_rate=3e-4)
    assert suitable_learn_rate(str(tmp_path / "given")) == 3e-4
    pretrain("kept", run={"backbone": str(tmp_path / "given")})
    assert suitable_learn_rate(str(tmp_path / "kept")) == 3e-4
    given = {"backbone": str(tmp_path / "given")}
    pretrain("other", run=given, few_shot_learn_rate=1e-4)
    assert suitable_learn_rate(str(tmp_path / "other")) == 1e-4


def test_the_map_from_names_of_the_backbone_is_kept(pretrain, naming, names, tmp_path):
    pretrain("none")
    assert NAME_MAP_FILE not in names("none")
    report = pretrain("kept", run={"backbone": str(naming)})
    kept, given = (NameMap.load(each, 32) for each in (tmp_path / "kept", naming))
    assert torch.equal(kept.weight, given.weight) and torch.equal(kept.bias, given.bias)
    files = {each["name"] for each in report["backbone_files"]}
    assert files == {WEIGHTS, NAME_MAP_FILE}


def test_a_compact_backbone_is_pre_trained_as_an_ordinary_one(
    pretrain, bert, weights, tmp_path
):
    """What comes out is what transformers reads."""
    (tmp_path / "compact").mkdir()
    load_masked_lm(bert).save(tmp_path / "compact", compact=True)
    report = pretrain("one", run={"backbone": str(tmp_path / "compact")})
    pretrain("two")
    assert weights("one") == weights("two")
    assert [each["name"] for each in report["backbone_files"]] == [COMPACT_FILE]


@pytest.mark.parametrize("family", ["roberta", "xlm-roberta", "modernbert"])
def test_other_families_are_pre_trained(pretrain, backbone_folder, family, tmp_path):
    pretrain("out", run={"backbone": str(backbone_folder(family))})
    transformers.AutoModelForMaskedLM.from_pretrained(tmp_path / "out")


def test_held_out_text_is_bounded(pretrain, monkeypatch):
    """The same lines whatever the pieces are, so counted in characters."""
    monkeypatch.setattr(pieces, "MAX_HELD_OUT_CHARS", 100)
    report = pretrain("out")
    assert 100 <= report["held_out"]["characters"] < 160
    assert report["corpus"]["lines"] + report["corpus"]["held_out_lines"] < 60
