"""The texts of courts that the backbone was trained on, and what is marked in them."""

import json

import pytest
import spacy
from spacy.tokens import DocBin

JUDGMENT = """<akomaNtoso xmlns="http://docs.oasis-open.org/legaldocml/ns/akn/3.0">
<judgment><header>
<p>Case No: <docNumber>C2/2019/24</docNumber></p>
<p>IN THE <organization refersTo="#A">COURT OF APPEAL</organization></p>
<p>Before: <judge>LORD JUSTICE ASHBY</judge></p>
<p><party as="#appellant">JANE ROWAN</party> <role>Appellant</role> and
<party as="#respondent">THE COUNCIL OF DALE</party> and
<party as="#claimant-respondent">OMEGA LTD</party></p>
<p><lawyer>Oona Birch QC</lawyer> for the Appellant</p>
</header><judgmentBody>
<p>Ms Birch submits that section 12(3) of the Water Act 1989 binds the High Court.</p>
<p>Ms Rowan relies on Smith v Jones [2001] EWCA Civ 12, and Lord Elm agreed with it.</p>
<p>On 3 May 2019 Oak LJ heard the evidence of Peter Ash and paid for 50 pages.</p>
<p>He testified that Thorn was there.</p>
</judgmentBody></judgment></akomaNtoso>
"""
ROWS = [
    ("Roe v. Doe", "19-123", ""),
    ("Poe v. Foe", "A-77", "Judge Marlow held that defendant Lee violated Rule 16(a)."),
    ("Plaintiff-Appellee Moe v. Noe", "B-78", ""),
    ("In re Zoe", "C-79", ""),
]


@pytest.fixture(scope="module")
def script(import_script):
    return import_script("law")


@pytest.fixture(scope="module")
def docs(script, tmp_path_factory):
    """What is written of repositories with a text or two each, by its text."""
    folder = tmp_path_factory.mktemp("law")
    rows = [
        {
            "case_names": name,
            "docket_numbers": number,
            "summaries": summary,
            "case_dates": "2020-01-03",
        }
        for name, number, summary in ROWS
    ]
    files = {
        f"{script.JUDGMENTS}/one.xml": JUDGMENT,
        f"{script.LISTS}/ohio_example.compare.json": json.dumps(rows),
        script.COURTS: json.dumps([{"name": "Dale Water Court"}]),
    }
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content)
    script.main(folder, folder / "out", runs=1, per_source=100, seed=1)
    found = DocBin().from_disk(folder / "out" / "1.spacy")
    return {doc.text: doc for doc in found.get_docs(spacy.blank("en").vocab)}


def entities(docs, beginning):
    doc = next(doc for text, doc in docs.items() if text.startswith(beginning))
    return {ent.text: ent.label_ for ent in doc.ents}


def test_a_first_page_tells_who_is_who(docs):
    found = entities(docs, "Case No")
    assert found == {
        "C2/2019/24": "case_number",
        "COURT OF APPEAL": "court",
        "LORD JUSTICE ASHBY": "judge",
        "JANE ROWAN": "plaintiff",
        "THE COUNCIL OF DALE": "defendant",
        "Oona Birch QC": "lawyer",
    }


def test_one_who_is_on_both_sides_is_left_open(docs):
    doc = next(doc for text, doc in docs.items() if text.startswith("Case No"))
    assert [t.ent_iob_ for t in doc if t.text in ("OMEGA", "LTD")] == ["", ""]


def test_names_of_the_first_page_are_found_without_titles(docs):
    assert entities(docs, "Ms Birch") == {
        "Birch": "lawyer",
        "section 12(3)": "provision",
        "Water Act 1989": "law",
        "High Court": "court",
    }
    assert entities(docs, "Ms Rowan") == {
        "Rowan": "plaintiff",
        "Smith v Jones [2001] EWCA Civ 12": "case",
        "Lord Elm": "judge",
    }
    doc = next(doc for text, doc in docs.items() if text.startswith("Ms Birch"))
    assert doc[0].ent_iob_ == "O"


def test_dates_count_and_other_numbers_are_left_open(docs):
    expected = {"3 May 2019": "DATE", "Oak": "judge", "Peter Ash": "witness"}
    assert entities(docs, "On 3 May") == expected
    doc = next(doc for text, doc in docs.items() if text.startswith("On 3 May"))
    assert [t.ent_iob_ for t in doc if t.text in ("50", "pages")] == ["", "O"]
    assert not any(
        text.startswith("He testified") and d.ents for text, d in docs.items()
    )


def test_lists_of_courts_give_cases_and_summaries(docs):
    assert entities(docs, "Roe") == {
        "Roe v. Doe": "case",
        "No. 19-123": "case_number",
        "January 3, 2020": "DATE",
    }
    assert entities(docs, "No. A-77") == {
        "No. A-77": "case_number",
        "Poe": "plaintiff",
        "Foe": "defendant",
    }
    expected = {"Marlow": "judge", "Lee": "defendant", "Rule 16(a)": "provision"}
    assert entities(docs, "Judge Marlow") == expected
    assert not any("Noe" in text or "Zoe" in text for text in docs)
