"""Names and aliases of the instances of Wikidata classes, fetched page by page.

Where the endpoint has too little time, pages get smaller; what was fetched stays on
disk, so a run that was stopped goes on.
"""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Iterator, Optional, Sequence

from ..files.errors import DataError, located
from ..files.json_lines import read_json
from .entries import Entry, LexiconReport, clean_name
from .labels import check_label
from .sparql import EndpointError, QueryTooLarge, Row, SparqlClient

ENDPOINT = "https://query.wikidata.org/sparql"
# "mul": names that are the same in many languages, people's above all, stand there.
LANGUAGES = ("en", "mul")
PAGE_SIZE = 5000
# A page of fewer that is too large will not get better by halving.
MIN_PAGE_SIZE = 50
# The public endpoint stops a query after a minute; then its answer has to come.
TIMEOUT_SECONDS = 90.0
# A query that fails is sent so many times in all, with waits of 1, 2, 4, ... seconds.
ATTEMPTS = 6
SLICE, OFFSET = PAGINGS = ("slice", "offset")

_CLASS_ID = re.compile(r"Q[1-9]\d*")
_LANGUAGE = re.compile(r"[a-z]{2,3}(-[a-z0-9]+)*")
# More than a billion of anything is a slip: Wikidata has some hundred million items.
_COUNT = re.compile(r"[0-9]{1,9}")
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
# Without an order, each page may be one of another sequence.
_OFFSET_ITEMS = """\
  {{ SELECT DISTINCT ?item WHERE {{ ?item {path} wd:{class_id} . }}
    ORDER BY ?item LIMIT {limit} OFFSET {offset} }}"""
# All but the items is optional, so that a page of fewer than asked for is the last.
_PAGE = """\
SELECT ?item ?name ?sitelinks WHERE {{
{items}
  OPTIONAL {{ ?item wikibase:sitelinks ?sitelinks . }}
  OPTIONAL {{
    ?item rdfs:label|skos:altLabel ?name .
    FILTER(LANG(?name) IN ({languages}))
  }}
}}"""
_COUNT_ITEMS = "SELECT (COUNT(*) AS ?count) WHERE {{ ?item wdt:P31 wd:{class_id} . }}"


@dataclass(frozen=True)
class WikidataClass:
    """A class, eg "Q5", whose instances get a label, or those of subclasses too."""

    label: str
    class_id: str
    subclasses: bool = False


@dataclass(frozen=True)
class WikidataSettings:
    """What is fetched of each class.

    languages: Of the names. page_size: Items a page. limit: Items a class, None: all.
    paging: "slice": by Blazegraph's slice service, as fast for the last page of
        millions as for the first; "offset": by LIMIT and OFFSET, as any endpoint can.
    """

    languages: Sequence[str] = LANGUAGES
    page_size: int = PAGE_SIZE
    paging: str = SLICE
    limit: Optional[int] = None

    def __post_init__(self) -> None:
        if self.paging not in PAGINGS:
            ways = " or ".join(PAGINGS)
            raise DataError(f"cannot page by {self.paging!r}: choose {ways}")
        if self.page_size < 1 or (self.limit is not None and self.limit < 1):
            raise DataError("the page size and the limit must be at least 1")
        for language in self.languages:
            if not _LANGUAGE.fullmatch(language):
                raise DataError(f"{language!r} is no language code: write eg en")

    def slices(self, wanted: WikidataClass) -> bool:
        """Whether a class is fetched in slices, which take no path to subclasses."""
        return self.paging == SLICE and not wanted.subclasses


def read_config(path: Path) -> list[WikidataClass]:
    """Read which classes get which label from a JSON file {"PER": ["Q5"], "LOC":
    [{"class": "Q515", "subclasses": true}, ...], ...}.
    RAISES (DataError): If the file is none such, or names no class."""
    config = read_json(path)
    classes = []
    with located(path):
        for label, values in config.items() if isinstance(config, dict) else ():
            for value in values if isinstance(values, list) else [values]:
                classes.append(_parse_class(check_label(label), value))
    if not classes:
        raise DataError('names no class: write {"PER": ["Q5"], ...}', path=path)
    return classes


def _parse_class(label: str, value: Any) -> WikidataClass:
    given = value if isinstance(value, dict) else {"class": value}
    class_id, subclasses = given.get("class"), given.get("subclasses", False)
    if (
        not given.keys() <= {"class", "subclasses"}
        or not isinstance(subclasses, bool)
        or not isinstance(class_id, str)
        or not _CLASS_ID.fullmatch(class_id)
    ):
        raise DataError(
            f"{value!r} (for {label}) is no Wikidata class: write its id, eg "
            '"Q5", or {"class": "Q515", "subclasses": true}'
        )
    return WikidataClass(label, class_id, subclasses)


def build_query(
    wanted: WikidataClass, settings: WikidataSettings, offset: int, limit: int
) -> str:
    """Write the query for one page: SPARQL, with ?item, ?name and ?sitelinks."""
    items = (_SLICE_ITEMS if settings.slices(wanted) else _OFFSET_ITEMS).format(
        class_id=wanted.class_id,
        path="wdt:P31/wdt:P279*" if wanted.subclasses else "wdt:P31",
        offset=offset,
        limit=limit,
    )
    languages = ", ".join(f'"{language}"' for language in settings.languages)
    return _PREFIXES + _PAGE.format(items=items, languages=languages)


def fetch_pages(
    wanted: WikidataClass, client: SparqlClient, settings: WikidataSettings
) -> Iterator[list[Row]]:
    """Fetch a class, the rows of a page at a time. A page that is too large is halved;
    the next one is twice as large again.
    RAISES (EndpointError): If the endpoint fails for good."""
    end = settings.limit
    sliced = settings.slices(wanted)
    if sliced:
        count = _count_items(wanted, client)
        end = count if end is None else min(end, count)
    offset, size = 0, settings.page_size
    known: set[str] = set()
    while end is None or offset < end:
        size = size if end is None else min(size, end - offset)
        query = build_query(wanted, settings, offset, size)
        try:
            rows = client.select(query)
        except QueryTooLarge:
            if size // 2 < MIN_PAGE_SIZE:
                raise
            client.mark_too_large(query)
            size //= 2
            continue
        items = {row.get("item", "") for row in rows}
        # An item may come again where another one was made before it in between.
        if items and items == known:
            raise EndpointError(
                f"{client.endpoint} sends a page of {wanted.class_id} again"
            )
        yield rows
        # A slice may be short, where items were deleted since they were counted.
        if len(items) < (1 if sliced else size):
            return
        known = items
        offset += size
        size = min(2 * size, settings.page_size)


def _count_items(wanted: WikidataClass, client: SparqlClient) -> int:
    rows = client.select(_PREFIXES + _COUNT_ITEMS.format(class_id=wanted.class_id))
    count = rows[0].get("count", "") if rows else ""
    if not _COUNT.fullmatch(count):
        raise EndpointError(
            f"{client.endpoint} does not count the instances of {wanted.class_id} "
            f"({count[:20]!r}): try --paging offset"
        )
    return int(count)


def read_page(
    wanted: WikidataClass, rows: list[Row], min_sitelinks: int, report: LexiconReport
) -> Iterator[Entry]:
    """Read the names in the rows of a page, weighed by the fame of their items.

    min_sitelinks (int): Leave out items that fewer wikis have a page about.
    RAISES (EndpointError): If a number of sitelinks is none.
    """
    for row in rows:
        sitelinks = row.get("sitelinks")
        if sitelinks is not None and not _COUNT.fullmatch(sitelinks):
            raise EndpointError(
                f"{sitelinks[:20]!r} of {row.get('item', '')[:60]!r} is no number "
                "of sitelinks: check --endpoint"
            )
        if "name" not in row:
            continue
        name, problem = clean_name(row["name"])
        if int(sitelinks or 0) < min_sitelinks:
            problem = f"names of items with fewer than {min_sitelinks} sitelinks"
        if problem is not None:
            report.leave_out(problem, row["name"])
            continue
        weight = None if sitelinks is None else float(sitelinks)
        yield Entry(name, wanted.label, weight, f"wikidata:{wanted.class_id}")
