"""A packaged pipeline works where nothing but the packages is."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import spacy

from spacy_entlm.pipeline.requirements import REQUIREMENT

ROOT = Path(__file__).resolve().parents[2]
PREDICT = """
import json, socket, sys

def blocked(*args, **kwargs):
    raise OSError("no network in this test")

socket.socket.connect = blocked
socket.getaddrinfo = blocked
sys.path.insert(0, sys.argv[1])
import en_entlm_packed

nlp = en_entlm_packed.load()
found = []
for doc in nlp.pipe(json.loads(sys.argv[2])):
    scores = doc.spans["entlm_ner"].attrs["scores"]
    ents = [(ent.start, ent.end, ent.label_) for ent in doc.ents]
    found.append([ents, [float(score) for score in scores]])
print(json.dumps(found))
"""


@pytest.mark.slow
def test_packaged_pipeline_gives_the_same_without_network_or_backbone(
    bert, blank_nlp, fit, texts, tmp_path
):
    backbone = tmp_path / "backbone"
    shutil.copytree(bert, backbone)
    nlp = blank_nlp(backbone, lang="en")
    fit(nlp)
    expected = []
    for doc in nlp.pipe(texts):
        scores = doc.spans["entlm_ner"].attrs["scores"]
        ents = [[ent.start, ent.end, ent.label_] for ent in doc.ents]
        expected.append([ents, [float(score) for score in scores]])
    assert any(ents for ents, _ in expected)
    nlp.to_disk(tmp_path / "model")
    backbone.rename(tmp_path / "moved")

    script = ROOT / "project" / "scripts" / "package.py"
    command = [sys.executable, script, tmp_path / "model", tmp_path / "out"]
    run([*command, "--name", "entlm_packed"])
    (wheel,) = (tmp_path / "out").glob("*/dist/*.whl")
    site = tmp_path / "site"
    pip = [sys.executable, "-m", "pip", "install", "--no-deps", "--no-index", "-q"]
    run([*pip, "--target", site, wheel])
    output = run([sys.executable, "-c", PREDICT, site, json.dumps(texts)])
    assert json.loads(output.splitlines()[-1]) == expected


def run(command):
    result = subprocess.run(
        [str(part) for part in command], capture_output=True, text=True, timeout=200
    )
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


def test_package_asks_for_this_distribution_within_1x(bert, start_nlp, tmp_path):
    nlp = start_nlp(bert)
    nlp.to_disk(tmp_path)
    meta = json.loads((tmp_path / "meta.json").read_text())
    assert meta["requirements"] == [REQUIREMENT]


def test_installed_version_satisfies_the_requirement():
    assert spacy.util.is_compatible_version(
        spacy.util.get_package_version("spacy-entlm"),
        REQUIREMENT.removeprefix("spacy-entlm"),
    )


def test_package_of_no_pipeline_is_one_clear_line(tmp_path):
    script = ROOT / "project" / "scripts" / "package.py"
    result = subprocess.run(
        [sys.executable, str(script), str(tmp_path / "none"), str(tmp_path / "out")],
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert result.returncode == 1
    assert "is no trained pipeline" in result.stderr
