import json
import lzma
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from spacy_entlm.lexicon.readers import read_lexicon

from ..commands import entlm, error_of

TSV = (
    "Lima\tGPE\tatlas\nRome\tGPE\tatlas\nAnn\tPERSON\tbook\nRome\tPERSON\tbook\n"
    "Monday\tDATE\tcalendar\nLima\tGPE\tbook\n"
)
MAP = "PERSON=PER GPE=LOC"
MERGE = ["merge", "a.tsv.xz", "--out", "out.jsonl"]


@pytest.fixture
def lexicon(tmp_path, monkeypatch):
    """Run a `lexicon` command in a folder of its own, that holds small lexicons."""
    monkeypatch.chdir(tmp_path)
    Path("a.tsv.xz").write_bytes(lzma.compress(TSV.encode("utf-8")))
    Path("people.txt").write_text("Ann\nBo\n\n\x00\n")
    weighted = [{"name": f"n{i}", "label": "X", "weight": i} for i in range(10)]
    Path("weighted.jsonl").write_text("\n".join(map(json.dumps, weighted)))
    return partial(entlm, "lexicon")


def test_merge_writes_one_lexicon_and_counts_what_it_leaves_out(lexicon):
    result = lexicon(
        *("merge", "a.tsv.xz", "people.txt", "--out", "out.jsonl"),
        *("--map", MAP, "--label", "PER"),
    )
    assert result.exit_code == 0, result.stderr
    assert result.stdout.splitlines() == [
        "2 duplicates: kept once",
        "1 entry of types that the label map does not name: left out (DATE 1)",
        "1 name with control characters or broken letters: left out",
        "  e.g. '\\x00', line 4",
        "5 entries, 0 with a weight",
        "  LOC 2",
        "  PER 3",
        "Wrote out.jsonl",
    ]
    lines = Path("out.jsonl").read_text().splitlines()
    assert json.loads(lines[0]) == {"name": "Lima", "label": "LOC", "source": "atlas"}
    assert json.loads(lines[-1]) == {"name": "Bo", "label": "PER"}


def test_merge_takes_a_map_in_pieces_and_packs_the_output(lexicon):
    Path("map.json").write_text('{"GPE": "LOC"}')
    options = ["--map", "PERSON=PER", "--map", "map.json"]
    assert lexicon("merge", "a.tsv.xz", "--out", "b.jsonl.gz", *options).exit_code == 0
    assert len(read_lexicon("b.jsonl.gz")[0]) == 4


def test_show_counts_and_names_the_ambiguous(lexicon):
    result = lexicon("show", "a.tsv.xz", "--map", MAP, "--examples", 1)
    assert result.exit_code == 0, result.stderr
    lines = result.stdout.splitlines()
    assert lines[:3] == ["4 entries, 0 with a weight", "  LOC 2", "  PER 2"]
    assert lines[3].startswith("LOC, e.g. ")
    assert "1 name is under several labels, e.g. Rome (LOC, PER)" in lines
    assert "  LOC and PER 1" in lines


def test_show_without_ambiguous_names(lexicon):
    result = lexicon("show", "people.txt", "--label", "PER")
    assert "No name is under several labels" in result.stdout


@pytest.mark.parametrize(
    "args, text",
    [
        (["merge", "a.tsv.xz", "--out", "out.tsv"], "end its name in .jsonl"),
        (["merge", "weighted.jsonl", "--out", "weighted.jsonl"], "is the input too"),
        (["merge", "none.tsv", "--out", "out.jsonl"], "none.tsv: no such file"),
        (
            ["merge", "a.tsv.xz", "--out", "out.jsonl", "--map", "X=Y"],
            "maps none of the types",
        ),
        (
            ["merge", "a.tsv.xz", "--out", "out.jsonl", "--map", "X"],
            "no pair of a label map",
        ),
        (["merge", "people.txt", "--out", "out.jsonl"], "give one with --label"),
        (["show", "people.txt", "--lexicon-format", "xml"], "unknown format 'xml'"),
    ],
)
def test_bad_input_is_one_line(lexicon, args, text):
    assert text in error_of(lexicon(*args))
    assert not Path("out.jsonl").exists()


def test_commands_need_the_extra_only_to_ask_wikidata():
    code = "import sys\nsys.modules['tenacity'] = None\nimport spacy_entlm.cli.lexicon"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True)
    assert result.returncode == 0, result.stderr.decode()


@pytest.mark.parametrize("package", ["httpx", "tenacity"])
def test_wikidata_without_its_extra_says_what_to_install(lexicon, monkeypatch, package):
    monkeypatch.setitem(sys.modules, package, None)
    Path("map.json").write_text('{"PER": ["Q5"]}')
    result = lexicon("wikidata", "out.jsonl", "--config", "map.json")
    assert result.exit_code == 1
    assert "pip install httpx tenacity" in result.stderr


@pytest.mark.parametrize(
    "command",
    [
        ["merge", "people.txt", "--label", "PER", "--out", "out.jsonl"],
        ["mine", "people.txt", "out.jsonl", "--patterns", "patterns.json"],
        ["wikidata", "out.jsonl", "--config", "map.json"],
    ],
)
def test_output_that_exists_is_replaced_only_if_asked_to(lexicon, command):
    Path("out.jsonl").write_text("mine")
    Path("patterns.json").write_text('{"PER": {"last": ["Bo"]}}')
    Path("map.json").write_text('{"PER": []}')
    result = lexicon(*command)
    assert result.exit_code == 1
    assert "out.jsonl: exists" in result.stderr and "--overwrite" in result.stderr
    assert Path("out.jsonl").read_text() == "mine"
    assert "exists" not in lexicon(*command, "--overwrite").stderr


def test_merge_overwrites_no_lexicon_when_the_output_is_forgotten(lexicon):
    before = Path("weighted.jsonl").read_bytes()
    result = lexicon("merge", "a.tsv.xz", "weighted.jsonl")
    assert result.exit_code == 2 and "--out" in result.stderr
    assert Path("weighted.jsonl").read_bytes() == before


def test_mine_finds_names_in_plain_text(lexicon):
    Path("text.txt").write_text("the Accra Bank\nHo Bank and Accra Bank\n")
    Path("patterns.json").write_text('{"ORG": {"last": ["Bank"]}}')
    result = lexicon("mine", "text.txt", "out.jsonl", "--patterns", "patterns.json")
    assert result.exit_code == 0, result.stderr
    assert "2 entries, 2 with a weight" in result.stdout
    first = json.loads(Path("out.jsonl").read_text().splitlines()[0])
    assert first == {
        **{"name": "Accra Bank", "label": "ORG"},
        **{"weight": 2.0, "source": "mined"},
    }


def test_mine_says_when_there_is_nothing(lexicon):
    Path("text.txt").write_text("nothing here\n")
    Path("patterns.json").write_text('{"ORG": {"last": ["Bank"]}}')
    result = lexicon("mine", "text.txt", "out.jsonl", "--patterns", "patterns.json")
    assert result.exit_code == 1
    assert "no words look like these patterns" in result.stderr
    assert not Path("out.jsonl").exists()
    result = lexicon("mine", "none.txt", "out.jsonl", "--patterns", "patterns.json")
    assert result.exit_code == 1
    assert "no such file" in result.stderr
