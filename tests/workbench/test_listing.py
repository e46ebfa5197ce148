"""All texts and all entities of a class: found, counted, and mended."""

import time

import numpy
import pytest

from spacy_entlm.workbench.changes import ACCEPT, IGNORE, OPEN, REJECT
from spacy_entlm.workbench.listing import Listing
from spacy_entlm.workbench.runs import Proposal, Runs
from spacy_entlm.workbench.store import Store

from .conftest import new_store, new_texts

PER, LOC, ORG = 1, 2, 3


@pytest.fixture
def listing(folder):
    store = new_store(folder, "PER", "LOC", "ORG")
    texts = [
        *("Apple sells an apple", "Apple Inc grows", "Ann buys Apple and Apple"),
        *("Bob eats pineApple", "Apple falls", "Apple again", "Rome 100%"),
    ]
    store.add_texts(new_texts(texts, is_test=False))
    store.answer(1, ACCEPT, [(0, 1, ORG)], 0)
    store.answer(2, ACCEPT, [(0, 2, ORG)], 0)
    store.answer(3, ACCEPT, [(0, 1, PER), (2, 3, ORG)], 0)
    store.answer(4, REJECT, [(0, 1, PER)], 0)
    store.answer(5, OPEN, [(0, 1, LOC)], 0)
    found = [
        Proposal(6, 0, [[0, 1, ORG, 0.8]], {}),
        Proposal(7, 1, [[0, 1, LOC, 0.3]], {}),
        Proposal(1, None, [[0, 1, PER, 0.9]], {}, store.text(1)["version"]),
    ]
    Runs(folder).propose(found)
    return Listing(store)


def ids(found):
    return [row["id"] for row in found["rows"]]


def test_each_kind_of_texts_is_counted_and_listed(listing):
    found = listing.texts()
    assert (ids(found), found["total"]) == ([1, 2, 3, 4, 5, 6, 7], 7)
    assert found["kinds"] == {
        **{"all": 7, "new": 2, "begun": 1, "done": 3, "skipped": 0, "rejected": 1},
        **{"disagreements": 1, "test": 0},
    }
    kinds = {kind: ids(listing.texts(kind=kind)) for kind in found["kinds"]}
    assert kinds["new"] == [6, 7] and kinds["begun"] == [5]
    assert kinds["done"] == [1, 2, 3] and kinds["rejected"] == [4]
    assert kinds["disagreements"] == [1] and kinds["test"] == []
    with pytest.raises(ValueError, match="no such kind"):
        listing.texts(kind="1; DROP TABLE texts")


def test_texts_are_found_by_words_class_and_confidence(listing):
    assert ids(listing.texts(words="APPLE")) == [1, 2, 3, 4, 5, 6]
    assert ids(listing.texts(words="100%")) == [7] == ids(listing.texts(words="0%"))
    assert ids(listing.texts(words="_")) == []
    # By what a person marked, where there are marks, else by what was found.
    assert ids(listing.texts(class_=PER)) == [3]
    assert ids(listing.texts(class_=LOC)) == [5, 7]
    assert ids(listing.texts(class_=LOC, least=0.5)) == [5]
    assert ids(listing.texts(below=0.5)) == [7]
    assert ids(listing.texts(words="rome", class_=LOC, below=0.5, kind="new")) == [7]
    assert ids(listing.texts(order="unsure"))[:2] == [7, 6]
    assert ids(listing.texts(order="latest"))[:4] == [4, 3, 2, 1]


def test_a_row_shows_what_is_marked_or_found(listing):
    rows = {row["id"]: row for row in listing.texts(least=0.5)["rows"]}
    assert rows[3]["marks"] == [("Ann", PER, None), ("Apple", ORG, None)]
    assert rows[6]["marks"] == [("Apple", ORG, 0.8)]
    assert rows[7]["marks"] == [] and rows[1]["differs"] and not rows[2]["differs"]


def test_the_entities_of_a_class_show_where_they_are_marked_and_where_not(listing):
    rows = {row["words"]: row for row in listing.entities(ORG)["rows"]}
    assert list(rows) == ["Apple", "Apple Inc"]
    # Marked twice, once as LOC, once found; and once it stands there unmarked, which
    # is neither in "apple" nor in "pineApple" nor in "Apple Inc".
    assert rows["Apple"] == {
        **{"words": "Apple", "marked": 2, "found": 1, "other": {"LOC": 1}, "plain": 1}
    }
    assert listing.entities(ORG, mixed=True)["total"] == 1
    assert listing.entities(ORG, words="inc")["total"] == 1
    assert listing.entities(LOC, least=0.5)["total"] == 1


def test_contexts_say_what_is_marked_and_what_is_only_found(listing):
    found = listing.contexts("Apple")
    assert found["total"] == 6
    places = [
        (row["text"], row["class"], row["is_found"], row["is_longer"])
        for row in found["rows"]
    ]
    assert places == [
        *((1, ORG, False, False), (2, ORG, False, True), (3, ORG, False, False)),
        *((3, None, False, False), (5, LOC, False, False), (6, ORG, True, False)),
    ]
    row = found["rows"][3]
    assert (row["before"], row["words"], row["after"]) == (
        *("Ann buys Apple and ", "Apple", ""),
    )


def test_a_string_is_mended_everywhere_in_one_go_and_undone_in_one(listing, folder):
    store = Store(folder / "workbench.sqlite")
    assert listing.mend("Apple", ORG, [1, 2, 3, 4, 5, 6]) == 2
    assert store.text(3)["marks"] == [[0, 1, PER], [2, 3, ORG], [4, 5, ORG]]
    assert store.text(5)["marks"] == [[0, 1, ORG]]
    # A longer mark, a rejected text and one without marks stay.
    assert store.text(2)["marks"] == [[0, 2, ORG]]
    assert store.text(4)["marks"] == [[0, 1, PER]] and store.text(6)["marks"] is None
    assert store.text(3)["answer"] == ACCEPT and store.text(5)["answer"] == OPEN
    assert store.undo()["n"] == 2
    assert store.text(5)["marks"] == [[0, 1, LOC]]
    assert listing.mend("Apple", None, [1, 3]) == 2
    assert store.text(3)["marks"] == [[0, 1, PER]]
    with pytest.raises(ValueError, match="no class 9"):
        listing.mend("Apple", 9, [1])


def test_texts_of_the_test_part_hide_what_was_found(listing, folder):
    store = Store(folder / "workbench.sqlite")
    store.move(6, True)
    rows = {row["id"]: row for row in listing.texts()["rows"]}
    assert rows[6]["marks"] == [] and rows[6]["is_test"]
    assert listing.entities(ORG)["rows"][0]["found"] == 0
    assert ids(listing.texts(class_=ORG)) == [1, 2, 3]


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """A workbench of 10,000 texts, 1,000 of them answered, all with proposals."""
    folder = tmp_path_factory.mktemp("large")
    store = new_store(folder, "PER", "LOC", "ORG")
    rng = numpy.random.default_rng(0)
    names = [f"Name{i}" for i in range(500)]
    texts, proposals = [], []
    for i in range(10_000):
        own = rng.choice(names, 20).tolist()
        marks = [(int(k), int(k) + 1, "PER") for k in rng.choice(20, 3, False)]
        known = sorted(marks) if i < 1000 else None
        texts += new_texts([" ".join([*own, str(i)])], marks=known, is_test=False)
        spans = [[a, b, PER, 0.5] for a, b, _ in sorted(marks)]
        proposals.append(Proposal(i + 1, None, spans, {}))
    store.add_texts(texts)
    Runs(folder).propose(proposals)
    return store


@pytest.mark.slow
def test_answers_are_fast_with_ten_thousand_texts(large):
    listing, times = Listing(large), {}
    calls = {
        "list": lambda: listing.texts(words="Name7", class_=PER, order="unsure"),
        "latest": lambda: listing.texts(order="latest", page=100),
        "entities": lambda: listing.entities(PER),
        "contexts": lambda: listing.contexts("Name77"),
        "counts": large.counts,
        "next": large.next_text,
        "doubtful": large.doubtful,
    }
    for name, call in calls.items():
        seconds = []
        for _ in range(5):
            before = time.thread_time()
            call()
            seconds.append(time.thread_time() - before)
        times[name] = min(seconds)
    assert max(times.values()) < 0.1, times
    assert large.counts()["answers"][IGNORE] == 0


def test_a_context_is_cut_between_words_and_says_so(listing, store):
    before, after = "one two three four " * 5, " five six seven" * 8
    store.add_texts(new_texts([f"{before}Zoe{after}"], is_test=False))
    (row,) = listing.contexts("Zoe")["rows"]
    assert row["before"].startswith("… ") and before.endswith(row["before"][2:])
    assert before[: -len(row["before"][2:])].endswith(" ")
    assert row["after"].endswith("…") and after.startswith(row["after"][:-1])
    assert len(row["before"]) <= 62 and len(row["after"]) <= 61
