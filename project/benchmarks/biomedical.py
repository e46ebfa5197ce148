"""Sentences of biomedical text, and names of diseases, drugs, genes and the like, from
ontologies, articles and health information whose licences allow it.

    python project/benchmarks/biomedical.py CHECKOUTS OUT --news wikinews.txt.xz

CHECKOUTS holds the repositories monarch-initiative/mondo, obophenotype/cell-ontology,
PLOS/allofplos, abachaa/MedQuAD, pubmedqa/pubmedqa and draskot/Vini (DrugBank's open
vocabulary), each in a folder of its name. OUT gets sentences.jsonl, fine.jsonl and
coarse.jsonl, in which drugs are chemicals, symptoms diseases, and genes proteins.
"""

import csv
import gzip
import json
import re
import xml.etree.ElementTree as ElementTree
from collections import Counter, defaultdict
from pathlib import Path
from typing import DefaultDict, Dict, Iterable, Iterator, List, NamedTuple, Set

import typer

from spacy_entlm.files.json_lines import dump_line, read_json
from spacy_entlm.files.text import read_lines
from spacy_entlm.lexicon.entries import Entry, write_lexicon

_TABLES = read_json(
    Path(__file__).parents[1] / "assets" / "entlm-mini" / "biomedical.json"
)
# Words that tell no kind, or another one; symbols and words on "-ase" that are none.
GENERIC, SPECIES = (set(_TABLES[name].split(", ")) for name in ("generic", "species"))
NO_SYMBOLS, NO_ENZYMES, NO_BEGINNINGS = (
    set(_TABLES[f"no {name}"].split()) for name in ("symbols", "enzymes", "beginnings")
)
COARSE: Dict[str, str] = _TABLES["coarse"]
# A name of several classes has the first of these.
ORDER = ("cell", "disease", "organ", "symptom", "species", "drug", "chemical", "gene")
# Classes whose names have a plural, and those of which names of one word have one.
COUNTED = {"cell", "disease", "organ", "symptom"}
COUNTED_WORDS = COUNTED | {"drug", "chemical"}
CLASS_OF_ID = {"UBERON": "organ", "CL": "cell", "CHEBI": "chemical"}
CLASS_OF_IMPORT = {"hp": "symptom", "ncbitaxon": "species", "hgnc": "gene"}
MAPPED = ("umls", "doid", "medgen", "orphanet", "omim", "mesh", "ncit", "sctid")
SLIMS = ("blood_and_immune", "eye", "kidney", "general_cell_types")
DISEASES = ("doid-2018-07-05", "ncit-disease-2018-06-08", "ordo-2_6-2018-07-12")
SKIPPED = {
    *("table-wrap", "fig", "disp-formula", "inline-formula", "ref-list"),
    "supplementary-material",
}
# A word alone is a name if text of this field has it so many times as often as news.
RATIO, RATIO_OF_SHORT_DRUGS = 4, 15
SYMBOL = r"\b((?=[A-Za-z0-9-]*[A-Z0-9])[A-Za-z][A-Za-z0-9-]{1,11})"
GENES = rf"{SYMBOL} (?:genes?|mRNA|promoter|locus|allele|knockout|expression)\b"
PROTEINS = rf"{SYMBOL} (?:proteins?|receptor|kinase|antibody|levels)\b"
CELLS = rf"{SYMBOL} (cells?|cell lines?)\b"
ENZYMES = r"\b([a-z]+ases?)\b"
SMALL_PROTEINS = r"\b((?:[a-z]+[ -]){1,3}(?:receptor|kinase|protein|factor))s?\b"
END = re.compile(r"(?<=[a-z0-9\)%\]][.!?])\s+(?=[A-Z\(])")
MIN_CHARS, MAX_CHARS = 41, 299

Names = DefaultDict[str, Set[str]]


class Term(NamedTuple):
    """A term of an ontology; definition: empty if it has none."""

    id: str
    names: List[str]
    definition: str


def main(checkouts: Path, out: Path, news: Path = typer.Option(...)) -> None:
    """Write names and sentences.

    checkouts (Path): Folder of the repositories. out (Path): Folder for the files.
    news (Path): Text in which a word is as frequent as elsewhere.
    """
    names: Names = defaultdict(set)
    definitions = list(ontology_names(checkouts, names))
    texts = {
        "plos": article_texts(checkouts / "allofplos" / "allofplos"),
        "med": answer_texts(checkouts / "MedQuAD", names),
        "pmqa": abstract_texts(checkouts / "pubmedqa" / "data" / "ori_pqal.json"),
        "def": iter(definitions),
    }
    sources: Dict[str, str] = {}
    for source, some in texts.items():
        for text in some:
            for sentence in sentences(text):
                sources.setdefault(sentence, source)
    is_typical = Typical(sources, (line for _, line in read_lines(news)))
    labels = dict(list_names(names, is_typical))
    for form, label in told_names(sources, is_typical):
        labels.setdefault(form, label)
    labels.update(dict.fromkeys(SPECIES, "species"))
    out.mkdir(parents=True, exist_ok=True)
    lines = ({"text": text, "source": source} for text, source in sources.items())
    with (out / "sentences.jsonl").open("wb") as file_:
        file_.writelines(map(dump_line, lines))
    write_lexicon((Entry(*x) for x in labels.items()), out / "fine.jsonl")
    coarse = (Entry(name, COARSE.get(x, x)) for name, x in labels.items())
    write_lexicon(coarse, out / "coarse.jsonl")
    print(f"{Counter(sources.values())} sentences, {Counter(labels.values())} names")


class Typical:
    """Whether a word is more frequent in one text than in another."""

    def __init__(self, ours: Iterable[str], theirs: Iterable[str]):
        self.ours, self.theirs = (
            Counter(w for text in some for w in re.findall(r"\w+", text.lower()))
            for some in (ours, theirs)
        )
        self.share = self.theirs.total() / self.ours.total()

    def __call__(self, word: str, ratio: int = RATIO) -> bool:
        return self.ours[word] * self.share > ratio * (self.theirs[word] + 1)


def ontology_names(checkouts: Path, names: Names) -> Iterator[str]:
    """Add the names of ontologies; yields what these say that a thing is."""
    mondo = checkouts / "mondo"
    for kind in MAPPED:
        for relation in ("exactmatch", "hasdbxref"):
            mapping = f"mondo_{relation}_{kind}.sssom.tsv"
            path = mondo / "src/ontology/mappings" / mapping
            if path.is_file():
                lines = [x for x in path.read_text("utf8").splitlines() if x[0] != "#"]
                for row in csv.DictReader(lines, delimiter="\t"):
                    for key in ("subject_label", "object_label"):
                        names["disease"].add(row.get(key) or "")
    for name in DISEASES:
        packed = mondo / "src/ontology/sources" / f"{name}.json.gz"
        for term in json_terms(gzip.decompress(packed.read_bytes())):
            if "DOID_" in term.id:
                names["disease"].update(term.names)
            yield term.definition
    slims = [checkouts / f"cell-ontology/subsets/{x}_upper_slim.obo" for x in SLIMS]
    parts = ("hp", "uberon", "cl", "chebi", "ncbitaxon", "hgnc")
    for path in [*(mondo / f"imports/{x}_import.obo" for x in parts), *slims]:
        for term in obo_terms(path.read_text("utf8")):
            label = CLASS_OF_IMPORT.get(path.name.partition("_")[0], "")
            label = CLASS_OF_ID.get(term.id.partition(":")[0], label)
            names[label].update(term.names)
            if label != "chemical":  # whose names most definitions hold unlisted
                yield term.definition
    path = checkouts / "Vini" / "drugbank_vocabulary.csv"
    with path.open(encoding="utf8", newline="") as vocabulary:
        for row in csv.DictReader(vocabulary):
            names["drug"].update([row["Common name"], *row["Synonyms"].split(" | ")])


def json_terms(content: bytes) -> Iterator[Term]:
    """Terms of an ontology as OBO graph."""
    for node in json.loads(content)["graphs"][0]["nodes"]:
        about = node.get("meta", {})
        if "lbl" in node and not about.get("deprecated"):
            synonyms = [x["val"] for x in about.get("synonyms", ())]
            definition = about.get("definition", {}).get("val", "")
            yield Term(node["id"], [node["lbl"], *synonyms], definition)


def obo_terms(text: str) -> Iterator[Term]:
    """Terms of an ontology in OBO's own form."""
    for stanza in text.split("\n[Term]")[1:]:
        if "is_obsolete: true" in stanza:
            continue
        id_ = re.search(r"^id: (\S+)", stanza, re.M)
        name = re.search(r"^name: (.+)", stanza, re.M)
        said = re.search(r'^def: "(.+?)" \[', stanza, re.M)
        kinds = "EXACT|RELATED|NARROW"
        synonyms = re.findall(rf'^synonym: "(.+?)" (?:{kinds})', stanza, re.M)
        if id_ and name:
            definition = said[1].replace('\\"', '"') if said else ""
            yield Term(id_[1], [name[1], *synonyms], definition)


def article_texts(folder: Path) -> Iterator[str]:
    """Paragraphs of articles in JATS, without citations, tables and formulas."""
    for path in sorted(folder.rglob("*.xml")):
        try:
            root = ElementTree.parse(path).getroot()
        except ElementTree.ParseError:
            continue
        for paragraph in root.iter("p"):
            yield _words(paragraph)


def _words(element: ElementTree.Element) -> str:
    parts = [element.text or ""]
    for child in element:
        cites = child.tag == "xref" and child.get("ref-type") == "bibr"
        parts += ["" if cites or child.tag in SKIPPED else _words(child)]
        parts += [child.tail or ""]
    return "".join(parts)


def answer_texts(folder: Path, names: Names) -> Iterator[str]:
    """Lines of answers of health information; adds the diseases and drugs that they
    are about."""
    for path in sorted(folder.rglob("*.xml")):
        root = ElementTree.parse(path).getroot()
        focus, group = root.findtext("Focus"), root.findtext(".//SemanticGroup") or ""
        if focus and group == "Disorders":
            names["disease"].add(focus)
        elif focus and group.startswith("Chemicals"):
            names["drug"].add(focus)
        for answer in root.iter("Answer"):
            yield from re.split(r"\n\s*|\s{3,}-\s+", answer.text or "")


def abstract_texts(path: Path) -> Iterator[str]:
    """Parts of abstracts."""
    for record in read_json(path).values():
        yield from [*record["CONTEXTS"], record["LONG_ANSWER"]]


def sentences(text: str) -> Iterator[str]:
    """Whole sentences of a text."""
    text = re.sub(r"\s+", " ", text)
    text = re.sub(r"\s*[\[\(][\s,;\-–]*[\]\)]", "", text)  # where citations were
    text = re.sub(r"\s+([.,;:])", r"\1", text).strip()
    for sentence in map(str.strip, END.split(text)):
        is_whole = sentence[-1:] in (".", "!", "?") and sentence[0].isalpha()
        if is_whole and MIN_CHARS <= len(sentence) <= MAX_CHARS:
            yield sentence


def list_names(names: Names, is_typical: Typical) -> Iterator[tuple[str, str]]:
    """Spellings of listed names with their class, of which a name has one."""
    known: Set[str] = set()
    for label in ORDER:
        for listed in sorted(names[label]):
            name = cleaned(listed, label)
            if name and name.lower() not in GENERIC:
                for form in spellings(name, label, is_typical) - known:
                    known.add(form)
                    yield form, label


def cleaned(name: str, label: str) -> str:
    """A name as text writes it; empty: it does not write it so."""
    kinds = "disorder|disease|finding|morphologic abnormality|qualifier value|substance"
    name = re.sub(rf"\s*\((?:{kinds})\)$", "", name)
    name = re.sub(r"\s+", " ", name).strip()
    plain = re.fullmatch(r"[A-Z][a-z]+( [a-z]+)?|[a-z]+", name)
    fits = 3 <= len(name) <= 60 and not set(name) & set(",(/;")
    fits = fits and len(name.split()) <= 6 and bool(re.search("[A-Za-z]{2}", name))
    return name if fits and (plain or label != "species") else ""


def spellings(name: str, label: str, is_typical: Typical) -> Set[str]:
    """How text writes a name: symbols as they are, other names at the start of a
    sentence and within, in the singular and the plural."""
    if " " in name:
        forms = {name, name[0].upper() + name[1:], name[0].lower() + name[1:]}
        forms.add(name.lower())
    elif sum(letter.isupper() for letter in name) >= 2:
        return {name}
    else:
        short = label == "drug" and len(name) < 7
        ratio = RATIO_OF_SHORT_DRUGS if short else RATIO
        if len(name) < 4 or not is_typical(name.lower(), ratio):
            return set()
        forms = {name.lower(), name.capitalize()}
    if label in (COUNTED if " " in name else COUNTED_WORDS):
        forms |= {f"{x}s" for x in forms if x[-1].isalpha() and x[-1] != "s"}
    return forms


def told_names(texts: Iterable[str], is_typical: Typical) -> Iterator[tuple[str, str]]:
    """Genes, proteins, enzymes and cells that the words around them tell."""
    enzymes: Counter[str] = Counter()
    proteins: Counter[str] = Counter()
    for text in texts:
        for pattern in (GENES, PROTEINS):
            for symbol in re.findall(pattern, text):
                if _is_symbol(symbol):
                    yield symbol, "gene"
        for symbol, noun in re.findall(CELLS, text):
            if _is_symbol(symbol):
                yield f"{symbol} {noun}", "cell"
        enzymes.update(re.findall(ENZYMES, text))
        proteins.update(re.findall(SMALL_PROTEINS, text))
    for name, count in enzymes.items():
        if count > 1 and len(name) > 6 and name.rstrip("s") not in NO_ENZYMES:
            yield from ((form, "enzyme") for form in (name, name.capitalize()))
    for name, count in proteins.items():
        before = re.split("[ -]", name)[:-1]
        is_told = count > 2 and not set(before) & NO_BEGINNINGS
        if is_told and all(map(is_typical, before)):
            forms = (name, f"{name}s", name.capitalize())
            yield from ((form, "protein") for form in forms)


def _is_symbol(word: str) -> bool:
    told = sum(letter.isupper() or letter.isdigit() for letter in word)
    return told >= 2 and word not in NO_SYMBOLS and word.lower() not in GENERIC


if __name__ == "__main__":
    typer.run(main)
