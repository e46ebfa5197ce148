"""Sentences about software, its security and machine learning, annotated with what they
name: languages, libraries, malware, tasks, metrics and the like.

    python project/benchmarks/computing.py CHECKOUTS OUT --news wikinews.txt.xz

CHECKOUTS holds the repositories mitre/cti, MISP/misp-galaxy, cisagov/CSAF,
pypa/advisory-database, OWASP/CheatSheetSeries, python/peps, rust-lang/book,
MicrosoftDocs/PowerShell-Docs, d2l-ai/d2l-en, sebastianruder/NLP-progress,
github-linguist/linguist and tiagoft/NLP (abstracts of arXiv), each in a folder of its
name. OUT gets 1.spacy, 2.spacy and so on, of other sentences each.
"""

import csv
import re
from collections import Counter, defaultdict
from pathlib import Path
from typing import DefaultDict, Dict, Iterable, Iterator, List, Set

import spacy
import typer
from marked_texts import Marks, Text, mark, split_all, write_parts

from spacy_entlm.files.json_lines import read_json
from spacy_entlm.files.text import read_lines
from spacy_entlm.lexicon.entries import Entry
from spacy_entlm.lexicon.match import LexiconMatcher

_TABLES = read_json(
    Path(__file__).parents[1] / "assets" / "entlm-mini" / "computing.json"
)
NAMES: Dict[str, List[str]] = {k: v.split(", ") for k, v in _TABLES["names"].items()}
LANGUAGES, NO_LANGUAGES, GENERIC = (
    set(_TABLES[name].split(", ")) for name in ("languages", "no languages", "generic")
)
NO_NAMES = set(_TABLES["no names"].split())
# Nouns that tell the class of the name before them.
TOLD_BY = {n: label for label, some in _TABLES["told"].items() for n in some.split()}
MALWARE = [
    *("ransomware", "rat", "botnet", "banker", "stealer", "backdoor", "android"),
    *("wiper", "exploit-kit", "stalkerware", "cryptominers"),
]
# What the page that a link of ATT&CK names says about its text.
LINKED = {"groups": "hacker", "techniques": "attack"}
# Folders of pages.
PAGES = {
    "owasp": ["CheatSheetSeries/cheatsheets"],
    "peps": ["peps/peps"],
    "rust": ["book/src"],
    "powershell": [
        f"PowerShell-Docs/reference/{x}" for x in ("7.5", "docs-conceptual")
    ],
    "d2l": ["d2l-en/chapter*"],
    "progress": ["NLP-progress"],
}
# A word alone is a name if text of this field has it so many times as often as news.
RATIO = 4
MIN_TOLD = 3

CODE = re.compile(r"`+([^`\n]+?)`+")
LINK = re.compile(r"!?\[([^\]\[]*)\]\(([^)\s]*)[^)]*\)")
NOUNS = "|".join(sorted(TOLD_BY, key=len, reverse=True))
TOLD = re.compile(rf"(?<![\w.-])([\w.+#-]*[A-Z][\w.+#-]*) ({NOUNS})\b")
EXTENSIONS = (
    "exe|dll|sys|bat|ps1|psm1|psd1|vbs|js|mjs|ts|jsx|tsx|py|pyc|pyi|ipynb|rb|php|pl|sh|rs"
    "|c|h|cc|cpp|hpp|cs|java|class|jar|war|apk|ipa|dex|so|o|a|lib|lnk|msi|dmg|deb|rpm|html"
    "|htm|css|scss|xml|json|yml|yaml|toml|ini|cfg|conf|csv|tsv|txt|log|md|rst|pdf|docx?"
    "|xlsx?|pptx?|rtf|png|jpe?g|gif|svg|bmp|ico|mp[34]|wav|avi|mov|zip|rar|7z|tar|gz|tgz"
    "|iso|sql|db|sqlite|plist|reg|tmp|bin|dat|pem|crt|key|asp|aspx|jsp|lock|whl|egg"
)
# The first that fits counts.
SHAPES = {
    "URL": r"(?:https?|ftp)://[^\s,;)>\"']*[\w/]|[\w.+-]+@[\w-]+(?:\.[\w-]+)+",
    "vulnerability": r"CVE-\d{4}-\d{4,}|GHSA(?:-\w{4}){3}|MS\d\d-\d{3}",
    "function": r"[A-Za-z_][\w.]*\(\)|(?:Get|Set|New|Remove|Add|Start|Stop|Invoke"
    r"|Import|Export|Enable|Disable|Test|Write|Read|Out|ConvertTo|ConvertFrom)-[A-Z]\w+",
    "file": rf"[\w-]+(?:\.[\w-]+)*\.(?:{EXTENSIONS})",
    "format": rf"\.(?:{EXTENSIONS})",
    "version": r"v\d+(?:\.\d+)+(?:[a-z]+\d*)?|\d+(?:\.\d+){2,}(?:[-.]?[a-z]+\d*)?"
    r"|(?<=[Vv]ersion )\d[\w.]*\w|(?<=[Vv]ersion )\d|(?<=[Vv]ersions )\d[\w.]*\w"
    r"|(?<=Python )\d\.\d+|(?<=PowerShell )\d(?:\.\d)?|(?<=Rust )\d\.\d+",
}
SHAPE = re.compile(
    r"(?<![\w./\\-])(?:"
    + "|".join(f"(?P<{label}>{some})" for label, some in SHAPES.items())
    + r")(?![\w/\\]|\.\w)"
)
# What is written as code, by its form.
CODES = {
    "option": r"--?[A-Za-z][\w-]*",
    "object_class": r"(?:[A-Z][a-z0-9]+){2,}|[A-Z]{2,}[a-z]\w+",
    "variable": r"\$?[a-z]+(?:_[a-z0-9]+)+|\$[A-Za-z]\w*|[A-Z]+(?:_[A-Z0-9]+)+",
}


def main(
    checkouts: Path,
    out: Path,
    news: Path = typer.Option(...),
    runs: int = 2,
    per_source: int = 6000,
    seed: int = 1,
) -> None:
    """Write annotated sentences.

    checkouts (Path): Folder of the repositories. out (Path): Folder for the files.
    news (Path): Text in which a word is as frequent as elsewhere.
    runs (int): Files to write. per_source (int): Most sentences of a source in each.
    seed (int): Seed of the draw.
    """
    names: DefaultDict[str, Set[str]] = defaultdict(set)
    names["language"] = LANGUAGES | linguist_names(checkouts / "linguist")
    for label, some in NAMES.items():
        names[label].update(some)
    texts = read_texts(checkouts, names)
    sentences = {name: split_all(some) for name, some in texts.items()}
    everything = [s.text for some in sentences.values() for s in some]
    known = list_names(names, everything, (line for _, line in read_lines(news)))
    told = told_names(everything, known)
    print(f"{Counter(known.values())} listed, {Counter(told.values())} told")
    matcher = LexiconMatcher(Entry(*x) for x in {**told, **known}.items())
    nlp = spacy.blank("en")
    sources = (
        (name, [mark(nlp.make_doc(s.text), s.marks, matcher, SHAPE) for s in found])
        for name, found in sentences.items()
    )
    write_parts(sources, out, runs, {}, per_source, seed)


def read_texts(
    checkouts: Path, names: DefaultDict[str, Set[str]]
) -> Dict[str, Iterator[Text]]:
    """The texts of each source; reading them adds names."""
    return {
        "attack": attack_texts(checkouts / "cti", names),
        "galaxy": galaxy_texts(checkouts / "misp-galaxy" / "clusters", names),
        "csaf": csaf_texts(checkouts / "CSAF"),
        "advisories": advisory_texts(checkouts / "advisory-database"),
        "abstracts": abstract_texts(checkouts / "NLP" / "arxiv_data.csv"),
        **{
            name: page_texts(root for some in folders for root in checkouts.glob(some))
            for name, folders in PAGES.items()
        },
    }


def linguist_names(folder: Path) -> Set[str]:
    """Names of programming languages that are no other words."""
    text = (folder / "lib/linguist/languages.yml").read_text("utf8")
    found: Set[str] = set()
    for stanza in re.split(r"\n(?=\S)", text):
        if "type: programming" in stanza:
            found.add(stanza.split(":")[0].strip("\"'"))
    return {name for name in found - NO_LANGUAGES if len(name) > 2}


def attack_texts(folder: Path, names: DefaultDict[str, Set[str]]) -> Iterator[Text]:
    """Descriptions in ATT&CK, whose links tell what they name; adds these names."""
    objects = [read_json(p)["objects"][0] for p in sorted(folder.rglob("*--*.json"))]
    objects = [x for x in objects if not x.get("revoked")]
    kinds = {"malware": "malware", "tool": "software", "intrusion-set": "hacker"}
    ids: Dict[str, str] = {}
    for item in objects:
        label = kinds.get(item["type"])
        if label:
            some = [item["name"], *item.get("aliases", item.get("x_mitre_aliases", []))]
            names[label].update(name for name in some if len(name) > 3)
            for reference in item["external_references"]:
                ids[reference.get("external_id", "")] = label
    for item in objects:
        text = re.sub(r"\(Citation:[^)]*\)", "", item.get("description", ""))
        text = re.sub(r"</?code>", "`", text)
        yield from marked_texts(text, ids)


def galaxy_texts(folder: Path, names: DefaultDict[str, Set[str]]) -> Iterator[Text]:
    """Descriptions of malware and of those who use it; adds their names."""
    for kind in (*MALWARE, "threat-actor"):
        label = "hacker" if kind == "threat-actor" else "malware"
        for item in read_json(folder / f"{kind}.json")["values"]:
            some = [item["value"], *item.get("meta", {}).get("synonyms", [])]
            plain = (re.sub(r" (?:Ransomware|RAT)$", "", name) for name in some)
            names[label].update(n for n in plain if len(n) > 3 and n[0].isupper())
            yield from marked_texts(item.get("description", ""), {})


def csaf_texts(folder: Path) -> Iterator[Text]:
    """Notes of security advisories."""
    for path in sorted(folder.rglob("icsa*.json")):
        content = read_json(path)
        notes = list(content["document"].get("notes", []))
        for vulnerability in content.get("vulnerabilities", []):
            notes += vulnerability.get("notes", [])
        for note in notes:
            if note["category"] in ("summary", "description", "details", "general"):
                yield Text(re.sub(r"\s+", " ", note["text"]), [])


def advisory_texts(folder: Path) -> Iterator[Text]:
    """Details of advisories on Python packages, with the names of these."""
    for path in sorted(folder.rglob("*.yaml")):
        text = path.read_text("utf8")
        name = re.search(r"^ +name: (\S+)$", text, re.M)
        found = re.search(r"^details: *(?:[|>]-?\n)?(.*?)^\w", text, re.M | re.S)
        if name and found:
            details = found[1].strip().strip("\"'").replace("\\n", " ")
            for text, marks in marked_texts(re.sub(r"\s+", " ", details), {}):
                spelled = re.escape(name[1]).replace(r"\-", "[-_ ]")
                own = re.finditer(rf"(?<![\w/.-]){spelled}(?![\w/-])", text, re.I)
                yield Text(text, [*((*m.span(), "library") for m in own), *marks])


def abstract_texts(path: Path) -> Iterator[Text]:
    """Abstracts of articles on machine learning."""
    with path.open(encoding="utf8", newline="") as lines:
        for row in csv.DictReader(lines):
            yield Text(re.sub(r"\s+", " ", row["summaries"] or ""), [])


def page_texts(folders: Iterable[Path]) -> Iterator[Text]:
    """Paragraphs of pages in Markdown and reStructuredText."""
    files = (path for folder in folders for path in folder.rglob("*.*"))
    for path in sorted(path for path in files if path.suffix in (".md", ".rst")):
        text = path.read_text("utf8")
        text = re.sub(r"^---\n.*?^---\n", "", text, flags=re.M | re.S)
        text = re.sub(r"^ *(```|~~~).*?^ *\1", "", text, flags=re.M | re.S)
        text = re.sub(r"<[^<>]*>`_+", "`_", text)  # the targets of links
        text = re.sub(r":(\w+):`([^`]*)`", r"\2", text)
        text = re.sub(r"`([^`]*)`_+", r"\1", text)
        for paragraph in re.split(r"\n\s*\n|\n(?=\s*(?:[-*+]|\d+\.) )", text):
            is_code = paragraph.lstrip("\n").startswith(("    ", "\t"))
            if not is_code and paragraph.lstrip()[:1] not in ("#", "|", ".", "<", ":"):
                line = re.sub(r"^\s*(?:[-*+>]|\d+\.) ", "", paragraph)
                yield from marked_texts(re.sub(r"\s+", " ", line), {})


def marked_texts(text: str, ids: Dict[str, str]) -> Iterator[Text]:
    """A text without its links and marks of code, which tell classes.

    ids (Dict[str, str]): Classes of what ATT&CK's links name.
    """
    for line in text.split("\n"):
        pieces: List[str] = []
        marks: Marks = []
        end = length = 0
        line = re.sub(r"\*{1,3}(\S(?:[^*]*\S)?)\*{1,3}", r"\1", line)
        pattern = rf"(?:{LINK.pattern})|(?:{CODE.pattern})"
        for match in re.finditer(pattern, line):
            shown, target, code = match.groups()
            pieces += [line[end : match.start()], code or CODE.sub(r"\1", shown)]
            length += len(pieces[-2])
            page = re.search(r"attack\.mitre\.org/(\w+)/(\w+)", target or "")
            if code:
                marks.append((length, length + len(code), class_of_code(code)))
            elif page:
                label = LINKED.get(page[1], ids.get(page[2], ""))
                marks.append((length, length + len(pieces[-1]), label))
            length += len(pieces[-1])
            end = match.end()
        yield Text("".join([*pieces, line[end:]]), marks)


def class_of_code(code: str) -> str:
    """The class of what is written as code; empty: not known, or a listed name."""
    match = SHAPE.fullmatch(code)
    if match and match.lastgroup:
        return match.lastgroup
    return next((x for x, some in CODES.items() if re.fullmatch(some, code)), "")


def list_names(
    names: Dict[str, Set[str]], ours: Iterable[str], theirs: Iterable[str]
) -> Dict[str, str]:
    """Spellings of listed names with their class; words of everyday text are none."""
    here, there = (
        Counter(w for text in some for w in re.findall(r"\w+", text.lower()))
        for some in (ours, theirs)
    )
    share = there.total() / here.total()
    listed = {name for some in NAMES.values() for name in some} | LANGUAGES
    known: Dict[str, str] = {}
    for label, some in names.items():
        for name in sorted(some):
            word = name.lower()
            rare = here[word] * share > RATIO * (there[word] + 1)
            if word in GENERIC or (" " not in word and name not in listed and not rare):
                continue
            forms = {name}
            if name == word:  # at the start of a sentence, too
                forms.add(name[0].upper() + name[1:])
            for form in forms:
                known.setdefault(form, label)
    return known


def told_names(texts: Iterable[str], known: Dict[str, str]) -> Dict[str, str]:
    """Names that stand before a noun which tells their class, mostly the same one."""
    counts: DefaultDict[str, Counter[str]] = defaultdict(Counter)
    for text in texts:
        for name, noun in TOLD.findall(text):
            if name not in NO_NAMES and len(name) > 2 and name not in known:
                counts[name][TOLD_BY[noun]] += 1
    found: Dict[str, str] = {}
    for name, some in counts.items():
        label, count = some.most_common(1)[0]
        plain = re.fullmatch("[A-Z][a-z]+", name) is not None
        if count >= MIN_TOLD and count > 0.7 * some.total() and not plain:
            found[name] = label
    return found


if __name__ == "__main__":
    typer.run(main)
