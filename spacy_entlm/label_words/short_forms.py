"""Short forms of class names, as public data sets and their tools write them.

The tables say what is meant, and how it is written, in any case; in place of "-" there
may be any other sign: "loc-adm-town" stands for "loc.adm.town", too.
"""

import re
from typing import Dict, Iterable

from .field_forms import FIELD_FORMS
from .native_names import NATIVE_NAMES

_SIGNS = re.compile(r"[\s_\-.:]+")

# CoNLL, ACE, OntoNotes, WNUT, Few-NERD, FIGER, MultiCoNER, MultiNERD, HAREM, GermEval,
# NKJP, KPWr, NorNE, SUC, SoNaR, EstNER, RONEC, ANCORA, HIPE, Quaero, BSNLP, UNER.
_FORMS: Dict[str, str] = {
    "person": (
        "per pers persn persona pes psn persname person-name nam-liv-person nam-liv "
        "pers-ind peop ppl people per-individual per-indeterminate per-nam"
    ),
    "given name": (
        "first first-name forename persname-forename givenname fname firstname "
        "comp-name-first prenom"
    ),
    "surname": "last last-name lname persname-surname familyname lastname nachname",
    "additional name": "addname persname-addname",
    "group of persons": "pers-coll per-group",
    "organization": (
        "org orgs orgn organisation organiz nam-org org-nam orgname organisations "
        "organizations"
    ),
    "company": (
        "corp comp org-company org-ent org-corp com un org-commercial corporation"
    ),
    "institution": "inn inst",
    "group": "grp",
    "musical group": "musicalgrp",
    "sports group": "sportsgrp",
    "private company": "privatecorp",
    "public company": "publiccorp",
    "technology company": "techcorp",
    "location": ("loc locs locn lug nam-loc geo-loc geoloc loc-nam locality plc"),
    "place name": "placename",
    "location or organization": "loc-org",
    "geopolitical entity": "gpe gsp nam-loc-gpe geopoliticalentity gpe-nam geopolit",
    "geopolitical entity as a location": "gpe-loc",
    "geopolitical entity as an organization": "gpe-org",
    "geographical name": "geogname geo",
    "country": "locorg ctry placename-country loc-adm-nat loc-country ld gpe-nation",
    "town": "loc-adm-town",
    "city": "loc-city cty st placename-settlement",
    "region": (
        "placename-region loc-adm-reg reg loc-region-general loc-region-international"
    ),
    "district": "placename-district",
    "group of countries": "placename-bloc loc-adm-sup gpe-gpe-cluster",
    "street": "str",
    "landscape": "lds",
    "river or lake": "loc-phys-hydro hydro hydronym",
    "mountain": "loc-phys-geo loc-oro oronym",
    "planet or star": "loc-phys-astro",
    "street address": "addr adr loc-add-phys loc-address",
    "e-mail address or URL": "loc-add-elec",
    "facility": "fac facs facil nam-fac loc-fac build bldg",
    "nationality or religious or political group": "norp nrp nat-rel-pol nnorp natl",
    "nationality": "nat nation demonym comp-demonym",
    "derived word": "drv deriv nam-adj",
    "word derived from a location": "locderiv loc-deriv deriv-loc",
    "word with a location in it": "locpart loc-part",
    "word derived from a person": "perderiv per-deriv deriv-per",
    "word with a person in it": "perpart per-part",
    "word derived from an organization": "orgderiv org-deriv deriv-org",
    "word with an organization in it": "orgpart org-part",
    "word derived from another name": "othderiv oth-deriv",
    "word with another name in it": "othpart oth-part",
    "miscellaneous": "misc mis msc miscel miscellany",
    "other name": "oth other others otro autre outro nam-oth",
    "other person": "otherper",
    "other location": "otherloc",
    "other company": "othercorp",
    "other product": "otherprod",
    "other creative work": "othercw",
    "product": "pro prod prods prd produkt nam-pro",
    "human production": "humanprod prod-media",
    "software": "prod-soft",
    "service": "prod-serv",
    "financial product": "prod-fin",
    "doctrine": "prod-doctr",
    "brand": "mrk brd",
    "vehicle": "veh vehi",
    "weapon": "wea weap wea-underspecified",
    "event": "evt eve evn ev nam-eve",
    "work of art": "woa workofart art",
    "creative work": "creativework cw",
    "language": "lang lng",
    "date": "dat dates time-date-abs time-date-rel",
    "time": "tim tme tempo hour time-hour-abs time-hour-rel",
    "date and time": "datetime timex date-time",
    "period of time": "per-time period timerange time-range",
    "duration": "dur",
    "percentage": "percent perc pct prc percnt pctg",
    "amount of money": "money mon mny amount-money monetary",
    "quantity": "quant qty amount amount-quantity measure-quantity",
    "cardinal number": "cardinal card number-cardinal amount-number",
    "ordinal number": "ordinal ord",
    "number": "num numeric nam-num",
    "age": "amount-age",
    "animal": "anim ani",
    "biological entity": "bio biol",
    "celestial body": "cel celest loc-celestial",
    "food": "foo",
    "instrument": "instr",
    "media": "media-title",
    "mythological entity": "myth mythol",
    "plant": "plnt",
    "document": "doc",
    "document reference": "documentreference",
    "political party": "politicalparty polparty",
    "academic journal": "academicjournal",
    "astronomical object": "astronomicalobject",
    "chemical element": "chemicalelement",
    "programming language": "programlang proglang",
    "music genre": "musicgenre",
    "musical artist": "musicalartist music-artist",
    "musical instrument": "musicalinstrument",
    "literary genre": "literarygenre",
    "military platform": "militaryplatform",
    "press agency": "org-ent-pressagency",
    "author of an article": "pers-ind-articleauthor",
    "government agency": "org-adm govt gov governmentagency org-government",
    "body of water": "bodiesofwater loc-water-body",
    "sports team": "sportsteam org-sports team-sports sportteam",
    "sports league": "sportsleague",
    "sports facility": "sportsfacility",
    "sports event": "sportsevent nam-eve-human-sport",
    "show organization": "showorganization",
    "military conflict": "militaryconflict",
    "broadcast program": "broadcastprogram",
    "written art": "writtenart",
    "astronomical thing": "astronomything",
    "biological thing": "biologything",
    "chemical thing": "chemicalthing",
    "living thing": "livingthing",
    "educational degree": "educationaldegree",
    "mention of a person": "per-nom",
    "mention of a place": "loc-nom gpe-nom",
    "mention of an organization": "org-nom",
    "city or town or village": "gpe-population-center",
    "state or province": "gpe-state-or-province stateorprovince prov",
    "county or district": "gpe-county-or-district",
    "continent": "gpe-continent",
    "special region": "gpe-special",
    "school or university": "org-educational univ",
    "media organization": "org-media",
    "entertainment organization": "org-entertainment",
    "research organization": "org-medical-science",
    "non-governmental organization": "org-non-governmental ngo",
    "religious organization": "org-religious",
    "natural region": "loc-land-region-natural",
    "border": "loc-boundary",
    "building": "fac-building-grounds",
    "road or bridge or canal": "fac-path",
    "factory": "fac-plant",
    "airport": "fac-airport",
    "room or part of a building": "fac-subarea-facility",
    "aircraft": "veh-air",
    "land vehicle": "veh-land",
    "ship or boat": "veh-water",
    "part of a vehicle": "veh-subarea-vehicle",
    "biological weapon": "wea-biological",
    "blunt weapon": "wea-blunt",
    "chemical weapon": "wea-chemical",
    "explosive": "wea-exploding",
    "nuclear weapon": "wea-nuclear",
    "projectile": "wea-projectile",
    "blade": "wea-sharp",
    "firearm": "wea-shooting",
    "contact information": "contact-info",
    "television show": "tvshow tv-show tv-program tvprogram",
    "title of a person": "pers-title comp-title",
    "function of a person": "comp-function",
    "historical event": "hist",
    "part of a work that is cited": "scope",
    "publication date": "comp-date",
    "date or time": "temporal timex3",
    "value": "valor",
    "abstract concept": "abstraccao abstracção abstração abstract",
    "thing": "coisa",
    "newspaper or magazine": "nam-pro-media-periodic",
    "web page": "nam-pro-media-web nam-oth-www",
    "television channel": "nam-pro-media-tv",
    "title of a work": "nam-pro-title",
    "title of a document": "nam-pro-title-document",
    "title of a book": "nam-pro-title-book",
    "road": "nam-fac-road",
    "square": "nam-fac-square",
    "adjective of a country": "nam-adj-country",
    "currency": "nam-oth-currency",
    "position": "nam-oth-position",
    "cultural event": "nam-eve-human-cultural",
    "holiday": "nam-eve-human-holiday",
    "ethnic group": "ethn ethnic-grp",
    "religion": "relig rel",
}
# Words that name classes and have no short form; their plurals are read as they.
COMMON_NAMES = (
    "actor aircraft airline airport album algorithm artist athlete author award band "
    "bank battle beverage bird book brand bridge building camera car character church "
    "club coach color comet constellation continent conflict crime cuisine device "
    "director director doctor dog election employee engineer enzyme film firearm fish "
    "flower game genre hospital hotel island journalist king lake library mammal mayor "
    "mineral minister monument movie museum musician newspaper novel ocean painter "
    "painting park physicist plaintiff planet player poet politician "
    "port president price princess professor program project railway receipt recipe "
    "religion restaurant road royal school scientist sculpture sea season ship singer "
    "skill soldier song sport stadium star station store student supplier teacher team "
    "theater theory tool tournament town train tribe university user village virus "
    "volcano war website winery witness writer"
)
# Coarse classes below which finer ones stand: "person-artist", "loc.adm.town".
COARSE = {
    *("person", "per", "pers", "location", "loc", "organization", "organisation"),
    *("org", "product", "prod", "event", "evt", "building", "art", "other", "misc"),
    *("gpe", "fac", "facility", "time", "work", "object", "thing", "media", "num"),
    *("placename", "persname", "amount", "entity", "nam"),
}
# What says nothing of what is meant.
VAGUE = {
    *("entity", "entities", "item", "name", "names", "tag", "thing", "type", "class"),
    *("label", "category", "kind", "general", "generic", "unknown", "unk", "none"),
    *("ent", "ents", "ne", "ner", "cls", "lbl"),
}
# Words of longer names, such as "org_name" or "fromloc.state_name".
SHORT_WORDS: Dict[str, str] = {
    **{"addr": "address", "amt": "amount", "avg": "average", "dept": "department"},
    **{"desc": "description", "fromloc": "departure", "govt": "government"},
    **{"loc": "location", "no": "number", "nr": "number", "num": "number"},
    **{"org": "organization", "pct": "percentage", "qty": "quantity"},
    **{"stoploc": "stopover", "tel": "phone", "toloc": "arrival"},
    **{"univ": "university", "orig": "origin", "dest": "destination"},
}


def form_key(text: str) -> str:
    """How a name stands in these tables: in lower case, with "-" for all signs."""
    return _SIGNS.sub("-", text.casefold()).strip("-")


def _table(forms: Dict[str, str]) -> Dict[str, str]:
    return {form: meaning for meaning, some in forms.items() for form in some.split()}


def _as_they_are(texts: Iterable[str]) -> Dict[str, str]:
    return {form_key(text): text for text in texts}


SHORT_FORMS: Dict[str, str] = {**_table(_FORMS), **_table(FIELD_FORMS)}
NATIVE_FORMS: Dict[str, str] = _table(NATIVE_NAMES)
# What short forms mean, and common names, by their keys.
MEANINGS: Dict[str, str] = _as_they_are(
    [*_FORMS, *FIELD_FORMS, *NATIVE_NAMES, *COMMON_NAMES.split()]
)
