"""The benchmark script: resumable, repeatable, paired."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "project" / "benchmarks" / "fewshot.py"


def call(*arguments):
    result = subprocess.run(
        [sys.executable, str(SCRIPT), *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=200,
    )
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


@pytest.mark.slow
def test_cells_are_repeatable_and_not_run_twice(tmp_path, bert, annotated, label_words):
    lines = []
    for text, annotation in annotated:
        spans = [
            {"start": start, "end": end, "label": label}
            for start, end, label in annotation["entities"]
        ]
        lines.append(json.dumps({"text": text, "spans": spans}))
    given = tmp_path / "5shot"
    given.mkdir()
    for path in (given / "1.jsonl", tmp_path / "test.jsonl"):
        path.write_text("\n".join(lines) + "\n")
    (tmp_path / "words.json").write_text(json.dumps(label_words))
    arguments = ["--backbone", bert, "--data", tmp_path, "--splits", "1"]
    arguments += ["--label-words", tmp_path / "words.json", "--set", "learn_rate=0.01"]
    first, second = tmp_path / "a.jsonl", tmp_path / "b.jsonl"
    call("run", first, *arguments, "--seeds", "1")
    call("run", first, *arguments, "--seeds", "1,2")
    call("run", second, *arguments, "--seeds", "1")
    cells = [json.loads(line) for line in first.read_text().splitlines()]
    again = json.loads(second.read_text())
    assert [cell["seed"] for cell in cells] == [1, 2]
    assert cells[0]["io"] == again["io"]
    assert cells[0]["io"]["f"] > 0.5
    report = call("report", first)
    assert "over 2 cells" in report
