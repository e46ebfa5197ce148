"""Models from anybody: a clear error in little time and memory, nothing is run, and
nothing outside of the folder is touched."""

import json
import os
import shutil

import pytest
import spacy
import srsly
import torch
from safetensors.torch import load_file, save_file

from spacy_entlm.backbones.errors import BackboneError
from spacy_entlm.backbones.loading import load_masked_lm
from spacy_entlm.backbones.suitable import PAPER_LEARN_RATE, suitable_learn_rate

NAME = "entlm_ner"
# Of a backbone, and of a component that was saved.
WEIGHTS, COMPACT = "model.safetensors", "compact.safetensors"
ROWS, CONFIG = "label_rows.safetensors", "config.json"
VITERBI = {f"components.{NAME}.decoder": {"@misc": "spacy-entlm.viterbi_decoder.v1"}}
# Leaves a file where it was imported.
PLANTED = """
import pathlib
pathlib.Path({mark!r}).write_text("ran")
from transformers import BertConfig, BertForMaskedLM, BertTokenizerFast
class EvilConfig(BertConfig):
    pass
class EvilModel(BertForMaskedLM):
    pass
class EvilTokenizer(BertTokenizerFast):
    pass
"""
AUTO_MAP = {
    "AutoConfig": "planted.EvilConfig",
    "AutoModelForMaskedLM": "planted.EvilModel",
    "AutoTokenizer": ["planted.EvilTokenizer", "planted.EvilTokenizer"],
}


def change_json(path, **values):
    data = json.loads(path.read_text(encoding="utf8"))
    path.write_text(json.dumps({**data, **values}), encoding="utf8")


def change_tensors(path, change):
    tensors = load_file(path)
    change(tensors)
    save_file(tensors, path, metadata={"format": "pt"})


@pytest.fixture
def broken(bert, tmp_path):
    """A copy of a backbone to be broken."""
    return shutil.copytree(bert, tmp_path / "broken")


@pytest.mark.parametrize("answer", ["y", ""])
@pytest.mark.parametrize("model_type", ["bert", "evil"])
def test_planted_code_never_runs(model, tmp_path, monkeypatch, answer, model_type):
    """Nobody is asked, either."""
    monkeypatch.setattr("builtins.input", lambda *args: answer)
    mark = tmp_path / "mark"
    (model / "planted.py").write_text(PLANTED.format(mark=str(mark)))
    change_json(model / CONFIG, auto_map=AUTO_MAP, model_type=model_type)
    change_json(model / "tokenizer_config.json", auto_map=AUTO_MAP)
    if model_type == "bert":
        assert spacy.load(model.parents[1])("Anna left Rome .").ents
    else:
        with pytest.raises(BackboneError, match=str(model)):
            spacy.load(model.parents[1])
    assert suitable_learn_rate(str(model)) > 0
    assert not mark.exists()


@pytest.mark.parametrize("key", ["_attn_implementation", "attn_implementation"])
def test_code_of_the_hub_is_refused(broken, key):
    """transformers would fetch it with the package kernels."""
    change_json(broken / CONFIG, **{key: "evil/kernels:run"})
    with pytest.raises(BackboneError, match="asks for code from 'evil/kernels:run'"):
        load_masked_lm(broken)


def test_settings_of_a_pipeline_cannot_ask_for_code(bert):
    for settings in (
        {"trust_remote_code": True},
        {"_attn_implementation": "evil/kernels:run"},
    ):
        with pytest.raises(BackboneError):
            load_masked_lm(bert, transformer_config=settings)
    with pytest.raises(BackboneError):
        load_masked_lm(bert, tokenizer_config={"trust_remote_code": True})


def test_weights_of_another_folder_are_refused(bert, broken):
    """With the package peft, transformers would read them."""
    (broken / "adapter_config.json").write_text(
        json.dumps({"base_model_name_or_path": str(bert)})
    )
    with pytest.raises(BackboneError, match="merge the adapter"):
        load_masked_lm(broken)
    (broken / "adapter_config.json").unlink()
    (broken / WEIGHTS).unlink()
    for name in (f"../{bert.name}/{WEIGHTS}", str(bert / WEIGHTS), 3):
        index = {"weight_map": dict.fromkeys(load_file(bert / WEIGHTS), name)}
        (broken / f"{WEIGHTS}.index.json").write_text(json.dumps(index))
        with pytest.raises(BackboneError, match="names no files"):
            load_masked_lm(broken)


def test_pickle_beside_the_weights_is_not_read(model, folder, tmp_path):
    class Planted:
        def __reduce__(self):
            return os.mkdir, (str(tmp_path / "mark"),)

    for name in ("pytorch_model.bin", "training_args.bin", "optimizer.pt"):
        torch.save({"x": Planted()}, model / name)
    assert spacy.load(folder.parent)("Anna left Rome .").ents
    (model / COMPACT).unlink()
    with pytest.raises(BackboneError, match="safetensors"):
        spacy.load(folder.parent)
    assert not (tmp_path / "mark").exists()


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
@pytest.mark.parametrize("file", [COMPACT, ROWS])
def test_weights_that_are_no_numbers_are_refused(model, refused, file, value):
    def spoil(tensors):
        key = sorted(tensors)[-1]
        tensors[key].view(-1)[-1] = value

    change_tensors(model / file, spoil)
    refused("NaN or infinite numbers")


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -1.0, -1e9, "a", None])
def test_epsilon_that_makes_no_numbers_is_refused(model, refused, value):
    change_json(model / CONFIG, layer_norm_eps=value)
    refused("layer_norm_eps|Cannot load")


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
def test_label_rows_of_another_precision_become_float32(model, folder, dtype):
    change_tensors(
        model / ROWS, lambda t: t.update({k: v.to(dtype) for k, v in t.items()})
    )
    nlp = spacy.load(folder.parent)
    rows = nlp.get_pipe(NAME).network.label_rows
    assert rows.weight.dtype == rows.bias.dtype == torch.float32
    assert nlp("Anna left Rome .").ents


def test_label_rows_that_are_whole_numbers_are_refused(model, refused):
    change_tensors(
        model / ROWS, lambda t: t.update({k: v.long() for k, v in t.items()})
    )
    refused("does not fit the model")


@pytest.mark.parametrize("file", [COMPACT, ROWS])
@pytest.mark.parametrize("size", [2**27, 2**40, 2**64 - 1])
def test_header_that_claims_a_huge_size_is_refused(model, refused, file, size):
    (model / file).write_bytes(size.to_bytes(8, "little") + b"{}" * 100)
    refused("Cannot load|cannot be read")


@pytest.mark.parametrize(
    "setting, value",
    [
        ("num_hidden_layers", 10**9),
        ("num_labels", 10**9),
        ("vocab_size", 10**9),
        ("hidden_size", 10**9),
        ("intermediate_size", 10**12),
        ("max_position_embeddings", 10**9),
        ("type_vocab_size", 10**10),
    ],
)
def test_configuration_that_asks_for_all_memory_is_refused(
    model, folder, refused, setting, value
):
    change_json(model / CONFIG, **{setting: value})
    refused("is more than|do not belong together|Cannot load")
    # Which is read for the learning rate, too.
    assert suitable_learn_rate(str(model)) <= 10 * PAPER_LEARN_RATE


@pytest.mark.parametrize("file", [CONFIG, "label_words.json", "tokenizer.json"])
@pytest.mark.parametrize(
    "content",
    [
        b"[" * 100_000,
        b'{"a":' * 100_000,
        b"[]",
        b"3",
        b"null",
        b'"text"',
        b"\xff\xfe",
        b"{\x00}",
        b"",
        b'{"model_type": "bert", "vocab_size": "many"}',
        b'{"model_type": ["bert"]}',
        b'{"PER": 3}',
    ],
)
def test_json_of_another_form_is_refused(model, refused, file, content):
    (model / file).write_bytes(content)
    refused("Cannot|broken JSON|Label|no JSON object|do not belong|does not fit")


@pytest.mark.parametrize(
    "content",
    [
        b"[" * 100_000,
        b"\xff",
        b"null",
        b'{"version": 1, "transitions": null}',
        b'{"version": 1, "transitions": {"start_outside": 1}}',
        *(
            json.dumps(
                {
                    "version": 1,
                    "transitions": {
                        **dict.fromkeys(
                            ["start_outside", "start_inside", "outside_outside"], 1
                        ),
                        **dict.fromkeys(["outside_inside", "inside_outside"], 1),
                        **dict.fromkeys(["inside_same", "inside_other"], value),
                    },
                }
            ).encode()
            for value in (None, "1", -5, True, float("nan"), 10**400, [1])
        ),
    ],
)
def test_decoder_of_another_form_is_refused(folder, refused, content):
    (folder / "decoder").write_bytes(content)
    refused(str(folder / "decoder"), config=VITERBI)


@pytest.mark.parametrize("is_gone", [True, False])
def test_model_without_files_is_refused(model, refused, is_gone):
    shutil.rmtree(model)
    if not is_gone:
        model.mkdir()
    refused("the model's files are gone")


def test_pipeline_without_a_model_is_loaded(blank_nlp, bert, tmp_path):
    nlp = blank_nlp(bert)
    nlp.to_disk(tmp_path)
    assert not spacy.load(tmp_path).get_pipe(NAME).is_initialized
    blank_nlp(bert).from_bytes(nlp.to_bytes())


@pytest.mark.parametrize("content", [b"[1]", b"{", b"[" * 100_000, b'{"A": 3}'])
def test_classes_of_another_form_are_refused(blank_nlp, bert, tmp_path, content):
    blank_nlp(bert).to_disk(tmp_path)
    (tmp_path / NAME / "added_labels").write_bytes(content)
    with pytest.raises(ValueError, match="added_labels"):
        spacy.load(tmp_path)


def test_tokenizer_with_pieces_that_the_model_lacks_is_refused(model, refused):
    """Numbers may have gaps, so that their count tells nothing."""
    path = model / "tokenizer.json"
    data = json.loads(path.read_text(encoding="utf8"))
    vocab = data["model"]["vocab"]
    vocab[next(word for word in reversed(vocab))] = 10**6
    path.write_text(json.dumps(data), encoding="utf8")
    refused("do not belong together")


def test_learn_rate_that_is_none_is_refused(broken):
    for rate in (float("nan"), float("inf"), -1.0, 0, "fast", 10**400, [1], True):
        (broken / "pretrain.json").write_text(json.dumps({"learn_rate": rate}))
        with pytest.raises(ValueError, match=r"pretrain\.json.*learn_rate"):
            suitable_learn_rate(str(broken))


@pytest.mark.parametrize(
    "data",
    [
        b"\xdd\xff\xff\xff\xff",  # an array of four billion
        b"\xdf\xff\xff\xff\xff",  # a map
        b"\xc6\xff\xff\xff\xff",  # bytes
        b"\x91" * 100_000,
        *map(
            srsly.msgpack_dumps,
            [{1: b""}, {"a": 1}, {"": b""}, {".": b""}, {"a" * 1000: b""}],
        ),
        srsly.msgpack_dumps({"a": b"", "a/b": b""}),
        srsly.msgpack_dumps({"a\0b": b""}),
    ],
)
def test_bytes_that_are_no_component_are_refused(trained, data, at_most):
    with pytest.raises(ValueError), at_most(30):
        trained.get_pipe(NAME).from_bytes(data)


@pytest.fixture
def name_map(knowing, blank_nlp, folder):
    """The map from names to rows in a saved component."""
    shutil.rmtree(folder)
    blank_nlp(knowing, labels=["PER"]).get_pipe(NAME).to_disk(folder)
    return folder / "model" / "name_map.safetensors"


@pytest.mark.parametrize(
    "change",
    [
        lambda tensors: tensors.clear(),
        lambda tensors: tensors.pop("bias"),
        lambda tensors: tensors.update(weight=torch.zeros(32, 33)),
        lambda tensors: tensors["weight"].fill_(float("nan")),
    ],
)
def test_map_of_names_that_does_not_fit_is_refused(name_map, refused, change):
    change_tensors(name_map, change)
    refused(f"{name_map}")


@pytest.mark.parametrize(
    "content", [b"", b"\xff" * 100, (2**40).to_bytes(8, "little")], ids=range(3)
)
def test_map_of_names_that_is_broken_is_refused(name_map, refused, content):
    name_map.write_bytes(content)
    refused(f"{name_map}")
    name_map.unlink()  # then there is none
    nlp = spacy.load(name_map.parents[2])
    assert nlp("Anna Smith lives in Berlin .").ents
    with pytest.raises(ValueError, match="no usable label word"):
        nlp.get_pipe(NAME).add_label("LOC")
