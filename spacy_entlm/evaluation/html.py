"""HTML pages that need nothing beside them."""

import re
from html import escape
from typing import Any, Iterable, Sequence

STYLE = """
body { font: 15px/1.45 system-ui, sans-serif; margin: 2rem auto; max-width: 60rem;
  padding: 0 1rem; color: #222; background: #fff; color-scheme: light; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.15rem; margin-top: 2.2rem; }
h2 span { display: inline-block; width: .7em; height: .7em; margin-right: .4em;
  transform: rotate(45deg); }
table { border-collapse: collapse; margin: .6rem 0; }
th, td { padding: .15rem .9rem .15rem 0; text-align: left; vertical-align: top; }
th { font-weight: 600; border-bottom: 1px solid #bbb; }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; }
.note { color: #555; } .advice { color: #9a3412; }
svg { width: 100%; height: auto; border: 1px solid #ddd; font-family: inherit; }
summary { cursor: pointer; color: #555; }
"""
# Not allowed in HTML: control characters except white space, and lone surrogates.
UNPRINTABLE = re.compile("[\x00-\x08\x0b\x0e-\x1f\x7f-\x9f\ud800-\udfff]")


def html_text(value: Any) -> str:
    """Any value as the text of an element or an attribute."""
    return escape(UNPRINTABLE.sub("\N{REPLACEMENT CHARACTER}", str(value)))


def html_page(title: str, parts: Iterable[str]) -> str:
    """A page.

    title (str): Its title and heading.
    parts (Iterable[str]): Elements of its body.
    RETURNS (str): The HTML.
    """
    head = [
        "<!DOCTYPE html>",
        '<html lang="en"><head><meta charset="utf-8">'
        f"<title>{html_text(title)}</title>",
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<style>{STYLE}</style></head><body><h1>{html_text(title)}</h1>",
    ]
    return "\n".join([*head, *parts, "</body></html>"]) + "\n"


def html_table(
    head: Sequence[str], rows: Iterable[Sequence[str]], numbers: Sequence[int] = ()
) -> str:
    """A table.

    head (Sequence[str]): Headings of the columns. rows: Texts of the cells.
    numbers (Sequence[int]): Columns that hold numbers, which stand on the right.
    RETURNS (str): The element.
    """

    def line(tag: str, cells: Sequence[str]) -> str:
        classes = [' class="number"' if i in numbers else "" for i in range(len(cells))]
        inner = "".join(
            f"<{tag}{class_}>{html_text(cell)}</{tag}>"
            for class_, cell in zip(classes, cells)
        )
        return f"<tr>{inner}</tr>"

    body = "".join(line("td", row) for row in rows)
    return f"<table><thead>{line('th', head)}</thead><tbody>{body}</tbody></table>"
