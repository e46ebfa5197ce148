"""The project's step `search`: which label words are the backbone's, which searched."""

import importlib
import json
import shutil
from pathlib import Path

import numpy
import pytest
import spacy
import typer
from safetensors.numpy import load_file, save_file
from spacy.tokens import DocBin, Span

SCRIPTS = Path(__file__).resolve().parents[2] / "project" / "scripts"
OWN = {"PER": ["anna", "john"], "LOC": ["china", "paris"], "ORG": ["bbc"]}


@pytest.fixture
def script(monkeypatch):
    monkeypatch.syspath_prepend(str(SCRIPTS))
    return importlib.import_module("words")


def write_text(folder, labels):
    """One sentence with one entity for each label."""
    nlp = spacy.blank("en")
    docs = []
    for label in labels:
        doc = nlp.make_doc("Anna sleeps .")
        doc.set_ents([Span(doc, 0, 1, label)])
        docs.append(doc)
    folder.mkdir(exist_ok=True)
    DocBin(docs=[*docs, nlp.make_doc("It rains .")]).to_disk(folder / "annotated.spacy")


class Step:
    """Runs the step with a search that finds what it is told to find.

    found (Dict[str, List[str]]): What it finds. calls: Its arguments, call by call.
    """

    def __init__(self, script, folder):
        self.script, self.folder = script, folder
        self.found, self.calls = {}, []
        for name in ("data", "annotated", "words", "backbone"):
            (folder / name).mkdir()
        self.bring(OWN)

    def bring(self, words):
        """Label words of the backbone."""
        path = self.folder / "backbone" / "pretrain.json"
        path.write_text(json.dumps({"label_words": words}))

    def search(self, *arguments):
        """Stands for `spacy entlm search`, which finds words of all classes."""
        self.calls.append([str(argument) for argument in arguments])
        target = arguments[3]
        target.write_text(json.dumps(self.found))
        target.with_suffix(".report.json").write_text("{}")
        if "prototype" in arguments:
            rows = {label: numpy.ones(2, dtype="f") for label in self.found}
            save_file(rows, target.with_suffix(".rows.safetensors"))

    def __call__(self, labels, method="data-lm"):
        write_text(self.folder / "annotated", labels)
        self.script.search(
            *(self.folder / name for name in ("data", "annotated", "words")),
            backbone=str(self.folder / "backbone"),
            method=method,
            lang="en",
            gpu_id=-1,
        )
        return json.loads(self.path().read_text())

    def path(self, suffix=".json"):
        """A file that the step writes."""
        return self.folder / "words" / f"label_words{suffix}"

    def rows(self):
        """Classes whose rows are kept."""
        return sorted(load_file(self.path(".rows.safetensors")))


@pytest.fixture
def step(script, tmp_path, monkeypatch):
    step = Step(script, tmp_path)
    monkeypatch.setattr(script, "run_spacy", step.search)
    return step


def test_nothing_is_searched_where_the_backbone_has_words_for_all(step, capsys):
    step.path(".report.json").write_text("old")
    words = step(["LOC", "Person", "LOC"])
    assert step.calls == []
    # Classes by their names in the text, in the order in which they appear there.
    assert list(words.items()) == [("LOC", OWN["LOC"]), ("Person", OWN["PER"])]
    first, *lines = capsys.readouterr().out.splitlines()
    assert first == (
        "The backbone has words of its own for LOC, Person: nothing is searched"
    )
    assert lines == ["  LOC china, paris", "  Person anna, john"]
    # The config names a file of rows, and no report of another search is left.
    assert step.rows() == []
    assert not step.path(".report.json").exists()


def test_words_of_a_class_that_it_lacks_are_searched(step, capsys):
    step.found = {"PER": ["de", "van"], "GENE": ["brca", "kras"]}
    words = step(["PER", "GENE"])
    assert list(words.items()) == [("PER", OWN["PER"]), ("GENE", ["brca", "kras"])]
    (call,) = step.calls
    text, target = step.folder / "annotated" / "annotated.spacy", step.path()
    assert call[:4] == ["entlm", "search", str(text), str(target)]
    for option in (
        *(f"--backbone {step.folder / 'backbone'}", "--method data-lm", "--lang en"),
        *("--gpu-id -1", "--smoothing"),
    ):
        assert option in " ".join(call)
    out = capsys.readouterr().out
    assert "The backbone has words of its own for PER, which are taken" in out
    assert "nothing is searched" not in out
    assert "GENE" not in out


def test_only_data_lm_is_smoothed(step):
    step.found = {"GENE": ["brca"]}
    step(["GENE"], method="data")
    assert "--smoothing" not in step.calls[0]


def test_a_class_whose_words_stand_for_another_is_searched_too(step):
    step.found = {"PER": ["de"], "GPE": ["china", "france"], "LOC": ["river"]}
    words = step(["PER", "GPE", "LOC"])
    assert words == {"PER": OWN["PER"], "GPE": ["china", "france"], "LOC": ["river"]}
    assert len(step.calls) == 1


def test_all_are_searched_without_words_of_the_backbone(step, capsys):
    step.bring({})
    step.found = {"PER": ["de"], "LOC": ["river"]}
    assert step(["PER", "LOC"]) == step.found
    assert len(step.calls) == 1
    assert capsys.readouterr().out == ""


def test_a_class_for_which_nothing_is_found_has_no_words(step):
    step.found = {"GENE": [], "CELL": ["t"]}
    words = step(["PER", "GENE", "CELL"])
    assert words == {"PER": OWN["PER"], "GENE": [], "CELL": ["t"]}


def test_classes_may_be_called_like_tags(step):
    step.found = {"B-CELL": ["cd20"], "I-BAND": ["stripe"]}
    assert step(["B-CELL", "I-BAND"]) == step.found


def test_rows_are_kept_of_searched_classes_only(step):
    step.found = {"PER": ["de"], "GPE": ["china"], "LOC": ["river"]}
    step(["PER", "GPE", "LOC"], method="prototype")
    assert step.rows() == ["GPE", "LOC"]
    # Rows of before do not stay where nothing is searched now.
    step(["PER", "LOC"], method="prototype")
    assert step.rows() == []
    assert len(step.calls) == 1


def test_given_words_are_taken_as_they_are(step, capsys):
    given = '{"PER": ["mary"],\n "X": []}'
    (step.folder / "data" / "label_words.json").write_text(given)
    step(["PER", "GENE"])
    assert step.path().read_text() == given
    assert step.calls == []
    assert "Label words from" in capsys.readouterr().out


def test_text_without_an_entity_is_one_line(step, capsys):
    with pytest.raises(typer.Exit) as caught:
        step([])
    assert caught.value.exit_code == 1
    (line,) = capsys.readouterr().err.strip().splitlines()
    assert "annotated.spacy" in line and "no entity in it" in line
    assert not step.path().exists()


def test_a_search_that_fails_ends_the_step(step, script, monkeypatch):
    def fail(*arguments):
        raise typer.Exit(3)

    monkeypatch.setattr(script, "run_spacy", fail)
    with pytest.raises(typer.Exit) as caught:
        step(["PER", "GENE"])
    assert caught.value.exit_code == 3
    assert not step.path().exists()


def test_what_a_backbone_brings_may_be_broken(step, capsys):
    (step.folder / "backbone" / "pretrain.json").write_text("{")
    with pytest.raises(typer.Exit):
        step(["PER"])
    (line,) = capsys.readouterr().err.strip().splitlines()
    assert "pretrain.json: cannot be read" in line
    assert step.calls == []


def test_the_command_searches_in_the_text(script, bert, tmp_path, annotated, capfd):
    """With a backbone that knows people, words of the other classes are searched."""
    backbone = tmp_path / "backbone"
    shutil.copytree(bert, backbone)
    (backbone / "pretrain.json").write_text('{"label_words": {"PER": ["peter"]}}')
    nlp = spacy.blank("en")
    docs = []
    for text, annotation in annotated:
        doc = nlp.make_doc(text)
        spans = annotation["entities"]
        doc.set_ents([doc.char_span(start, end, label) for start, end, label in spans])
        docs.append(doc)
    (tmp_path / "data").mkdir()
    DocBin(docs=docs).to_disk(tmp_path / "annotated.spacy")
    folders = (tmp_path / "data", tmp_path, tmp_path / "words")
    options = {"method": "prototype", "lang": "en", "gpu_id": -1}
    script.search(*folders, backbone=str(backbone), **options)
    words = json.loads((tmp_path / "words" / "label_words.json").read_text())
    assert list(words) == ["PER", "LOC", "ORG"]
    assert words["PER"] == ["peter"]
    assert {"paris", "london"} <= set(words["LOC"])
    rows = load_file(tmp_path / "words" / "label_words.rows.safetensors")
    assert sorted(rows) == ["LOC", "ORG"]
    assert "words of its own for PER, which are taken" in capfd.readouterr().out
