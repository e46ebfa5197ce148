"""Options of the commands that read a lexicon."""

from typing import Annotated, Dict, List, Optional

import typer

from ..lexicon.formats import FORMATS
from ..lexicon.labels import read_label_map
from ..lexicon.match import CASE_RULES

MapOption = Annotated[
    Optional[List[str]],
    typer.Option(
        "--map",
        help="Label map, repeatable: TYPE=LABEL (or several of them in one string), or "
        "a JSON file of them; types that it does not name are left out",
    ),
]
LabelOption = Annotated[
    Optional[str],
    typer.Option("--label", help="Label of names that have none, as in a plain list"),
]
LexiconFormatOption = Annotated[
    str,
    typer.Option(
        "--lexicon-format",
        help=f"Format of the lexicon: auto (from its name), {', '.join(FORMATS)}",
    ),
]
CaseOption = Annotated[
    str,
    typer.Option(
        "--case",
        help=f"{CASE_RULES[0]}: as the lexicon spells a name; {CASE_RULES[1]}: in any "
        f"case; {CASE_RULES[2]}: in any case, but only capitalised words of the text",
    ),
]


def label_map(values: Optional[List[str]]) -> Optional[Dict[str, str]]:
    """Read the values of --map.

    values (Optional[List[str]]): The values, None if the option is not given.
    RETURNS (Optional[Dict[str, str]]): Type -> label, None for none.
    RAISES (DataError): If a value is no label map.
    """
    return read_label_map(values) if values else None
