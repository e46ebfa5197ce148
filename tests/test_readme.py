"""The README shows what is so."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf8")


def command(name):
    found = re.search(
        rf"<!-- command: {name} -->\n```bash\n(.+?)\n```", README, flags=re.DOTALL
    )
    assert found, f"README has no command {name}"
    return found.group(1)


def test_project_documentation_is_current():
    result = subprocess.run(
        [sys.executable, "-m", "spacy", "project", "document", "."],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert result.returncode == 0, result.stderr
    assert result.stdout.strip() in README


@pytest.mark.parametrize("name", ["result", "tests"])
def test_commands_are_one_line_each(name):
    assert len(command(name).splitlines()) == 1


def test_ci_runs_the_test_command_of_the_readme():
    script = (ROOT / ".ci" / "run").read_text(encoding="utf8")
    assert "readme_command tests" in script
    assert "-m pytest" in command("tests")


def test_python_example_runs_and_finds_what_it_should():
    (code,) = re.findall(r"```python\n(.+?)```", README, flags=re.DOTALL)
    lines = [line for line in code.splitlines() if line.strip()]
    assert len(lines) <= 15
    namespace = {}
    exec(code, namespace)
    found = [(ent.text, ent.label_) for ent in namespace["doc"].ents]
    assert found == [("Maria Jensen", "PER"), ("Copenhagen", "LOC")]
