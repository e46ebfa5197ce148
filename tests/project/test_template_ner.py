"""TemplateNER with a tiny random BART."""

import importlib.util
import json
import random
import sys
from pathlib import Path

import pytest
import spacy
import torch
import transformers
import typer
from spacy.tokens import DocBin

SCRIPT = (
    Path(__file__).resolve().parents[2] / "project" / "benchmarks" / "template_ner.py"
)
LABELS = ["LOC", "ORG", "PER"]


@pytest.fixture(scope="module")
def script():
    spec = importlib.util.spec_from_file_location("template_ner", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    sys.modules["template_ner"] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def bart(roberta, tmp_path_factory):
    """The folder of a tiny random BART."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(roberta)
    torch.manual_seed(0)
    config = transformers.BartConfig(
        vocab_size=len(tokenizer),
        d_model=32,
        encoder_layers=1,
        decoder_layers=1,
        encoder_attention_heads=2,
        decoder_attention_heads=2,
        encoder_ffn_dim=64,
        decoder_ffn_dim=64,
        max_position_embeddings=128,
        dropout=0.0,
        init_std=0.1,
        pad_token_id=tokenizer.pad_token_id,
        bos_token_id=tokenizer.bos_token_id,
        eos_token_id=tokenizer.eos_token_id,
        decoder_start_token_id=tokenizer.eos_token_id,
    )
    folder = tmp_path_factory.mktemp("bart")
    transformers.BartForConditionalGeneration(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@pytest.fixture
def ner(script, bart):
    model, tokenizer = script.load(str(bart), None, False)
    model.eval()
    return script.TemplateNER(model, tokenizer, script.Templates.create(LABELS, {}))


@pytest.fixture
def gold(make_examples):
    return [eg.reference for eg in make_examples(spacy.blank("xx"))]


def test_every_span_of_up_to_eight_words_is_asked_about(script):
    assert script.all_spans(3) == [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]
    spans = script.all_spans(20)
    assert max(end - start for start, end in spans) == 8
    assert len(spans) == len(set(spans)) == sum(20 - n + 1 for n in range(1, 9))
    assert script.count_queries(3, 5) == 30
    assert script.all_spans(0) == []


def test_templates_name_the_classes(script):
    templates = script.Templates.create(["LOC", "WORK_OF_ART"], {"LOC": "area"})
    assert templates.of(["New", "York"]) == [
        "New York is an area entity .",
        "New York is a work of art entity .",
        "New York is not a named entity .",
    ]
    with pytest.raises(ValueError, match=r"Names for \['PER'\]"):
        script.Templates.create(["LOC"], {"PER": "person"})


def test_scores_in_batches_are_those_of_one_template_after_the_other(ner):
    words = ["Anna", "Smith", "lives", "in", "Rome"]
    spans = [(0, 2), (4, 5), (1, 2)]
    scores = ner.scores(words, spans, 5)
    assert scores.shape == (3, 4)
    for row, (start, end) in zip(scores, spans):
        for score, template in zip(row, ner.templates.of(words[start:end])):
            labels = ner.targets([template])
            mean = ner.loss([" ".join(words)], [template]).detach()
            expected = -mean * labels.shape[1]
            assert float(score) == pytest.approx(float(expected), rel=1e-4)


def test_the_best_of_spans_that_overlap_stays(script):
    found = [(-3.0, 0, 2, "A"), (-1.0, 1, 3, "B"), (-2.0, 3, 4, "C"), (-4.0, 2, 3, "D")]
    assert script.without_overlap(found) == [(1, 3, "B"), (3, 4, "C")]


def test_training_pairs_are_true(script, gold):
    templates = script.Templates.create(LABELS, {})
    pairs = list(script.training_pairs(gold[:1], templates, random.Random(1)))
    sentence = "Anna Smith lives in Berlin ."
    assert {sentence for sentence, _ in pairs} == {sentence}
    targets = [target for _, target in pairs]
    assert "Anna Smith is a per entity ." in targets
    assert "Berlin is a loc entity ." in targets
    others = [target for target in targets if target.endswith("not a named entity .")]
    assert len(others) == 3
    assert not any(
        target.startswith(("Anna Smith is", "Berlin is")) for target in others
    )


def test_learns_the_sentences_by_heart(script, ner, gold):
    script.fit(ner, gold, epochs=45, learn_rate=1e-2)
    result = script.evaluate(ner, gold, n_sentences=4, batch=64)
    assert result["io"]["f"] > 0.8
    assert (result["sentences_scored"], result["sentences_all"]) == (4, len(gold))
    assert result["queries_scored"] == sum(
        script.count_queries(len(doc), 4) for doc in gold[:4]
    )
    ratio = result["queries_all"] / result["queries_scored"]
    assert result["seconds_all_scaled"] == pytest.approx(
        ratio * result["seconds_scored"]
    )


def test_model_or_random_weights_are_asked_for(script):
    for arguments in ((None, None, False), ("x", None, True), (None, None, True)):
        with pytest.raises(ValueError, match="--bart-large"):
            script.load(*arguments)


def test_command_writes_what_it_measured(script, bart, gold, tmp_path, capsys):
    data = tmp_path / "data.spacy"
    DocBin(docs=gold).to_disk(data)
    (tmp_path / "names.json").write_text('{"PER": "person"}')
    script.main(
        tmp_path / "out.json",
        model=str(bart),
        train=data,
        test=data,
        names=tmp_path / "names.json",
        sentences=2,
        epochs=1,
        learn_rate=1e-4,
        batch=64,
        seed=1,
        bart_large=False,
        tokenizer=None,
    )
    result = json.loads((tmp_path / "out.json").read_text())
    assert "is a person entity ." in result["templates"]
    assert result["sentences_scored"] == 2
    assert "queries a sentence" in capsys.readouterr().out


def test_file_that_is_not_there_is_one_clear_line(script, bart, tmp_path, capsys):
    with pytest.raises(typer.Exit):
        script.main(
            tmp_path / "o", model=str(bart), train=tmp_path / "none", test=tmp_path
        )
    assert "none" in capsys.readouterr().err
