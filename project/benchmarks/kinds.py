"""Sentences in which names of further kinds are marked by their form ("X Hotel",
"General X"), beside the names of a lexicon.

    python project/benchmarks/kinds.py general sentences.txt fine.jsonl OUT
"""

import random
import re
from pathlib import Path
from typing import Dict, List

import spacy
import typer
from marked_texts import mark, write_parts
from numbers_and_dates import add_numbers
from spacy.tokens import Doc

from spacy_entlm.files.json_lines import read_json
from spacy_entlm.files.text import read_lines
from spacy_entlm.lexicon.match import LexiconMatcher
from spacy_entlm.lexicon.readers import read_lexicon

TABLES = Path(__file__).parents[1] / "assets" / "entlm-mini" / "kinds.json"
NO_BEGINNING = "The|A|An|In|At|On|This|That|And|But|From|After|During|Both|Since|For|By"
# In the tables {W} stands for a word of a name, {X|Y} for a name behind X or Y.
WORD = rf"(?!(?:{NO_BEGINNING})\b)[A-Z][\w'’\-]*"
BEHIND = re.compile(r"\{(\w+(?:\|\w+)+)\}")
# Sentences of a kind in each file, at most; and how long they are.
MOST, MAX_CHARS = 600, 299


def main(
    field: str, text: Path, lexicon: Path, out: Path, runs: int = 2, seed: int = 1
) -> None:
    """Write annotated sentences, each of which has a name of one of these kinds.

    field (str): Which kinds: general or medical. text (Path): Sentences.
    lexicon (Path): Names of other classes. out (Path): Folder for the files.
    runs (int): Files to write. seed (int): Seed of the draw.
    """
    shape = read_shape(field)
    lines: Dict[str, List[str]] = {label: [] for label in shape.groupindex}
    for _, line in read_lines(text):
        match = shape.search(line)
        if match and len(line) <= MAX_CHARS:
            lines[str(match.lastgroup)].append(line)
    matcher = LexiconMatcher(read_lexicon(lexicon)[0])
    nlp = spacy.blank("en")

    def annotated(line: str) -> Doc:
        doc = mark(nlp.make_doc(line), [], matcher, shape)
        add_numbers(doc)
        return doc

    drawn = random.Random(seed)
    sources = (
        (label, [annotated(x) for x in drawn.sample(x, min(len(x), runs * MOST))])
        for label, x in lines.items()
    )
    write_parts(sources, out, runs, {}, MOST, seed)


def read_shape(field: str) -> "re.Pattern[str]":
    """The forms of a field's kinds; the first that fits counts."""
    tables = read_json(TABLES)
    if field not in tables:
        raise typer.BadParameter(f"there is no {field!r}, but {', '.join(tables)}")
    forms = []
    for label, form in tables[field].items():
        form = BEHIND.sub(
            lambda m: "|".join(
                rf"(?<={title} ){WORD}(?: {WORD}){{0,2}}" for title in m[1].split("|")
            ),
            form,
        )
        forms.append(f"(?P<{label}>{form.replace('{W}', WORD)})")
    return re.compile(rf"(?<![\w.\-’'])(?:{'|'.join(forms)})(?![\w’'])")


if __name__ == "__main__":
    typer.run(main)
