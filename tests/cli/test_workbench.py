"""The command `workbench`: what it makes of its arguments before it serves."""

import socket
import sys
from pathlib import Path

import pytest

from spacy_entlm.workbench.store import Store

from ..commands import entlm, error_of


@pytest.fixture
def served(monkeypatch):
    """The workbenches that would have been served; no process works for them."""
    pytest.importorskip("fastapi", reason="needs the extra `workbench`")
    from spacy_entlm.workbench import server

    served = []
    monkeypatch.setattr(server, "serve", lambda runs, port: served.append((runs, port)))
    monkeypatch.setattr(
        "spacy_entlm.workbench.runs.Runs.begin", lambda self, kind: served.append(kind)
    )
    return served


@pytest.fixture
def workbench(served, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("texts.txt").write_text("Anna sleeps.\nIt rains.\n", encoding="utf8")

    def run(*args):
        return entlm("workbench", *args, "--lang", "xx")

    return run


def test_a_new_workbench_has_texts_and_classes_and_looks_first(workbench, served):
    result = workbench("texts.txt", "wb", "--labels", "PER, LOC", "--port", 0)
    assert result.exit_code == 0, result.stderr
    assert "2 new texts" in result.stdout
    store = Store(Path("wb", "workbench.sqlite"))
    assert [row["name"] for row in store.classes()] == ["PER", "LOC"]
    assert store.counts()["texts"] == 2
    look, (runs, port) = served
    assert (look, runs.folder, port) == ("look", Path("wb").resolve(), 0)


def test_the_same_command_comes_back_and_adds_what_is_new(workbench):
    workbench("texts.txt", "wb", "--labels", "PER")
    Path("texts.txt").write_text("Anna sleeps.\nMore.\n", encoding="utf8")
    result = workbench("texts.txt", "wb", "--labels", "PER,ORG")
    assert "1 new text " in result.stdout
    store = Store(Path("wb", "workbench.sqlite"))
    assert [row["name"] for row in store.classes()] == ["PER", "ORG"]
    assert store.counts()["texts"] == 3


def test_a_list_of_names_gives_classes_and_is_kept(workbench, served):
    Path("names.tsv").write_text("Anna\tPERSON\nRome\tGPE\n", encoding="utf8")
    args = ("texts.txt", "wb", "--lexicon", "names.tsv", "--map", "PERSON=PER")
    result = workbench(*args)
    assert result.exit_code == 0 and "1 name to mark with" in result.stdout
    assert served[0] == "look" and Path("wb", "lexicon.jsonl").is_file()
    assert Store(Path("wb", "workbench.sqlite")).classes()[0]["name"] == "PER"
    result = workbench("texts.txt", "wb", "--lexicon", "none.tsv")
    assert result.exit_code == 1 and "no such file" in result.stderr


def test_a_folder_of_data_brings_its_marks(workbench):
    Path("data").mkdir()
    Path("data", "train.txt").write_text("[Anna](PER) sleeps.\n", encoding="utf8")
    Path("data", "unlabeled.txt").write_text("It rains.\n", encoding="utf8")
    assert workbench("data", "wb").exit_code == 0
    store = Store(Path("wb", "workbench.sqlite"))
    assert store.answered()[0]["marks"] == [[0, 1, 1]]
    assert store.counts()["texts"] == 2


@pytest.mark.parametrize(
    "args, text",
    [
        (["none.txt", "wb"], "no such file"),
        (["texts.txt", "full"], "is not empty"),
        (["empty.txt", "wb"], "holds no text"),
        (["empty", "wb"], "has no train"),
        (["texts.txt", "wb", "--labels", "O"], "is no class"),
    ],
)
def test_bad_arguments_are_one_line(workbench, served, args, text):
    Path("full").mkdir()
    Path("full", "mine").write_text("mine")
    Path("empty").mkdir()
    Path("empty.txt").write_text("\n")
    assert text in error_of(workbench(*args))
    assert not served


def test_without_the_extra_it_is_named(workbench, monkeypatch):
    monkeypatch.delitem(sys.modules, "spacy_entlm.workbench.server")
    monkeypatch.setitem(sys.modules, "fastapi", None)
    result = workbench("texts.txt", "wb")
    assert result.exit_code == 1 and "[workbench]" in result.stderr
    assert not Path("wb").exists()


def test_a_long_text_is_split_and_that_is_said(workbench):
    Path("texts.txt").write_text("It rains all day. " * 20 + "\n", encoding="utf8")
    result = workbench("texts.txt", "wb", "--labels", "PER")
    assert "1 long text will be shown in 20 parts" in result.stdout
    store = Store(Path("wb", "workbench.sqlite"))
    assert store.counts()["texts"] == 1  # twenty times the same
    result = workbench("texts.txt", "whole", "--split", "documents")
    assert "parts" not in result.stdout
    # The same command comes back and shows texts as before.
    result = workbench("texts.txt", "whole")
    assert "0 new texts" in result.stdout
    result = workbench("texts.txt", "odd", "--split", "words")
    assert result.exit_code == 1 and "documents, paragraphs" in result.stderr


def test_a_person_is_asked_how_long_texts_are_to_be_shown(workbench, monkeypatch):
    Path("texts.txt").write_text("It rains all day. " * 20 + "\n", encoding="utf8")
    asked = []

    def prompt(question, default):
        asked.append(question)
        return ["all", "documents"][len(asked) - 1]

    monkeypatch.setattr("spacy_entlm.cli.workbench.typer.prompt", prompt)
    monkeypatch.setattr("spacy_entlm.cli.workbench.is_asked", lambda: True)
    result = workbench("texts.txt", "wb", "--labels", "PER")
    assert len(asked) == 2 and "1 text is longer than 60 words" in asked[0]
    assert "1 new text " in result.stdout
    workbench("texts.txt", "wb")
    assert len(asked) == 2  # it was answered


def test_what_becomes_of_texts_that_came_before_is_said(workbench):
    workbench("texts.txt", "wb", "--labels", "PER")
    Path("data").mkdir()
    lines = '{"text": "Anna sleeps.", "spans": [[0, 4, "PER"]]}\n'
    Path("data", "train.jsonl").write_text(lines, encoding="utf8")
    result = workbench("data", "wb")
    assert "1 text that came without marks before got them" in result.stdout
    lines = '{"text": "Anna sleeps.", "spans": [[5, 11, "PER"]]}\n'
    Path("data", "test.jsonl").write_text(lines, encoding="utf8")
    result = workbench("data", "wb")
    assert "1 text had other marks already" in result.stdout
    assert "1 text in train and in test" in result.stdout


def test_a_taken_port_is_told_before_anything_else(tmp_path, monkeypatch):
    pytest.importorskip("fastapi", reason="needs the extra `workbench`")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "texts.txt").write_text("Anna sleeps.\n", encoding="utf8")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        args = ("texts.txt", "wb", "--labels", "PER", "--port", port)
        result = entlm("workbench", *args)
    assert result.exit_code == 1 and result.stdout == ""
    assert f"cannot listen on port {port}" in result.stderr
    assert not (tmp_path / "wb").exists()


def test_how_annotated_texts_are_read_can_be_said(workbench):
    Path("data.txt").write_text("B-PER Ann B-LOC\nO flew O\n", encoding="utf8")
    assert workbench("data.txt", "wb", "--columns", "2,3").exit_code == 0
    store = Store(Path("wb", "workbench.sqlite"))
    assert [row["name"] for row in store.classes()] == ["LOC"]
    lines = '{"tokens": ["Ann", "flew"], "ner_tags": [1, 0]}\n'
    Path("data.jsonl").write_text(lines, encoding="utf8")
    result = workbench("data.jsonl", "wb2", "--tags", "O, B-PER")
    assert result.exit_code == 0, result.stderr
    store = Store(Path("wb2", "workbench.sqlite"))
    assert [row["name"] for row in store.classes()] == ["PER"]
