"""Files around the package say what is so."""

import contextlib
import importlib.util
import io
import re
from pathlib import Path

import pytest
import srsly

ROOT = Path(__file__).resolve().parents[1]
PYPROJECT = (ROOT / "pyproject.toml").read_text(encoding="utf8")


def test_citation_has_the_version_of_the_package():
    citation = srsly.read_yaml(ROOT / "CITATION.cff")
    assert f'version = "{citation["version"]}"' in PYPROJECT
    assert citation["preferred-citation"]["doi"] == "10.18653/v1/2022.naacl-main.420"


def test_changelog_begins_with_the_version_of_the_package():
    (version,) = re.findall(r'^version = "(.+)"', PYPROJECT, re.MULTILINE)
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf8")
    first = re.findall(r"^## (\S+)", changelog, re.MULTILINE)[0]
    assert first == version


def test_workflow_tries_the_versions_of_python_that_are_supported():
    workflow = srsly.read_yaml(ROOT / ".github" / "workflows" / "tests.yml")
    matrix = workflow["jobs"]["command"]["strategy"]["matrix"]
    supported = re.findall(r'"Programming Language :: Python :: (3\.\d+)"', PYPROJECT)
    assert matrix["python"] == supported
    readme = (ROOT / "README.md").read_text(encoding="utf8")
    assert matrix["command"] == re.findall(r"<!-- command: (\w+) -->", readme)


@pytest.mark.parametrize("name", ["docs", "test"])
def test_an_extra_that_contributing_names_is_there(name):
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf8")
    assert f'".[{name}]"' in text
    assert re.search(rf"^{name} = \[", PYPROJECT, re.MULTILINE)


def test_example_of_the_universe_prints_what_its_comment_says():
    entry = srsly.read_json(ROOT / "docs" / "universe.json")
    *code, comment = entry["code_example"]
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec("\n".join(code), {})
    assert f"# {printed.getvalue().strip()}" == comment


def test_curve_has_a_point_for_each_figure_the_higher_the_better():
    path = ROOT / "scripts" / "curve.py"
    spec = importlib.util.spec_from_file_location("curve", path)
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    picture = script.draw({"ours": {"0": 50.0, "20": 80.0}, "a & b": {"20": 60.0}})
    heights = [float(y) for y in re.findall(r'<circle [^>]*cy="([\d.]+)"', picture)]
    assert len(heights) == 3
    assert heights[1] < heights[2] < heights[0]
    assert ">ours<" in picture and ">a &amp; b<" in picture
