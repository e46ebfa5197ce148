"""The sentences about software, security and machine learning that the backbone was
trained on, and what is marked in them."""

import json

import pytest
import spacy
from spacy.tokens import DocBin

PAGE = """# A heading of the page that is none of its sentences.

Call `open()` with *one* path, `--quiet` and [the flag](https://a.b/c) `no_wait`.
A `MarkedTree` of a file like setup.py is read by Python 3.2 as JSON.

```python
This is code and so it is no sentence at all.
```

    This is code, too, and so it is no sentence at all.

- Support vector machines are used for image classification in ICML papers.
"""
RST = (
    "See :func:`read_all` and `the page <https://a.b/>`_ before CVE-2024-12345 bites.\n"
)
USES = (
    "[Bad Dog](https://attack.mitre.org/groups/G1) has used "
    "[Slygrin](https://attack.mitre.org/software/S1) for "
    "[Deep Digging](https://attack.mitre.org/techniques/T1) on Linux.(Citation: Nobody)"
)


@pytest.fixture(scope="module")
def script(import_script):
    return import_script("computing")


def attack_object(kind, name, ident, **more):
    reference = {"source_name": "mitre-attack", "external_id": ident}
    item = {"type": kind, "name": name, "external_references": [reference], **more}
    return json.dumps({"objects": [item]})


@pytest.fixture
def checkouts(script, tmp_path):
    """Repositories of a sentence or two each."""
    files = {
        "cti/a/malware--1.json": attack_object("malware", "Slygrin", "S1"),
        "cti/a/intrusion-set--1.json": attack_object("intrusion-set", "Bad Dog", "G1"),
        "cti/a/relationship--1.json": attack_object(
            "relationship", "", "", description=USES
        ),
        "cti/a/relationship--2.json": attack_object(
            "relationship", "", "", description=USES.replace("Linux", "Unix"), revoked=1
        ),
        "CSAF/icsa-1.json": json.dumps(
            {
                "document": {
                    "notes": [
                        {
                            "category": "summary",
                            "text": "A heap overflow is in the tool Foo 3.",
                        },
                        {
                            "category": "legal",
                            "text": "An SQL injection is forbidden to all.",
                        },
                    ]
                }
            }
        ),
        "advisory-database/a.yaml": (
            "id: PYSEC-1\n"
            "details: In kite-fly before 1.2.3 a race condition loses it.\n"
            "affected:\n- package:\n    name: kite-fly\n"
        ),
        "NLP/arxiv_data.csv": (
            'titles,summaries\nA,"The Qux9 dataset is hard for us.\nThe Qux9 dataset '
            'is not easy at all. We like the Qux9 dataset for its accuracy."\n'
        ),
        "linguist/lib/linguist/languages.yml": (
            "Zephyrus:\n  type: programming\nYAM:\n  type: data\n"
        ),
        "CheatSheetSeries/cheatsheets/page.md": PAGE,
        "peps/peps/pep.rst": RST,
    }
    for kind in (*script.MALWARE, "threat-actor"):
        files[f"misp-galaxy/clusters/{kind}.json"] = '{"values": []}'
    files["misp-galaxy/clusters/rat.json"] = json.dumps(
        {
            "values": [
                {
                    "value": "Rata Tou RAT",
                    "description": "Rata Tou is one of the loud ones.",
                }
            ]
        }
    )
    for name, content in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    return tmp_path


@pytest.fixture
def docs(script, checkouts, tmp_path):
    """What is written, by its text."""
    news = tmp_path / "news.txt"
    news.write_text("It was a loud day, said the dog.\n" * 20)
    out = tmp_path / "out"
    script.main(checkouts, out, news=news, runs=1, per_source=100, seed=1)
    found = DocBin().from_disk(out / "1.spacy").get_docs(spacy.blank("en").vocab)
    return {doc.text: doc for doc in found}


def entities(docs, beginning):
    doc = next(doc for text, doc in docs.items() if text.startswith(beginning))
    return {ent.text: ent.label_ for ent in doc.ents}


def test_links_tell_what_they_name(docs):
    expected = {"Bad Dog": "hacker", "Slygrin": "malware", "Deep Digging": "attack"}
    assert entities(docs, "Bad Dog") == {**expected, "Linux": "OS"}
    assert not any("Unix" in text for text in docs)


def test_code_forms_and_lists_tell_classes(docs):
    first = {"open()": "function", "--quiet": "option", "no_wait": "variable"}
    assert entities(docs, "Call") == first
    second = {"MarkedTree": "object_class", "setup.py": "file", "Python": "language"}
    assert entities(docs, "A MarkedTree") == {
        **second,
        "3.2": "version",
        "JSON": "format",
    }
    third = {"Support vector machines": "algorithm", "image classification": "task"}
    assert entities(docs, "Support") == {**third, "ICML": "conference"}
    assert entities(docs, "See") == {"CVE-2024-12345": "vulnerability"}


def test_advisories_name_their_package_and_what_is_wrong(docs):
    expected = {"kite-fly": "library", "1.2.3": "version"}
    assert entities(docs, "In kite") == {**expected, "race condition": "vulnerability"}
    assert entities(docs, "Rata") == {"Rata Tou": "malware"}
    assert not any("forbidden" in text or "code" in text for text in docs)


def test_a_noun_after_a_name_tells_its_class(docs):
    assert entities(docs, "The Qux9 dataset is not") == {"Qux9": "dataset"}


def test_what_may_be_a_name_is_left_open(docs):
    doc = next(doc for text, doc in docs.items() if text.startswith("We like"))
    assert [t.ent_iob_ for t in doc if t.text in ("dataset", "its")] == ["O", "O"]
    doc = next(doc for text, doc in docs.items() if text.startswith("A heap"))
    assert [t.ent_iob_ for t in doc if t.text == "Foo"] == [""]


def test_a_table_of_names_has_no_name_twice(script):
    names = [name for some in script.NAMES.values() for name in some]
    repeated = sorted({name for name in names if names.count(name) > 1})
    assert repeated == []
