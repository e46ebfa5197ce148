"""Runs the code of a page, and compares what it prints with what the page says.

    python scripts/snippets.py README.md docs/component.md
    python scripts/snippets.py README.md docs/component.md --write

The first compares, the second corrects the pages.

In a page, a block of `python` or `bash` is run if a block of `text`, its output,
follows. A block of `python` is run without one, too. The blocks of a page are run one
after the other in one empty folder, those of Python in one namespace. A block with a
title is a file, which is written there. What stands in a comment that begins with
"run:" is Python that is run and not shown. A block is not run after a comment that
begins with "not run:" and says why.

A notebook (.ipynb) is read in the same way: its cells, and what they printed.

In an output a line of three points stands for any lines. Numbers may differ a little:
processors do not add up in the same way.
"""

import contextlib
import io
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
from itertools import zip_longest
from pathlib import Path
from typing import Any, Dict, Iterator, List, NamedTuple, Optional

import typer
from typer.testing import CliRunner

from spacy_entlm.cli import entlm_cli

BLOCK = re.compile(
    r"(?P<notrun><!-- not run: (?P<reason>[^>]+) -->\n+)?"
    r"(?:<!-- run:\n(?P<hidden>.*?)-->"
    r"|^```\w+ title=\"(?P<file>[^\"]+)\"\n(?P<content>.*?)^```$"
    r"|^```(?P<language>python|bash)\n(?P<code>.*?)^```$"
    r"(?:\n\n```text\n(?P<output>.*?)^```$)?)",
    re.DOTALL | re.MULTILINE,
)
COLOUR = re.compile(r"\x1b\[[\d;]*m")
NUMBER = re.compile(r"\d+(?:\.\d+)?")
ANY_LINES = "..."
NOTEBOOK = ".ipynb"
OURS = "python -m spacy entlm "
# By how much a number may differ: of a confidence, and of others as a share.
TOLERANCE, SHARE = 0.15, 0.2


class Snippet(NamedTuple):
    """Code of a page.

    language: python, bash, or the name of a file whose content the code is.
    output: What the page says that it prints, None if it says nothing.
    start, end: Where the output stands in the page, in characters.
    """

    language: str
    code: str
    output: Optional[str] = None
    start: int = 0
    end: int = 0


class Told(NamedTuple):
    """What a snippet printed."""

    snippet: Snippet
    printed: str


def snippets(page: str) -> Iterator[Snippet]:
    """The code of a page that can be run."""
    for found in BLOCK.finditer(page):
        if found["hidden"] is not None:
            yield Snippet("python", found["hidden"])
        elif found["file"]:
            yield Snippet(found["file"], found["content"])
        elif not found["notrun"]:
            output = found["output"]
            if found["language"] == "python" or output is not None:
                span = found.span("output")
                yield Snippet(found["language"], found["code"], output, *span)


def cells(notebook: Dict[str, Any]) -> Iterator[Dict[str, Any]]:
    """The cells of a notebook that hold code."""
    return (cell for cell in notebook["cells"] if cell["cell_type"] == "code")


def read_snippets(path: Path) -> List[Snippet]:
    """The code of a page or a notebook."""
    text = path.read_text(encoding="utf8")
    if path.suffix != NOTEBOOK:
        return list(snippets(text))
    return [
        Snippet(
            "python",
            "".join(cell["source"]),
            "".join(line for some in cell["outputs"] for line in some["text"]),
        )
        for cell in cells(json.loads(text))
    ]


def run_page(path: Path) -> List[Told]:
    """Run the code of a page in a folder of its own.
    RAISES: What the code raises; (RuntimeError): If a command fails."""
    found = read_snippets(path)
    namespace: Dict[str, Any] = {"__name__": "__main__"}
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            return [Told(each, _run(each, namespace)) for each in found]
        finally:
            os.chdir(before)


def _run(snippet: Snippet, namespace: Dict[str, Any]) -> str:
    if snippet.language not in ("python", "bash"):
        Path(snippet.language).write_text(snippet.code, encoding="utf8")
        return ""
    if snippet.language == "bash":
        commands = snippet.code.replace("\\\n", " ").splitlines()
        return "".join(map(run_command, filter(None, commands)))
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(snippet.code, namespace)
    return printed.getvalue()


def run_command(command: str) -> str:
    """What a command prints. One of this package runs in this process, which has it
    imported already.
    RAISES (RuntimeError): If it fails."""
    if command.startswith("cd "):
        os.chdir(command.removeprefix("cd "))
        return ""
    if command.startswith(OURS) and not set("|>&") & set(command):
        arguments = shlex.split(command.removeprefix(OURS))
        done = CliRunner().invoke(entlm_cli, arguments)
        code, printed = done.exit_code, done.stdout
        problem = f"{done.output}\n{done.exception!r}"
    else:
        # "python" is the one that runs this.
        path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
        ran = subprocess.run(
            ["bash", "-c", command],
            capture_output=True,
            text=True,
            env={**os.environ, "PATH": path, "COLUMNS": "88"},
        )
        code, printed, problem = ran.returncode, ran.stdout, ran.stdout + ran.stderr
    if code:
        raise RuntimeError(f"{command}\n{problem}")
    return printed


def difference(told: str, printed: str) -> Optional[str]:
    """The first line of a page's output that is not what was printed; None: there is
    none."""
    groups: List[List[str]] = [[]]
    for line in _lines(told):
        if line == ANY_LINES:
            groups.append([])
        else:
            groups[-1].append(line)
    first, *others = groups
    lines = _lines(printed)
    if not others:
        return _first_other(first, lines)
    problem = _first_other(first, lines[: len(first)])
    del lines[: len(first)]
    for group in others:
        starts = [
            i
            for i in range(len(lines))
            if not _first_other(group, lines[i : i + len(group)])
        ]
        if group and not starts:
            problem = problem or f"page: {group[0]!r}, printed: {lines!r}"
        elif group:
            del lines[: starts[0] + len(group)]
    if others[-1] and lines and not problem:
        problem = f"printed after the page's last line: {lines[0]!r}"
    return problem


def _first_other(wanted: List[str], lines: List[str]) -> Optional[str]:
    for one, other in zip_longest(wanted, lines):
        if one is None or other is None or not is_alike(one, other):
            return f"page: {one!r}, printed: {other!r}"
    return None


def _lines(text: str) -> List[str]:
    lines = [line.rstrip() for line in COLOUR.sub("", text).splitlines()]
    return [line for line in lines if line]


def is_alike(one: str, other: str) -> bool:
    """Whether two lines are the same but for small differences of numbers."""
    if NUMBER.sub("0", one).split() != NUMBER.sub("0", other).split():
        return False
    pairs = zip(NUMBER.findall(one), NUMBER.findall(other))
    return all(
        abs(float(a) - float(b)) <= max(TOLERANCE, SHARE * float(a)) for a, b in pairs
    )


def correct(path: Path, told: List[Told]) -> None:
    """Write the outputs that were printed into a page, where these have no three
    points."""
    page = path.read_text(encoding="utf8")
    if path.suffix == NOTEBOOK:
        notebook: Any = json.loads(page)
        for cell, each in zip(cells(notebook), told):
            lines = each.printed.splitlines(keepends=True)
            stream = {"name": "stdout", "output_type": "stream", "text": lines}
            cell["outputs"] = [stream] if lines else []
        page = json.dumps(notebook, indent=1, ensure_ascii=False) + "\n"
    else:
        for each in reversed(told):
            snippet = each.snippet
            if snippet.output and ANY_LINES not in _lines(snippet.output):
                shown = "\n".join(_lines(each.printed))
                page = f"{page[: snippet.start]}{shown}\n{page[snippet.end :]}"
    path.write_text(page, encoding="utf8")


def main(pages: List[Path], write: bool = False) -> None:
    """Compare the outputs in pages with what their code prints, or correct them."""
    wrong = False
    for path in pages:
        told = run_page(path)
        if write:
            correct(path, told)
            told = [
                Told(now, each.printed) for now, each in zip(read_snippets(path), told)
            ]
        for each in told:
            problem = each.snippet.output and difference(
                each.snippet.output, each.printed
            )
            if problem:
                wrong = True
                typer.echo(f"{path}: {problem}\n  after\n{each.snippet.code}")
    raise typer.Exit(int(wrong))


if __name__ == "__main__":
    typer.run(main)
