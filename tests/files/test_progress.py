"""Bars are seen on every terminal, and nowhere else."""

import io
import os
import sys

import pytest
from tqdm import tqdm

from spacy_entlm.files.progress import bar_place


class Stream(io.StringIO):
    def __init__(self, is_terminal):
        super().__init__()
        self.is_terminal = is_terminal

    def isatty(self):
        return self.is_terminal


@pytest.mark.parametrize("is_terminal", [True, False])
@pytest.mark.parametrize("columns", ["0", "40", None])
def test_a_terminal_without_a_width_shows_a_bar_too(monkeypatch, is_terminal, columns):
    """As that of `script`, or of a container."""
    monkeypatch.setattr(sys, "stderr", Stream(is_terminal))
    monkeypatch.setattr("os.get_terminal_size", lambda fd: os.terminal_size((0, 0)))
    monkeypatch.delenv("COLUMNS", raising=False)
    if columns is not None:
        monkeypatch.setenv("COLUMNS", columns)
    with tqdm(total=4, file=sys.stderr, **bar_place()) as bar:
        bar.update(3)
        bar.refresh()
    shown = sys.stderr.getvalue()
    assert ("75%" in shown) == is_terminal
    lines = [line.strip("\n") for line in shown.split("\r")]
    assert max(map(len, lines)) <= (39 if columns == "40" else 79)
