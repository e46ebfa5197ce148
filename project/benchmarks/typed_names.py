"""Names of some hundred classes: a lexicon for `annotate`.

    python project/benchmarks/typed_names.py names.jsonl --text a.txt.xz \
        --sentences sentences.txt --news lexicon.jsonl --wordnet wordnet.jsonl \
        --mined mined-fine.jsonl --people mined.jsonl --gazetteer lexicon.tsv.xz

What texts say of names tells their classes: "the novel Ulysses", "Bohr, a physicist",
"Alien is a film", "films such as Alien" (Hearst, "Automatic acquisition of hyponyms
from large text corpora", COLING 1992). Lists add to that; where they differ, the surer
one counts.
"""

import re
from collections import Counter, defaultdict
from pathlib import Path
from typing import DefaultDict, Iterator, List, Tuple

import typer

from spacy_entlm.files.json_lines import read_json
from spacy_entlm.files.text import read_lines
from spacy_entlm.lexicon.entries import (
    Entry,
    LexiconReport,
    merge_entries,
    write_lexicon,
)
from spacy_entlm.lexicon.readers import read_lexicon

# Nouns that tell classes, kinds of lists with their classes, words that are no names.
TABLES = Path(__file__).parents[1] / "assets" / "entlm-mini" / "typed_names.json"
_TABLES = read_json(TABLES)
LABEL_OF = {n: label for label, some in _TABLES["nouns"].items() for n in some.split()}
NEWS, GAZETTEER = _TABLES["news"], _TABLES["gazetteer"]
# Of these, a full name counts only, since a surname is that of many; and classes whose
# names may be written small.
PEOPLE, SMALL = (set(_TABLES[name].split()) for name in ("people", "small"))
TITLES = _TABLES["titles"].split()
# Capitalised words that are no names, and those of them that begin none.
NO_NAMES, NO_BEGINNINGS = (_TABLES[n].split() for n in ("no names", "no beginnings"))
NO_SMALL_BEGINNINGS = _TABLES["no small beginnings"].split()
NO_ENDINGS_BEGIN = _TABLES["no beginnings of endings"].split()
# What comes before "cancer" and the like and tells no kind of it; and metals.
NO_KINDS, METALS = ("|".join(_TABLES[n].split()) for n in ("no kinds", "metals"))
# Most items of a list, before "and other films" and after "films such as".
N_BEFORE, N_AFTER = 4, 12
MIN_SHARE = 0.6

# Weights: what the texts say counts more than what the lists do, words of one sense
# less than names of several words.
OF_TEXT, OF_ENDING, OF_GAZETTEER, OF_WORDNET, OF_MINED, OF_PEOPLE = (
    *(1000.0, 700.0, 500.0, 400.0, 300.0, 50.0),
)
OF_WORDNETS_PEOPLE, MOST_MINED = 100.0, 200.0
SURE = 5000.0
MAX_GAZETTEER_WORDS = 7

WORD = r"[A-Z][\w'’\-]*"
LINKS = "of the|of|de|van|von|for the|for|la|le|du|del|in the"
NAME = rf"(?:{WORD}|[A-Z]\.)(?: (?:(?:{LINKS}) )?(?:{WORD}|[A-Z]\.))*"
LONG_WORD = r"[A-Z][\w'’\-–]+"
# Names by a word in them that tells their class.
_TWO = rf"{LONG_WORD}(?: {LONG_WORD})?"
ENDINGS = (
    ("disease", rf"{_TWO} (?:disease|syndrome|disorder|fever|virus)\b"),
    (
        "disease",
        rf"(?<![\w-])(?!(?:{NO_KINDS})\b)[a-z]{{4,}} (?:cancer|syndrome|carcinoma"
        r"|leukemia|fibrosis|deficiency|palsy|dystrophy)\b",
    ),
    (
        "theory",
        rf"{_TWO} (?:theorem|conjecture|equations?|hypothesis|principle|paradox|theory"
        r"|law)\b",
    ),
    ("algorithm", rf"{_TWO} (?:algorithm|transform|method|protocol|cipher|sort)\b"),
    ("chemical", r"(?<![\w-])[a-z]{5,}(?:ic|ine|ous) acid\b"),
    ("chemical", rf"(?<![\w-])(?:{METALS}) [a-z]{{3,}}(?:ide|ate|ite)\b"),
    (
        "enzyme",
        r"(?<![\w-])(?:(?:[\w-]+ )?[a-z]{3,}ase [IVX]{1,3}|[A-Z][\w-]* [a-z]*"
        r"(?:inase|ligase|ferase|lymerase))\b",
    ),
    ("protein", r"(?<![\w-])[A-Za-z0-9-]*[A-Z][A-Za-z0-9-]* (?:receptor|protein)\b"),
    ("language", rf"{LONG_WORD}(?= (?:language|languages|dialect)\b)"),
    ("star", rf"{_TWO} (?:Galaxy|Nebula|galaxy|nebula|constellation)\b"),
    ("election", rf"\d{{4}}(?: {LONG_WORD}){{0,3}}(?: [a-z]+){{0,2}} elections?\b"),
    (
        "election",
        rf"(?:{LONG_WORD} ){{1,3}}(?:presidential|general|parliamentary|primary"
        r"|gubernatorial) elections?\b",
    ),
    (
        "software",
        r"(?:Microsoft|Windows|Adobe|Google|Apple|Mac OS|Linux|Visual) "
        rf"(?:{LONG_WORD}|\d+)",
    ),
)

Counts = DefaultDict[str, Counter[str]]


def main(
    out: Path,
    text: List[Path] = typer.Option(...),
    sentences: Path = typer.Option(...),
    news: Path = typer.Option(...),
    wordnet: Path = typer.Option(...),
    mined: Path = typer.Option(...),
    people: Path = typer.Option(...),
    gazetteer: Path = typer.Option(...),
) -> None:
    """Write the lexicon.

    out (Path): File to write, .jsonl. text (List[Path]): What is searched for names and
        the nouns beside them. sentences (Path): What `sentences.py` wrote of it.
    news (Path): The project's lexicon. wordnet (Path): What `wordnet_names.py` wrote.
    mined, people (Path): What `lexicon mine` found by patterns-fine.json, and by
        patterns.json, of which people are taken.
    gazetteer (Path): Lines of name, type and source, tab-separated.
    """
    entries = [
        *news_entries(news),
        *(wordnet_entry(entry) for entry in read_lexicon(wordnet)[0]),
        *text_entries(text),
        *gazetteer_entries(gazetteer),
        *ending_entries(sentences),
        *(mined_entry(entry) for entry in read_lexicon(mined)[0]),
        *people_entries(people),
    ]
    merged = merge_entries(entries, LexiconReport())
    write_lexicon((entry._replace(source="") for entry in merged), out)
    print(f"{len(merged):,} names of {len({e.label for e in merged})} classes")


def news_entries(path: Path) -> Iterator[Entry]:
    """The project's own names, with classes of this file."""
    for entry in read_lexicon(path)[0]:
        sure = entry.source in _TABLES["sure news"]
        yield Entry(entry.name, NEWS[entry.source], SURE if sure else OF_PEOPLE)


def wordnet_entry(entry: Entry) -> Entry:
    """A word of WordNet with its weight."""
    weight = OF_WORDNETS_PEOPLE if entry.label == "PER" else OF_WORDNET
    return entry._replace(weight=weight)


def mined_entry(entry: Entry) -> Entry:
    """A mined name with its weight."""
    return entry._replace(weight=OF_MINED + min(entry.weight or 1, MOST_MINED))


def people_entries(path: Path) -> Iterator[Entry]:
    """People among mined names."""
    for entry in read_lexicon(path)[0]:
        if entry.label == "PER":
            yield entry._replace(weight=OF_PEOPLE)


def gazetteer_entries(path: Path) -> Iterator[Entry]:
    """Names of the gazetteer that are no common words."""
    for _, line in read_lines(path):
        name, _, source = line.split("\t")
        if source not in GAZETTEER:
            continue
        label, n_words = GAZETTEER[source]
        words = name.split()
        plain = re.fullmatch(r"[\w'’.\- ]+", name)
        if not plain or not n_words <= len(words) <= MAX_GAZETTEER_WORDS:
            continue
        if words[0][0].isupper() and words[-1][0].isupper():
            yield Entry(name, label, OF_GAZETTEER)


def ending_entries(path: Path) -> Iterator[Entry]:
    """Names whose last word, or first one, tells their class."""
    patterns = [(label, re.compile(pattern)) for label, pattern in ENDINGS]
    counts: Counts = defaultdict(Counter)
    for _, line in read_lines(path):
        for label, pattern in patterns:
            for name in pattern.findall(line):
                first, _, rest = name.partition(" ")
                name = rest if first in NO_ENDINGS_BEGIN else name
                if " " in name or (name and label == "language"):
                    counts[name][label] += 1
    for name, of_label in counts.items():
        yield Entry(name, of_label.most_common(1)[0][0], OF_ENDING)


def text_entries(paths: List[Path]) -> Iterator[Entry]:
    """Names by the nouns that texts give them."""
    counts: Counts = defaultdict(Counter)
    relations = Relations()
    for path in paths:
        for _, line in read_lines(path):
            for name, label in relations.find(line):
                counts[name][label] += 1
    for name, of_label in sorted(counts.items()):
        label, count = of_label.most_common(1)[0]
        if count < MIN_SHARE * sum(of_label.values()):
            continue
        rare = " " not in name and count < 2
        if rare and not (label in SMALL and name[0].isupper()):
            continue
        if name[0].islower() and name.split()[0] in NO_SMALL_BEGINNINGS:
            continue
        yield Entry(name, label, OF_TEXT * count)


class Relations:
    """Finds names and nouns that stand in a relation."""

    def __init__(self) -> None:
        nouns = [noun for noun in LABEL_OF if not noun.endswith("s")]
        self.plurals = {plural(noun): LABEL_OF[noun] for noun in nouns}
        noun = "|".join(sorted(LABEL_OF, key=len, reverse=True))
        many = "|".join(sorted(self.plurals, key=len, reverse=True))
        follows = "who|that|which|of|in|by|from|for|and|based|located|born|known"
        self.single = [
            re.compile(pattern)
            for pattern in (
                rf"(?<![\w-])(?P<n>{noun})(?: (?:called|named|titled|entitled))?,? "
                rf'["“\']?(?P<x>{NAME})',
                rf'(?:^|[.!?]"? )(?:The )?["“]?(?P<x>{NAME})["”]?(?: \([^)]*\))? '
                rf"(?:is|was|are|were) (?:a|an|the|one of the) (?:[\w'-]+ ){{0,5}}?"
                rf"(?P<n>{noun})(?= (?:{follows}|on|with|to|published|at)\b|[.,;])",
                rf"(?P<x>{NAME}), (?:a|an|the|one of the) (?:[\w'-]+ ){{0,4}}?"
                rf"(?P<n>{noun})(?= (?:{follows}|at)\b|[.,;])",
            )
        ]
        self.after = re.compile(
            rf"(?<![\w-])(?P<n>{many}),? (?:such as|including|like|e\.g\.|especially) "
            r"(?P<x>[^.;:()]{3,150})"
        )
        self.before = re.compile(
            r"(?P<x>[^.;:()]{3,100}?),? (?:and|or) other (?:[a-z-]+ ){0,2}?"
            rf"(?P<n>{many})\b"
        )
        self.item = re.compile(rf"^(?:the )?(?P<x>{NAME})$")
        self.small = re.compile(r"^[a-z][a-z0-9-]+(?: [a-z][a-z0-9-]+)?$")

    def find(self, line: str) -> Iterator[Tuple[str, str]]:
        """Names in a line, and their classes."""
        for pattern in self.single:
            for match in pattern.finditer(line):
                yield from checked(match["x"], LABEL_OF[match["n"]])
        for pattern in (self.after, self.before):
            for match in pattern.finditer(line):
                label = self.plurals[match["n"]]
                items = re.split(r",| and | or ", match["x"])
                near = items[:N_AFTER] if pattern is self.after else items[-N_BEFORE:]
                for item in (item.strip().strip('"“”') for item in near):
                    if name := self.item.match(item):
                        yield from checked(name["x"], label)
                    elif self.small.match(item) and label in SMALL:
                        yield item, label


def plural(noun: str) -> str:
    """The regular plural."""
    if re.search("[^aeiou]y$", noun):
        return f"{noun[:-1]}ies"
    return noun + ("es" if re.search("(s|x|ch|sh)$", noun) else "s")


def checked(name: str, label: str) -> Iterator[Tuple[str, str]]:
    """A name that is none of what only looks like one."""
    words = name.split()
    if words[0] in TITLES and label not in PEOPLE and label != "king":
        return
    if label in PEOPLE and len(words) < 2:
        return
    name = name.strip().rstrip(",'’").removesuffix("'s").removesuffix("’s")
    words = name.split()
    if len(name) < 3 or not words:
        return
    bare = name in NO_NAMES or words[0] in NO_BEGINNINGS
    titled = words[0] in ("The", "A") and len(words) > 2  # of a book or a band
    if words[0] in NO_NAMES and bare and not titled:
        return
    yield name, label


if __name__ == "__main__":
    typer.run(main)
