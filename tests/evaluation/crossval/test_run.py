"""What finished trainings found outlives the run, and a bar says how long it takes."""

import io
import json
import sys

import pytest

from spacy_entlm.evaluation.crossval.result import Outcome
from spacy_entlm.evaluation.crossval.run import Settings, duration, run_trainings
from spacy_entlm.files.errors import DataError

SETTINGS = Settings(n_folds=2, n_repeats=1, curve=False)
WORDS = {"PER": ["Ann"]}


class StubTrainer:
    """Finds the first word in every sentence."""

    def __init__(self, name="a"):
        self.name, self.n_trainings = name, 0

    def fingerprint(self):
        return self.name

    def train_and_predict(self, train, test, *, seed):
        self.n_trainings += 1
        return Outcome([[(0, 1, "Ort ä")] for _ in test], WORDS)


@pytest.fixture
def out(tmp_path):
    return tmp_path / "new" / "a.html"


@pytest.fixture
def store(out):
    out.parent.mkdir()
    return out.with_name("a.folds.jsonl")


@pytest.fixture
def run(make_doc, out):
    docs = [make_doc("Ann left", [(0, 1, "PER")]) for _ in range(6)]

    def run(trainer, **options):
        return run_trainings(trainer, docs, SETTINGS, out, **options)

    return run


def test_what_was_found_is_read_by_the_next_run(run):
    trainer = StubTrainer()
    first = run(trainer)
    assert run(trainer) == first
    assert trainer.n_trainings == 2
    assert {o.label_words["PER"][0] for o in first.values()} == {"Ann"}
    assert run(StubTrainer("b")) == first


def test_an_unfinished_line_is_taken_away(run, store):
    first = run(StubTrainer())
    store.write_bytes(store.read_bytes()[:-5])
    trainer = StubTrainer()
    assert run(trainer) == first
    assert trainer.n_trainings == 1
    assert store.read_text(encoding="utf8").count("\n") == 2


@pytest.mark.parametrize(
    "text",
    [
        "my notes",
        '{"format": "crossval.v1", "key": "a"}\n',
        '{"format": "crossval.v1", "key": 3, "found": [[1]], "label_words": {}}\n',
    ],
)
def test_a_foreign_file_is_refused_and_stays_as_it_is(run, store, text):
    store.write_text(text)
    trainer = StubTrainer()
    with pytest.raises(DataError, match=r"a\.folds\.jsonl"):
        run(trainer)
    assert store.read_text() == text
    assert trainer.n_trainings == 0


def test_a_report_of_other_settings_is_not_replaced(run, out, store):
    out.write_text("a report")
    trainer = StubTrainer()
    with pytest.raises(DataError, match="--overwrite"):
        run(trainer)
    assert trainer.n_trainings == 0
    run(trainer, overwrite=True)
    run(trainer)
    with pytest.raises(DataError, match="--overwrite"):
        run(StubTrainer("b"))


def test_a_bar_says_how_long_it_takes(run, monkeypatch):
    screen = io.StringIO()
    monkeypatch.setattr(screen, "isatty", lambda: True)
    monkeypatch.setattr(sys, "stderr", screen)
    run(StubTrainer())
    assert "Training 1 of 2" in screen.getvalue()
    assert "to go" in screen.getvalue()


def test_lines_hold_what_was_found(run, store):
    run(StubTrainer())
    line = json.loads(store.read_text(encoding="utf8").splitlines()[0])
    assert line["found"] == [[[0, 1, "Ort ä"]]] * 3
    assert line["label_words"] == WORDS


@pytest.mark.parametrize(
    "seconds, text",
    [
        *((0, "a few seconds"), (45.2, "about 45 seconds"), (80, "about 80 seconds")),
        *(
            (120, "about 2 minutes"),
            (5000, "about 83 minutes"),
            (7200, "about 2 hours"),
        ),
    ],
)
def test_a_time_is_told_as_people_say_it(seconds, text):
    assert duration(seconds) == text
