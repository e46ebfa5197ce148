"""The command `predict` with a folder: shards, a manifest, failures, a second run."""

import json
import sys
from pathlib import Path

import fsspec
import pytest
import spacy
from spacy.tokens import DocBin

from spacy_entlm.about import __version__
from spacy_entlm.pipeline.entlm_ner import EntLMNER
from spacy_entlm.scale import writing
from spacy_entlm.scale.worker import hash_pipeline

from ..commands import entlm, error_of


@pytest.fixture
def fail_at(monkeypatch):
    """Makes the component fail at texts with a word."""
    score_docs = EntLMNER.score_docs

    def fail_at(word):
        def fail(self, docs):
            if any(word in doc.text for doc in docs):
                raise RuntimeError(f"no {word}")
            return score_docs(self, docs)

        monkeypatch.setattr(EntLMNER, "score_docs", fail)

    yield fail_at
    monkeypatch.setattr(EntLMNER, "score_docs", score_docs)


def test_shards_hold_what_predict_writes(apply, trained_folder, read_lines):
    result = apply("in.txt", "out")
    assert result.exit_code == 0, result.stderr
    entlm("predict", trained_folder, "in.txt", "all.jsonl")
    whole = [json.loads(line) for line in Path("all.jsonl").read_text().splitlines()]
    for entry in whole:
        for span in entry["spans"]:
            span["score"] = pytest.approx(span["score"], abs=1e-3)
    assert read_lines("out") == whole
    assert [entry["line"] for entry in whole] == [*range(1, len(whole) + 1)]
    assert len(list(Path("out/data").iterdir())) > 1
    assert sorted(path.name for path in Path().iterdir()) == [
        "all.jsonl",
        "in.txt",
        "out",
    ]


def test_manifest_tells_what_was_read_and_done(apply, trained_folder, lines):
    apply("in.txt", "out", "--threshold", "0.5")
    manifest = json.loads(Path("out/manifest.json").read_text())
    assert manifest["version"] == __version__
    assert manifest["input"][0]["uri"] == str(Path("in.txt").resolve())
    assert manifest["reader"]["sha256"] == hash_pipeline(str(trained_folder))
    assert manifest["reader"]["threshold"] == 0.5
    assert manifest["done"] == manifest["shards"] == len(manifest["parts"])
    assert manifest["counts"]["texts"] == len(lines)
    assert manifest["counts"]["words"] == sum(len(line.split()) for line in lines)


def test_second_run_does_what_is_lacking(apply, read_files, monkeypatch):
    apply("in.txt", "out")
    whole = read_files("out")
    Path("out/done/part-000001.json").unlink()
    Path("out/data/part-000001.jsonl").unlink()
    n_texts, score_docs = [], EntLMNER.score_docs

    def count(self, docs):
        n_texts.append(len(docs))
        return score_docs(self, docs)

    monkeypatch.setattr(EntLMNER, "score_docs", count)
    assert apply("in.txt", "out").exit_code == 0
    assert read_files("out") == whole
    assert sum(n_texts) == whole["data/part-000001.jsonl"].count(b"\n")
    assert apply("in.txt", "out").exit_code == 0
    assert read_files("out") == whole


def test_text_that_fails_is_set_aside_and_the_rest_goes_on(apply, fail_at, read_lines):
    fail_at("cat")
    result = apply("in.txt", "out", "--shard-bytes", "1000")
    assert result.exit_code == 0, result.stderr
    assert "1 failed\nTexts that failed are in out/failed, each" in result.stdout
    assert len(read_lines("out")) == 4
    (aside,) = read_lines("out", "failed")
    assert aside["text"] == "The cat sleeps ."
    assert aside["failed"]["error"] == "RuntimeError: no cat"


def test_texts_that_failed_can_be_read_again(apply, fail_at, read_lines, monkeypatch):
    fail_at("cat")
    apply("in.txt", "out")
    fail_at("nothing")
    assert apply("out/failed", "again").exit_code == 0
    assert [entry["text"] for entry in read_lines("again")] == ["The cat sleeps ."]


def test_pipeline_that_fails_at_any_text_sets_none_aside(apply, fail_at, read_files):
    fail_at("")
    result = apply("in.txt", "out")
    assert result.exit_code == 1
    assert "fails at any text" in result.stderr and "run again" in result.stderr
    assert set(read_files("out")) == {".lock", "manifest.json"}
    fail_at("nothing")
    assert apply("in.txt", "out").exit_code == 0


def test_half_a_character_beside_the_text_comes_through(apply, read_lines):
    entries = ['{"text": "Anna", "note": "\\ud800"}', '{"text": "Rome"}']
    Path("in.jsonl").write_text("\n".join(entries))
    assert apply("in.jsonl", "out").exit_code == 0
    assert [entry["text"] for entry in read_lines("out")] == ["Anna", "Rome"]
    assert read_lines("out")[0]["note"] == "\ud800"


def test_text_that_cannot_be_written_is_set_aside(apply, read_lines, monkeypatch):
    dump_line = writing.dump_line

    def dump(entry, other=None):
        if "Anna" in entry["text"] and "error" not in entry:
            raise ValueError("cannot be written")
        return dump_line(entry, other)

    monkeypatch.setattr(writing, "dump_line", dump)
    Path("in.txt").write_text("Anna\nRome\n")
    assert apply("in.txt", "out").exit_code == 0
    assert [entry["text"] for entry in read_lines("out")] == ["Rome"]
    assert [entry["text"] for entry in read_lines("out", "failed")] == ["Anna"]


def test_one_damaged_file_does_not_keep_the_others(apply, read_lines):
    Path("in").mkdir()
    Path("in/a.txt.gz").write_bytes(b"no gzip")
    Path("in/b.txt").write_text("Anna Smith lives in Berlin .")
    result = apply("in", "out")
    assert result.exit_code == 1
    assert "1 of 2 shards failed" in result.stderr and "a.txt.gz" in result.stderr
    assert len(read_lines("out")) == 1


@pytest.mark.parametrize(
    "change, text",
    [
        (["--threshold", "0.5"], "another reader"),
        (["--batch-size", "2"], "another settings"),
        (["--form", "spacy"], "another settings"),
    ],
)
def test_other_settings_want_another_folder(apply, read_files, change, text):
    apply("in.txt", "out")
    before = read_files("out")
    result = apply("in.txt", "out", *change)
    assert result.exit_code == 1 and text in result.stderr
    assert read_files("out") == before
    Path("out/mine.txt").write_text("mine")
    assert apply("in.txt", "out", *change, "--overwrite").exit_code == 0
    assert Path("out/mine.txt").read_text() == "mine"


def test_changed_input_is_another_run(apply):
    apply("in.txt", "out")
    Path("in.txt").write_text("Anna\n")
    assert "another input" in apply("in.txt", "out").stderr
    result = apply("in.txt", "out", "--overwrite")
    assert result.exit_code == 0
    assert len(list(Path("out/data").iterdir())) == 1


def test_folder_of_others_is_left_alone(apply):
    Path("out").mkdir()
    Path("out/mine.txt").write_text("mine")
    result = apply("in.txt", "out")
    assert result.exit_code == 1 and "not empty" in result.stderr
    assert [path.name for path in Path("out").iterdir() if path.name != ".lock"] == [
        "mine.txt"
    ]


@pytest.mark.parametrize("name", ["data", "data/part-000000.jsonl"])
def test_nothing_is_written_through_a_link_out_of_the_folder(apply, name):
    Path("else").mkdir()
    Path("else/file").write_text("mine")
    Path("out", name).parent.mkdir(parents=True)
    target = Path("else" if name == "data" else "else/file").resolve()
    Path("out", name).symlink_to(target)
    result = apply("in.txt", "out", "--overwrite")
    assert result.exit_code == 1 and "link out of the folder" in result.stderr
    assert Path("else/file").read_text() == "mine"
    assert [path.name for path in Path("else").iterdir()] == ["file"]


def test_docs_have_entities_and_confidences(apply):
    assert apply("in.txt", "out", "--form", "spacy").exit_code == 0
    path = Path("out/data/part-000000.spacy")
    doc = next(DocBin().from_disk(path).get_docs(spacy.blank("en").vocab))
    assert [ent.text for ent in doc.ents] == ["Anna Smith", "Berlin"]
    assert len(doc.spans["entlm_ner"].attrs["scores"]) == 2


def test_parquet_in_and_out(apply, lines):
    pa = pytest.importorskip("pyarrow", reason="needs the extra `ray`")
    import pyarrow.parquet as pq

    columns = {"id": [*range(6)], "text": [*lines, None], "tag": [b"x"] * 6}
    pq.write_table(pa.table(columns), "in.parquet", row_group_size=2)
    result = apply("in.parquet", "out", "--form", "parquet", "--shard-bytes", "100")
    assert result.exit_code == 0, result.stderr
    table = pq.read_table("out/data")
    assert table.column_names == ["id", "tag", "text", "entities"]
    assert table["id"].to_pylist() == [*range(5)]
    assert table["text"].to_pylist() == lines
    first = table["entities"][0].as_py()
    assert [(e["start"], e["end"], e["label"]) for e in first] == [
        (0, 10, "PER"),
        (20, 26, "LOC"),
    ]
    assert all(0 < e["score"] <= 1 for e in first)
    assert json.loads(Path("out/manifest.json").read_text())["shards"] == 3
    assert "1 failed" in result.stdout
    assert apply("in.parquet", "lines").exit_code == 0


def test_parquet_keeps_what_else_a_line_says(apply):
    pytest.importorskip("pyarrow", reason="needs the extra `ray`")
    import pyarrow.parquet as pq

    Path("in.jsonl").write_text('{"text": "Anna", "id": 1}\n{"text": "Rome"}\n')
    assert apply("in.jsonl", "out", "--form", "parquet").exit_code == 0
    assert pq.read_table("out/data")["meta"].to_pylist() == ['{"id": 1}', None]


def test_files_elsewhere_are_read_and_written(apply, read_files, lines):
    apply("in.txt", "out")
    store = fsspec.filesystem("memory")
    store.pipe("/there/in.txt", Path("in.txt").read_bytes())
    result = apply("memory://there/in.txt", "memory://there/out")
    assert result.exit_code == 0, result.stderr
    for name, content in read_files("out").items():
        if name.startswith("data"):
            assert store.cat(f"/there/out/{name}") == content
    store.rm("/there/out/done/part-000000.json")
    assert apply("memory://there/in.txt", "memory://there/out").exit_code == 0
    assert store.exists("/there/out/done/part-000000.json")
    manifest = json.loads(store.cat("/there/out/manifest.json"))
    assert manifest["counts"]["texts"] == len(lines)
    assert apply(Path("in.txt").resolve().as_uri(), "file").exit_code == 0
    store.rm("/there", recursive=True)


@pytest.mark.parametrize(
    "args, text",
    [
        (["none.txt", "out"], "no such file"),
        (["in.txt", "in.txt"], "end its name in"),
        (["in.txt", "out", "--form", "csv"], "jsonl, parquet, spacy"),
        (["in.txt", "out", "--engine", "spark"], "local, ray"),
        (["in.txt", "what://out"], "what"),
    ],
)
def test_bad_arguments_are_one_line(apply, args, text):
    assert text in error_of(apply(*args))


@pytest.mark.parametrize("name", ["none", "in.txt"])
def test_no_pipeline_is_one_line(apply, name):
    result = apply("in.txt", "out", pipeline=name)
    assert result.exit_code == 1 and name in result.stderr
    assert not Path("out").exists()


@pytest.mark.parametrize(
    "package, args", [("ray", ["--engine", "ray"]), ("pyarrow", ["--form", "parquet"])]
)
def test_without_the_extra_it_is_named(apply, monkeypatch, package, args):
    monkeypatch.setitem(sys.modules, package, None)
    assert "[ray]" in error_of(apply("in.txt", "out", *args))


@pytest.mark.parametrize("name", ["out", "out/data", "out/data/*.jsonl"])
def test_results_are_no_input_of_the_run_that_wrote_them(apply, name):
    assert apply("in.txt", "out").exit_code == 0
    before = {p: p.read_bytes() for p in Path("out").rglob("*.jsonl")}
    assert before
    result = apply(name, "out", "--overwrite")
    assert result.exit_code == 1
    assert "holds the input: choose another OUT" in " ".join(result.stderr.split())
    assert before == {p: p.read_bytes() for p in Path("out").rglob("*.jsonl")}
