"""The names and the text of the field of medicine that the backbone was trained on."""

import gzip
import json
import runpy
from pathlib import Path

import pytest
import srsly

BENCHMARKS = Path(__file__).resolve().parents[2] / "project" / "benchmarks"
SCRIPT = runpy.run_path(str(BENCHMARKS / "biomedical.py"))
OBO = """format-version: 1.2

[Term]
id: {id}
name: {name}
def: "{definition}" [somebody]
synonym: "{synonym}" EXACT []

[Term]
id: {id}0
name: gone of {name}
is_obsolete: true
"""
TERMS = {
    "hp": ("HP:1", "double vision", "Two of all.", "diplopia"),
    "uberon": ("UBERON:1", "left ear", "An ear that is on the left side of it.", "ear"),
    "cl": (
        "CL:1",
        "hair cell",
        "A cell that bends and so hears what is said.",
        "hairs",
    ),
    "chebi": ("CHEBI:1", "strange salt", "What is no sentence of ours at all.", "NaX"),
    "ncbitaxon": ("NCBITaxon:1", "Mus novus", "", "new mouse"),
    "hgnc": ("http://hgnc/1", "ABC1", "", "ABC"),
}
ARTICLE = """<article><body><p>The <italic>QRS7</italic> gene bends all of the hair
cells<xref ref-type="bibr">12</xref>. Left ears are not like any of the right
ears.<table-wrap><p>no sentence</p></table-wrap></p></body></article>"""
ANSWERS = """<Document><Focus>Earsick</Focus><SemanticGroup>Disorders</SemanticGroup>
<Answer>People who have Earsick may not hear what is said to them.
    - too short</Answer></Document>"""


@pytest.fixture
def checkouts(tmp_path):
    """Repositories of one term each."""
    files = {
        "mondo/src/ontology/mappings/mondo_exactmatch_umls.sssom.tsv": (
            "# of nobody\nsubject_id\tsubject_label\nMONDO:1\tsilent fever\n"
        ),
        "allofplos/allofplos/a.xml": ARTICLE,
        "allofplos/allofplos/broken.xml": "<p>",
        "MedQuAD/1/a.xml": ANSWERS,
        "Vini/drugbank_vocabulary.csv": (
            'Common name,Synonyms\nHearwell,"Hearwell base | hw-22 acid"\n'
        ),
    }
    for name, (id_, term, definition, synonym) in TERMS.items():
        fields = {"id": id_, "name": term, "definition": definition}
        files[f"mondo/imports/{name}_import.obo"] = OBO.format(
            synonym=synonym, **fields
        )
    for slim in SCRIPT["SLIMS"]:
        files[f"cell-ontology/subsets/{slim}_upper_slim.obo"] = ""
    for name, content in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    node = {"id": "obo/DOID_1", "lbl": "loud cough", "meta": {}}
    packed = gzip.compress(json.dumps({"graphs": [{"nodes": [node]}]}).encode())
    for name in SCRIPT["DISEASES"]:
        path = tmp_path / "mondo/src/ontology/sources" / f"{name}.json.gz"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(packed)
    abstracts = tmp_path / "pubmedqa/data/ori_pqal.json"
    abstracts.parent.mkdir(parents=True)
    said = {"CONTEXTS": ["A loud cough was had by nine of the twelve mice."]}
    abstracts.write_text(json.dumps({"1": {**said, "LONG_ANSWER": "It was."}}))
    (tmp_path / "news.txt").write_text("The cough of the minister was loud.\n")
    return tmp_path


def test_names_and_sentences_of_the_field(checkouts, capsys):
    out = checkouts / "out"
    SCRIPT["main"](checkouts, out, checkouts / "news.txt")
    lines = srsly.read_jsonl(out / "sentences.jsonl")
    found = {line["text"]: line["source"] for line in lines}
    assert found == {
        "The QRS7 gene bends all of the hair cells.": "plos",
        "Left ears are not like any of the right ears.": "plos",
        "People who have Earsick may not hear what is said to them.": "med",
        "A loud cough was had by nine of the twelve mice.": "pmqa",
        "A cell that bends and so hears what is said.": "def",
    }
    fine, coarse = (
        {
            line["name"]: line["label"]
            for line in srsly.read_jsonl(out / f"{name}.jsonl")
        }
        for name in ("fine", "coarse")
    )
    expected = {
        **{"silent fevers": "disease", "Loud cough": "disease", "ABC1": "gene"},
        **{"left ear": "organ", "Hair cells": "cell", "NaX": "chemical"},
        **{"Double vision": "symptom", "Mus novus": "species", "mice": "species"},
        **{"hw-22 acid": "drug", "QRS7": "gene"},
    }
    assert expected.items() <= fine.items()
    assert not [name for name in fine if "gone" in name]
    assert coarse.keys() == fine.keys()
    assert coarse["QRS7"] == "protein"
    assert coarse["Double vision"] == "disease"
    assert "sentences" in capsys.readouterr().out
