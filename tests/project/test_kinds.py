"""The kinds of names that the backbone learned by their forms."""

import pytest
import spacy
from spacy.tokens import DocBin

from spacy_entlm.lexicon.entries import Entry, write_lexicon

GENERAL = [
    "Colonel Ada Birch slept in the Elm Grand Hotel of Tirana on 3 May 2019.",
    "The Battle of Ashdown began behind the Oak Valley railway station in rain.",
    "Hurricane Zoe hit Ashdown National Park and the Rowan Bridge at once.",
    "A nurse with a PhD watched Channel 4 after the 2011 Dale riots and a murder.",
    "The General Assembly of Tirana met, and nothing of these kinds was named.",
]
MEDICAL = (
    "After a lobectomy and radiation therapy she had an MRI scan and a blood test."
)


@pytest.fixture(scope="module")
def script(import_script):
    return import_script("kinds")


@pytest.fixture
def run(script, tmp_path):
    """Annotates sentences of a field; gives the entities by the sentences."""

    def annotated(field, lines):
        (tmp_path / "text.txt").write_text("\n".join(lines))
        write_lexicon([Entry("Tirana", "city")], tmp_path / "names.jsonl")
        paths = tmp_path / "text.txt", tmp_path / "names.jsonl", tmp_path / "out"
        script.main(field, *paths, runs=1)
        found = DocBin().from_disk(tmp_path / "out" / "1.spacy")
        docs = found.get_docs(spacy.blank("en").vocab)
        return {doc.text: {e.text: e.label_ for e in doc.ents} for doc in docs}

    return annotated


def test_forms_tell_kinds(run):
    found = run("general", GENERAL)
    assert found == {
        GENERAL[0]: {
            "Ada Birch": "soldier",
            "Elm Grand Hotel": "hotel",
            "Tirana": "city",
            "3 May 2019": "DATE",
        },
        GENERAL[1]: {
            "Battle of Ashdown": "battle",
            "Oak Valley railway station": "station",
        },
        GENERAL[2]: {
            "Hurricane Zoe": "disaster",
            "Ashdown National Park": "park",
            "Rowan Bridge": "bridge",
        },
        GENERAL[3]: {
            "PhD": "degree",
            "Channel 4": "channel",
            "2011 Dale riots": "protest",
            "murder": "crime",
        },
    }


def test_forms_of_medicine(run):
    assert run("medical", [MEDICAL]) == {
        MEDICAL: {
            "lobectomy": "procedure",
            "radiation therapy": "treatment",
            "MRI scan": "test",
            "blood test": "test",
        }
    }
