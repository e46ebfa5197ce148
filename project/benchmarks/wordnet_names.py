"""Names of everyday and scientific classes, from WordNet: a lexicon for `annotate`.

    python project/benchmarks/wordnet_names.py wordnet/dict names.jsonl --text a.txt

A class is what lies below its roots in WordNet's tree of hypernyms, the nearest root
first. A word is a name of a class if its first noun sense is one and most of its tagged
occurrences are, those as another part of speech counted.
"""

import re
from collections import Counter, defaultdict
from itertools import chain
from pathlib import Path
from typing import Dict, Iterable, Iterator, List, NamedTuple, Optional, Tuple

import typer

from spacy_entlm.files.text import read_lines
from spacy_entlm.lexicon.entries import (
    Entry,
    LexiconReport,
    merge_entries,
    write_lexicon,
)

# Classes and their roots; lemma.N is the N-th noun sense. A root with a plus sign is
# for what has a name, and before others: Newton is a scientist.
ROOTS = """
disease=ill_health.1,symptom.1,mental_illness.1,syndrome.1 drug=drug.1
chemical=chemical.1,compound.2,chemical_element.1 protein=protein.1 enzyme=enzyme.1
hormone=hormone.1 cell=cell.2 microorganism=microorganism.1 organ=body_part.1
animal=animal.1 plant=plant.2 food=food.1,food.2 drink=beverage.1
instrument=musical_instrument.1 weapon=weapon.1 vehicle=vehicle.1
clothing=clothing.1 tool=tool.1 building=building.1
material=fabric.1,mineral.1,rock.2 color=color.1 genre=genre.1,genre.3,genre.4
sport=sport.1 game=game.1,game.3 discipline=discipline.1 theory=theory.1,theorem.1
language=language.1 currency=monetary_unit.1,currency.1
religion=religion.1,religion.2 event=social_event.1,war.1,battle.1
water=body_of_water.1 mountain=mountain.1 star=celestial_body.1
unit=unit_of_measurement.1 party=political_party.1 award=award.2,award.3
book=publication.1,+book.1
occupation=worker.1,professional.1,leader.1,expert.1,creator.2
scientist=+scientist.1 writer=+writer.1 musician=+musician.1,+musician.2
artist=+artist.1 PER=+person.1
politician=+politician.1,+politician.2,+head_of_state.1
"""
# A surname alone is that of many.
PEOPLE = ("scientist", "writer", "musician", "artist", "politician")
# How new words of a class end; words that WordNet has are not judged by it.
ENDINGS = {
    "disease": "itis osis emia uria pathy plasia algia sarcoma carcinoma",
    "drug": "mab statin cillin azole olol mycin cycline pril caine azepam parin",
    "enzyme": "inase idase ylase ctase enase ferase sterase",
    "protein": "globulin kinin albumin",
    "chemical": "oxide ylene amine chloride sulfate phosphate fluoride",
}
MIN_SHARE = 0.7
MIN_LETTERS = 3
MIN_ENDING_LETTERS = 7
NOUN = "1"  # ss_type in a sense key
INSTANCE = "@i"


class Synset(NamedTuple):
    """A meaning: its words as spelled; its hypernyms, as pointer symbol and offset."""

    words: List[str]
    parents: List[Tuple[str, str]]


Synsets = Dict[str, Synset]
# Per lemma and sense: part of speech, number, offset, and how often it is tagged.
Senses = Dict[str, List[Tuple[str, int, str, int]]]


def main(wordnet: Path, out: Path, text: Optional[Path] = None) -> None:
    """Write a lexicon of the classes.

    wordnet (Path): Folder with WordNet's data.noun and index.sense.
    out (Path): Lexicon to write, .jsonl.
    text (Optional[Path]): Text whose words are judged by their endings.
    """
    synsets = read_synsets(wordnet / "data.noun")
    senses = read_senses(wordnet / "index.sense")
    names = list(find_names(synsets, senses))
    parts = [names, list(find_plurals(names, senses))]
    if text is not None:
        parts.append(list(find_endings(text, senses)))
    entries = merge_entries(chain.from_iterable(parts), LexiconReport())
    write_lexicon(entries, out)
    for label, n in Counter(entry.label for entry in entries).most_common():
        print(f"{n:6,} {label}")


def read_synsets(path: Path) -> Synsets:
    """The meanings of nouns by their offsets (the form: man page wndb)."""
    synsets = {}
    for _, line in read_lines(path):
        if line.startswith(" "):  # the licence
            continue
        cells = line.split(" | ")[0].split()
        n_words = int(cells[3], base=16)
        words = [word.replace("_", " ") for word in cells[4 : 4 + 2 * n_words : 2]]
        pointers = cells[5 + 2 * n_words :]
        pairs = zip(pointers[::4], pointers[1::4])
        synsets[cells[0]] = Synset(words, [p for p in pairs if p[0] in ("@", INSTANCE)])
    return synsets


def read_senses(path: Path) -> Senses:
    """The senses of all words by their lemmas."""
    senses: Senses = defaultdict(list)
    for _, line in read_lines(path):
        key, offset, number, tagged = line.split()
        lemma, rest = key.split("%")
        senses[lemma].append((rest[0], int(number), offset, int(tagged)))
    return senses


def find_names(synsets: Synsets, senses: Senses) -> Iterator[Entry]:
    """The words whose usual meaning is of a class."""
    labels = label_synsets(synsets, senses)
    for lemma, meanings in senses.items():
        nouns = sorted(meaning for meaning in meanings if meaning[0] == NOUN)
        if not nouns or len(lemma) < MIN_LETTERS or not lemma[0].isalpha():
            continue
        if lemma.endswith("s") and lemma[:-1] in senses:  # "stops" is a game, too
            continue
        label = labels.get(nouns[0][2])
        weights = [tagged for *_, tagged in meanings]
        if not any(weights):  # never tagged: all that it can mean counts alike
            weights = [1] * len(meanings)
        of_label = [
            weight if part == NOUN and labels.get(offset) == label else 0
            for (part, _, offset, _), weight in zip(meanings, weights)
        ]
        if label is None or sum(of_label) < MIN_SHARE * sum(weights):
            continue
        for word in synsets[nouns[0][2]].words:
            if word.lower().replace(" ", "_") == lemma:
                of_many = label in PEOPLE and " " not in word
                yield Entry(word, "PER" if of_many else label)


def label_synsets(synsets: Synsets, senses: Senses) -> Dict[str, str]:
    """The class of each meaning that lies below a root: that of the nearest one."""
    roots: Dict[Tuple[str, bool], str] = {}
    for label, some in (item.split("=") for item in ROOTS.split()):
        for root in some.split(","):
            lemma, number = root.lstrip("+").split(".")
            (offset,) = (s[2] for s in senses[lemma] if s[:2] == (NOUN, int(number)))
            roots.setdefault((offset, root.startswith("+")), label)
    named = {offset: label for (offset, plus), label in roots.items() if plus}
    plain = {offset: label for (offset, plus), label in roots.items() if not plus}
    found = {}
    for offset, synset in synsets.items():
        is_named = any(symbol == INSTANCE for symbol, _ in synset.parents)
        label = _nearest(offset, named, synsets) if is_named else None
        label = label or _nearest(offset, plain, synsets)
        if label is not None:
            found[offset] = label
    return found


def _nearest(start: str, roots: Dict[str, str], synsets: Synsets) -> Optional[str]:
    level, seen = [start], {start}
    while level:
        for offset in level:
            if offset in roots:
                return roots[offset]
        above = [up for offset in level for _, up in synsets[offset].parents]
        level = [up for up in dict.fromkeys(above) if up not in seen]
        seen.update(level)
    return None


def find_plurals(names: Iterable[Entry], senses: Senses) -> Iterator[Entry]:
    """Regular plurals of the names that end in a word in lower case."""
    for entry in names:
        last = entry.name.split()[-1]
        if not (last.isalpha() and last.islower()) or last.endswith("s"):
            continue
        plural = entry.name + ("es" if re.search(r"(x|z|ch|sh)$", last) else "s")
        if re.search(r"[^aeiou]y$", last):
            plural = f"{entry.name[:-1]}ies"
        if plural.replace(" ", "_") not in senses:  # "species" is not of "specie"
            yield Entry(plural, entry.label)


def find_endings(text: Path, senses: Senses) -> Iterator[Entry]:
    """Words of a text that WordNet lacks and that end as those of a class do."""
    pattern = re.compile(rf"\b[a-z]{{{MIN_ENDING_LETTERS},}}\b")
    words = {word for _, line in read_lines(text) for word in pattern.findall(line)}
    for word in sorted(words):
        singular = word.removesuffix("s") if word.endswith("es") else word
        if word in senses or singular in senses:
            continue
        for label, endings in ENDINGS.items():
            if singular.endswith(tuple(endings.split())):
                yield Entry(word, label)
                break


if __name__ == "__main__":
    typer.run(main)
