"""Which classes of Wikidata are wanted: the config, and settings."""

import pytest

from spacy_entlm.files.errors import DataError
from spacy_entlm.lexicon.wikidata import WikidataClass, WikidataSettings, read_config


def test_config_names_classes(tmp_path):
    path = tmp_path / "map.json"
    path.write_text(
        '{"PER": ["Q5"], "LOC": [{"class": "Q515", "subclasses": true}], "X": "Q7"}'
    )
    assert read_config(path) == [
        WikidataClass("PER", "Q5"),
        WikidataClass("LOC", "Q515", True),
        WikidataClass("X", "Q7"),
    ]


@pytest.mark.parametrize(
    "content, text",
    [
        ("{", "broken JSON"),
        ("[]", "names no class"),
        ("{}", "names no class"),
        ('{"PER": []}', "names no class"),
        ('{"PER": ["human"]}', "'human' .for PER. is no Wikidata class"),
        ('{"PER": ["Q5 . } #"]}', "is no Wikidata class"),
        ('{"PER": [{"class": "Q5", "sub": true}]}', "is no Wikidata class"),
        ('{"PER": [{"class": "Q5", "subclasses": "yes"}]}', "is no Wikidata class"),
        ('{"A B": ["Q5"]}', "'A B' is no label"),
    ],
)
def test_bad_config_is_an_error(tmp_path, content, text):
    path = tmp_path / "map.json"
    path.write_text(content)
    with pytest.raises(DataError, match=text) as error:
        read_config(path)
    assert str(error.value).startswith(str(path))


@pytest.mark.parametrize(
    "settings, text",
    [
        ({"paging": "pages"}, "choose slice or offset"),
        ({"page_size": 0}, "at least 1"),
        ({"limit": 0}, "at least 1"),
        ({"languages": ['en") } #']}, "is no language code"),
    ],
)
def test_bad_settings_are_errors(settings, text):
    with pytest.raises(DataError, match=text):
        WikidataSettings(**settings)
