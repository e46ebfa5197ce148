"""The names of classes are enough to begin: what is found by them is suggested."""

import json

import pytest
import spacy
from filelock import FileLock

from spacy_entlm.workbench.changes import ACCEPT
from spacy_entlm.workbench.job import N_FIRST
from spacy_entlm.workbench.runs import AFTER, KILLED, LOOK, TRAIN, Runs, Stopped
from spacy_entlm.workbench.store import Store
from spacy_entlm.workbench.worker import main

from .conftest import new_texts


@pytest.fixture
def begun(store, idle):
    """The runs that were begun, without their work."""
    return Runs(store.path.parent)


def test_a_look_begins_once_for_the_same_classes_and_texts(begun, store):
    assert begun.look() == 1
    assert begun.look() is None
    store.change_class(1, words="a human being")
    assert begun.look() == 2
    store.add_class("DRUG")
    assert begun.look() == 3
    store.add_texts(new_texts(["one more"], is_test=False))
    assert begun.look() == 4
    store.order_classes([4, 1, 2, 3])  # which changes nothing that is found
    assert begun.look() is None


def test_a_look_does_not_begin_without_classes_or_after_a_training(tmp_path, idle):
    store = Store(tmp_path / "workbench.sqlite")
    runs = Runs(tmp_path)
    store.add_texts(new_texts(["one text"], is_test=False))
    assert runs.look() is None
    store.add_class("PER")
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "config.cfg").write_text("")
    assert runs.look() is None


def test_a_look_gives_way_to_a_training_and_a_training_to_nothing(begun, folder):
    with FileLock(folder / ".run.lock"):
        look = begun.begin(LOOK)
        begun.check(look)
        training = begun.begin(TRAIN)
        with pytest.raises(Stopped):
            begun.check(look)
        begun.check(training)
        assert begun.begin(LOOK) is None and begun.begin(TRAIN) is None
    with begun.working(look) as kind:
        assert kind is None


def test_a_look_that_was_stopped_begins_again_when_nothing_else_runs(begun, folder):
    with FileLock(folder / ".run.lock"):
        begun.look()
        training = begun.begin(TRAIN)
        assert begun.look_again() is None  # not beside the training
        with pytest.raises(ValueError), begun.working(training):
            raise ValueError("Nothing is marked yet")
        assert begun.look_again() == 3
        assert begun.look_again() is None
    begun.find_killed()
    assert begun.look_again() is None
    assert begun.look_again((KILLED,)) == 4  # the command came back


def test_what_was_stopped_is_not_noted_as_a_failure(begun, folder):
    look = begun.begin(LOOK)
    with begun.working(look) as kind:
        assert kind == LOOK
        with FileLock(folder / ".run.lock"):
            begun.begin(TRAIN)
        begun.check(look)
    assert begun.latest()["kind"] == TRAIN and begun.latest()["state"] == "running"


@pytest.mark.slow
def test_names_alone_mark_all_texts_and_a_training_takes_over(tmp_path, idle):
    """With the backbone of the package, in one process."""
    store, runs = Store(tmp_path / "workbench.sqlite"), Runs(tmp_path)
    texts = [
        *(f"Anna Smith moved to Berlin in {year} ." for year in range(2000, 2024)),
        *(f"John Miller came from Paris on day {day} ." for day in range(24)),
    ]
    store.add_texts(new_texts(texts, is_test=False))
    store.setting("lang", "en")
    person, city = store.add_class("who"), store.add_class("city")
    store.change_class(person, name="C1", words="person")
    main(tmp_path, runs.look())
    assert runs.latest()["state"] == "done"
    shown = [store.text(number) for number in range(1, len(texts) + 1)]
    assert len(shown) > N_FIRST
    found = [{(a, b, x) for a, b, x, _ in text["proposed"]} for text in shown]
    assert sum((0, 2, person) in one for one in found) > 40
    assert sum((4, 5, city) in one or (5, 6, city) in one for one in found) > 40
    sure = [x[3] for text in shown for x in text["proposed"]]
    assert min(sure) >= 0.05 and max(sure) < 1
    assert all(text["marks"] is None for text in shown)
    assert float(store.setting("suits", "0")) == 0.3
    # Berlin is none any more: the training decides.
    for number in (*range(1, 9), *range(25, 33)):
        marks = [(0, 2, person)]
        store.answer(number, ACCEPT, marks, store.text(number)["version"])
    main(tmp_path, runs.begin(TRAIN))
    assert (runs.latest()["kind"], runs.latest()["state"]) == (AFTER, "done")
    rest = [store.text(number) for number in (*range(9, 25), *range(33, 49))]
    found = [[x for x in text["proposed"] if x[3] >= 0.3] for text in rest]
    assert sum(any(x[2] == person for x in one) for one in found) > 28
    assert sum(any(x[2] == city for x in one) for one in found) < 4
    # Of 16 texts with 16 entities there is no figure yet.
    (run,) = runs.trained()
    assert "4 more marked entities" in run["scores"]["missing"]
    assert "f1" not in run["scores"] and run["n_examples"] == 16


@pytest.mark.slow
def test_a_small_test_part_gives_way_to_a_cross_validation(
    folder, store, texts, gold, bert, idle
):
    store.setting("backbone", str(bert))
    # Ten texts, each of them twice with a word before.
    store.add_texts(new_texts([f"So {text}" for text in texts], is_test=False))
    for number in range(1, 11):
        marks = gold(store.text(number))
        store.answer(number, ACCEPT, marks, 0)
        moved = [(a + 1, b + 1, x) for a, b, x in marks]
        store.answer(number + 10, ACCEPT, moved, 0)
    runs = Runs(folder)
    main(folder, runs.begin(TRAIN))
    (run,) = runs.trained()
    scores = run["scores"]
    assert (scores["how"], scores["n_texts"], scores["n_test"]) == ("crossval", 20, 0)
    assert 0 <= scores["f1"]["low"] <= scores["f1"]["value"] <= scores["f1"]["high"]
    assert set(scores["classes"]) <= {"1", "2", "3"}
    for mistake in scores["mistakes"]:
        own = "".join(w + " " * b for w, b in store.text(mistake["text"])["words"])
        for side in ("marked", "found"):
            assert "".join(piece[0] for piece in mistake[side]) == own
    assert json.dumps(scores)
    page = (folder / "crossval.html").read_text(encoding="utf8")
    assert "Found:" in page or "usable" in page
    assert f"{scores['f1']['value']:.1f}" in page
    # A wheel that is built now tells these figures.
    figures = json.loads((folder / "figures.json").read_text(encoding="utf8"))
    assert (figures["how"], figures["sentences"]) == ("crossval", 20)
    assert figures["n_entities"] >= 20 and 0 <= figures["bio"]["f"] <= 1


@pytest.mark.slow
def test_classes_without_examples_are_told_and_those_without_a_meaning_left_out(
    tmp_path, idle
):
    """With the backbone of the package, in one process."""
    store, runs = Store(tmp_path / "workbench.sqlite"), Runs(tmp_path)
    store.setting("lang", "en")
    person, ship, odd, meant, marked = (
        store.add_class(x) for x in ("person", "ship", "C1", "C2", "C3")
    )
    store.change_class(meant, words="city")
    texts = [f"Anna Smith left at {hour} ." for hour in range(1, 7)]
    store.add_texts(new_texts(texts, is_test=False))
    for number in range(1, 5):
        store.answer(number, ACCEPT, [(0, 2, person), (4, 5, marked)], 0)
    main(tmp_path, runs.begin(TRAIN))
    (run,) = runs.trained()
    assert run["scores"]["unseen"] == [ship, meant]
    assert run["scores"]["left_out"] == [odd]
    pipe = spacy.load(tmp_path / "model").get_pipe("entlm_ner")
    assert set(pipe.labels) == {"person", "ship", "C2", "C3"}
