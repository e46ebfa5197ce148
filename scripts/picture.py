"""Draws the picture of the README: a sentence with its entities, as SVG.

    python scripts/picture.py docs/images/entities.svg

The pipeline has the classes' names and nothing else, and the colours are displaCy's.
"""

from html import escape
from pathlib import Path
from typing import List, Tuple

import spacy
import typer
from spacy.displacy.render import DEFAULT_ENTITY_COLOR
from spacy.tokens import Doc

TEXT = "Captain Ann Petrova sailed the Aurora from Lisbon to Bergen."
LABELS = ["person", "city", "ship"]
COLOURS = {"person": "#aa9cfc", "city": "#feca74", "ship": "#9cc9cc"}
# Of a letter, in a type whose letters are all of one width, and of a line.
LETTER, SMALL_LETTER, HEIGHT, PADDING = 10.2, 6.6, 64, 8
TYPE = "ui-monospace, SFMono-Regular, Menlo, Consolas, monospace"


def parts(doc: Doc) -> List[Tuple[str, str]]:
    """The text of a Doc in parts, each with the class that it has, or ""."""
    found, end = [], 0
    for ent in doc.ents:
        found.append((doc.text[end : ent.start_char].strip(), ""))
        found.append((ent.text, ent.label_))
        end = ent.end_char
    found.append((doc.text[end:].strip(), ""))
    return [part for part in found if part[0]]


def draw(doc: Doc) -> str:
    """A line of text as SVG, entities on a coloured ground with their class."""
    shapes, x = [], float(PADDING)
    for text, label in parts(doc):
        width = len(text) * LETTER
        if label:
            whole = width + len(label) * SMALL_LETTER + 3 * PADDING
            colour = COLOURS.get(label, DEFAULT_ENTITY_COLOR)
            shapes.append(
                f'<rect x="{x:.1f}" y="14" width="{whole:.1f}" height="36" rx="6" '
                f'fill="{colour}"/>'
            )
            shapes.append(_words(text, x + PADDING, 38, 17))
            shapes.append(_words(label, x + width + 2 * PADDING, 37, 11, "700"))
            x += whole + PADDING
        else:
            shapes.append(_words(text, x, 38, 17))
            x += width + PADDING
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {x:.0f} {HEIGHT}" '
        f'width="{x:.0f}" height="{HEIGHT}" font-family="{TYPE}" role="img">\n'
        f"<title>{escape(doc.text)}</title>\n"
        f'<rect width="100%" height="100%" rx="8" fill="#ffffff"/>\n'
        + "\n".join(shapes)
        + "\n</svg>\n"
    )


def _words(text: str, x: float, y: float, size: int, weight: str = "400") -> str:
    letter = LETTER if size > 11 else SMALL_LETTER
    return (
        f'<text x="{x:.1f}" y="{y}" font-size="{size}" font-weight="{weight}" '
        f'textLength="{len(text) * letter:.1f}" xml:space="preserve" fill="#111111">'
        f"{escape(text)}</text>"
    )


def picture() -> str:
    """The sentence with what the pipeline finds."""
    nlp = spacy.blank("en")
    nlp.add_pipe("entlm_ner", config={"labels": LABELS})
    return draw(nlp(TEXT))


def main(out: Path) -> None:
    """Draw the picture."""
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(picture(), encoding="utf8")


if __name__ == "__main__":
    typer.run(main)
