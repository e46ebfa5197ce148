"""The project's step `pretrain`: off, on, and from which text."""

import importlib.util
import json
from pathlib import Path

import pytest
import spacy
import typer
from spacy.tokens import DocBin, Span

from spacy_entlm.backbones.names import resolve_backbone
from spacy_entlm.backbones.recommended import read_recommended

SCRIPT = Path(__file__).resolve().parents[2] / "project" / "scripts" / "pretrain.py"


@pytest.fixture
def script(monkeypatch):
    monkeypatch.syspath_prepend(str(SCRIPT.parent))
    spec = importlib.util.spec_from_file_location("pretrain_script", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def step(script, tmp_path, bert):
    """Runs the step: (pretrain, **options) -> the record."""
    for name in ("data", "annotated"):
        (tmp_path / name).mkdir()

    def run(pretrain, **options):
        folders = (tmp_path / name for name in ("data", "annotated", "out"))
        options = {
            "minutes": 0.01,
            "add_vocab": 0,
            "lexicon": None,
            "seed": 1,
        } | options
        script.main(*folders, backbone=str(bert), pretrain=pretrain, **options)
        return json.loads((tmp_path / "out" / "backbone.json").read_text())

    return run


def write_annotated(folder):
    nlp = spacy.blank("en")
    docs = [nlp.make_doc("Anna lives in Berlin .") for _ in range(20)]
    DocBin(docs=docs).to_disk(folder / "annotated.spacy")


@pytest.mark.parametrize("off", ["false", "False"])
def test_off_records_the_backbone_only(step, tmp_path, bert, off):
    assert step(off) == {"name": str(bert), "folder": None}
    assert resolve_backbone(tmp_path / "out" / "backbone.json") == str(bert)
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["backbone.json"]


def test_on_learns_from_the_unlabeled_text(step, tmp_path):
    write_annotated(tmp_path / "annotated")
    (tmp_path / "data" / "unlabeled.conll").write_text("Anna B-PER\n")
    (tmp_path / "data" / "unlabeled.txt").write_text("Anna lives in Rome .\n" * 30)
    record = step("true")
    assert record["steps"] > 0
    folder = resolve_backbone(tmp_path / "out" / "backbone.json")
    assert folder == str(tmp_path / "out" / "backbone")
    report = json.loads((Path(folder) / "pretrain.json").read_text())
    assert [text["name"] for text in report["text"]] == ["unlabeled.txt"]
    # Another training is another record, so that later steps run again.
    assert step("true")["run"] != record["run"]
    # Switched off again, the model of before does not stay.
    step("false")
    assert not Path(folder).exists()


def test_on_learns_from_the_annotated_words_otherwise(step, tmp_path):
    write_annotated(tmp_path / "annotated")
    lexicon = tmp_path / "lexicon"
    lexicon.mkdir()
    (lexicon / "lexicon.jsonl").write_text('{"name": "Petropolis", "label": "LOC"}\n')
    step("True", add_vocab=1, lexicon=lexicon)
    report = json.loads((tmp_path / "out" / "backbone" / "pretrain.json").read_text())
    assert [text["name"] for text in report["text"]] == ["annotated.spacy"]
    assert report["settings"]["lexicon"] == ["lexicon.jsonl"]


def test_names_of_the_lexicon_are_learned(step, tmp_path):
    """The backbone says a label word at a name, and brings that word along."""
    lexicon = tmp_path / "lexicon"
    lexicon.mkdir()
    names = [{"name": "Anna", "label": "PER"}, {"name": "Berlin", "label": "LOC"}]
    lines = "\n".join(json.dumps(name) for name in names)
    (lexicon / "lexicon.jsonl").write_text(lines)
    text = "Anna lives in Berlin .\nMary met Anna .\nIt rains .\n" * 10
    (tmp_path / "data" / "unlabeled.txt").write_text(text)
    record = step("names", lexicon=lexicon)
    # Ten of thirty sentences have no name; ten of the others are watched; 0.01 minutes
    # are ten sentences.
    assert record["sentences"] == 10
    folder = resolve_backbone(tmp_path / "out" / "backbone.json")
    words = read_recommended(folder).label_words
    assert words == {"PER": ["anna"], "LOC": ["berlin"]}
    # Without plain text, what is annotated already.
    (tmp_path / "data" / "unlabeled.txt").unlink()
    with pytest.raises(typer.Exit):  # no name is marked there
        write_annotated(tmp_path / "annotated")
        step("names", lexicon=lexicon)
    step("false")
    assert not Path(folder).exists()


@pytest.fixture
def learn(script, tmp_path, monkeypatch):
    """Learns names with a training that is only noted: (own words, gpu_id) -> the label
    words, the arguments of `search`, None if it was not called, and of `train`."""
    calls = {}

    def search(*arguments):
        calls["search"] = arguments
        arguments[3].write_text('{"PER": ["de"], "LOC": ["county"]}')

    words = importlib.import_module("words")
    monkeypatch.setattr(words, "run_spacy", search)
    monkeypatch.setattr(script, "run_spacy", lambda *args: calls.update(train=args))

    def run(own, gpu_id=-1):
        nlp = spacy.blank("en")
        doc = nlp.make_doc("Anna lives in Berlin .")
        doc.set_ents([Span(doc, 0, 1, "PER"), Span(doc, 3, 4, "LOC")])
        DocBin(docs=[doc] * 4).to_disk(tmp_path / "annotated.spacy")
        (tmp_path / "pretrain.json").write_text(json.dumps({"label_words": own}))
        names = script.Names(None, tmp_path, None, tmp_path / "out", "en")
        names.write(2, seed=1)
        names.learn(str(tmp_path), 1, gpu_id)
        found = json.loads((tmp_path / "out" / "label_words.json").read_text())
        return found, calls.get("search"), calls["train"]

    return run


def test_names_are_learned_with_the_words_that_the_backbone_has(learn, tmp_path):
    words, search, train = learn({"PER": ["john"], "LOC": ["rome"]})
    assert words == {"PER": ["john"], "LOC": ["rome"]}
    assert search is None
    assert str(tmp_path / "out" / "label_words.json") in train


def test_names_of_a_class_that_it_lacks_get_words_by_data(learn):
    words, search, _ = learn({"PER": ["john"]})
    assert words == {"PER": ["john"], "LOC": ["county"]}
    assert "--method data" in " ".join(map(str, search))


@pytest.mark.parametrize("gpu_id, mixed", [(-1, False), (0, True)])
def test_only_a_gpu_learns_names_in_mixed_precision(learn, gpu_id, mixed):
    _, _, train = learn({}, gpu_id)
    option = "--components.entlm_ner.model.mixed_precision"
    assert (option in train) == mixed
    assert train[train.index("--gpu-id") + 1] == gpu_id


@pytest.mark.parametrize("pretrain", ["true", "perhaps", "names"])
def test_no_text_and_no_answer_are_one_line(step, capsys, pretrain):
    with pytest.raises(typer.Exit) as caught:
        step(pretrain)
    assert caught.value.exit_code == 1
    (line,) = capsys.readouterr().err.strip().splitlines()
    told = ("no text to pre-train on", "'perhaps'", "names needs a lexicon")
    assert any(reason in line for reason in told)
