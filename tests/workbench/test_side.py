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
    for name in ("side.js", "chart.js"):
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
MEASURED = {
    "n_examples": 5,
    "scores": {"n_test": 3, "mistakes": [], "f1": FIGURE, "classes": {}},
}
UNMEASURED = {"n_examples": 6, "scores": {"n_test": 0, "mistakes": []}}


def test_figures_are_those_of_the_last_training(said):
    assert said(UNMEASURED, MEASURED).startswith("F1 81.3 (95 %: ")


@pytest.mark.parametrize("trained", [[], [UNMEASURED], [MEASURED, UNMEASURED]])
def test_a_training_without_test_texts_says_what_they_are_for(said, trained):
    assert said(*trained).startswith("Each tenth text is kept for the test part")
