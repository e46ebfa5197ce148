"""A list of names pre-marks texts, until a model knows better."""

import json

import pytest

from spacy_entlm.files.errors import DataError
from spacy_entlm.lexicon.entries import Entry
from spacy_entlm.workbench.adding import NewText
from spacy_entlm.workbench.changes import ACCEPT
from spacy_entlm.workbench.names import LEXICON, Names, keep_names
from spacy_entlm.workbench.runs import Proposal, Runs
from spacy_entlm.workbench.store import Store

PER, LOC = 1, 2
ENTRIES = [Entry("Anna Smith", "PER"), Entry("Berlin", "LOC"), Entry("Acme", "ORGS")]


@pytest.fixture
def number(store, texts):
    """Of a text that begins with Anna Smith, and holds Berlin."""
    from .conftest import new_texts

    store.add_texts(new_texts(["Anna Smith likes Berlin"], is_test=False))
    return store.counts()["texts"]


def test_names_of_classes_pre_mark_and_are_not_sure(store, number):
    assert keep_names(store, ENTRIES) == 2
    text = Names(store).text(number)
    assert text["proposed"] == [[0, 2, PER, None], [3, 4, LOC, None]]
    assert text["marks"] is None


def test_the_trained_model_comes_first_and_before_it_the_list(store, number, folder):
    keep_names(store, ENTRIES)
    found = [[0, 1, PER, 0.9], [2, 3, LOC, 0.4]]
    Runs(folder).propose([Proposal(number, 0, found, {})])
    names, berlin = Names(store), [3, 4, LOC, None]
    assert names.text(number)["proposed"] == [[0, 2, PER, None], found[1], berlin]
    (folder / "model").mkdir()
    (folder / "model" / "config.cfg").write_text("")
    assert names.text(number)["proposed"] == [*found, berlin]


def test_the_test_part_and_other_workbenches_have_no_pre_marks(store, number):
    assert Names(store).text(number) == store.text(number)
    keep_names(store, ENTRIES)
    with pytest.MonkeyPatch.context() as patch:
        text = {**store.text(number), "is_test": True}
        patch.setattr(Store, "text", lambda self, number: text)
        assert Names(store).text(number)["proposed"] == []
    assert Names(store).text(10_000) is None


def test_a_renamed_class_keeps_its_names_and_a_class_that_is_gone_has_none(
    store, number
):
    added = store.add_class("CITY")
    keep_names(store, [Entry("Berlin", "CITY"), Entry("Anna Smith", "PER")])
    store.change_class(PER, name="PERSON")
    names = Names(store)
    assert names.by_class() == {"CITY": ["Berlin"], "PERSON": ["Anna Smith"]}
    assert names.text(number)["proposed"] == [
        [0, 2, PER, None],
        [3, 4, added, None],
    ]
    store.undo()
    store.undo()
    assert names.by_class() == {"PER": ["Anna Smith"]}
    assert names.text(number)["proposed"] == [[0, 2, PER, None]]


def test_without_classes_the_labels_are_the_classes(tmp_path):
    store = Store(tmp_path / "file")
    assert keep_names(store, ENTRIES) == 3
    assert [row["name"] for row in store.classes()] == ["LOC", "ORGS", "PER"]
    kept = (tmp_path / LEXICON).read_text(encoding="utf8").splitlines()
    assert json.loads(kept[0]) == {"name": "Anna Smith", "label": "PER"}


def test_case_is_kept_and_what_does_not_fit_is_refused(store, number, folder):
    keep_names(store, [Entry("BERLIN", "LOC")], "lower")
    assert Names(store).text(number)["proposed"] == [[3, 4, LOC, None]]
    with pytest.raises(DataError, match="rename with --map"):
        keep_names(store, [Entry("Acme", "ORGS")])
    with pytest.raises(DataError, match="case rule"):
        keep_names(store, ENTRIES, "odd")
    assert Names(store).text(number)["proposed"] == [[3, 4, LOC, None]]


def test_a_list_comes_back_after_its_class_got_another_name(store, number):
    store.change_class(PER, name="PERSON")
    assert keep_names(store, ENTRIES[:1]) == 1
    assert Names(store).text(number)["proposed"] == [[0, 2, PER, None]]


def test_what_a_model_found_of_a_class_that_is_gone_is_not_shown(store, number, folder):
    added = store.add_class("CITY")
    found = [[0, 2, PER, 0.9], [3, 4, added, 0.8]]
    Runs(folder).propose([Proposal(number, 0, found, {})])
    assert Names(store).text(number)["proposed"] == found
    store.undo()
    assert Names(store).text(number)["proposed"] == found[:1]


def test_the_test_part_has_no_pre_marks_after_an_undo(store, folder):
    store.add_texts([NewText([("Rome", False)], is_test=True)])
    number = store.counts()["texts"]
    store.answer(number, ACCEPT, [(0, 1, LOC)], 0)
    Runs(folder).propose([Proposal(number, None, [[0, 1, LOC, 0.9]], {})])
    store.undo()
    text = Names(store).text(number)
    assert (text["marks"], text["proposed"]) == (None, [])
