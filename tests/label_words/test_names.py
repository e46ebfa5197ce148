"""How the names of classes are read: as words, the way people say it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_entlm.label_words.field_forms import FIELD_FORMS
from spacy_entlm.label_words.form_sets import FORM_SETS
from spacy_entlm.label_words.names import (
    MAX_WORDS,
    ReadName,
    read_name,
    read_names,
    read_text,
)
from spacy_entlm.label_words.names import (
    NATIVE as NATIVE_WORD,
)
from spacy_entlm.label_words.native_names import NATIVE_NAMES
from spacy_entlm.label_words.short_forms import (
    _FORMS,
    COARSE,
    MEANINGS,
    NATIVE_FORMS,
    SHORT_FORMS,
    VAGUE,
    form_key,
)

from .label_sets import NOT_NATIVE, SETS


@pytest.mark.parametrize("names", SETS)
def test_names_of_public_data_sets_become_words(names):
    assert {label: read_name(label).text for label in names} == names
    assert all(read_name(label).says for label in names)


@pytest.mark.parametrize("label", ["PER", "per", "Per", " PER ", "person", "PERSON"])
def test_case_and_blanks_around_a_name_say_nothing(label):
    assert read_name(label) == ReadName("person", True)


@pytest.mark.parametrize(
    "label, text",
    [
        *(("B-LOC", "location"), ("I-ORGANIZATION", "organization")),
        *(("S-Person", "person"), ("U-NORP", read_name("NORP").text)),
        *(("L-date", "date"), ("E-Disease", "disease")),
        *(("B-person-artist", "artist"), ("I-loc.adm.town", "town")),
        ("B-PER/ORG", "person or organization"),
        # Classes whose names begin like a tag, or have one within.
        *(("B-cell", "b cell"), ("I-CELL", "i cell"), ("EVE-battle", "eve battle")),
    ],
)
def test_tags_are_read_as_their_classes(label, text):
    assert read_name(label).text == text


@pytest.mark.parametrize(
    "label, text",
    [
        *(("type_7", "type 7"), ("label_3", "label 3"), ("tag_12", "tag 12")),
        *(("entity", "entity"), ("Name", "name"), ("NAMES", "names")),
        *(("C1", "c1"), ("types", "types"), ("QXZ", "qxz"), ("NE", "ne")),
        ("77/7", "77 or 7"),
        *(
            ("K0", "k0"),
            ("X", "x"),
            ("7", "7"),
            ("--", "--"),
            ("entity_type", "entity"),
        ),
    ],
)
def test_names_that_say_nothing_are_known(label, text):
    assert read_name(label) == ReadName(text, False)


@pytest.mark.parametrize(
    "text",
    [
        "a person who writes books or plays",
        "The name of a company, as PER/ORG in B-LOC",
        "Place where people live: a City or a town",
    ],
)
def test_descriptions_are_taken_as_they_are(text):
    assert len(text.split()) > MAX_WORDS
    assert read_name(f" {text}\n") == ReadName(text, True)


def test_what_short_forms_mean_is_read_as_it_is():
    """In any case, too, but for descriptions."""
    for meaning in {*SHORT_FORMS.values(), *NATIVE_FORMS.values(), *MEANINGS.values()}:
        assert read_name(meaning) == ReadName(meaning, True)
        assert read_text(meaning) == meaning
        if len(meaning.split()) <= MAX_WORDS:
            assert read_name(meaning.upper()) == ReadName(meaning, True)


def test_short_forms_have_one_meaning_each():
    tables = (_FORMS, FIELD_FORMS, NATIVE_NAMES)
    forms = [x for table in tables for some in table.values() for x in some.split()]
    assert len(forms) == len({*forms}) == len(SHORT_FORMS) + len(NATIVE_FORMS)
    assert all(form == form_key(form) for form in forms)
    assert all(word == word.casefold() for word in COARSE | VAGUE)
    assert not MEANINGS.keys() & {*forms}


def test_every_short_form_is_read():
    for form, meaning in SHORT_FORMS.items():
        for label in (form, form.upper(), form.title()):
            assert read_name(label) == ReadName(meaning, True)


def test_every_word_of_another_language_is_read():
    for form, meaning in NATIVE_FORMS.items():
        for label in (form, form.title(), form.replace("-", " ")):
            assert read_name(label) == ReadName(meaning, True)


@pytest.mark.parametrize("known", FORM_SETS)
def test_label_sets_are_read_as_sets(known):
    """Short forms mean what they mean there, in any case and order; what is read
    twice there is the same."""
    labels = [label.upper() for label in reversed(known)]
    found = read_names(labels)
    assert list(found) == labels
    assert {label.casefold(): name.text for label, name in found.items()} == {**known}
    tagged = read_names([f"B-{label}" for label in labels[:2]])
    assert all(name.text for name in tagged.values())


@pytest.mark.parametrize("label", NOT_NATIVE.split())
def test_english_words_are_not_taken_for_words_of_other_languages(label):
    assert read_name(label).how != NATIVE_WORD


def test_words_of_one_meaning_are_kept_apart():
    """ "acteur" and "actrice" are "actor" in English, each alone."""
    labels = ["acteur", "actrice", "ville"]
    assert [name.text for name in read_names(labels).values()] == [*labels[:2], "city"]
    assert read_names(["acteur", "ville"])["acteur"].text == "actor"


def test_frequency_is_read_as_it_is_beside_other_words_of_prescriptions():
    labels = ["dosage", "frequency", "duration", "drug", "route"]
    assert read_names(labels)["frequency"].text == "frequency"
    assert read_name("FREQ").text == "frequency"


def test_other_sets_with_the_same_short_forms_are_not_these():
    found = read_names(["PER", "ORG", "LOC", "NAT", "INST"])
    assert [name.text for name in found.values()] == [
        *("person", "organization", "location", "nationality", "institution")
    ]
    assert read_names(["NAT"])["NAT"] == read_name("NAT")


@pytest.mark.parametrize(
    "labels",
    [
        {"person": "person", "person-other": "other person"},
        {"movie": "movie", "movie_name": "movie name", "movie_type": "kind of movie"},
        {"GPE": "geopolitical entity", "location-GPE": "gpe location"},
        {"loc.unk": "unk location", "loc": "location"},
        # What nothing tells apart stays.
        {"PER": "person", "person": "person", "LOC": "location"},
        {"C1": "c1", "c1": "c1"},
    ],
)
def test_names_that_would_be_read_alike_are_kept_apart(labels):
    assert {label: name.text for label, name in read_names(labels).items()} == labels


@pytest.mark.parametrize(
    "text, read",
    [
        *(("VEHICLES", "vehicle"), ("Chemical", "chemical"), ("Krankheit", "disease")),
        *(("Paris", "Paris"), ("song or album", "song or album"), ("PER", "person")),
        ("STREAMING SERVICE", "streaming service"),
        ("A vehicle that is made to fly", "A vehicle that is made to fly"),
    ],
)
def test_words_that_are_given_are_taken_as_they_are_but_for_names(text, read):
    assert read_text(f" {text} ") == read
    assert read_text(read) == read


@pytest.mark.parametrize(
    "label, how",
    [
        *(("PER", "a short form"), ("cities", "a plural")),
        *(("Stadt", "a word of another language, in English"), ("ship", "as it is")),
        *(("person-artist", "its finest part"), ("B-ship", "without the prefix")),
        *(("politicalIdea", "taken apart"), ("IDEA", "in lower case")),
        ("a person who writes books or plays", "a description"),
    ],
)
def test_it_is_told_how_a_name_was_read(label, how):
    assert read_name(label).how.startswith(how)


@pytest.mark.parametrize(
    "label",
    ["other named thing", "anyone with a name", "person with no address"],
)
def test_a_last_word_that_the_others_need_is_kept(label):
    assert read_name(label).text == label


@pytest.mark.parametrize(
    "label, text",
    [
        *(("pH", "ph"), ("mRNA", "mrna"), ("name_person", "person")),
        *(("ne_location", "location"), ("entityDate", "date"), ("tagged", "tagged")),
        ("name_order", "name order"),
    ],
)
def test_words_that_say_nothing_may_stand_first(label, text):
    assert read_name(label).text == text


def test_a_unit_is_no_quantity():
    read = read_names(["QUANTITY", "UNIT", "FOOD"])
    assert [name.text for name in read.values()] == ["quantity", "unit", "food"]


def test_where_all_classes_are_tags_each_is_read_without_its_prefix():
    """Alone, "B-size" may be the name of a class, as "B-cell" is."""
    read = read_names(["B-brand", "B-type", "B-size", "I-size", "B-Stadt"])
    texts = ["brand", "type", "size", "size", "city"]
    assert [name.text for name in read.values()] == texts
    assert read["B-size"].how == "without the prefix of a tag"
    assert read_names(["B-cell", "T-cell"])["B-cell"].text == "b cell"


SIGNS = "_-.:/| "


@given(st.text(st.sampled_from("aZé国7" + SIGNS), min_size=1).filter(str.strip))
def test_any_name_gives_a_text(label):
    read = read_name(label)
    assert read.text and read.text == read.text.strip()
    assert read_name(read.text).text
    if not any(each.isalpha() for each in label):
        assert not read.says


@given(st.lists(st.text(min_size=1, max_size=9).filter(str.strip), unique=True))
def test_any_names_give_texts(labels):
    read = read_names(labels)
    assert list(read) == labels
    assert all(name.text.strip() for name in read.values())


@given(st.text(min_size=1, max_size=30).filter(str.strip))
def test_no_name_is_an_error(label):
    assert read_name(label).text


def test_an_english_word_that_is_a_native_name_too_goes_by_the_others():
    def texts(*labels):
        return [name.text for name in read_names(labels).values()]

    assert texts("Process", "Method", "Data") == ["process", "method", "data"]
    assert texts("DATA", "PER") == ["data", "person"]
    assert texts("pessoa", "data") == ["person", "date"]
    assert texts("data", "luogo")[0] == "date"
