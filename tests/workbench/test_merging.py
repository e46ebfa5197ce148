"""Two workbenches in one: what both have is there once, what one has is there too."""

import json
import os

import pytest

from spacy_entlm.files.errors import DataError
from spacy_entlm.lexicon.entries import Entry
from spacy_entlm.workbench.adding import NewDocument, NewText
from spacy_entlm.workbench.changes import ACCEPT, IGNORE, OPEN, REJECT
from spacy_entlm.workbench.docs import export
from spacy_entlm.workbench.merging import DISAGREEMENTS, merge
from spacy_entlm.workbench.names import Names, keep_names
from spacy_entlm.workbench.runs import FILE, Proposal, Runs
from spacy_entlm.workbench.store import Store

from .conftest import history, new_store, new_texts

PER, LOC = 1, 2
TEXTS = ["Anna met Bob", "Bob left Rome", "Carl slept", "Dora sang", "Emil ran"]


@pytest.fixture
def both(tmp_path):
    """Two workbenches of the same five texts: of a person each."""
    stores = []
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        store = new_store(tmp_path / name, "PER", "LOC")
        store.setting("lang", "xx")
        store.add_texts(new_texts(TEXTS, is_test=False))
        stores.append(store)
    return stores


@pytest.fixture
def merged(both, tmp_path):
    """Merges them. RETURNS: What became of them, and the new store."""

    def run(**settings):
        out = tmp_path / "out"
        found = merge(tmp_path / "first", tmp_path / "second", out, **settings)
        return found, Store(out / FILE)

    return run


def accept(store, number, *marks, answer=ACCEPT):
    store.answer(number, answer, marks, store.text(number)["version"])


def state(store, text):
    """The answer of a text, and its marked words with their classes."""
    names = {row["id"]: row["name"] for row in store.classes()}
    for number in range(1, store.counts()["texts"] + 1):
        found = store.text(number)
        words = [word for word, _ in found["words"]]
        if "".join(w + " " * blank for w, blank in found["words"]) == text:
            marks = found["marks"] or ()
            own = [(" ".join(words[a:b]), names[n]) for a, b, n in marks]
            return found["answer"], own
    raise AssertionError(f"There is no {text}")


def test_each_text_is_there_once_with_the_answer_of_whoever_has_one(both, merged):
    first, second = both
    accept(first, 1, (0, 1, PER))
    accept(second, 1, (0, 1, PER))
    accept(first, 2, (2, 3, LOC))
    accept(second, 3, (0, 1, PER))
    second.add_texts(new_texts(["Fred won"], is_test=False))
    accept(second, 6, (0, 1, PER))
    found, store = merged()
    assert store.counts()["texts"] == 6 and found.disagreements == []
    assert state(store, "Anna met Bob") == (ACCEPT, [("Anna", "PER")])
    assert state(store, "Bob left Rome") == (ACCEPT, [("Rome", "LOC")])
    assert state(store, "Carl slept") == (ACCEPT, [("Carl", "PER")])
    assert state(store, "Dora sang") == (OPEN, [])
    assert state(store, "Fred won") == (ACCEPT, [("Fred", "PER")])
    assert "6 texts, 5 of them in both" in found.notes
    assert "1 text answered alike by both" in found.notes
    assert "1 text answered by the second only, whose answer is taken" in found.notes


def test_the_two_stay_as_they_are(both, merged, tmp_path):
    accept(both[0], 1, (0, 1, PER))
    accept(both[1], 1, (2, 3, PER))
    before = [(each.text(1), len(history(each.path))) for each in both]
    files = [sorted(os.listdir(tmp_path / x)) for x in ("first", "second")]
    _, store = merged()
    accept(store, 1, (0, 1, PER))
    assert [(each.text(1), len(history(each.path))) for each in both] == before
    assert [sorted(os.listdir(tmp_path / x)) for x in ("first", "second")] == files


def test_where_they_disagree_the_text_waits_and_both_sides_are_shown(
    both, merged, tmp_path
):
    accept(both[0], 1, (0, 1, PER), (2, 3, PER))
    accept(both[1], 1, (0, 1, LOC), (2, 3, PER))
    found, store = merged()
    text = store.text(1)
    assert (text["answer"], text["marks"]) == (OPEN, None)
    assert text["others"] == [
        [[0, 1, PER], [2, 3, PER]],
        [[0, 1, LOC], [2, 3, PER]],
    ]
    assert store.doubtful() == [1]
    (line,) = (tmp_path / "out" / DISAGREEMENTS).read_text("utf8").splitlines()
    entry = json.loads(line)
    assert entry["text"] == "Anna met Bob" and entry["taken"] == "none"
    bob = {"start": 9, "end": 12, "label": "PER", "text": "Bob"}
    anna = {"start": 0, "end": 4, "text": "Anna"}
    assert entry["first"]["spans"] == [{**anna, "label": "PER"}, bob]
    assert entry["second"]["spans"] == [{**anna, "label": "LOC"}, bob]
    accept(store, 1, (0, 1, PER))  # a person decides
    assert store.doubtful() == [] and store.text(1)["others"] == []
    # 1 of 2 entities is in both; of 3 words 2 are equal.
    assert found.agreement.f1 == pytest.approx(0.5)


@pytest.mark.parametrize("take, taken", [("first", "Anna"), ("second", "Bob")])
def test_an_option_decides_where_they_disagree(both, merged, take, taken):
    accept(both[0], 1, (0, 1, PER))
    accept(both[1], 1, (2, 3, PER))
    found, store = merged(take=take)
    assert state(store, "Anna met Bob") == (ACCEPT, [(taken, "PER")])
    assert [x.taken for x in found.disagreements] == [take]
    assert store.doubtful() == []


def test_a_rejected_text_disagrees_with_an_accepted_one_a_skipped_one_does_not(
    both, merged
):
    accept(both[0], 1, (0, 1, PER))
    accept(both[1], 1, answer=REJECT)
    accept(both[0], 2, answer=IGNORE)
    accept(both[1], 2, (0, 1, PER))
    accept(both[0], 3, (0, 1, PER))
    accept(both[1], 3, answer=IGNORE)
    found, store = merged()
    assert [x.text for x in found.disagreements] == ["Anna met Bob"]
    assert state(store, "Bob left Rome") == (ACCEPT, [("Bob", "PER")])
    assert state(store, "Carl slept") == (ACCEPT, [("Carl", "PER")])
    said = "2 texts skipped by one: what the other one answered is taken"
    assert said in found.notes
    assert found.agreement.n_texts == 0


def test_agreement_is_that_of_the_texts_that_both_accepted(both, merged):
    accept(both[0], 1, (0, 1, PER), (2, 3, PER))
    accept(both[1], 1, (0, 1, PER))
    accept(both[0], 2, (2, 3, LOC))
    accept(both[1], 2, (2, 3, LOC))
    accept(both[0], 3, (0, 1, PER))
    found, _ = merged()
    agreement = found.agreement
    assert (agreement.n_texts, agreement.n_words) == (2, 6)
    # 2 entities in both, 3 and 2 in all. 5 of 6 words are equal; by chance
    # (2 * 1 + 1 * 1 + 3 * 4) / 36; kappa (30 - 15) / (36 - 15).
    assert agreement.f1 == pytest.approx(4 / 5)
    assert agreement.kappa == pytest.approx(15 / 21)


def test_marks_that_a_file_gave_to_both_are_no_agreement(both, merged):
    given = NewText([("Gina", True), ("left", False)], [(0, 1, "PER")], False)
    for store in both:
        store.add_texts([given])
    found, store = merged()
    assert found.agreement.n_texts == 0 and found.agreement.kappa is None
    assert state(store, "Gina left") == (ACCEPT, [("Gina", "PER")])
    said = "1 text with the same marks of a file, which nobody changed"
    assert said in found.notes


def test_classes_of_both_are_there_also_renamed_ones(both, merged):
    first, second = both
    first.change_class(PER, name="person")
    first.add_class("SHIP")
    number = second.add_class("DISH")
    second.change_class(number, words="something to eat", color="#112233")
    accept(first, 1, (0, 1, PER))
    accept(second, 1, (0, 1, PER))
    accept(second, 2, (0, 1, number))
    found, store = merged()
    rows = {row["name"]: row for row in store.classes()}
    assert list(rows) == ["person", "LOC", "SHIP", "DISH"]
    assert rows["DISH"]["words"] == "something to eat"
    assert rows["DISH"]["color"] == "#112233"
    assert found.disagreements == []
    assert state(store, "Bob left Rome") == (ACCEPT, [("Bob", "DISH")])
    assert "PER of the second is person of the first" in found.notes
    assert "Classes of the first only, which are kept: SHIP" in found.notes
    assert "Classes of the second only, which are kept: DISH" in found.notes


def test_the_test_parts_of_both_are_kept(both, merged):
    both[0].move(1, True)
    both[1].move(2, True)
    both[1].add_texts(new_texts(["Fred won"], is_test=True))
    found, store = merged()
    assert [store.text(i)["is_test"] for i in (1, 2, 3)] == [True, True, False]
    assert store.text(6)["is_test"]
    said = "2 texts in the test part of one only: in the test part of the new one"
    assert said in found.notes


def test_marks_that_are_not_answered_are_kept(both, merged):
    accept(both[0], 1, (0, 1, PER), answer=OPEN)
    accept(both[1], 1, (2, 3, PER), answer=OPEN)
    accept(both[1], 2, (0, 1, PER), answer=OPEN)
    found, store = merged()
    assert state(store, "Anna met Bob") == (OPEN, [("Anna", "PER")])
    assert store.text(1)["others"] == [[[2, 3, PER]]]
    assert state(store, "Bob left Rome") == (OPEN, [("Bob", "PER")])
    assert found.disagreements == []


def test_other_words_of_the_same_text_are_compared_by_characters(both, merged):
    whole = NewText([("Ann-Kathrin", True), ("left", False)], [(0, 1, "PER")], False)
    words = [("Ann", False), ("-", False), ("Kathrin", True), ("left", False)]
    both[0].add_texts([whole])
    both[1].add_texts([NewText(words, [(0, 3, "PER")], False)])
    found, store = merged()
    assert found.disagreements == []
    assert state(store, "Ann-Kathrin left") == (ACCEPT, [("Ann-Kathrin", "PER")])
    assert store.counts()["texts"] == 6


def test_marks_within_words_of_the_other_bring_their_words(both, merged):
    words = [("Ann", False), ("-", False), ("Kathrin", True), ("left", False)]
    both[0].add_texts([NewText([("Ann-Kathrin", True), ("left", False)])])
    both[1].add_texts([NewText(words, [(2, 3, "PER")], False)])
    _, store = merged()
    assert state(store, "Ann-Kathrin left") == (ACCEPT, [("Kathrin", "PER")])


def test_what_came_in_comes_out_with_its_keys(both, merged, tmp_path):
    parts = [(0, NewText([("Ida", True), ("ran", False)]))]
    both[1].add_texts([NewDocument("Ida ran", parts, {"id": 7})])
    accept(both[1], 6, (0, 1, PER))
    _, store = merged()
    export(store, tmp_path / "data")
    parts = (tmp_path / "data").glob("*.jsonl")
    entries = [json.loads(x) for p in parts for x in p.read_text("utf8").splitlines()]
    (ida,) = (entry for entry in entries if entry["text"] == "Ida ran")
    assert ida["id"] == 7 and ida["spans"][0]["label"] == "PER"
    assert len(entries) == 6


def test_lists_of_names_are_put_together(both, merged):
    keep_names(both[1], [Entry("Zora", "PER")])
    _, store = merged()
    assert Names(store).by_class() == {"PER": ["Zora"]}


def test_what_a_model_found_and_what_was_done_before_is_left_behind(
    both, merged, idle, tmp_path
):
    runs = Runs(tmp_path / "first")
    runs.begin("train")
    runs.propose([Proposal(2, 0, [[0, 1, PER, 0.9]], {})])
    accept(both[0], 1, (0, 1, PER))
    token = both[0].token()
    _, store = merged()
    new = Runs(tmp_path / "out")
    assert new.latest() is None and store.text(2)["proposed"] == []
    assert store.token() != token
    assert store.undo() is None and store.text(1)["answer"] == ACCEPT
    accept(store, 2, (0, 1, PER))
    assert store.undo()["target"] == 2


def test_three_people_are_merged_two_by_two(both, merged, tmp_path):
    accept(both[0], 1, (0, 1, PER))
    accept(both[1], 2, (0, 1, PER))
    merged()
    third = tmp_path / "third"
    third.mkdir()
    store = new_store(third, "PER")
    store.add_texts(new_texts(TEXTS, is_test=False))
    accept(store, 1, (0, 1, 1))
    found = merge(tmp_path / "out", third, tmp_path / "all")
    assert found.agreement.n_texts == 1 and found.agreement.f1 == pytest.approx(1)
    assert Store(tmp_path / "all" / FILE).counts()["answers"][ACCEPT] == 2


def test_what_is_no_workbench_is_told(both, tmp_path):
    out = tmp_path / "out"
    (tmp_path / "odd").mkdir()
    with pytest.raises(DataError, match=r"odd.*no workbench: it has no workbench"):
        merge(tmp_path / "first", tmp_path / "odd", out)
    (tmp_path / "odd" / FILE).write_text("This is no database, but a text." * 50)
    with pytest.raises(DataError, match=r"odd.*is no workbench"):
        merge(tmp_path / "first", tmp_path / "odd", out)
    with pytest.raises(DataError, match="choose none, first, second"):
        merge(tmp_path / "first", tmp_path / "second", out, "third")
    with pytest.raises(DataError, match="is there already"):
        merge(tmp_path / "first", tmp_path / "second", tmp_path / "odd")
    assert not out.exists()
