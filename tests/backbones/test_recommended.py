"""What a backbone's folder recommends for few-shot training."""

import json
import shutil

import pytest

from spacy_entlm.backbones.recommended import reads_names, recommended_rate
from spacy_entlm.backbones.suitable import START_PULL, suitable_start_pull


def write(folder, data):
    text = data if isinstance(data, str) else json.dumps(data)
    (folder / "pretrain.json").write_text(text, encoding="utf8")


def test_a_name_or_an_empty_folder_recommends_nothing(tmp_path):
    for backbone in ("bert-base-cased", str(tmp_path)):
        assert recommended_rate(backbone) is None
        assert not reads_names(backbone)


@pytest.mark.parametrize("facts", [{}, {"learn_rate": None}, {"label_words": {}}])
def test_a_report_without_a_rate_recommends_none(tmp_path, facts):
    write(tmp_path, facts)
    assert recommended_rate(str(tmp_path)) is None


@pytest.mark.parametrize("rate", [3e-4, 1])
def test_pretraining_notes_a_rate(tmp_path, rate):
    write(tmp_path, {"learn_rate": rate, "steps": 7})
    found = recommended_rate(str(tmp_path))
    assert found == rate and isinstance(found, float)


@pytest.mark.parametrize("content", ["{", "[1]", '"x"'])
def test_file_that_cannot_be_read_is_named(tmp_path, content):
    write(tmp_path, content)
    message = r"pretrain\.json: (broken JSON|is no JSON object)"
    with pytest.raises(ValueError, match=message):
        recommended_rate(str(tmp_path))


@pytest.mark.parametrize("rate", ["much", True, 0, -1e-4, 1.5, [1e-4]])
def test_rates_that_are_none_are_named(tmp_path, rate):
    write(tmp_path, {"learn_rate": rate})
    with pytest.raises(ValueError, match=r"pretrain\.json: .*learn_rate"):
        recommended_rate(str(tmp_path))


def test_weights_stay_near_to_those_of_a_backbone_that_reads_names(
    bert, naming, tmp_path
):
    assert suitable_start_pull(str(naming)) == START_PULL == 1.2
    assert suitable_start_pull(str(bert)) == 0
    assert suitable_start_pull(None) == suitable_start_pull("") == 0
    # The map is what makes the difference.
    shutil.copytree(bert, tmp_path, dirs_exist_ok=True)
    shutil.copy(naming / "name_map.safetensors", tmp_path)
    assert suitable_start_pull(str(tmp_path)) == 1.2
