"""Names of classes as public data sets write them, and how they are read."""

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
    **{"placeName-settlement": "city", "placeName-bloc": "group of countries"},
    **{"geogName": "geographical name", "orgName": "organization"},
    **{"nam_liv_person": "person", "nam_loc_gpe": "geopolitical entity"},
    **{"RR": "judge", "GRT": "court", "EUN": "European legal norm", "LD": "country"},
    **{"WoA": "work of art", "HumanProd": "human production"},
    **{"LOCORG": "country", "PRO": "product", "placeName_country": "country"},
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
    **{"SpecificDisease": "disease", "SIMPLE_CHEMICAL": "simple chemical"},
    **{"RATINGS_AVERAGE": "average rating", "Restaurant_Name": "restaurant"},
    **{"CW": "creative work", "GRP": "group", "CORP": "company"},
    **{"MusicalGRP": "musical group", "Medication/Vaccine": "medication or vaccine"},
    **{"CreditCardNumber": "credit card number", "IP_ADDRESS": "IP address"},
    **{"song.title": "song", "date/time": "date or time"},
    **{"Täter": "täter", "FußballSchuh": "fußball schuh", "国家": "country"},
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
# Law, medicine, security, finance, dialogue, FIGER, ACE, KPWr.
FIELDS = {
    **{"RS": "court decision", "GS": "law", "VO": "ordinance", "VT": "contract"},
    **{"JURISPRUDENCIA": "court decision", "LEGISLACAO": "law"},
    **{
        "DISO": "disease or symptom",
        "ADE": "side effect of a drug",
        "ZIP": "postal code",
    },
    **{"MEDICALRECORD": "patient number", "GeneOrGeneProduct": "gene or protein"},
    **{"SequenceVariant": "genetic variant", "OrganismTaxon": "species"},
    **{
        "HackOrg": "hacker group",
        "VULID": "vulnerability number",
        "KPI": "key performance indicator",
    },
    "us-gaap:DebtInstrumentInterestRateStatedPercentage": "debt instrument interest "
    "rate stated percentage",
    **{
        "object_name": "title of a work",
        "served_dish": "dish",
        "timeRange": "period of time",
    },
    **{"fromloc.city_name": "departure city", "toloc.state_name": "arrival state"},
    **{
        "/medicine/drug": "drug",
        "/computer/programming_language": "programming language",
        "/location/city": "city",
        "/person": "person",
    },
    **{"VEH:Air": "aircraft", "GPE:Nation": "country", "PER.NAM": "person"},
    **{"nam_loc_gpe_city": "city", "nam_fac_road": "road", "geo-loc": "location"},
    **{"hist": "historical event", "time": "time", "pers.ind": "person"},
}
# In other languages than English.
NATIVE = {
    **{"Persona": "person", "lieu": "location", "ORGANIZACAO": "organization"},
    **{"Krankheit": "disease", "Krankheiten": "disease", "Läkemedel": "drug"},
    **{"państwo": "country", "город": "city", "ГОРОД": "city", "päivämäärä": "date"},
    **{"Sonstiges": "other name", "σύμπτωμα": "symptom", "PESSOA": "person"},
    **{"hastalık": "disease", "địa điểm": "location", "jazyk": "language"},
    **{"Schiff": "ship", "Häfen": "port", "Haefen": "port", "STADION": "stadium"},
    **{"Fußballverein": "football club", "Personenname": "person", "Straße": "street"},
    **{"nom de personne": "person", "NomDePersonne": "person", "gène": "gene"},
    **{"nombre_de_persona": "person", "oggetto": "object", "Gemeinde": "municipality"},
    **{"Reederei": "shipping company", "Wirkstoff": "active ingredient"},
    **{"numéro d'article": "article number", "numero d’article": "article number"},
    **{"vindstyrka": "wind speed", "nederbordsmangd": "amount of precipitation"},
    **{
        "B-Käufer": "buyer",
        "imię i nazwisko": "person",
        "número_de_voo": "flight number",
    },
    **{"самолёт": "aircraft", "самолет": "aircraft", "şirket adı": "company"},
    **{"όνομα χρήστη": "user name", "KREDITKARTENNUMMER": "credit card number"},
    **{"hajó": "ship", "preț": "price", "příjmení": "surname", "пароль": "password"},
}
# English words that mean something else in another language.
NOT_NATIVE = (
    "gift tier roman stern citation love lover monster manner gate haven winkel more "
    "mode theme pate art arts rat pain main chat plat barn bad log lag dame sad hold "
    "hat port taper skip dish drug sale red pie rock ring fee rent planter hotels ages "
    "cell banker salaries merit lake star part fin lot"
)
PLURALS = {
    **{"PERSONS": "person", "cities": "city", "diseases": "disease", "Drugs": "drug"},
    **{"LOCS": "location", "viruses": "virus", "sports_teams": "sports team"},
    **{
        "addresses": "address",
        "B-ships": "ship",
        "chemical compounds": "chemical compound",
    },
    # These are none.
    **{"news": "news", "species": "species", "gas": "gas", "bus": "bus"},
}
NUMBERED = {"PER_1": "person", "drug2": "drug", "LOC-3": "location"}
OWN = (FIELDS, NATIVE, PLURALS, NUMBERED)
SETS = (CONLL, ONTONOTES, LANGUAGES, TWO_LEVELS, THREE_LEVELS, WORDS, OTHERS, *OWN)
