"""The file of a workbench: answers, undo, history, and what a kill leaves."""

import os
import signal
import sqlite3
import stat
import subprocess
import sys
import textwrap

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spacy_entlm.files.errors import DataError
from spacy_entlm.workbench.adding import Added, NewText
from spacy_entlm.workbench.changes import ACCEPT, IGNORE, OPEN
from spacy_entlm.workbench.store import Conflict, Store

from .conftest import history


def mark(store, number, marks, answer=OPEN):
    return store.answer(number, answer, marks, store.text(number)["version"])


def test_marks_are_there_in_order_when_the_store_is_opened_again(store):
    mark(store, 1, [(4, 5, 2), (0, 2, 1)], ACCEPT)
    text = Store(store.path).text(1)
    assert text["marks"] == [[0, 2, 1], [4, 5, 2]] and text["answer"] == ACCEPT
    assert store.counts()["marks"] == {1: 1, 2: 1}


def test_undo_goes_back_step_by_step_and_history_keeps_all(store):
    mark(store, 1, [(0, 1, 1)])
    mark(store, 1, [(0, 2, 1)], ACCEPT)
    store.change_class(1, name="PERSON")
    assert store.undo() == {"kind": "rename", "target": 1, "n": 1}
    assert store.classes()[0]["name"] == "PER"
    assert store.undo() == {"kind": "answer", "target": 1, "n": 1}
    assert (store.text(1)["marks"], store.text(1)["answer"]) == ([[0, 1, 1]], OPEN)
    store.undo()
    assert store.text(1)["marks"] is None
    assert store.undo() is None
    kinds = [row["kind"] for row in history(store.path)]
    assert kinds[-6:] == ["answer", "answer", "rename", "undo", "undo", "undo"]
    times = [row["time"] for row in history(store.path)]
    assert times == sorted(times)


def test_after_an_undo_something_else_can_be_done_and_undone(store):
    mark(store, 1, [(0, 1, 1)])
    store.undo()
    mark(store, 2, [(0, 1, 2)])
    assert store.undo()["target"] == 2
    assert store.undo() is None


def test_an_undone_class_is_gone_and_its_number_is_not_given_again(store):
    number = store.add_class("DRUG")
    store.undo()
    assert [row["name"] for row in store.classes()] == ["PER", "LOC", "ORG"]
    assert store.add_class("GENE") == number + 1


def test_what_was_given_is_not_taken_back(store):
    store.add_texts([NewText([("Rome", False)], [(0, 1, "CITY")])])
    assert store.undo() is None
    assert store.counts()["train"] + store.counts()["test"] == 1


def test_a_given_class_is_found_again_under_its_new_name(store):
    store.change_class(1, name="PERSON")
    assert store.add_class("PER", given=True) == 1  # the same command comes back
    store.add_texts([NewText([("Ann", False)], [(0, 1, "PER")], False)])
    (text,) = store.answered()
    assert text["marks"] == [[0, 1, 1]]
    assert [row["name"] for row in store.classes()] == ["PERSON", "LOC", "ORG"]
    store.undo()
    assert store.classes()[0]["name"] == "PER"
    # On the page it is another one.
    store.change_class(1, name="PERSON")
    assert store.add_class("PER") == 4
    assert store.undo() == {"kind": "class", "target": 4, "n": 1}
    assert store.undo() == {"kind": "rename", "target": 1, "n": 1}


def test_a_name_that_is_taken_does_not_hold_up_what_was_before(store):
    mark(store, 1, [(0, 1, 1)])
    store.change_class(1, name="PERSON")
    with sqlite3.connect(store.path) as db:  # as earlier versions did
        db.execute("INSERT INTO classes (id, name) VALUES (9, 'PER')")
    db.close()
    assert store.undo() == {"kind": "rename", "target": 1, "n": 1}
    assert store.undo() == {"kind": "answer", "target": 1, "n": 1}


def test_a_class_that_is_marked_stays(store):
    number = store.add_class("CITY")
    new = NewText([("Rome", True), ("sleeps", False)], [(0, 1, "CITY")], False)
    store.add_texts([new])
    assert store.undo() == {"kind": "class", "target": number, "n": 1}
    assert "CITY" in [row["name"] for row in store.classes()]
    assert store.undo() is None


def test_marks_in_part_wait_for_an_answer(store):
    words = [("Ann", True), ("met", True), ("Bob", False)]
    store.add_texts([NewText(words, [(0, 1, "PER")], False, is_whole=False)])
    text = store.text(store.next_text())
    assert (text["answer"], text["marks"]) == (OPEN, [[0, 1, 1]])
    assert store.answered() == [] and store.undo() is None


steps = st.lists(
    st.one_of(
        st.tuples(st.just("mark"), st.integers(1, 3), st.integers(0, 3)),
        st.tuples(st.just("accept"), st.integers(1, 3), st.integers(0, 3)),
        st.tuples(st.just("undo"), st.just(0), st.just(0)),
    ),
    max_size=12,
)


@settings(max_examples=15, deadline=None)
@given(steps)
def test_undo_leads_through_the_states_that_were_there(tmp_path_factory, steps):
    store = Store(tmp_path_factory.mktemp("undo") / "file")
    store.add_class("PER", given=True)
    words = [(word, True) for word in ["a", "b", "c", "d"]]
    for i in range(3):
        store.add_texts([NewText([*words, (str(i), False)], is_test=False)])

    def state():
        return [(store.text(i)["answer"], store.text(i)["marks"]) for i in (1, 2, 3)]

    past = []
    for kind, number, word in steps:
        if kind == "undo":
            store.undo()
            if past:
                assert state() == past.pop()
        else:
            past.append(state())
            answer = ACCEPT if kind == "accept" else OPEN
            mark(store, number, [(word, word + 1, 1)], answer)


def test_of_two_tabs_the_later_one_is_told(store):
    store.answer(1, OPEN, [(0, 1, 1)], 0)
    with pytest.raises(Conflict, match="changed elsewhere"):
        store.answer(1, ACCEPT, [], 0)
    assert store.text(1)["marks"] == [[0, 1, 1]]


@pytest.mark.parametrize(
    "marks",
    [[(0, 0, 1)], [(-1, 1, 1)], [(0, 99, 1)], [(0, 1, 9)], [(0, 2, 1), (1, 3, 1)]],
)
def test_marks_that_do_not_fit_are_refused(store, marks):
    with pytest.raises(ValueError):
        mark(store, 1, marks)
    assert store.text(1)["marks"] is None


def test_names_of_classes_are_checked(store):
    for name in ("", "O", "B-", "a\nb"):
        with pytest.raises(ValueError, match="no class"):
            store.add_class(name)
    with pytest.raises(ValueError, match="already"):
        store.change_class(1, name="LOC")
    assert store.add_class(" PER ") == 1


def test_a_tenth_is_drawn_for_the_test_and_asked_for_among_ten(tmp_path):
    store = Store(tmp_path / "file")
    store.add_texts([NewText([(f"w{i}", False)]) for i in range(400)], seed=1)
    asked = []
    for _ in range(100):
        number = store.next_text()
        asked.append(store.text(number)["is_test"])
        mark(store, number, [], ACCEPT)
    assert sum(asked) == 10 and sum(asked[:50]) == 5
    counts = store.counts()
    assert (counts["test"], counts["train"]) == (10, 90)
    with sqlite3.connect(store.path) as db:
        (n,) = db.execute("SELECT sum(is_test) FROM texts").fetchone()
    db.close()
    assert 20 <= n <= 60


def test_texts_come_as_they_come_or_as_they_were_drawn(store):
    store.set_setting("order", "coming")
    assert store.next_text() == 1
    assert store.next_text(other_than=1) == 2
    mark(store, 3, [(0, 1, 1)])  # not answered yet: where the person was
    assert store.next_text() == 3
    mark(store, 3, [], IGNORE)
    store.set_setting("order", "chosen")
    order = []
    while (number := store.next_text()) is not None:
        order.append(number)
        mark(store, number, [], ACCEPT)
    assert sorted(order) == [1, 2, 4, 5, 6, 7, 8, 9, 10] and order != sorted(order)


def test_texts_are_there_once(store, texts):
    before = store.counts()["texts"]
    words = [(word, True) for word in texts[0].split()]
    words[-1] = (words[-1][0], False)
    added = store.add_texts([NewText(words), NewText([("New", False)])])
    assert added == Added(new=1)
    assert store.counts()["texts"] == before + 1


def test_only_the_owner_may_read_the_file(store):
    if os.name == "posix":
        assert stat.S_IMODE(store.path.stat().st_mode) == 0o600


def test_another_file_is_not_touched(tmp_path):
    path = tmp_path / "mine"
    path.write_text("not a database at all, but quite a long text of mine " * 50)
    before = path.read_bytes()
    with pytest.raises(DataError, match="is no workbench"):
        Store(path)
    assert path.read_bytes() == before


def test_a_kill_loses_at_most_the_last_click(store):
    """A process answers until it is killed; all that it said it had done is there."""
    code = f"""
    from pathlib import Path
    from spacy_entlm.workbench.store import Store

    store = Store(Path({str(store.path)!r}))
    for i in range(100_000):
        text = store.text(1)
        marks = [(i % 4, i % 4 + 1, 1)]
        done = store.answer(1, "open", marks, text["version"])
        print(done["version"], i % 4, flush=True)
    """
    line = [sys.executable, "-c", textwrap.dedent(code)]
    with subprocess.Popen(line, stdout=subprocess.PIPE, text=True) as process:
        for _ in range(20):
            said = process.stdout.readline()
        process.send_signal(signal.SIGKILL)
        said = [said, *process.stdout.readlines()][-1]
    version, word = map(int, said.split())
    text = Store(store.path).text(1)
    assert text["version"] in (version, version + 1)
    if text["version"] == version:
        assert text["marks"] == [[word, word + 1, 1]]
    assert store.undo()["target"] == 1
