"""Which Wikidata classes make a lexicon, and the SPARQL queries for their names."""

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, List, Optional, Sequence

from ..files.errors import DataError
from .labels import check_label

ENDPOINT = "https://query.wikidata.org/sparql"
# "mul": names that are the same in many languages, people's above all, stand there.
LANGUAGES = ("en", "mul")
PAGE_SIZE = 5000
# The public endpoint stops a query after a minute; its answer then still has to come
# over the line.
TIMEOUT_SECONDS = 90.0
# A query that fails is sent so many times in all, with waits of 1, 2, 4, ... seconds.
ATTEMPTS = 6

SLICE = "slice"
OFFSET = "offset"
PAGINGS = (SLICE, OFFSET)

_CLASS_ID = re.compile(r"Q[1-9]\d*")
_LANGUAGE = re.compile(r"[a-z]{2,3}(-[a-z0-9]+)*")
_PREFIXES = """\
PREFIX wd: <http://www.wikidata.org/entity/>
PREFIX wdt: <http://www.wikidata.org/prop/direct/>
PREFIX wikibase: <http://wikiba.se/ontology#>
PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#>
PREFIX skos: <http://www.w3.org/2004/02/skos/core#>
PREFIX bd: <http://www.bigdata.com/rdf#>
"""
# A slice is read from the index, however far on it lies; beyond the end it fails.
_SLICE_ITEMS = """\
  SERVICE bd:slice {{
    ?item wdt:P31 wd:{class_id} .
    bd:serviceParam bd:slice.offset {offset} .
    bd:serviceParam bd:slice.limit {limit} .
  }}"""
_OFFSET_ITEMS = """\
  {{ SELECT DISTINCT ?item WHERE {{ ?item {path} wd:{class_id} . }}
    LIMIT {limit} OFFSET {offset} }}"""
# With all but the items optional, an item without a name in these languages is a row
# too, so that a page with fewer items than asked for is the last.
_PAGE = """\
SELECT ?item ?name ?sitelinks WHERE {{
{items}
  OPTIONAL {{ ?item wikibase:sitelinks ?sitelinks . }}
  OPTIONAL {{
    ?item rdfs:label|skos:altLabel ?name .
    FILTER(LANG(?name) IN ({languages}))
  }}
}}"""
_COUNT = "SELECT (COUNT(*) AS ?count) WHERE {{ ?item wdt:P31 wd:{class_id} . }}"


@dataclass(frozen=True)
class WikidataClass:
    """A class whose instances get a label.

    label (str): The label.
    class_id (str): The class, eg "Q5".
    subclasses (bool): Whether instances of its subclasses count too.
    """

    label: str
    class_id: str
    subclasses: bool = False


def read_config(path: Path) -> List[WikidataClass]:
    """Read which classes get which label.

    path (Path): A JSON file {"PER": ["Q5"], "LOC": [{"class": "Q515", "subclasses":
        true}, ...], ...}.
    RETURNS (List[WikidataClass]): In the order of the file.
    RAISES (DataError): If the file is none such, or names no class.
    """
    try:
        config = json.loads(path.read_text(encoding="utf-8-sig"))
    except FileNotFoundError as error:
        raise DataError("no such file: check the path", path=path) from error
    except (ValueError, RecursionError) as error:
        raise DataError(f"no JSON file ({error})", path=path) from error
    if not isinstance(config, dict):
        raise DataError('write {"PER": ["Q5"], ...}', path=path)
    classes = []
    for label, values in config.items():
        for value in values if isinstance(values, list) else [values]:
            try:
                classes.append(_parse_class(check_label(label), value))
            except DataError as error:
                raise DataError(str(error), path=path) from error
    if not classes:
        raise DataError('names no class: write {"PER": ["Q5"], ...}', path=path)
    return classes


def _parse_class(label: str, value: Any) -> WikidataClass:
    subclasses = False
    class_id = value
    if isinstance(value, dict):
        class_id, subclasses = value.get("class"), value.get("subclasses", False)
        unknown = sorted(set(value) - {"class", "subclasses"})
        if unknown or not isinstance(subclasses, bool):
            class_id = None
    if not isinstance(class_id, str) or not _CLASS_ID.fullmatch(class_id):
        raise DataError(
            f"{value!r} (for {label}) is no Wikidata class: write its id, eg "
            '"Q5", or {"class": "Q515", "subclasses": true}'
        )
    return WikidataClass(label, class_id, subclasses)


@dataclass(frozen=True)
class WikidataSettings:
    """What is fetched of each class.

    languages (Sequence[str]): Of the names.
    page_size (int): Items a page.
    paging (str): "slice": by Blazegraph's slice service, as fast for the last page of
        millions as for the first (Wikidata's endpoint has it; not for subclasses);
        "offset": by LIMIT and OFFSET, which every endpoint has.
    limit (Optional[int]): Items a class at most, None: all.
    min_sitelinks (int): Leave out items that fewer wikis have a page about.
    """

    languages: Sequence[str] = LANGUAGES
    page_size: int = PAGE_SIZE
    paging: str = SLICE
    limit: Optional[int] = None
    min_sitelinks: int = 0

    def __post_init__(self) -> None:
        if self.paging not in PAGINGS:
            raise DataError(
                f"cannot page by {self.paging!r}: choose {' or '.join(PAGINGS)}"
            )
        if self.page_size < 1 or (self.limit is not None and self.limit < 1):
            raise DataError("the page size and the limit must be at least 1")
        for language in self.languages:
            if not _LANGUAGE.fullmatch(language):
                raise DataError(f"{language!r} is no language code: write eg en")


def is_sliced(wanted: WikidataClass, settings: WikidataSettings) -> bool:
    """Whether a class is fetched by the slice service.

    wanted (WikidataClass): The class.
    settings (WikidataSettings): The way of paging asked for.
    RETURNS (bool): False for subclasses too, as a slice takes no path.
    """
    return settings.paging == SLICE and not wanted.subclasses


def build_query(
    wanted: WikidataClass, settings: WikidataSettings, offset: int, limit: int
) -> str:
    """Write the query for one page.

    wanted (WikidataClass): The class.
    settings (WikidataSettings): Languages and way of paging.
    offset (int): Items before the page.
    limit (int): Items on it.
    RETURNS (str): SPARQL, with ?item, ?name and ?sitelinks.
    """
    sliced = is_sliced(wanted, settings)
    items = (_SLICE_ITEMS if sliced else _OFFSET_ITEMS).format(
        class_id=wanted.class_id,
        path="wdt:P31/wdt:P279*" if wanted.subclasses else "wdt:P31",
        offset=offset,
        limit=limit,
    )
    languages = ", ".join(f'"{language}"' for language in settings.languages)
    return _PREFIXES + _PAGE.format(items=items, languages=languages)


def build_count_query(wanted: WikidataClass) -> str:
    """Write the query for the number of instances of a class.

    wanted (WikidataClass): The class; its subclasses are not counted.
    RETURNS (str): SPARQL, with ?count.
    """
    return _PREFIXES + _COUNT.format(class_id=wanted.class_id)
