"""The command `predict`: texts of any form in, entities with confidences out."""

import gzip
import json
from functools import partial
from pathlib import Path

import pytest
import spacy
from spacy.tokens import DocBin

from spacy_entlm.corpus.readers import read_docs
from spacy_entlm.files.counts import count_of
from spacy_entlm.pipeline.entlm_ner import EntLMNER

from ..commands import entlm
from ..commands import read_jsonl as read

LINES = ["Anna Smith lives in Berlin .", "The cat sleeps .", "Berlin is old ."]
PER, LOC = (0, 10, "PER"), (20, 26, "LOC")


@pytest.fixture
def predict(trained_folder, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("in.txt").write_text("\n".join(LINES) + "\n", encoding="utf8")
    return partial(entlm, "predict", trained_folder)


def spans(entry):
    return [(s["start"], s["end"], s["label"]) for s in entry["spans"]]


def test_lines_of_text_become_json_lines_with_confidences(predict, trained):
    result = predict("in.txt", "out.jsonl")
    assert result.exit_code == 0, result.stderr
    found = read("out.jsonl")
    assert [entry["text"] for entry in found] == LINES
    assert spans(found[0]) == [PER, LOC]
    scores = trained(LINES[0]).spans["entlm_ner"].attrs["scores"].tolist()
    assert [s["score"] for s in found[0]["spans"]] == pytest.approx(scores, abs=1e-3)
    assert sorted(path.name for path in Path().iterdir()) == ["in.txt", "out.jsonl"]
    # The project's own commands read it.
    docs, _ = read_docs(Path("out.jsonl"), spacy.blank("en"))
    assert [(e.text, e.label_) for e in docs[0].ents] == [
        ("Anna Smith", "PER"),
        ("Berlin", "LOC"),
    ]


def test_json_lines_keep_what_else_they_say(predict):
    entries = [
        {"id": i, "text": text, "meta": {"x": 1}} for i, text in enumerate(LINES)
    ]
    with gzip.open("in.jsonl.gz", "wt") as file:
        file.writelines(json.dumps(entry) + "\n" for entry in entries)
    assert predict("in.jsonl.gz", "out.jsonl").exit_code == 0
    found = read("out.jsonl")
    assert [(e["id"], e["text"], e["meta"]) for e in found] == [
        (e["id"], e["text"], e["meta"]) for e in entries
    ]
    assert spans(found[0]) == [PER, LOC]


def test_each_line_has_a_record_with_its_number(predict):
    Path("in.txt").write_text(f"\n{LINES[0]}\n \n\n{LINES[1]}\n", encoding="utf8")
    result = predict("in.txt", "out.jsonl")
    assert result.exit_code == 0, result.stderr
    found = read("out.jsonl")
    assert [(e["line"], e["text"]) for e in found] == [
        *((1, ""), (2, LINES[0]), (3, ""), (4, ""), (5, LINES[1]))
    ]
    assert spans(found[1]) == [PER, LOC] and found[0]["spans"] == []
    assert "5 texts (3 blank), 2 entities" in result.stdout


def test_blank_texts_keep_their_records_and_all_else(predict):
    entries = [
        {"id": 7, "text": LINES[0], "meta": {"a": [1]}},
        {"id": 8, "text": ""},
        {"id": 9, "tokens": ["The", "cat"], "text": " \n"},
        {"id": 10, "text": f"  {LINES[2]}"},
    ]
    Path("in.jsonl").write_text("".join(json.dumps(e) + "\n" for e in entries))
    assert predict("in.jsonl", "out.jsonl").exit_code == 0
    found = read("out.jsonl")
    assert [{k: e[k] for k in ("id", "text")} for e in found] == [
        {k: e[k] for k in ("id", "text")} for e in entries
    ]
    assert found[0]["meta"] == {"a": [1]}
    assert (2, 8, "LOC") in spans(found[3])


def test_docs_keep_their_number_and_what_was_said_of_them(predict):
    entries = [{"id": 7, "text": LINES[0]}, {"id": 8, "text": ""}]
    Path("in.jsonl").write_text("".join(json.dumps(e) + "\n" for e in entries))
    assert predict("in.jsonl", "one.spacy").exit_code == 0
    assert predict("one.spacy", "two.spacy").exit_code == 0
    assert predict("two.spacy", "out.jsonl").exit_code == 0
    vocab = spacy.blank("en").vocab
    docs = list(DocBin(store_user_data=True).from_disk("two.spacy").get_docs(vocab))
    assert [(doc.text, doc.user_data["entry"]) for doc in docs] == [
        (LINES[0], {"id": 7}),
        ("", {"id": 8}),
    ]
    assert [(e["id"], e["text"]) for e in read("out.jsonl")] == [(7, LINES[0]), (8, "")]


def test_page_has_no_blank_texts(predict):
    Path("in.txt").write_text(f"\n\n{LINES[0]}\n")
    Path("one.txt").write_text(f"{LINES[0]}\n")
    for name in ("in", "one"):
        assert predict(f"{name}.txt", f"{name}.html").exit_code == 0
    pages = [Path(f"{name}.html").read_text() for name in ("in", "one")]
    assert pages[0] == pages[1].replace("one.txt", "in.txt")


def test_docbin_has_entities_and_confidences(predict):
    assert predict("in.txt", "out.spacy").exit_code == 0
    docs = list(DocBin().from_disk("out.spacy").get_docs(spacy.blank("en").vocab))
    assert [ent.text for ent in docs[0].ents] == ["Anna Smith", "Berlin"]
    assert len(docs[0].spans["entlm_ner"].attrs["scores"]) == 2


def test_page_escapes_texts_and_shows_confidences(predict):
    Path("in.txt").write_text("Anna Smith lives in <b>Berlin</b> .\n")
    assert predict("in.txt", "out.html").exit_code == 0
    page = Path("out.html").read_text(encoding="utf8")
    assert "<b>Berlin" not in page and "&lt;b" in page
    assert "Anna Smith" in page and "PER" in page
    assert page.count("<script") == 1 and "http" not in page


def test_threshold_drops_less_confident_entities(predict):
    assert predict("in.txt", "out.jsonl", "--threshold", "1.0").exit_code == 0
    assert not any(spans(entry) for entry in read("out.jsonl"))
    assert predict("in.txt", "b.jsonl", "--threshold", "2").exit_code == 1


@pytest.mark.parametrize("n_whole, n_bytes", [(0, 0), (0, 9), (1, 0), (1, 30), (3, 0)])
def test_run_that_was_ended_goes_on_to_the_same_file(
    predict, monkeypatch, n_whole, n_bytes
):
    predict("in.txt", "whole.jsonl")
    whole = Path("whole.jsonl").read_bytes()
    part = Path("out.jsonl.unfinished")
    lines = [*whole.splitlines(keepends=True), b""]
    part.write_bytes(b"".join(lines[:n_whole]) + lines[n_whole][:n_bytes])
    result = predict("in.txt", "out.jsonl")
    assert result.exit_code == 1
    assert "go on with --resume" in result.output
    n_texts = []
    score_docs = EntLMNER.score_docs

    def count(self, docs):
        n_texts.append(len(docs))
        return score_docs(self, docs)

    monkeypatch.setattr(EntLMNER, "score_docs", count)
    result = predict("in.txt", "out.jsonl", "--resume")
    assert result.exit_code == 0
    n_found = sum(len(json.loads(line)["spans"]) for line in lines[n_whole:3])
    n_now, n_entities = count_of(3 - n_whole, "texts"), count_of(n_found, "entities")
    assert f"{n_now}, {n_entities}" in result.stdout
    told = f"after {n_whole} text" in result.stdout
    assert told == (n_whole > 0)
    assert Path("out.jsonl").read_bytes() == whole
    assert not part.exists()
    assert sum(n_texts) == 3 - n_whole


def test_a_run_that_is_interrupted_tells_how_it_goes_on(predict, monkeypatch):
    score_docs, n_calls = EntLMNER.score_docs, []

    def interrupted(self, docs):
        n_calls.append(1)
        if len(n_calls) > 2:
            raise KeyboardInterrupt
        return score_docs(self, docs)

    monkeypatch.setattr(EntLMNER, "score_docs", interrupted)
    result = predict("in.txt", "out.jsonl", "--batch-size", "1")
    assert result.exit_code
    assert (
        "out.jsonl.unfinished: the same command goes on with --resume" in result.output
    )


def test_a_long_line_is_one_text(predict):
    long = f"{LINES[0]} " * 600
    Path("in.txt").write_text(f"{LINES[1]}\n{long}\n", encoding="utf8")
    assert predict("in.txt", "out.jsonl").exit_code == 0
    assert [entry["text"] for entry in read("out.jsonl")] == [LINES[1], long.strip()]


def test_a_run_that_found_nothing_leaves_nothing(predict):
    Path("latin.txt").write_bytes("Málaga\n".encode("latin-1"))
    result = predict("latin.txt", "out.jsonl")
    assert result.exit_code == 1 and "not UTF-8" in result.output
    assert sorted(path.name for path in Path().iterdir()) == ["in.txt", "latin.txt"]


def test_unfinished_run_of_another_input_is_refused(predict):
    part = Path("out.jsonl.unfinished")
    part.write_text('{"text": "other", "spans": []}\n')
    result = predict("in.txt", "out.jsonl", "--resume")
    assert result.exit_code == 1
    assert "was written for another input" in result.output
    assert predict("in.txt", "out.jsonl", "--overwrite").exit_code == 0
    assert len(read("out.jsonl")) == 3


@pytest.mark.parametrize(
    "args, text",
    [
        (["none.txt", "out.jsonl"], "no such file"),
        (["in.txt", "out.conll"], "end its name in"),
        (["in.txt", "in.txt"], "end its name in"),
        (["in.txt", "there.jsonl"], "--overwrite"),
        (["broken.jsonl", "out.jsonl"], "line 1: broken JSON"),
    ],
)
def test_bad_input_is_one_line(predict, args, text):
    Path("there.jsonl").write_text("mine")
    Path("broken.jsonl").write_text("{")
    result = predict(*args)
    assert result.exit_code == 1
    assert text in result.output
    assert Path("there.jsonl").read_text() == "mine"


@pytest.mark.parametrize("name", ["out.jsonl", "out.spacy", "out.html"])
def test_output_that_another_run_wrote_in_the_meantime_stays(
    predict, monkeypatch, name
):
    load = spacy.load

    def load_late(*args):
        Path(name).write_text("of another run")
        return load(*args)

    monkeypatch.setattr("spacy_entlm.cli.predict.spacy.load", load_late)
    result = predict("in.txt", name)
    assert result.exit_code == 1 and "exists: choose another output" in result.stderr
    assert Path(name).read_text() == "of another run"


def test_half_a_character_beside_the_text_comes_through(predict):
    line = '{"text": "Anna Smith sleeps .", "note": "cut \\ud83d"}\n'
    Path("cut.jsonl").write_text(line, encoding="utf8")
    assert predict("cut.jsonl", "out.jsonl").exit_code == 0
    found = json.loads(Path("out.jsonl").read_text(encoding="utf8"))
    assert found["note"] == "cut \ud83d" and found["spans"]


def test_what_cannot_be_read_at_once_is_told(predict):
    result = predict("in.txt", "out.jsonl", "--batch-size", 0)
    assert result.exit_code == 2 and not Path("out.jsonl").exists()
    lines = [{"text": "Short ."}, {"text": "long " * 250_000}]
    text = "".join(json.dumps(line) + "\n" for line in lines)
    Path("long.jsonl").write_text(text, encoding="utf8")
    result = predict("long.jsonl", "out.jsonl")
    assert result.exit_code == 1
    said = " ".join(result.stderr.split())
    assert "long.jsonl" in said and "1,250,000 characters" in said
    Path("long.txt").write_text("long " * 250_000, encoding="utf8")
    said = " ".join(predict("long.txt", "out.jsonl").stderr.split())
    assert "long.txt, line 1" in said and "1,249,999 characters" in said


def test_earlier_annotation_is_no_prediction(predict):
    lines = [{"text": "The cat sleeps .", "entities": [[4, 7, "PER"]]}]
    Path("old.jsonl").write_text(json.dumps(lines[0]) + "\n", encoding="utf8")
    assert predict("old.jsonl", "new.jsonl").exit_code == 0
    (doc,), _ = read_docs(Path("new.jsonl"), spacy.blank("xx"))
    assert not doc.ents and doc.has_annotation("ENT_IOB")


def test_a_name_without_an_ending_is_a_folder_of_shards(predict):
    result = predict("in.txt", "found", "--shard-bytes", 30)
    assert result.exit_code == 0, result.stderr
    predict("in.txt", "out.jsonl")
    paths = sorted(Path("found/data").glob("*.jsonl"))
    assert len(paths) > 1
    assert (
        b"".join(path.read_bytes() for path in paths) == Path("out.jsonl").read_bytes()
    )
    # Several files have no place in one.
    Path("texts").mkdir()
    result = predict("texts", "all.jsonl")
    assert result.exit_code == 1 and "name a folder as OUT" in result.stderr


def test_an_option_of_folders_is_refused_with_a_file(predict):
    for option in (("--engine", "ray"), ("--form", "spacy"), ("--workers", 2)):
        result = predict("in.txt", "out.jsonl", *option)
        assert result.exit_code == 1
        said = " ".join(result.stderr.split())
        assert f"{option[0]} goes with a folder OUT" in said
    assert not Path("out.jsonl").exists()


def test_only_a_file_of_json_lines_can_be_resumed(predict):
    result = predict("in.txt", "out.html", "--resume")
    assert result.exit_code == 1
    assert "--resume goes on with JSON lines" in " ".join(result.stderr.split())
    assert not Path("out.html").exists()


def test_parquet_goes_in_and_out(predict):
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    rows = [{"id": i, "text": text} for i, text in enumerate(LINES)]
    pandas.DataFrame(rows).to_parquet("in.parquet")
    for name in ("out.jsonl", "out.parquet"):
        result = predict("in.parquet", name)
        assert result.exit_code == 0, result.stderr
    assert [(e["id"], e["text"]) for e in read("out.jsonl")] == list(enumerate(LINES))
    assert spans(read("out.jsonl")[0]) == [PER, LOC]
    found = pandas.read_parquet("out.parquet")
    assert list(found["id"]) == [0, 1, 2] and list(found["text"]) == LINES
    assert [e["label"] for e in found["entities"][0]] == ["PER", "LOC"]


def test_the_earlier_name_says_where_it_went(trained_folder, predict):
    result = entlm("apply", trained_folder, "in.txt", "found")
    assert result.exit_code == 0 and "`predict`" in result.stdout
    assert len(read(next(Path("found/data").glob("*.jsonl")))) == 3
    assert " apply " not in entlm("--help").stdout
