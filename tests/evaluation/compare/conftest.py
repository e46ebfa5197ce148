"""A tiny dataset with two splits, a config over it, and jobs run in this process."""

import json

import pytest

from spacy_entlm.evaluation.compare.config import read_config
from spacy_entlm.evaluation.compare.data import DatasetReader
from spacy_entlm.evaluation.compare.train import run_job
from spacy_entlm.evaluation.compare.workers import Outcome


def as_lines(annotated):
    lines = (json.dumps({"text": text, **marks}) for text, marks in annotated)
    return "".join(f"{line}\n" for line in lines)


@pytest.fixture(scope="session")
def data(tmp_path_factory, annotated, label_words):
    """A folder with a test part, two splits for K = 5, and label words."""
    folder = tmp_path_factory.mktemp("data")
    (folder / "5shot").mkdir()
    (folder / "test.jsonl").write_text(as_lines(annotated))
    (folder / "5shot" / "1.jsonl").write_text(as_lines(annotated))
    (folder / "5shot" / "2.jsonl").write_text(as_lines(annotated[::-1][1:]))
    (folder / "words.json").write_text(json.dumps(label_words))
    return folder


@pytest.fixture
def raw_config(data, bert):
    """A config as YAML gives it; a test may change it."""
    return {
        "datasets": {
            "tiny": {
                "data": str(data),
                "lang": "xx",
                "label_words": str(data / "words.json"),
            }
        },
        "splits": [1],
        "seeds": [1],
        "backbones": {"bert": {"path": str(bert), "learn_rate": 0.01}},
        "methods": ["entlm"],
        "settings": {"epochs": 2},
    }


@pytest.fixture
def make(raw_config, tmp_path):
    """Makes a checked config, with top-level values in place of those above."""

    def make(overrides=None, **values):
        path = tmp_path / "comparison.yml"
        path.write_text(json.dumps({**raw_config, **values}))
        return read_config(path, overrides or {})

    return make


@pytest.fixture
def inline(monkeypatch):
    """Runs jobs in this process; gives the list of those that were run."""
    done = []

    def run_inline(jobs, datasets, folder, **_):
        for job in jobs:
            done.append(job)
            reader = DatasetReader(datasets[job[0].name.dataset])
            yield Outcome(job, run_job(job, reader))

    monkeypatch.setattr("spacy_entlm.evaluation.compare.run.run_jobs", run_inline)
    return done
