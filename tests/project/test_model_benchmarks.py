"""The scripts of the laboratory, with tiny models."""

import importlib.util
import json
from pathlib import Path

import pytest
import spacy
import srsly
import torch
import transformers

from spacy_entlm.backbones.loading import load_masked_lm
from spacy_entlm.evaluation.compare.config import read_config

BENCHMARKS = Path(__file__).resolve().parents[2] / "project" / "benchmarks"


def load(name):
    spec = importlib.util.spec_from_file_location(name, BENCHMARKS / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(autouse=True)
def scripts_see_each_other(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))


@pytest.fixture
def gold(make_examples):
    """The annotated sentences, of a vocabulary of their own."""
    return [eg.reference for eg in make_examples(spacy.blank("xx"))]


@pytest.fixture
def data(gold, tmp_path):
    """The same as a file."""
    path = tmp_path / "gold.jsonl"
    lines = []
    for doc in gold:
        words = [token.text for token in doc]
        tags = [f"{t.ent_iob_}-{t.ent_type_}" if t.ent_type_ else "O" for t in doc]
        lines.append(json.dumps({"text": words, "label": tags}))
    path.write_text("\n".join(lines))
    return path


def test_counting_and_the_loop_count_alike(bert, data, tmp_path, capsys):
    saved = tmp_path / "counts.json"
    load("lm_counts").main(str(bert), data, n_sentences=9, pad_to=None, save=saved)
    assert "same counts: " in capsys.readouterr().out
    assert {"PER", "LOC", "ORG"} <= set(json.loads(saved.read_text()))


def test_transformers_reads_the_copy_of_a_backbone(bert, trained_folder, tmp_path):
    plain = load("plain_backbone").plain_backbone
    assert plain(str(bert), str(tmp_path)) == str(bert)
    source = trained_folder / "entlm_ner" / "model"
    copy = plain(str(source), str(tmp_path / "copy"))
    theirs = transformers.AutoModelForMaskedLM.from_pretrained(copy)
    tokenizer = transformers.AutoTokenizer.from_pretrained(copy)
    ours = load_masked_lm(source)
    assert len(tokenizer) == len(ours.tokenizer)
    ids = torch.arange(8)[None]
    with torch.no_grad():
        expected = ours.decoder(ours(ids, torch.ones_like(ids)))
        torch.testing.assert_close(theirs.eval()(ids).logits, expected)


@pytest.mark.parametrize("method", ["_component", "_loop"])
def test_both_trainings_take_the_same_steps(
    method, bert, gold, label_words, monkeypatch
):
    script = load("training_speed")
    monkeypatch.setattr(script, "EPOCHS", 2)
    steps = []
    made = script._batches
    monkeypatch.setattr(
        script, "_batches", lambda data: steps.extend(made(data)) or steps
    )
    getattr(script, method)(spacy.blank("xx"), gold, label_words, str(bert), False)()
    assert [len(step) for step in steps] == [4, 4, 2] * 2


def test_ablations_are_variants_of_a_comparison(bert, data, tmp_path, monkeypatch):
    script = load("ablation")
    monkeypatch.chdir(tmp_path)
    dataset = {"train": str(data), "test": str(data), "label_words": "gone.json"}
    config = {
        "datasets": {"tiny": dataset},
        "backbones": {"lm": {"path": str(bert)}},
        "methods": ["entlm"],
    }
    srsly.write_yaml("c.yml", config)
    (tmp_path / "general.txt").write_text("Anna went to Rome and Paris .\n" * 30)
    n_points = {"threshold": 6, "lexicon-size": 6, "unlabeled-size": 6, "domain": 2}
    for name, n in n_points.items():
        out = tmp_path / name
        script.main(name, out, data, Path("c.yml"), Path("general.txt"), 1)
        made = read_config(out / "compare.yml")
        assert len(made.variants) == n
        assert made.datasets["tiny"].label_words is None
        for variant in made.variants.values():
            assert isinstance(json.loads(Path(variant.label_words).read_text()), dict)


def test_ablations_are_drawn(tmp_path):
    pytest.importorskip("matplotlib")
    fields = {"dataset": "tiny", "method": "entlm", "shots": 5, "deviation": 1.0}
    scores = [{**fields, "variant": v, "f1": f1} for v, f1 in (("0.5", 3), ("0.6", 4))]
    (tmp_path / "report.json").write_text(
        json.dumps({"title": "threshold", "scores": scores})
    )
    load("ablation").plot(tmp_path)
    assert "<svg" in (tmp_path / "plot.svg").read_text()


def test_our_figures_stand_beside_those_of_the_paper(tmp_path, capsys):
    fields = {"dataset": "conll03", "method": "entlm", "variant": "", "backbone": "b"}
    scores = [{**fields, "shots": 5, "f1": 12.3, "deviation": 1.0}]
    (tmp_path / "report.json").write_text(json.dumps({"scores": scores}))
    report = tmp_path / "report.json"
    load("beside_paper").main(report, BENCHMARKS / "paper_figures.json")
    output = capsys.readouterr().out
    assert "12.3" in output
    assert "49.59" in output
    assert "NAACL 2022" in output
