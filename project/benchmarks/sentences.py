"""The sentences of texts, each once, for `balanced_lines.py`.

python project/benchmarks/sentences.py wikinews.txt.xz wikipedia.txt.xz sentences.txt
"""

import re
from pathlib import Path
from typing import List

import typer

from spacy_entlm.files.text import read_lines

# After a letter, a digit or a closing sign, before a capital or a quotation.
END = re.compile(r'(?<=[a-z0-9)”"][.!?]) (?=[A-Z“"])')
# Bytes of a sentence: fewer are headings, more are lists.
MIN_BYTES, MAX_BYTES = 41, 299


def main(texts: List[Path], out: Path) -> None:
    """Write them, a sentence a line, in the order of the texts."""
    lines = (line for path in texts for _, line in read_lines(path))
    parts = (part for line in lines for part in END.split(line.strip()))
    kept = dict.fromkeys(p for p in parts if MIN_BYTES <= len(p.encode()) <= MAX_BYTES)
    out.write_text("".join(f"{sentence}\n" for sentence in kept), encoding="utf8")
    print(f"{len(kept):,} sentences")


if __name__ == "__main__":
    typer.run(main)
