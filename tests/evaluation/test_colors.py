"""One colour per class, readable with dark text."""

import pytest
import spacy

from spacy_entlm.evaluation.pages import PALETTE, displacy_options, label_colors

DARK_TEXT = "#111111"


def luminance(color):
    """As WCAG 2 defines it."""
    parts = [int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    red, green, blue = (
        x / 12.92 if x <= 0.04045 else ((x + 0.055) / 1.055) ** 2.4 for x in parts
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize("color", PALETTE)
def test_dark_text_is_readable(color):
    contrast = (luminance(color) + 0.05) / (luminance(DARK_TEXT) + 0.05)
    assert contrast >= 7


def test_colour_follows_the_place_in_the_alphabet():
    assert label_colors(["B", "A", "B"]) == {"A": PALETTE[0], "B": PALETTE[1]}
    many = label_colors([f"{i:03}" for i in range(40)])
    assert len(many) == 40
    assert set(many.values()) == set(PALETTE)


def test_displacy_takes_the_options():
    nlp = spacy.blank("en")
    nlp.add_pipe("entity_ruler").add_patterns(
        [{"label": "TOOL", "pattern": "hammer"}, {"label": "PER", "pattern": "Ann"}]
    )
    options = displacy_options(nlp)
    assert options == {"ents": ["PER", "TOOL"], "colors": label_colors(["PER", "TOOL"])}
    html = spacy.displacy.render(nlp("Ann has a hammer"), style="ent", options=options)
    assert options["colors"]["TOOL"] in html
