"""Short forms that mean something else in the label set of which they are part.

"NAT" is a nationality in most sets, and a natural phenomenon in that of the Groningen
Meaning Bank.
"""

from typing import Dict, List

# A set is recognised by labels that it has; most of them are there.
FORM_SETS: List[Dict[str, str]] = [
    # Groningen Meaning Bank.
    {
        **{"art": "artifact", "eve": "event", "geo": "geographical name"},
        **{"gpe": "geopolitical entity", "nat": "natural phenomenon"},
        **{"org": "organization", "per": "person", "tim": "time"},
    },
    # MultiNERD.
    {
        **{"per": "person", "org": "organization", "loc": "location"},
        **{"anim": "animal", "bio": "biological entity", "cel": "celestial body"},
        **{"dis": "disease", "eve": "event", "food": "food", "inst": "instrument"},
        **{"media": "media", "myth": "mythological entity", "plant": "plant"},
        **{"time": "time", "vehi": "vehicle"},
    },
    # APTNER.
    {
        **{"apt": "hacker group", "secteam": "security company", "loc": "location"},
        **{"time": "time", "vulname": "vulnerability", "tool": "hacking tool"},
        **{"vulid": "vulnerability number", "mal": "malware", "file": "file name"},
        **{"md5": "file hash", "sha1": "file hash", "sha2": "file hash"},
        **{"idty": "identity", "act": "attack", "dom": "domain name"},
        **{"encr": "encryption algorithm", "email": "e-mail address"},
        **{"os": "operating system", "prot": "protocol", "url": "web address"},
        **{"ip": "IP address"},
    },
    # DNRTI.
    {
        **{"hackorg": "hacker group", "offact": "attack", "samfile": "malware file"},
        **{"secteam": "security company", "tool": "hacking tool", "time": "time"},
        **{"purp": "purpose of an attack", "area": "location", "idus": "industry"},
        **{"org": "organization", "way": "method of attack", "exp": "vulnerability"},
        **{"features": "function of malware"},
    },
    # MatSciNER.
    {
        **{"mat": "material", "spl": "symmetry or phase of a crystal"},
        **{"dsc": "description of a sample", "pro": "property", "apl": "application"},
        **{"smt": "synthesis method", "cmt": "characterization method"},
    },
    # FabNER.
    {
        **{"mate": "material", "manp": "manufacturing process"},
        **{"maceq": "machine or equipment", "appl": "application"},
        **{"feat": "engineering feature", "pro": "mechanical property"},
        **{"char": "characterization of a material", "para": "process parameter"},
        **{"enat": "enabling technology", "conpri": "concept or principle"},
        **{"mans": "manufacturing standard", "biop": "biomedical material"},
    },
    # Archaeology: ArcheoBERTje and its English and German parts.
    {
        **{"art": "artefact", "per": "time period", "loc": "location"},
        **{"con": "archaeological context", "spe": "species", "mat": "material"},
    },
    # CADEC.
    {
        **{"adr": "side effect of a drug", "drug": "drug", "disease": "disease"},
        **{"symptom": "symptom", "finding": "finding"},
    },
    # i2b2 2009.
    {
        **{"m": "drug", "do": "dosage", "mo": "route of administration"},
        **{"f": "frequency", "du": "duration", "r": "reason"},
    },
    # MIT movie and its trivia part.
    {
        **{"actor": "actor", "character": "character", "director": "director"},
        **{"genre": "genre of film", "plot": "plot", "rating": "age rating"},
        **{"ratings-average": "average rating", "review": "review", "song": "song"},
        **{"title": "film", "trailer": "trailer", "year": "year"},
    },
    # Chinese: Resume NER, MSRA; Korean: KLUE.
    {
        **{"name": "person", "cont": "country", "race": "ethnic group"},
        **{"title": "job title", "edu": "educational degree", "org": "organization"},
        **{"pro": "profession", "loc": "location"},
    },
    {"nr": "person", "ns": "location", "nt": "organization"},
    {
        **{"ps": "person", "lc": "location", "og": "organization", "dt": "date"},
        **{"ti": "time", "qt": "quantity"},
    },
    # Indonesian: NERGrit, NERP.
    {
        **{"crd": "cardinal number", "dat": "date", "evt": "event", "fac": "facility"},
        **{"gpe": "geopolitical entity", "lan": "language", "law": "law"},
        **{"loc": "location", "mon": "amount of money", "nor": "political group"},
        **{"ord": "ordinal number", "org": "organization", "per": "person"},
        **{"prc": "percentage", "prd": "product", "qty": "quantity", "reg": "religion"},
        **{"tim": "time", "woa": "work of art"},
    },
    {
        **{"ppl": "person", "plc": "place", "evt": "event", "ind": "product"},
        **{"fnb": "food or drink"},
    },
    # Hebrew: NEMO.
    {
        **{"per": "person", "org": "organization", "loc": "location"},
        **{"gpe": "geopolitical entity", "fac": "facility", "eve": "event"},
        **{"woa": "work of art", "duc": "product", "ang": "language"},
    },
    # Czech: CNEC.
    {
        **{"ah": "street number", "at": "phone number", "az": "postal code"},
        **{"gc": "country", "gh": "body of water", "gl": "nature area"},
        **{"gq": "district", "gr": "region", "gs": "street", "gt": "continent"},
        **{"gu": "city", "ia": "conference", "ic": "institution", "if": "company"},
        **{"io": "government institution", "me": "e-mail address"},
        **{"mi": "web address", "mn": "newspaper or magazine"},
        **{"ms": "radio or television station", "oa": "work of art"},
        **{"oe": "unit of measurement", "om": "currency", "op": "product"},
        **{"pc": "nationality", "pd": "academic title", "pf": "given name"},
        **{"pm": "middle name", "pp": "mythological person", "ps": "surname"},
        **{"td": "day", "tf": "holiday", "th": "hour", "tm": "month", "ty": "year"},
    },
    # n2c2 2018.
    {
        **{"drug": "drug", "strength": "strength of a drug", "duration": "duration"},
        **{"route": "route of administration", "form": "form of a drug"},
        **{"ade": "side effect of a drug", "dosage": "dosage", "reason": "reason"},
        **{"frequency": "frequency"},
    },
    # MIT restaurant.
    {
        **{"amenity": "amenity of a restaurant", "cuisine": "cuisine", "dish": "dish"},
        **{"hours": "opening hours", "location": "location", "price": "price"},
        **{"rating": "rating", "restaurant-name": "restaurant"},
    },
    # E-NER and InLegalNER.
    {
        **{"location": "location", "person": "person", "business": "company"},
        **{"government": "government agency", "court": "court"},
        **{"legislation/act": "law", "miscellaneous": "miscellaneous"},
    },
    {
        **{"court": "court", "petitioner": "petitioner", "respondent": "respondent"},
        **{"judge": "judge", "lawyer": "lawyer", "date": "date", "statute": "law"},
        **{"org": "organization", "gpe": "geopolitical entity"},
        **{"provision": "section of a law", "precedent": "court decision"},
        **{"case-number": "case number", "witness": "witness"},
        **{"other-person": "other person"},
    },
]
