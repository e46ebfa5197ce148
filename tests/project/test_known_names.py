"""What names bring: the script of the study."""

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import spacy

from spacy_entlm.corpus.readers import read_docs

SCRIPT = Path(__file__).resolve().parents[2] / "project/benchmarks/known_names.py"
SPEC = importlib.util.spec_from_file_location("known_names", SCRIPT)
script = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(script)

PEOPLE = ["Anna", "John", "Mary", "Peter", "Smith", "Globex", "Acme", "Corp"]
LINES = [f"[{name}](PER) lives in the very big [{name}ville](LOC) ." for name in PEOPLE]


def test_names_are_from_neither_the_sample_nor_what_is_measured(tmp_path, monkeypatch):
    monkeypatch.setattr(script, "MEASURED", 3)
    path = tmp_path / "train.txt"
    path.write_text("\n".join(LINES), encoding="utf8")
    examples, measured, rest = script.parts(path, None, 2, 1)
    texts = [{doc.text for doc in part} for part in (examples, measured, rest)]
    assert [len(part) for part in texts] == [2, 3, 3]
    assert len(set.union(*texts)) == 8
    ((_, one), (_, all_)) = script.lists(rest, examples, None, "1,20", 1)
    free = {ent.text for doc in rest for ent in doc.ents}
    assert {len(names) for names in one.values()} == {1}
    assert {name for names in all_.values() for name in names} == free
    docs, _ = read_docs(path, spacy.blank("en"))
    assert script.parts(path, path, 2, 1)[1][0].text == docs[0].text


def test_it_writes_f1_without_names_and_with_them(tmp_path, bert):
    train, names, out = (tmp_path / x for x in ("train.txt", "names.tsv", "out.jsonl"))
    train.write_text("\n".join(LINES), encoding="utf8")
    names.write_text("Anna\tPER\nMary\tPER\n")
    line = [sys.executable, str(SCRIPT), str(out), str(train), "--test", str(train)]
    line += ["--lexicon", str(names), "--shots", "2", "--samples", "1"]
    done = subprocess.run(
        [*line, "--backbone", str(bert)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    (row,) = map(json.loads, out.read_text().splitlines())
    assert 0 <= row["without"] <= 100 and 0 <= row["names.tsv"] <= 100
