"""Other commands with an engine: `annotate` and `search --method lm`."""

import json
from pathlib import Path

import pytest
import spacy

from spacy_entlm.corpus.docs import write_docs
from spacy_entlm.label_words.lm_counts import count_predictions
from spacy_entlm.model.search_reader import TextReader
from spacy_entlm.scale import counts
from spacy_entlm.scale.engines import Engine

from ..commands import entlm


@pytest.fixture
def marked(apply):
    """A lexicon, in a folder that has in.txt."""
    entries = [("Berlin", "LOC"), ("Anna Smith", "PER"), ("Mary", "PER")]
    lines = [json.dumps({"name": name, "label": label}) for name, label in entries]
    Path("names.jsonl").write_text("\n".join(lines))
    return Path("names.jsonl")


@pytest.fixture
def docs(make_examples):
    return [example.reference for example in make_examples(spacy.blank("en"))]


@pytest.fixture
def in_parts(monkeypatch):
    """Makes the counting go through several parts of few words."""
    from spacy_entlm.label_words import lm_counts

    monkeypatch.setattr(lm_counts, "CHUNK_WORDS", 8)


def test_names_are_marked_in_shards(marked, read_lines, lines):
    result = entlm("annotate", marked, "in.txt", "out", "--engine", "local")
    assert result.exit_code == 0, result.stderr
    assert "3 names to match" in result.stdout and "5 texts" in result.stdout
    found = read_lines("out")
    assert [entry["text"] for entry in found] == lines
    assert found[0]["spans"] == [
        {"start": 0, "end": 10, "label": "PER"},
        {"start": 20, "end": 26, "label": "LOC"},
    ]
    # Another lexicon is another run.
    marked.write_text('{"name": "Rome", "label": "LOC"}')
    result = entlm("annotate", marked, "in.txt", "out", "--engine", "local")
    assert result.exit_code == 1 and "another reader" in result.stderr


@pytest.mark.parametrize("option", ["--gold", "--only-matches"])
def test_what_needs_one_file_is_refused(marked, option):
    result = entlm("annotate", marked, "in.txt", "out", "--engine", "local", option)
    assert result.exit_code == 1 and "--engine has no" in result.stderr


def test_counts_are_the_sums_of_the_parts(bert, docs, in_parts):
    reader = TextReader(str(bert))
    here = count_predictions(reader, docs)
    there = counts.count_with(Engine(), str(bert), reader, docs)
    assert here == there
    assert [list(here[label]) for label in here] == [
        list(there[label]) for label in there
    ]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # Ray's own
def test_search_with_ray_finds_the_same_words(bert, docs, tmp_path):
    pytest.importorskip("ray", reason="needs the extra `ray`")
    write_docs(docs, tmp_path / "in.spacy")
    for engine in ("local", "ray"):
        out = tmp_path / f"{engine}.json"
        args = ["--method", "lm", "--backbone", bert, "--engine", engine]
        result = entlm("search", tmp_path / "in.spacy", out, *args, "--workers", 2)
        assert result.exit_code == 0, result.stderr
    reports = [
        json.loads((tmp_path / f"{engine}.report.json").read_text())
        for engine in ("local", "ray")
    ]
    assert reports[0] == reports[1]
