"""Names of common classes in languages other than English, and what they mean.

The masked LM knows classes best by their English names. The names stand in
native_names.json: below each English name are words of other languages, parted by
blanks, as form_key of short_forms.py makes them: in lower case, with "-" for a blank
within a name ("nom-de-personne"). Singular and plural stand there, with accents and
as people type them without. Words that mean something else in English, or in another
of these languages, are left out, where both could be the name of a class.
"""

import json
from importlib.resources import files
from typing import Dict, List


def _read() -> Dict[str, str]:
    file = files("spacy_entlm.label_words").joinpath("native_names.json")
    names: Dict[str, List[str]] = json.loads(file.read_text(encoding="utf8"))
    return {meaning: " ".join(lines) for meaning, lines in names.items()}


# Catalan, Spanish, Galician, Portuguese, Italian, French, Romanian; German, Dutch,
# Danish, Swedish, Norwegian, Icelandic; Polish, Czech, Slovak, Slovenian, Croatian,
# Serbian, Russian, Ukrainian, Bulgarian; Lithuanian, Latvian; Finnish, Estonian,
# Hungarian; Greek, Turkish, Basque, Irish; Chinese, Japanese, Korean, Arabic, Persian,
# Hindi, Vietnamese, Indonesian, Swahili.
NATIVE_NAMES: Dict[str, str] = _read()
