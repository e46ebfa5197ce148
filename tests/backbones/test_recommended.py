"""What a backbone's folder recommends for few-shot training."""

import json

import pytest
import spacy

from spacy_entlm.backbones.recommended import Recommended, read_recommended

WORDS = {"PER": ["mary"]}


def write(folder, name, data):
    text = data if isinstance(data, str) else json.dumps(data)
    (folder / name).write_text(text, encoding="utf8")


def test_a_name_or_an_empty_folder_recommends_nothing(tmp_path):
    for backbone in ("bert-base-cased", str(tmp_path)):
        assert read_recommended(backbone) == Recommended(None, {})


def test_pretraining_notes_a_rate_and_words(tmp_path):
    write(tmp_path, "pretrain.json", {"learn_rate": 3e-4, "label_words": WORDS})
    assert read_recommended(str(tmp_path)) == Recommended(3e-4, WORDS)


def test_words_of_a_trained_component_are_its_own(trained_folder, label_words):
    model = trained_folder / "entlm_ner" / "model"
    assert read_recommended(str(model)).label_words == label_words
    pipe = spacy.load(trained_folder).get_pipe("entlm_ner")
    assert pipe.label_data == label_words


def test_words_of_the_pretraining_come_before_those_of_a_component(tmp_path):
    write(tmp_path, "label_words.json", {"LOC": ["rome"]})
    write(tmp_path, "pretrain.json", {"learn_rate": 1e-3})
    assert read_recommended(str(tmp_path)) == Recommended(1e-3, {"LOC": ["rome"]})
    write(tmp_path, "pretrain.json", {"label_words": WORDS})
    assert read_recommended(str(tmp_path)).label_words == WORDS


def test_classes_that_look_like_tags_keep_their_names(tmp_path):
    write(tmp_path, "label_words.json", {"B-CELL": ["cell"]})
    assert read_recommended(str(tmp_path)).label_words == {"B-CELL": ["cell"]}


@pytest.mark.parametrize("name", ["pretrain.json", "label_words.json"])
@pytest.mark.parametrize("content", ["{", "[1]", '"x"'])
def test_file_that_cannot_be_read_is_named(tmp_path, name, content):
    write(tmp_path, name, content)
    with pytest.raises(
        ValueError, match=f"{name}: (broken JSON|is no JSON object|cannot be read)"
    ):
        read_recommended(str(tmp_path))


@pytest.mark.parametrize(
    "name, data",
    [
        ("pretrain.json", {"label_words": {"PER": "john"}}),
        ("pretrain.json", {"learn_rate": "much"}),
        ("label_words.json", {"PER": "john"}),
    ],
)
def test_values_of_the_wrong_kind_are_named(tmp_path, name, data):
    write(tmp_path, name, data)
    with pytest.raises(ValueError, match=name):
        read_recommended(str(tmp_path))
