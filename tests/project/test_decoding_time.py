"""The script that measures decoding time."""

import importlib.util
import json
from pathlib import Path

import pytest
import spacy
import transformers
import typer
from spacy.tokens import Doc

from spacy_entlm.evaluation.compare.times import read_times

BENCHMARKS = Path(__file__).resolve().parents[2] / "project" / "benchmarks"


@pytest.fixture
def script(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    path = BENCHMARKS / "decoding_time.py"
    spec = importlib.util.spec_from_file_location("decoding_time", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "BATCHES", (8,))
    monkeypatch.setattr(module, "TEMPLATE_BATCHES", (45,))
    monkeypatch.setattr(module, "LENGTHS", (4, 60))
    return module


@pytest.fixture
def data(tmp_path, annotated):
    lines = []
    for text, annotation in annotated:
        spans = [
            {"start": start, "end": end, "label": label}
            for start, end, label in annotation["entities"]
        ]
        lines.append(json.dumps({"text": text, "spans": spans}) + "\n")
    folder = tmp_path / "data"
    (folder / "5shot").mkdir(parents=True)
    for name in ("test.jsonl", "5shot/1.jsonl"):
        (folder / name).write_text("".join(lines))
    return folder


@pytest.fixture
def measure(script, data, bert, tmp_path, monkeypatch):
    """Runs the script; gives what it wrote."""
    # One thread as before, for the tests that come after.
    monkeypatch.setattr(script.torch, "set_num_threads", lambda n: None)

    def run(**options):
        given = {"shots": 5, "split": 1, "epochs": 1, "learn_rate": 0.01, "rounds": 2}
        given |= {"label_words": None, "annotated": None, "dataset": "conll03"}
        given |= {"random_weights": None, "template_model": None, "limit": None}
        given |= {"template_sentences": 0, "threads": 1}
        out = tmp_path / "out.json"
        script.main(out, bert, data, **{**given, **options})
        return read_times(out)

    return run


def test_all_methods_are_measured_in_turn(script, measure, capsys, bart_folder):
    times = measure(template_model=str(bart_folder), template_sentences=2)
    assert list(times["methods"]) == [*script.METHODS, "template_ner"]
    for name in ("paper_batch", "best"):
        assert all(len(m[name]["seconds"]) == 2 for m in times["methods"].values())
    assert times["methods"]["entlm"]["paper_batch"]["batch_size"] == 8
    template = times["methods"]["template_ner"]
    assert template["paper_batch"]["batch_size"] == 45
    sample = template["sample"]
    assert len(sample["sentences"]) == 2
    assert sample["queries_all"] > sample["queries"] > 0
    assert f"{sample['queries']:,} templates" in times["notes"][1]
    assert times["sentences"] == 10
    assert times["words"] == sum(
        bucket["mean_words"] * bucket["sentences"] for bucket in times["lengths"]
    )
    assert set(times["lengths"][0]["milliseconds"]) == set(times["methods"])
    assert "| bert_tagger | 8 |" in capsys.readouterr().out


@pytest.fixture
def bart_folder(roberta, tmp_path):
    tokenizer = transformers.AutoTokenizer.from_pretrained(roberta)
    config = transformers.BartConfig(
        vocab_size=len(tokenizer),
        d_model=16,
        encoder_attention_heads=2,
        decoder_attention_heads=2,
        encoder_ffn_dim=16,
        decoder_ffn_dim=16,
        max_position_embeddings=128,
        pad_token_id=tokenizer.pad_token_id,
        encoder_layers=1,
        decoder_layers=1,
    )
    folder = tmp_path / "bart"
    transformers.BartForConditionalGeneration(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def test_random_weights_find_as_many_entities_as_there_are(
    script, measure, monkeypatch
):
    monkeypatch.setattr(script, "BASE", {})
    seen = {}
    match = script.match_share

    def spy(pipelines, gold):
        match(pipelines, gold)
        nlp = pipelines["entlm"]
        found = list(nlp.pipe(script.bare(nlp, gold)))
        seen["share"] = script.share_of_entities(found)
        seen["wanted"] = script.share_of_entities(gold)

    monkeypatch.setattr(script, "match_share", spy)
    times = measure(random_weights="base")
    assert seen["share"] == pytest.approx(seen["wanted"], abs=0.1)
    assert "bert-base's size, random weights" in times["notes"][0]
    assert "template_ner" not in times["methods"]


def test_sample_runs_from_short_to_long_and_counts_templates(script):
    vocab = spacy.blank("xx").vocab
    gold = [Doc(vocab, words=["a"] * n) for n in (9, 1, 4, 2)]

    class NER:
        class templates:
            endings = ("is a b .", "is no c .")

    sample = script.choose_sample(gold, 2, NER)
    assert [len(words) for words in sample.sentences] == [2, 9]
    # Spans of up to 8 words: 3 of 2 words, 44 of 9, 1 and 10.
    assert (sample.queries, sample.queries_all) == (2 * 47, 2 * 58)


def test_wrong_options_are_one_line(measure, capsys):
    with pytest.raises(typer.Exit):
        measure(random_weights="large")
    assert "--random is base, not 'large'" in capsys.readouterr().err
