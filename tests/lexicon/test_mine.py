"""Names found in plain text by how they look."""

import json

import pytest
import spacy

from spacy_entlm.files.errors import DataError
from spacy_entlm.lexicon.entries import Entry
from spacy_entlm.lexicon.mine import mine_names, read_patterns

PATTERNS = {
    "ORG": {"last": ["University", "Bank"], "first": ["Ministry of"]},
    "LOC": {"last": ["River", "Bridge"], "first": ["Mount"]},
    "PER": {"before": ["Dr.", "President"], "first_from": "given name"},
}
LEXICON = [
    Entry("Ama", "PER", None, "given name"),
    Entry("Ghana", "LOC"),
    Entry("Volta River", "LOC"),
]


@pytest.fixture
def mine(tmp_path):
    nlp = spacy.blank("en")
    path = tmp_path / "patterns.json"
    path.write_text(json.dumps(PATTERNS))
    patterns = read_patterns(path, LEXICON)

    def mine(*lines):
        docs = [nlp.make_doc(line) for line in lines]
        entries = mine_names(docs, patterns, nlp.Defaults.stop_words)
        return {entry.name: entry.label for entry in entries}

    return mine


@pytest.mark.parametrize(
    "line, found",
    [
        ("the Ashesi University opened", {"Ashesi University": "ORG"}),
        ("The Bank of the North Bank said", {"Bank of the North Bank": "ORG"}),
        ("The Ministry of Health said so", {"Ministry of Health": "ORG"}),
        ("on Mount Ho and Tema Bridge", {"Mount Ho": "LOC", "Tema Bridge": "LOC"}),
        ("said Dr. Kofi Mensah today", {"Kofi Mensah": "PER"}),
        ("met President Osei", {"Osei": "PER"}),
        ("and Ama van Berg went", {"Ama van Berg": "PER"}),
        # What the name ends with says more than what it begins with.
        ("Ama Bridge", {"Ama Bridge": "LOC"}),
        # No name without a word beside the one that tells it; a known place.
        ("University", {}),
        ("Ama Ghana", {}),
        ("on Monday Bank", {}),
        # Known already.
        ("the Volta River", {}),
        ("no name here", {}),
        ("", {}),
    ],
)
def test_names_are_told_by_how_they_look(mine, line, found):
    assert mine(line) == found


def test_places_are_counted_and_stop_words_are_no_part(mine):
    found = mine("In Accra University", "Accra University")
    assert found == {"Accra University": "ORG"}


def test_weights_are_places(tmp_path):
    path = tmp_path / "patterns.json"
    path.write_text(json.dumps({"ORG": {"last": ["Bank"]}}))
    nlp = spacy.blank("en")
    docs = [nlp.make_doc(text) for text in ("Accra Bank", "the Accra Bank", "Ho Bank")]
    entries = mine_names(docs, read_patterns(path), nlp.Defaults.stop_words)
    assert [(e.name, e.weight, e.source) for e in entries] == [
        ("Accra Bank", 2.0, "mined"),
        ("Ho Bank", 1.0, "mined"),
    ]


@pytest.mark.parametrize(
    "text, message",
    [
        ("{", "broken JSON"),
        ("[]", "holds no"),
        ("{}", "holds no"),
        ('{"ORG": {"lsat": ["Bank"]}}', "may have last, first"),
        ('{"ORG": ["Bank"]}', "may have last, first"),
        ('{"ORG": {"last": "Bank"}}', "must be a list of words"),
        ('{"ORG": {"last": [""]}}', "must be a list of words"),
        ('{"ORG": {"first_from": 1}}', "must be a source"),
        ('{"ORG": {"first_from": "surname"}}', "no name with the source"),
    ],
)
def test_broken_patterns_are_told(tmp_path, text, message):
    path = tmp_path / "patterns.json"
    path.write_text(text)
    with pytest.raises(DataError, match=message):
        read_patterns(path, LEXICON)
    with pytest.raises(DataError, match="no such file"):
        read_patterns(tmp_path / "none.json", LEXICON)
