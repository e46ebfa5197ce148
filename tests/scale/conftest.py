"""Runs of `predict` into folders, and what they leave."""

import json
from pathlib import Path

import pytest

from ..commands import entlm

LINES = [
    "Anna Smith lives in Berlin .",
    "The cat sleeps .",
    "Berlin is old .",
    "Mary and John met Peter .",
    "Globex Corp hired Anna .",
]
# Bytes of a shard: two or three of these lines.
SMALL = 60


@pytest.fixture(scope="session")
def lines():
    return LINES


@pytest.fixture
def apply(trained_folder, tmp_path, monkeypatch):
    """Runs the command in a folder that has in.txt."""
    monkeypatch.chdir(tmp_path)
    Path("in.txt").write_text("\n".join(LINES) + "\n", encoding="utf8")

    def apply(in_, out, *args, pipeline=trained_folder):
        args = ["predict", pipeline, in_, out, "--shard-bytes", SMALL, *args]
        if "--shard-bytes" in args[6:]:
            del args[4:6]
        return entlm(*args)

    return apply


def read_lines(folder, part="data"):
    return [
        json.loads(line)
        for path in sorted(Path(folder, part).glob("*.jsonl"))
        for line in path.read_text(encoding="utf8").splitlines()
    ]


def read_files(folder):
    """The contents of all files by their names."""
    paths = (path for path in Path(folder).rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in paths}


@pytest.fixture(name="read_lines")
def read_lines_fixture():
    return read_lines


@pytest.fixture(name="read_files")
def read_files_fixture():
    return read_files
