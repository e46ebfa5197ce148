"""How tests call a command, and read what it wrote."""

import json
from pathlib import Path

import spacy
from spacy.tokens import DocBin
from typer.testing import CliRunner

from spacy_entlm.cli import entlm_cli


def entlm(*args):
    """The result of a command, as of entlm("convert", "in.conll", "out.spacy")."""
    return CliRunner().invoke(entlm_cli, [*map(str, args)])


def error_of(result):
    """The one line that a command has left which failed."""
    assert result.exit_code == 1, result.output
    (line,) = result.stderr.strip().splitlines()
    return line


def read_docbin(path):
    return list(DocBin().from_disk(path).get_docs(spacy.blank("en").vocab))


def read_jsonl(path):
    return [json.loads(x) for x in Path(path).read_text(encoding="utf8").splitlines()]
