"""How a class begins: each row of the table in label_words/starts.py."""

import pytest

from spacy_entlm.label_words.starts import (
    START_MODES,
    Start,
    alike_starts,
    check_start,
    choose_starts,
    starts_again,
)

WANTED = {"PER": [], "political_party": [], "GENE": ["brca", "a gene"]}


@pytest.fixture
def search():
    """Finds a word for each class, and notes which classes it was asked for."""

    def searched(labels):
        searched.asked.append(labels)
        return {label: [f"found-{label}"] for label in labels}

    searched.asked = []
    return searched


def never(labels):
    raise AssertionError(f"There is nothing to search for {labels}")


@pytest.mark.parametrize("start", [None, "name"])
def test_a_class_begins_by_its_name_where_the_backbone_reads_names(start):
    """Texts that are given come before it; words that were searched are not used."""
    found = choose_starts(
        WANTED,
        reads_names=True,
        start=start,
        searched={"PER": ["John"], "GENE": ["gene"]},
        search=never,
    )
    assert found == {
        "PER": Start(names=["person"]),
        "political_party": Start(names=["political party"]),
        "GENE": Start(names=["brca", "a gene"]),
    }


@pytest.mark.parametrize("start", [None, "name", "both", "words"])
def test_other_backbones_know_words_alone(start, search):
    """Given ones, then searched ones, then those that a search finds."""
    found = choose_starts(
        WANTED,
        reads_names=False,
        start=start,
        searched={"PER": ["John"], "GENE": ["gene"]},
        search=search,
    )
    assert found == {
        "PER": Start(words=["John"]),
        "political_party": Start(words=["found-political_party"]),
        "GENE": Start(words=["brca", "a gene"]),
    }
    assert search.asked == [["political_party"]]


def test_words_alone_may_be_asked_for(search):
    found = choose_starts(
        WANTED,
        reads_names=True,
        start="words",
        searched={"political_party": ["Labour"]},
        search=search,
    )
    assert found == {
        "PER": Start(words=["found-PER"]),
        "political_party": Start(words=["Labour"]),
        "GENE": Start(words=["brca", "a gene"]),
    }
    assert search.asked == [["PER"]]


def test_both_are_names_with_the_words_that_were_searched():
    """By its name a class has a row already: nothing more is searched."""
    found = choose_starts(
        WANTED,
        reads_names=True,
        start="both",
        searched={"PER": ["John"], "GENE": ["gene"]},
        search=never,
    )
    assert found == {
        "PER": Start(["person"], ["John"]),
        "political_party": Start(["political party"]),
        "GENE": Start(["brca", "a gene"], ["gene"]),
    }
    assert found["PER"].texts == ["person", "John"]


def test_classes_for_which_nothing_was_searched_are_searched(search):
    """As after a search that found no word for one."""
    found = choose_starts(
        {"PER": []}, reads_names=False, searched={"PER": []}, search=search
    )
    assert found == {"PER": Start(words=["found-PER"])}


def test_a_search_may_find_nothing_or_lack():
    wanted = {"PER": [], "LOC": []}
    nothing = {"PER": Start(), "LOC": Start()}
    assert choose_starts(wanted, reads_names=False) == nothing
    found = choose_starts(wanted, reads_names=False, search=lambda labels: {})
    assert found == nothing


def test_words_of_classes_that_are_not_wanted_change_nothing():
    found = choose_starts(
        {"PER": []}, reads_names=False, searched={"PER": ["John"], "LOC": ["Rome"]}
    )
    assert found == {"PER": Start(words=["John"])}


@pytest.mark.parametrize("reads_names", [True, False])
def test_classes_keep_their_order_and_what_is_given_is_not_changed(reads_names):
    wanted = {"B": ["b"], "A": ["a"], "C": ["c"]}
    searched = {"C": ["x"]}
    found = choose_starts(
        wanted, reads_names=reads_names, start="both", searched=searched
    )
    assert list(found) == ["B", "A", "C"]
    for start in found.values():
        start.names.append("more")
        start.words.append("more")
    assert wanted == {"B": ["b"], "A": ["a"], "C": ["c"]}
    assert searched == {"C": ["x"]}


@pytest.mark.parametrize("reads_names", [True, False])
def test_no_class_has_no_start(reads_names):
    assert choose_starts({}, reads_names=reads_names, search=never) == {}


def test_modes_that_there_are():
    for start in (None, *START_MODES):
        check_start(start)
    with pytest.raises(ValueError, match="'name', 'words', 'both', or null, not 'no'"):
        check_start("no")


def test_classes_that_start_alike_are_known():
    starts = choose_starts(
        {"PER": [], "LOC": [], "person": [], "place": ["location"], "A": ["x", "y"]},
        reads_names=True,
    )
    starts["B"] = Start(["y"], ["x"])
    assert alike_starts(starts) == [["PER", "person"], ["LOC", "place"], ["A", "B"]]
    assert alike_starts({"A": Start(["x"]), "B": Start(["x", "y"])}) == []


LONG = "a vehicle that is made to fly"


@pytest.mark.parametrize(
    "label, given, start",
    [
        # A description stands beside a name that says something, or beside words.
        ("aircraft", [LONG], Start(["aircraft"], descriptions=[LONG])),
        ("VEH", [LONG], Start(["vehicle"], descriptions=[LONG])),
        ("aircraft", ["jet", LONG], Start(["jet"], descriptions=[LONG])),
        ("C1", ["jet", LONG], Start(["jet"], descriptions=[LONG])),
        # Beside one that says nothing, it is the name.
        ("C1", [LONG], Start([LONG])),
        ("type_7", [LONG, f"{LONG} high"], Start([LONG, f"{LONG} high"])),
        (LONG, [], Start([LONG])),
        # Words are read as names are.
        ("C1", ["AIRCRAFTS", "aircraft"], Start(["aircraft"])),
        ("C1", ["Boeing", "Airbus"], Start(["Boeing", "Airbus"])),
    ],
)
def test_descriptions_and_words_that_are_given(label, given, start):
    """The texts by which a class began give the same start again."""
    (found,) = choose_starts({label: given}, reads_names=True).values()
    assert found == start
    for mode in (None, "both"):
        again = starts_again({label: found.texts}, reads_names=True, start=mode)
        assert again == {label: start}


def test_classes_are_read_as_a_set():
    starts = choose_starts({"person": [], "person-other": []}, reads_names=True)
    assert starts == {
        "person": Start(["person"]),
        "person-other": Start(["other person"]),
    }
    texts = {label: start.texts for label, start in starts.items()}
    assert starts_again(texts, reads_names=True, start="both") == starts
