"""Draw lines of a text so that the rare classes of a lexicon come up in them.

python project/benchmarks/balanced_lines.py names.jsonl all.txt lines.txt
"""

import random
from collections import Counter, defaultdict
from pathlib import Path
from typing import Dict, List

import spacy
import typer

from spacy_entlm.files.text import read_lines
from spacy_entlm.lexicon.match import LexiconMatcher
from spacy_entlm.lexicon.readers import read_lexicon


def main(
    lexicon: Path,
    text: Path,
    out: Path,
    per_class: int = 800,
    per_name: int = 40,
    others: int = 10_000,
    seed: int = 1,
) -> None:
    """Write the drawn lines, in random order.

    lexicon (Path): Names with their classes.
    text (Path): Lines to draw from.
    out (Path): File to write.
    per_class (int): Most lines drawn for each class.
    per_name (int): Most of these for one and the same name.
    others (int): Lines drawn whatever they hold.
    seed (int): Seed of the draw.
    """
    entries, _ = read_lexicon(lexicon)
    stop_words = spacy.blank("en").Defaults.stop_words
    matcher = LexiconMatcher(e for e in entries if e.name.lower() not in stop_words)
    tokenize = spacy.blank("en").tokenizer
    lines = list(dict.fromkeys(line for _, line in read_lines(text)))
    random.Random(seed).shuffle(lines)
    drawn = set(lines[:others])
    n_names: Dict[str, Counter[str]] = defaultdict(Counter)
    n_lines: Counter[str] = Counter()
    for line in lines[others:]:
        wanted: List[str] = []
        for match in matcher.match([token.text for token in tokenize(line)]).labelled:
            counts = n_names[match.label]
            if n_lines[match.label] < per_class and counts[match.name] < per_name:
                counts[match.name] += 1
                wanted.append(match.label)
        if wanted:
            drawn.add(line)
            n_lines.update(set(wanted))
    chosen = [line for line in lines if line in drawn]
    out.write_text("".join(f"{line}\n" for line in chosen), encoding="utf8")
    print(f"{len(chosen):,} lines of {len(lines):,}; drawn for {dict(n_lines)}")


if __name__ == "__main__":
    typer.run(main)
