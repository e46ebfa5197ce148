"""The command `rank`: the next texts, pre-marked, for an annotation tool."""

import json
from functools import partial
from pathlib import Path

import pytest
import spacy

from spacy_entlm.corpus.readers import read_docs

from ..commands import entlm
from ..commands import read_jsonl as read


@pytest.fixture
def rank(trained_folder, texts, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("in.txt").write_text("\n\n".join(texts) + "\n", encoding="utf8")
    return partial(entlm, "rank", trained_folder)


def test_lines_have_words_spans_and_reasons(rank, trained, texts):
    result = rank("in.txt", "next.jsonl", "--n", 3)
    assert result.exit_code == 0, result.stderr
    found = read("next.jsonl")
    assert len(found) == 3
    for entry in found:
        assert entry["text"] in texts
        assert set(entry["meta"]) == {
            *("score", "doubt", "rare", "density", "likeness", "rarest")
        }
        doc = trained(entry["text"])
        for token, span in zip(doc, entry["tokens"]):
            assert entry["text"][span["start"] : span["end"]] == token.text
            assert span["ws"] == bool(token.whitespace_)
        assert [
            (s["start"], s["end"], s["label"], s["token_start"], s["token_end"])
            for s in entry["spans"]
        ] == [
            (e.start_char, e.end_char, e.label_, e.start, e.end - 1) for e in doc.ents
        ]
    docs, _ = read_docs(Path("next.jsonl"), spacy.blank("xx"))
    assert [doc.text for doc in docs] == [entry["text"] for entry in found]


def test_annotated_lists_of_words_are_not_written_again(rank, texts):
    words = texts[0].split()
    line = json.dumps({"text": words, "label": ["O"] * len(words)})
    Path("done.jsonl").write_text(line, encoding="utf8")
    result = rank("in.txt", "more.jsonl", "--n", 99, "--annotated", "done.jsonl")
    assert result.exit_code == 0, result.stderr
    assert sorted(x["text"] for x in read("more.jsonl")) == sorted(texts[1:])


def test_what_is_annotated_is_not_written_again(rank, texts):
    assert rank("in.txt", "next.jsonl", "--n", 4).exit_code == 0
    result = rank("in.txt", "more.jsonl", "--n", 99, "--annotated", "next.jsonl")
    assert result.exit_code == 0, result.stderr
    first, more = ([e["text"] for e in read(f"{x}.jsonl")] for x in ("next", "more"))
    assert sorted([*first, *more]) == sorted(texts)
    result = rank("next.jsonl", "none.jsonl", "--annotated", "next.jsonl")
    assert result.exit_code == 1 and "not annotated yet" in result.stderr


def test_output_is_not_overwritten_and_named_well(rank):
    Path("next.jsonl").write_text("mine")
    result = rank("in.txt", "next.jsonl")
    assert result.exit_code == 1 and "--overwrite" in result.stderr
    assert Path("next.jsonl").read_text() == "mine"
    assert "end its name in .jsonl" in rank("in.txt", "next.json").stderr


def test_other_tools_get_their_form(rank, texts):
    result = rank("in.txt", "ls.json", "--n", 3, "--for", "label-studio")
    assert result.exit_code == 0, result.stderr
    assert rank("in.txt", "a.json", "--n", 3, "--for", "argilla").exit_code == 0
    tasks, records = (json.loads(Path(f"{x}.json").read_text()) for x in ("ls", "a"))
    assert [x["data"]["text"] for x in tasks] == [x["fields"]["text"] for x in records]
    found = [x for task in tasks for x in task["predictions"][0]["result"]]
    assert found and all(0 < x["score"] <= 1 for x in found)
    assert "choose prodigy" in rank("in.txt", "b.json", "--for", "paper").stderr
    assert "end its name in" in rank("in.txt", "b.jsonl", "--for", "argilla").stderr


def test_ids_and_other_keys_come_out_again(rank, texts):
    rows = [
        {"id": i, "text": f" {text}", "meta": {"source": "a"}, "tags": ["x"]}
        for i, text in enumerate(texts)
    ]
    rows.insert(1, {"id": 99, "text": ""})
    rows[0]["spans"] = [{"start": 0, "end": 2, "label": "OLD"}]
    Path("in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    for name, *args in (
        ("a.jsonl",),
        ("b.json", "--for", "label-studio"),
        ("c.json", "--for", "argilla"),
    ):
        assert rank("in.jsonl", name, "--n", 99, *args).exit_code == 0
    ids = {text.strip(): i for i, text in enumerate(texts)}
    found = read("a.jsonl")
    assert {e["text"]: e["id"] for e in found} == ids
    assert all(e["tags"] == ["x"] and e["meta"]["source"] == "a" for e in found)
    assert "OLD" not in Path("a.jsonl").read_text()
    tasks, records = (json.loads(Path(f"{x}.json").read_text()) for x in "bc")
    assert {x["data"]["text"]: x["data"]["id"] for x in tasks} == ids
    assert {x["fields"]["text"]: x["metadata"]["id"] for x in records} == ids
    assert all(x["metadata"]["source"] == "a" for x in records)


def test_lines_of_text_have_their_numbers(rank, texts):
    assert rank("in.txt", "next.jsonl", "--n", 99).exit_code == 0
    found = {entry["text"]: entry["line"] for entry in read("next.jsonl")}
    assert found == {text: 2 * i + 1 for i, text in enumerate(texts)}


def test_annotations_are_not_written_over(rank, texts):
    assert rank("in.txt", "done.jsonl", "--n", 2).exit_code == 0
    before = Path("done.jsonl").read_bytes()
    args = ["in.txt", "done.jsonl", "--annotated", "done.jsonl", "--overwrite"]
    result = rank(*args)
    assert result.exit_code == 1 and "is the input too" in result.stderr
    assert Path("done.jsonl").read_bytes() == before
