"""Texts of courts, annotated with what they name: courts, judges, lawyers, parties,
cases, statutes and their provisions.

    python project/benchmarks/law.py CHECKOUTS OUT

CHECKOUTS holds the repositories Legal-Innovation-Lab-Wales/judiciary-akn-tagger
(English judgments), freelawproject/juriscraper (what American courts list of theirs,
with summaries) and freelawproject/courts-db, each in a folder of its name. OUT gets
1.spacy, 2.spacy and so on, of other texts each.
"""

import re
from datetime import date
from pathlib import Path
from typing import Dict, Iterable, Iterator, List, NamedTuple, Optional, Tuple
from xml.etree import ElementTree

import spacy
import typer
from marked_texts import Marks, Text, mark, split_all, write_parts
from numbers_and_dates import add_numbers
from spacy.language import Language
from spacy.tokens import Doc, Span

from spacy_entlm.files.json_lines import read_json
from spacy_entlm.lexicon.entries import Entry
from spacy_entlm.lexicon.match import LexiconMatcher

JUDGMENTS = "judiciary-akn-tagger/src/main/resources/CORPUS"
LISTS = "juriscraper/tests/examples/opinions/united_states"
# Their sentences are long.
MAX_CHARS = 699
COURTS = "courts-db/courts_db/data/courts.json"
# Sides of an English judgment; one who is on both is neither.
SIDES = {
    **dict.fromkeys(("claimant", "appellant", "applicant", "petitioner"), "plaintiff"),
    **dict.fromkeys(("defendant", "respondent"), "defendant"),
}
WORD = r"[A-Z][\w'’\-]+"
INITIALS = r"(?:[A-Z]\.? ?){1,3}"
NAME = rf"(?:{INITIALS})?{WORD}(?: (?:[A-Z]\. )?{WORD}){{0,3}}"
TITLED = re.compile(r"(?:mr|mrs|ms|miss|dr|sir|dame)\.?", re.I)
# Of a case: words in capitals, with small ones between them.
PARTY_WORD = r"(?:[A-Z][\w'’.&\-]*|\([A-Z0-9][^()]{0,40}\)|&)"
SMALL = r"(?:of|for|the|and|on|application|de|in|another|others|by|a|to)"
PARTY = rf"{PARTY_WORD}(?:,? (?:{SMALL} ){{0,4}}{PARTY_WORD}){{0,9}}"
CITATION = (
    r"(?:[\[(]\d{4}[\])] (?:\d+ )?[A-Z][A-Za-z.]*(?: [A-Z][A-Za-z.]*){0,2} \d+"
    r"(?: \((?:Admin|QB|Ch|Comm|Fam|TCC|IAC|AAC|Pat|IPEC|KB)\))?"
    r"|\d+ (?:U\. ?S\.|S\. ?Ct\.|F\.(?: ?\dd|Supp\.)?"
    r"|[A-Z][a-z]*\.(?: ?[A-Z0-9][\w.]*){0,3}) \d+"
    r"(?: \([^()]{0,20}\d{4}\))?|\d{4} [A-Z][A-Z-]{1,} \d+)"
)
NO_BEGINNING = (
    "In|See|As|But|The|This|That|At|On|By|For|From|With|And|Or|Under|Since|Thus|When"
    "|While|Here|If|Both|Citing|Following|Applying|Although|After|Before|Cf|He|She|They"
    "|It|We|Who|His|Her|An?|Any|No|What|Each|Some|Mr|Mrs|Ms|Miss"
)
CASE = (
    rf"(?!(?:{NO_BEGINNING})\b)(?:{PARTY} (?:v|vs|V|Vs|versus)\.? {PARTY}(?:,? at)?"
    rf"|(?:In re|Re|Ex parte) {PARTY})(?:[,;]? {CITATION})*|{CITATION}"
)
NUMBER = r"\d+[A-Z]{0,3}(?:[.\-]\d+)*(?:\(\w{1,4}\))*"
NUMBERS = rf"{NUMBER}(?:(?:,| and| or| to|-|–) ?{NUMBER})*"
PROVISION = (
    r"(?:[Ss]ub-?)?(?:[Ss]ections?|[Aa]rticles?|[Rr]ules?|[Rr]egulations?|[Cc]lauses?"
    r"|[Ss]chedules?|[Cc]hapters?|[Oo]rder|[Aa]rts?\.|[Ss]ecs?\.|[Ss]s?\.?|[Rr]\.)"
    rf" {NUMBERS}|[Ss]{NUMBER}|§§? ?{NUMBERS}"
    r"|(?:First|Second|Fourth|Fifth|Sixth|Seventh|Eighth|Tenth|Fourteenth) Amendment"
)
KIND_OF_LAW = (
    "Act|Code|Rules|Regulations?|Order|Convention|Statutes|Directive|Treaty|Ordinance"
    "|Charter|Constitution|Protocol"
)
LAW = (
    rf"(?!(?:{NO_BEGINNING}|Court|Lord|Lady|Mr|Practice)\b){PARTY_WORD}"
    rf"(?:,? (?:{SMALL} ){{0,3}}{PARTY_WORD}){{0,8}} (?:{KIND_OF_LAW})"
    r"(?:,? (?:of )?\d{4})?(?: \([A-Z][^()]{0,30}\))?"
    r"|\d+ (?:U\.S\.C\.(?:A\.)?|USC|C\.F\.R\.|CFR)|R\.C\."
    r"|[A-Z][a-z]+\. Stat\.(?: Ann\.)?|U\.S\. Const\."
    r"|CPR|ECHR|GDPR|PACE|FSMA|IPC|CrPC|CPC|the Constitution"
)
COURT = (
    rf"(?!(?:{NO_BEGINNING}|Trial|Circuit)\b)(?:(?:U\.S\.|{WORD}),? (?:of )?){{1,5}}"
    r"(?:Courts?|Tribunals?)(?: (?:of|for) (?:the )?(?:District of )?"
    rf"{WORD}(?:,? (?:and |of )?{WORD}){{0,4}})?"
    rf"|Courts? of {WORD}(?:,? (?:and |of (?:the )?|for (?:the )?)?{WORD}){{0,5}}"
    r"|House of Lords|Privy Council|(?:First|Second|Third|Fourth|Fifth|Sixth|Seventh"
    r"|Eighth|Ninth|Tenth|Eleventh|Federal|D\.C\.) Circuit"
    rf"|(?:{WORD} ){{1,3}}Division"
)
JUDGE = (
    rf"(?<=Justice )(?!of\b){NAME}(?: of {WORD})?|(?<=Judge ){NAME}|(?<=Master ){NAME}"
    rf"|(?<=Magistrate ){NAME}|(?<=HHJ ){NAME}|(?<=Recorder ){NAME}"
    r"|(?:Lord|Lady|Baroness|Lords) (?!Chief|Justice|Chancellor|Advocate|Mayor)"
    rf"{WORD}(?: of {WORD})?"
    rf"|{WORD}(?= (?:LJJ?|JJ?|CJ|LCJ|MR|JSC|JJSC|JA|DPSC|PSC)\b)"
    rf"|{WORD}(?=, (?:C\.|P\.|P\. ?)?JJ?\.)"
)
LAWYER = (
    rf"{NAME},?(?= (?:QC|KC|SC)\b)|(?<=[Aa]ttorney ){NAME}|(?<=[Ss]olicitor ){NAME}"
    rf"|(?<=Attorney General ){NAME}|(?<=Solicitor General ){NAME}"
    rf"|(?<=[Cc]ounsel ){NAME}|(?<=[Cc]ounsel, ){NAME}|{NAME} (?:LLP|Solicitors)"
)
WITNESS = (
    rf"(?<=evidence of ){NAME}|(?<=testimony of ){NAME}|(?<=statement of ){NAME}"
    rf"|(?<=[Ww]itness ){NAME}|(?!(?:{NO_BEGINNING})\b){NAME}"
    r"(?= (?:testified|gave (?:\w+ )?evidence|told the jury)\b)|P\.? ?W\.? ?-? ?\d+"
)
DEFENDANT = (
    rf"(?<=[Dd]efendant ){NAME}|(?<=[Rr]espondent ){NAME}|(?<=[Aa]ppellee ){NAME}"
)
PLAINTIFF = (
    rf"(?<=[Pp]laintiff ){NAME}|(?<=[Pp]etitioner ){NAME}|(?<=[Aa]ppellant ){NAME}"
    rf"|(?<=[Cc]laimant ){NAME}"
)
DOCKET = (
    r"(?:(?:Case|Claim|Civil|Criminal|Crl\.?|Writ|Appeal|Action|Petition|Suit|Docket"
    r"|Application|Special|Leave|Cause|Index|C\.A\.|W\.P\.|CA|WP|SLP)[.,]? ?"
    r"(?:\([A-Za-z.]+\) ?)?)*(?:Nos?\.?|Number):? ?"
    r"(?=[\w/:.\-]*\d{2})[A-Z\d][\w/:.\-]*\w(?: of \d{4})?"
)
# The first that fits counts.
SHAPES = {
    "case": CASE,
    "provision": PROVISION,
    "case_number": DOCKET,
    "law": LAW,
    "court": COURT,
    "judge": JUDGE,
    "lawyer": LAWYER,
    "witness": WITNESS,
    "plaintiff": PLAINTIFF,
    "defendant": DEFENDANT,
}
SHAPE = re.compile(
    r"(?<![\w.\-’'])(?:"
    + "|".join(f"(?P<{label}>{some})" for label, some in SHAPES.items())
    + r")(?![\w’'])"
)
ROLE = re.compile(r"plaintiff|defendant|appell|respondent|petitioner", re.I)
MIN_NAME, MAX_NAME, MOST_ROWS = 5, 120, 1000
# Others are mostly those of pages and paragraphs.
SAID_WITH_NUMBERS = ("DATE", "TIME", "MONEY", "PERCENT")


class Judgment(NamedTuple):
    """head: Text of its first page, marked. names: Classes of those who are in it."""

    head: Text
    names: Dict[str, str]
    paragraphs: List[str]


def main(
    checkouts: Path, out: Path, runs: int = 2, per_source: int = 9000, seed: int = 1
) -> None:
    """Write annotated texts.

    checkouts (Path): Folder of the repositories. out (Path): Folder for the files.
    runs (int): Files to write. per_source (int): Most texts of a source in each.
    seed (int): Seed of the draw.
    """
    sources = read_sources(spacy.blank("en"), checkouts)
    write_parts(sources, out, runs, {"rows": MOST_ROWS}, per_source, seed)


def read_sources(nlp: Language, checkouts: Path) -> Iterator[Tuple[str, List[Doc]]]:
    """The texts of each source."""
    courts = {item["name"] for item in read_json(checkouts / COURTS)}
    listed = [Entry(name, "court") for name in sorted(courts) if " " in name]
    heads, bodies = [], []
    for path in sorted((checkouts / JUDGMENTS).rglob("*.xml")):
        judgment = read_judgment(path)
        own = [Entry(name, label) for name, label in judgment.names.items()]
        matcher = LexiconMatcher([*own, *listed])
        heads.append(marked(nlp, judgment.head, matcher))
        texts = (Text(paragraph, []) for paragraph in judgment.paragraphs)
        bodies += [marked(nlp, x, matcher) for x in split_all(texts, MAX_CHARS)]
    yield "heads", heads
    yield "judgments", bodies
    matcher = LexiconMatcher(listed)
    rows = list(read_rows(checkouts / LISTS))
    summaries = (Text(row.get("summaries") or "", []) for row in rows)
    whole = split_all(summaries, MAX_CHARS)
    yield "summaries", [marked(nlp, text, matcher) for text in whole]
    yield "rows", [marked(nlp, text, matcher) for text in row_texts(rows)]


def marked(nlp: Language, text: Text, matcher: LexiconMatcher) -> Doc:
    """A text as a Doc, with its entities; a title is not of the name behind it."""
    doc = mark(nlp.make_doc(text.text), text.marks, matcher, SHAPE)
    titled = [ent for ent in doc.ents if len(ent) > 1 and TITLED.fullmatch(ent[0].text)]
    names = [Span(doc, ent.start + 1, ent.end, ent.label) for ent in titled]
    titles = [Span(doc, ent.start, ent.start + 1) for ent in titled]
    doc.set_ents(names, outside=titles, default="unmodified")
    add_numbers(doc, SAID_WITH_NUMBERS)
    return doc


def read_judgment(path: Path) -> Judgment:
    """An English judgment in Akoma Ntoso."""
    root = ElementTree.parse(path).getroot()
    pieces: List[str] = []
    marks: Marks = []
    names: Dict[str, str] = {}
    header = next(x for x in root.iter() if x.tag.endswith("}header"))
    for element, text in walk(header):
        text = re.sub(r"\s+", " ", text).strip()
        if not text:
            continue
        begin = sum(map(len, pieces)) + len(pieces)
        pieces.append(text)
        label = class_of(element)
        if label is not None:
            marks.append((begin, begin + len(text), label))
            names.update(spellings(text, label))
    body = next(x for x in root.iter() if x.tag.endswith("}judgmentBody"))
    paragraphs = [x for x in body.iter() if x.tag.endswith("}p")]
    texts = [re.sub(r"\s+", " ", "".join(p.itertext())).strip() for p in paragraphs]
    return Judgment(Text(" ".join(pieces), marks), names, texts)


def walk(element: ElementTree.Element) -> Iterator[Tuple[ElementTree.Element, str]]:
    """Pieces of text with what they are directly in."""
    yield element, element.text or ""
    for child in element:
        yield from walk(child)
        yield element, child.tail or ""


def class_of(element: ElementTree.Element) -> Optional[str]:
    """The class of what an element of a first page holds; empty: not known."""
    tag = element.tag.rsplit("}")[-1]
    if tag == "party":
        return SIDES.get(element.get("as", "").strip("#"), "")
    known = {"neutralCitation": "case", "ref": "case", "docNumber": "case_number"}
    known.update(judge="judge", lawyer="lawyer", organization="court")
    return known.get(tag)


def spellings(name: str, label: str) -> Iterator[Tuple[str, str]]:
    """How the text of a judgment may spell a name of its first page."""
    plain = re.sub(rf"^{TITLED.pattern} |,? (?:QC|KC)$", "", name, flags=re.I)
    words = plain.split()
    if label not in ("lawyer", "plaintiff", "defendant") or len(plain) < MIN_NAME:
        return
    title = " ".join(w.capitalize() if w.isupper() and len(w) > 3 else w for w in words)
    for form in {plain, title}:
        yield form, label
    is_person = 2 <= len(words) <= 4 and not re.search(
        r"\b(?:Ltd|Limited|LLP|plc|Council|of|and|&|Inc|Department)\b", name, re.I
    )
    if is_person:
        for form in ("Mr", "Ms", "Mrs", "Miss", "Dr", "Sir"):
            yield f"{form} {words[-1].capitalize()}", label


def read_rows(folder: Path) -> Iterator[Dict[str, str]]:
    """What courts list of their opinions."""
    for path in sorted(folder.glob("*.compare.json")):
        yield from read_json(path)


def row_texts(rows: Iterable[Dict[str, str]]) -> Iterator[Text]:
    """A case with its parties and its number, as a first page has them."""
    seen = set()
    for row in rows:
        name = re.sub(r"\s+", " ", row["case_names"]).strip()
        number = (row.get("docket_numbers") or "").split(",")[0].strip()
        sides = re.split(r" v\.? ", name)
        is_plain = len(sides) == 2 and number and not ROLE.search(name)
        if not is_plain or name in seen or len(name) > MAX_NAME:
            continue
        seen.add(name)
        if len(seen) % 2:
            pieces = [(name, "case"), (", ", None), (f"No. {number}", "case_number")]
            day = date.fromisoformat(row["case_dates"])
            pieces += [(f", decided {day:%B} {day.day}, {day.year}.", None)]
        else:
            pieces = [(f"No. {number}", "case_number"), (" ", None)]
            pieces += [(sides[0], "plaintiff"), (", Appellant, v. ", None)]
            pieces += [(sides[1], "defendant"), (", Appellee.", None)]
        text, marks = "", []
        for piece, label in pieces:
            if label is not None:
                marks.append((len(text), len(text) + len(piece), label))
            text += piece
        yield Text(text, marks)


if __name__ == "__main__":
    typer.run(main)
