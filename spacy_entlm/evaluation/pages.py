"""Pages that need nothing beside them, from templates."""

import re
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from jinja2.utils import select_autoescape

# Not allowed in HTML: control characters except white space, and lone surrogates.
UNPRINTABLE = re.compile("[\x00-\x08\x0b\x0e-\x1f\x7f-\x9f\ud800-\udfff]")
NOTHING = "–"


def printable(text: str) -> str:
    """A text with a mark for each character that no page may hold."""
    return UNPRINTABLE.sub("\N{REPLACEMENT CHARACTER}", text)


def number(value: Any) -> str:
    """A number for a table, or a dash for what is none."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return NOTHING
    return f"{value:,}" if isinstance(value, int) else f"{value:.2f}"


def render_page(template: str, **values: Any) -> str:
    """Fill a template.

    template (str): Its name; in one for .html, values are escaped.
    values: What it shows. A Markup stays as it is.
    RETURNS (str): The page.
    """
    environment = Environment(
        loader=PackageLoader("spacy_entlm", "evaluation/templates"),
        autoescape=select_autoescape(["html"]),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters["number"] = number
    return printable(environment.get_template(template).render(values))
