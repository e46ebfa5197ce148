"""What stands beside the text, in Node.js with a page that only remembers."""

import json
import shutil
import subprocess
from importlib.resources import files

import pytest

NODE = shutil.which("node")
pytestmark = pytest.mark.skipif(NODE is None, reason="no Node.js on this machine")
SCRIPT = """
const parts = {};
const make = () => ({
  append() {}, replaceChildren() {}, addEventListener() {}, setAttribute() {},
  tBodies: [{ replaceChildren() {} }], style: {},
});
globalThis.document = {
  getElementById: (id) => (parts[id] ??= make()),
  createElement: make,
  createElementNS: make,
};
const { showScores } = await import("./side.js");
showScores(JSON.parse(process.argv[2]), () => {});
console.log(parts.score.textContent);
"""


@pytest.fixture
def said(tmp_path):
    """Gives the line about F1 after some trainings."""
    for name in ("side.js", "chart.js", "dom.js"):
        page = files("spacy_entlm.workbench").joinpath("page", name)
        (tmp_path / name).write_bytes(page.read_bytes())
    (tmp_path / "package.json").write_text('{"type": "module"}')
    (tmp_path / "run.js").write_text(SCRIPT)

    def said(*trained):
        state = {"trained": trained, "classes": [], "counts": {"marks": {}}}
        line = [NODE, "run.js", json.dumps(state)]
        return subprocess.check_output(line, cwd=tmp_path, text=True).strip()

    return said


FIGURE = {"value": 81.25, "low": 70, "high": 90}


def run(**scores):
    return {"n_examples": 5, "scores": {"n_test": 1, "mistakes": [], **scores}}


def test_a_figure_says_of_how_many_texts_it_is(said):
    measured = run(f1=FIGURE, how="test", n_test=1, n_entities=23)
    assert said(measured) == "F1 81.3 (95 %: 70 to 90) on 1 test text with 23 entities"


def test_a_figure_says_that_it_is_of_a_cross_validation(said):
    measured = run(f1=FIGURE, how="crossval", n_texts=24)
    assert said(measured).startswith("F1 81.3 (95 %: 70 to 90), by leaving each part")


def test_figures_are_those_of_the_last_training(said):
    before = run(f1=FIGURE, how="test", n_entities=23)
    assert said(before, run(missing="More is needed.")) == "More is needed."
    assert said(before, run()) == "The figure is being measured."


def test_before_a_training_it_is_said_what_test_texts_are_for(said):
    assert said().startswith("Each tenth text is kept for the test part")
