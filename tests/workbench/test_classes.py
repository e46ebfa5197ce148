"""Classes: merged, taken away, ordered, described, coloured; undo and redo."""

import itertools

import numpy
import pytest

from spacy_entlm.workbench.changes import ACCEPT
from spacy_entlm.workbench.classes import COLORS

PER, LOC, ORG = 1, 2, 3


def names(store):
    return [row["name"] for row in store.classes()]


@pytest.fixture
def marked(store):
    store.answer(1, ACCEPT, [(0, 1, PER), (2, 3, LOC)], 0)
    store.answer(2, ACCEPT, [(0, 1, PER)], 0)
    return store


def test_a_class_that_is_merged_gives_its_marks_to_the_other(marked):
    assert marked.remove_class(PER, ORG) == 2
    assert names(marked) == ["LOC", "ORG"]
    assert marked.text(1)["marks"] == [[0, 1, ORG], [2, 3, LOC]]
    # The same command comes back: the class stays merged.
    assert marked.add_class("PER", given=True) == ORG
    assert marked.undo() == {"kind": "class", "target": PER, "n": 3}
    assert names(marked) == ["PER", "LOC", "ORG"]
    assert marked.text(1)["marks"] == [[0, 1, PER], [2, 3, LOC]]
    assert marked.counts()["marks"] == {PER: 2, LOC: 1}
    marked.redo()
    assert names(marked) == ["LOC", "ORG"]
    assert marked.text(2)["marks"] == [[0, 1, ORG]]


def test_a_class_that_is_taken_away_takes_its_marks_along(marked):
    assert marked.remove_class(PER) == 2
    assert marked.text(1)["marks"] == [[2, 3, LOC]]
    assert marked.add_class("PER", given=True) is None
    assert names(marked) == ["LOC", "ORG"]
    # On the page it can be added again.
    assert marked.add_class("PER") == 4
    with pytest.raises(ValueError, match="no class 1"):
        marked.remove_class(PER)


def test_a_class_keeps_its_meaning_and_its_colour_through_an_undo(store):
    store.change_class(PER, words="  a person's  name ", color="#123456")
    store.remove_class(PER)
    store.undo()
    (row,) = (row for row in store.classes() if row["id"] == PER)
    assert (row["words"], row["color"]) == ("a person's name", "#123456")
    store.undo()
    assert store.classes()[0]["words"] == ""


def test_classes_have_an_order(store):
    store.order_classes([ORG, PER, LOC])
    assert names(store) == ["ORG", "PER", "LOC"]
    store.add_class("DRUG")
    assert names(store) == ["ORG", "PER", "LOC", "DRUG"]
    with pytest.raises(ValueError, match="each class once"):
        store.order_classes([ORG, ORG, PER])


def test_what_was_undone_can_be_done_again_until_something_else_is_done(store):
    store.answer(1, ACCEPT, [(0, 1, PER)], 0)
    store.change_class(PER, name="PERSON")
    assert store.redo() is None
    store.undo()
    store.undo()
    assert store.redo()["kind"] == "answer"
    assert store.text(1)["marks"] == [[0, 1, PER]]
    assert store.redo() == {"kind": "rename", "target": PER, "n": 1}
    assert names(store)[0] == "PERSON" and store.redo() is None
    store.undo()
    store.answer(2, ACCEPT, [], 0)
    assert store.redo() is None
    store.undo()
    assert store.redo()["target"] == 2


def test_a_text_is_moved_and_taken_back_and_an_undo_takes_that_back(store):
    store.answer(1, ACCEPT, [(0, 1, PER)], 0)
    assert store.move(1, True)["is_test"]
    assert store.undo()["kind"] == "move"
    assert not store.text(1)["is_test"]
    version = store.text(1)["version"]
    taken = store.take_back(1, version)
    assert (taken["answer"], taken["marks"]) == ("open", None)
    store.undo()
    assert store.text(1)["marks"] == [[0, 1, PER]]


def test_one_goes_back_and_forth_in_the_order_in_which_texts_were_answered(store):
    for number in (3, 1, 2):
        store.answer(number, ACCEPT, [], 0)
    assert store.neighbour(5, -1) == 2
    assert store.neighbour(2, -1) == 1 and store.neighbour(1, -1) == 3
    assert store.neighbour(3, -1) is None
    assert store.neighbour(3, 1) == 1
    assert store.neighbour(2, 1) is None and store.neighbour(5, 1) is None


# How colours look to those who lack one of the three kinds of cones (Machado et al.
# 2009, in linear RGB).
SEEN = {
    "all": numpy.eye(3),
    "protan": [[0.152, 1.053, -0.205], [0.115, 0.786, 0.099], [-0.004, -0.048, 1.052]],
    "deutan": [[0.367, 0.861, -0.228], [0.280, 0.673, 0.047], [-0.012, 0.043, 0.969]],
}


def linear(color):
    parts = numpy.array([int(color[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    return numpy.where(parts <= 0.04, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)


def oklab(rgb):
    """Ottosson 2020: distances are about as large as they look."""
    to_cones = [[0.412, 0.536, 0.051], [0.212, 0.681, 0.107], [0.088, 0.282, 0.630]]
    to_lab = [[0.210, 0.794, -0.004], [1.978, -2.429, 0.451], [0.026, 0.783, -0.809]]
    return numpy.array(to_lab) @ numpy.cbrt(numpy.array(to_cones) @ rgb.clip(0, 1))


@pytest.mark.parametrize("seen", SEEN)
def test_colours_differ_also_for_the_colour_blind(seen):
    looks = [oklab(numpy.array(SEEN[seen]) @ linear(color)) for color in COLORS]
    assert len(set(COLORS)) == len(COLORS) >= 16
    distances = {
        (i, j): numpy.linalg.norm(looks[i] - looks[j])
        for i, j in itertools.combinations(range(len(COLORS)), 2)
    }
    assert min(x for (i, j), x in distances.items() if j < 7) > 0.08
    assert min(distances.values()) > 0.02


def test_dark_letters_can_be_read_on_each_colour():
    weights = (0.2126, 0.7152, 0.0722)
    dark = weights @ linear("#17181a")
    for color in COLORS:
        assert (weights @ linear(color) + 0.05) / (dark + 0.05) >= 4.5


def test_each_class_gets_a_colour_of_its_own(store):
    for i in range(9):
        store.add_class(f"class {i}")
    assert len({row["color"] for row in store.classes()}) == 12
