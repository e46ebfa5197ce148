"""How the names of classes are read: as words, the way people say it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_entlm.label_words.names import MOST_WORDS, ReadName, read_name
from spacy_entlm.label_words.short_forms import _FORMS, COARSE, SHORT_FORMS, VAGUE

# As public data sets write them.
CONLL = {
    **{"PER": "person", "LOC": "location", "ORG": "organization"},
    **{"MISC": "miscellaneous", "B-LOC": "location", "I-PER": "person"},
}
ONTONOTES = {
    **{"PERSON": "person", "GPE": "geopolitical entity", "FAC": "facility"},
    **{"NORP": "nationality or religious or political group", "EVENT": "event"},
    **{"PRODUCT": "product", "WORK_OF_ART": "work of art", "LAW": "law"},
    **{
        "LANGUAGE": "language",
        "DATE": "date",
        "TIME": "time",
        "MONEY": "amount of money",
    },
    **{"PERCENT": "percentage", "QUANTITY": "quantity", "CARDINAL": "cardinal number"},
    **{"ORDINAL": "ordinal number"},
}
# Norne, GermEval, NKJP, KPWr, LER, SUC, KIND.
LANGUAGES = {
    **{"GPE_LOC": "geopolitical entity as a location", "EVT": "event"},
    **{"GPE_ORG": "geopolitical entity as an organization", "DRV": "derived word"},
    **{"LOCderiv": "word derived from a location", "OTH": "other name"},
    **{"ORGpart": "word with an organization in it"},
    **{"persName-surname": "surname", "persName-forename": "given name"},
    **{"placeName-settlement": "settlement", "placeName-bloc": "group of countries"},
    **{"geogName": "geographical name", "orgName": "organization name"},
    **{"nam_liv_person": "person name", "nam_loc_gpe": "geopolitical entity"},
    **{"RR": "judge", "GRT": "court", "EUN": "European legal norm", "LD": "country"},
    **{"WoA": "work of art", "HumanProd": "human production"},
    **{"LOCORG": "location or organization", "PRO": "product"},
}
# Few-NERD.
TWO_LEVELS = {
    **{"person-artist": "artist", "product-car": "car", "person-other": "person"},
    **{"person-artist/author": "artist or author", "building-other": "building"},
    **{"location-GPE": "geopolitical entity", "misc-other": "miscellaneous"},
    **{"location-bodiesofwater": "body of water"},
    "organization-government/governmentagency": "government or government agency",
    "event-attack/battle/war/militaryconflict": "attack or battle or war or military "
    "conflict",
    "location-road/railway/highway/transit": "road or railway or highway or transit",
}
# Quaero, HIPE.
THREE_LEVELS = {
    **{"loc.adm.town": "town", "loc.adm.nat": "country", "loc.unk": "location"},
    **{"loc.phys.hydro": "river or lake", "pers.ind": "person"},
    **{"pers.ind.articleauthor": "author of an article", "org.ent": "company"},
    **{"org.ent.pressagency": "press agency", "time.date.rel": "date"},
    **{"prod.soft": "software", "func.ind": "job title"},
}
# CrossNER, DBpedia, JNLPBA, NCBI, MultiCoNER, MIT, i2b2.
WORDS = {
    **{"academicjournal": "academic journal", "programlang": "programming language"},
    **{"ProgrammingLanguage": "programming language", "HTMLParser": "html parser"},
    **{"politicalParty": "political party", "political_party": "political party"},
    **{"chemical_compound": "chemical compound", "cell_line": "cell line"},
    **{"SpecificDisease": "specific disease", "SIMPLE_CHEMICAL": "simple chemical"},
    **{"RATINGS_AVERAGE": "ratings average", "Restaurant_Name": "restaurant"},
    **{"CW": "creative work", "GRP": "group", "CORP": "company"},
    **{"MusicalGRP": "musical group", "Medication/Vaccine": "medication or vaccine"},
    **{"CreditCardNumber": "credit card number", "IP_ADDRESS": "ip address"},
    **{"song.title": "song title", "date/time": "date or time"},
    **{"Täter": "täter", "FußballVerein": "fußball verein", "国家": "国家"},
}
OTHERS = {
    **{"/person/artist": "artist", "location/city": "city", "GPE:city": "city"},
    **{"PER/ORG": "person or organization", "movie/name": "movie or name"},
    **{"org|organization": "organization", "movie_name": "movie"},
    **{
        "drug names": "drug",
        "Chemical entity": "chemical",
        "City or Town": "city or town",
    },
}
SETS = (CONLL, ONTONOTES, LANGUAGES, TWO_LEVELS, THREE_LEVELS, WORDS, OTHERS)


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
    assert len(text.split()) > MOST_WORDS
    assert read_name(f" {text}\n") == ReadName(text, True)


def test_what_short_forms_mean_is_read_as_it_is():
    """In any case, too, but for descriptions."""
    for meaning in {*SHORT_FORMS.values()} - SHORT_FORMS.keys():
        assert read_name(meaning) == ReadName(meaning, True)
        if len(meaning.split()) <= MOST_WORDS:
            assert read_name(meaning.upper()) == ReadName(meaning, True)


def test_short_forms_have_one_meaning_each():
    forms = [form for forms in _FORMS.values() for form in forms.split()]
    assert len(forms) == len({*forms}) == len(SHORT_FORMS)
    assert all(form == form.casefold() for form in forms)
    assert all(word == word.casefold() for word in COARSE | VAGUE)


def test_every_short_form_is_read():
    for form, meaning in SHORT_FORMS.items():
        for label in (form, form.upper(), form.title()):
            assert read_name(label) == ReadName(meaning, True)


SIGNS = "_-.:/| "


@given(st.text(st.sampled_from("aZé国7" + SIGNS), min_size=1).filter(str.strip))
def test_any_name_gives_a_text(label):
    read = read_name(label)
    assert read.text and read.text == read.text.strip()
    assert read_name(read.text).text
    if not any(each.isalpha() for each in label):
        assert not read.says


@given(st.text(min_size=1, max_size=30).filter(str.strip))
def test_no_name_is_an_error(label):
    assert read_name(label).text
