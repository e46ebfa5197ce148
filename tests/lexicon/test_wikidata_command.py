"""The command `lexicon wikidata`, against an endpoint that fails, and killed."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

from spacy_entlm.cli import entlm_cli
from spacy_entlm.lexicon.readers import read_lexicon

N_PEOPLE = 250


@pytest.fixture
def command(endpoint, tmp_path, monkeypatch):
    """Runs `lexicon wikidata` in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    Path("map.json").write_text('{"PER": ["Q5"], "LOC": ["Q515", "Q404"]}')

    def command(*args):
        arguments = ["out.jsonl", "--config", "map.json", "--endpoint", endpoint.url]
        arguments += ["--page-size", "100", *map(str, args)]
        return CliRunner().invoke(entlm_cli, ["lexicon", "wikidata", *arguments])

    return command


def test_command_writes_a_lexicon(command):
    result = command()
    assert result.exit_code == 0, result.stderr
    assert result.stdout.splitlines() == [
        "PER Q5: 250 items",
        "LOC Q515: 3 items",
        "LOC Q404: 0 items: no instances, check the class",
        "503 entries, 503 with a weight",
        "  LOC 3",
        "  PER 500",
        "Wrote out.jsonl",
    ]
    entries, _ = read_lexicon("out.jsonl")
    assert len(entries) == 503
    assert len(os.listdir("out.jsonl.pages")) == 7


def test_command_fails_in_one_line_and_keeps_what_it_has(command, endpoint):
    endpoint.fault_if = lambda q: endpoint.Reply(body="<html>") if "Q515" in q else None
    result = command("--attempts", 1)
    assert result.exit_code == 1
    (line,) = result.stderr.splitlines()
    assert "sends a web page" in line and "kept in out.jsonl.pages" in line
    assert not Path("out.jsonl").exists()
    endpoint.fault_if = lambda query: None
    endpoint.queries.clear()
    assert command().exit_code == 0
    assert not any("wd:Q5 " in query for query in endpoint.queries)


def test_command_without_a_name_is_an_error(command):
    Path("map.json").write_text('{"PER": ["Q404"]}')
    result = command()
    assert result.exit_code == 1
    assert "no names found" in result.stderr


def test_killed_run_goes_on_where_it_was(endpoint, tmp_path):
    """A process is killed in the middle of a page; another one finishes its work."""
    (tmp_path / "map.json").write_text('{"PER": ["Q5"]}')
    program = "from spacy_entlm.cli.lexicon import lexicon_cli\nlexicon_cli()"
    command = [sys.executable, "-c", program, "wikidata", "out.jsonl"]
    command += [
        "--config",
        "map.json",
        "--endpoint",
        endpoint.url,
        "--page-size",
        "100",
    ]
    endpoint.fault_if = lambda q: (
        endpoint.Reply(hang=60.0) if "slice.offset 200" in q else None
    )
    process = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE)
    deadline = time.monotonic() + 60
    while not any("slice.offset 200" in q for q in endpoint.queries):
        assert process.poll() is None and time.monotonic() < deadline
        time.sleep(0.02)
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    assert len(list((tmp_path / "out.jsonl.pages").iterdir())) == 3
    endpoint.fault_if = lambda query: None
    endpoint.queries.clear()
    result = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    assert endpoint.pages_asked() == [(200, 50)] and len(endpoint.queries) == 1
    lines = (tmp_path / "out.jsonl").read_text().splitlines()
    assert len({json.loads(line)["name"] for line in lines}) == 2 * N_PEOPLE
