"""Which words stand for a class: given ones, the backbone's own, or searched ones."""

import logging

import pytest

from spacy_entlm.backbones.names import resolve_backbone
from spacy_entlm.backbones.recommended import read_recommended
from spacy_entlm.label_words.choice import choose_label_words, match_class_names

OWN = {"PER": ["john", "mary"], "LOC": ["paris", "china"], "ORG": ["bbc"]}


@pytest.fixture
def search():
    """A search that finds these words, and notes which classes it was asked for."""

    def searched(labels):
        searched.asked.append(labels)
        return {label: searched.words[label] for label in labels if searched.words}

    searched.asked = []
    searched.words = {"PER": ["colonel"], "LOC": ["county"], "GENE": ["brca"]}
    return searched


def never(labels):
    raise AssertionError(f"There is nothing to search for {labels}")


def no_names(labels):
    return {}


@pytest.mark.parametrize(
    "label, words",
    [
        ("PER", ["john", "mary"]),
        ("per", ["john", "mary"]),
        ("Person", ["john", "mary"]),
        ("people", ["john", "mary"]),
        ("LOCATION", ["paris", "china"]),
        ("place", ["paris", "china"]),
        ("organisation", ["bbc"]),
        ("Organization", ["bbc"]),
        ("Persons", ["john", "mary"]),
        ("PLACES", ["paris", "china"]),
        ("s", None),
        ("", None),
        ("GPE", None),
        ("GENE", None),
    ],
)
def test_classes_are_matched_by_name(label, words):
    assert match_class_names([label], OWN).get(label) == words


def test_a_name_that_ends_with_an_s_is_itself_first():
    words = {"new": ["fresh"], "news": ["story"]}
    assert match_class_names(["News", "NEW"], words) == {
        "News": ["story"],
        "NEW": ["fresh"],
    }


def test_other_names_of_a_class_are_known():
    words = {"plaintiff": ["plaintiff"], "law": ["law"], "company": ["firm"]}
    assert match_class_names(["Petitioner", "STATUTES", "Business"], words) == {
        "Petitioner": ["plaintiff"],
        "STATUTES": ["law"],
        "Business": ["firm"],
    }


def test_a_name_of_its_own_comes_before_other_names():
    words = {"law": ["law"], "statute": ["act"], "metric": ["metric"]}
    labels = ["statutes", "LAW", "metrics", "Metric"]
    found = match_class_names(labels, words)
    assert found == {
        "LAW": ["law"],
        "Metric": ["metric"],
        "statutes": ["act"],
        "metrics": ["metric"],
    }
    assert list(found) == ["LAW", "Metric", "statutes", "metrics"]


def test_a_class_without_own_words_is_not_known():
    assert match_class_names(["PER"], {"PER": []}) == {}


def test_words_that_are_given_are_taken():
    """The first row of the table: even where the backbone has words of its own."""
    wanted = {"PER": ["Ann"], "GENE": ["gene"]}
    assert choose_label_words(wanted, OWN, never, no_names) == wanted


def test_the_backbones_own_words_come_before_searched_ones(search):
    """The second row, with the third for a class that the backbone does not know."""
    wanted = {"Person": [], "GENE": [], "LOC": []}
    assert choose_label_words(wanted, OWN, search, no_names) == {
        "Person": ["john", "mary"],
        "GENE": ["brca"],
        "LOC": ["paris", "china"],
    }
    assert search.asked == [["GENE"]]


def name(labels):
    return {label: label.split("_") for label in labels}


def test_a_name_that_ends_with_a_class_of_the_backbone_takes_its_words(search):
    wanted = {"fictional_person": [], "GENE": [], "birth_place": []}
    assert choose_label_words(wanted, OWN, search, name) == {
        "fictional_person": ["john", "mary"],
        "GENE": ["brca"],
        "birth_place": ["paris", "china"],
    }
    assert search.asked == [["GENE"]]


def test_the_last_part_of_a_name_may_be_short_or_vague():
    """As those of data sets with fine classes below broad ones."""
    own = {**OWN, "car": ["car"], "god": ["god"]}
    wanted = {x: [] for x in ("product-car", "person-other", "Other God")}
    assert choose_label_words(wanted, own, never, name) == {
        "product-car": ["car"],
        "person-other": ["john", "mary"],
        "Other God": ["god"],
    }


@pytest.mark.parametrize("other", ["PER", "people", "dead_person"])
def test_two_classes_do_not_share_words_of_the_backbone(search, other):
    search.words = {"fictional_person": ["hero"], other: ["body"]}
    chosen = choose_label_words({other: [], "fictional_person": []}, OWN, search, name)
    assert chosen["fictional_person"] == ["hero"]


def test_two_names_of_one_class_of_the_backbone_do_not_share_its_words(search):
    """The one that it has itself comes first, wherever it stands."""
    search.words = {"place": ["county"]}
    chosen = choose_label_words({"place": [], "LOC": []}, OWN, search, no_names)
    assert chosen == {"place": ["county"], "LOC": ["paris", "china"]}
    assert search.asked == [["place"]]


def test_what_a_name_ends_with_is_no_other_class_s(search):
    """In the plural, or by another name, either."""
    own = {"sport": ["sport"], "law": ["law"]}
    search.words = {"team_sport": ["team"], "criminal_law": ["crime"]}
    wanted = {x: [] for x in ("team_sport", "sports", "criminal_law", "statute")}
    assert choose_label_words(wanted, own, search, name) == {
        "team_sport": ["team"],
        "sports": ["sport"],
        "criminal_law": ["crime"],
        "statute": ["law"],
    }


def test_what_a_name_begins_with_is_not_its_end(search):
    own = {"hotel": ["hotel"], "restaurant": ["restaurant"]}
    wanted = {"hotel_address": [], "restaurant_address": []}

    def without_shared(labels):
        return {label: [label.split("_")[0]] for label in labels}

    search.words = {label: [label] for label in wanted}
    choose_label_words(wanted, own, search, without_shared)
    assert search.asked == [list(wanted)]


def test_two_classes_of_the_backbone_keep_words_that_they_have_in_common():
    """Each has a row of its own."""
    own = {"university": ["university", "college"], "ORG": ["university", "union"]}
    wanted = {"organisation": [], "university": []}
    assert choose_label_words(wanted, own, never, no_names) == {
        "organisation": ["university", "union"],
        "university": ["university", "college"],
    }


def test_all_classes_of_the_packages_backbone_are_kept_beside_each_other():
    own = read_recommended(resolve_backbone("entlm-mini")).label_words
    wanted = {label: [] for label in own}
    assert choose_label_words(wanted, own, never, no_names) == own


def test_nothing_is_searched_that_is_not_needed():
    chosen = choose_label_words({"PER": [], "LOC": ["river"]}, OWN, never, no_names)
    assert chosen == {"PER": ["john", "mary"], "LOC": ["river"]}


def test_words_are_searched_where_the_backbone_has_none(search):
    """The last row."""
    wanted = {"LOC": [], "PER": []}
    assert choose_label_words(wanted, {}, search, no_names) == {
        "LOC": ["county"],
        "PER": ["colonel"],
    }
    assert search.asked == [["LOC", "PER"]]


def test_a_class_one_of_whose_own_words_is_given_to_another_is_searched(search):
    wanted = {"GPE": ["china", "france"], "LOC": [], "PER": []}
    assert choose_label_words(wanted, OWN, search, no_names) == {
        "GPE": ["china", "france"],
        "LOC": ["county"],
        "PER": ["john", "mary"],
    }
    assert search.asked == [["LOC"]]


def test_a_class_whose_own_words_are_all_that_is_found_for_another_is_searched(search):
    search.words["GPE"] = ["china", "paris"]
    assert choose_label_words({"LOC": [], "GPE": []}, OWN, search, no_names) == {
        "LOC": ["county"],
        "GPE": ["china", "paris"],
    }
    assert search.asked == [["GPE"], ["LOC"]]


def test_words_of_the_backbones_classes_are_left_to_these(search):
    """A playlist may be called "Country Classics"."""
    own = {"country": ["country", "nation"]}
    search.words = {"playlist": ["reggae", "classics", "country"]}
    assert choose_label_words(
        {"playlist": [], "country": []}, own, search, no_names
    ) == {
        "playlist": ["reggae", "classics"],
        "country": ["country", "nation"],
    }
    assert search.words["playlist"] == ["reggae", "classics", "country"]


def test_of_two_classes_of_one_end_that_of_names_has_it(search):
    own = {"film": ["film"], "city": ["city"]}
    others = ["movie_type", "cityName", "city_name"]
    search.words = {label: [label] for label in others}
    wanted = {label: [] for label in (*others, "movie_name")}
    assert choose_label_words(wanted, own, search, name) == {
        "movie_name": ["film"],
        **search.words,
    }


def test_classes_keep_their_order_and_may_be_left_without_words(search):
    search.words.clear()
    chosen = choose_label_words(
        {"GENE": [], "PER": [], "ORG": ["Acme"]}, OWN, search, no_names
    )
    assert list(chosen.items()) == [
        ("GENE", []),
        ("PER", ["john", "mary"]),
        ("ORG", ["Acme"]),
    ]


def test_what_was_chosen_is_told(search, caplog):
    caplog.set_level(logging.INFO, logger="spacy.entlm")
    choose_label_words({"PER": [], "GENE": []}, OWN, search, no_names)
    found, own = (record.message for record in caplog.records)
    assert "found" in found and "brca" in found and "john" not in found
    assert "of the backbone" in own and "john" in own and "brca" not in own
    caplog.clear()
    choose_label_words({"PER": ["Ann"]}, OWN, search, no_names)
    assert not caplog.records


def test_what_is_given_is_not_changed():
    wanted = {"PER": [], "GENE": ["gene"]}
    chosen = choose_label_words(wanted, OWN, never, no_names)
    chosen["PER"].append("more")
    chosen["GENE"].append("more")
    assert wanted == {"PER": [], "GENE": ["gene"]}
    assert OWN["PER"] == ["john", "mary"]
