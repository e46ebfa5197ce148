"""Names and aliases of the instances of Wikidata classes, fetched page by page.

Where the endpoint runs out of time, a page is halved; what was fetched stays on disk,
so a run that was stopped goes on.
"""

from dataclasses import dataclass
from typing import Dict, Iterator, List, Sequence, Tuple

from ..files.errors import DataError
from .entries import Entry, LexiconReport, add_entry, clean_name
from .sparql import EndpointTimeout, Row, SparqlClient
from .wikidata import (
    WikidataClass,
    WikidataSettings,
    build_count_query,
    build_query,
    is_sliced,
)

# A page of fewer that runs out of time will not get better by halving.
MIN_PAGE_SIZE = 50


@dataclass(frozen=True)
class Page:
    """A part of a class: the items before it, its rows, how many items they tell of."""

    offset: int
    rows: List[Row]
    n_items: int


def fetch_pages(
    wanted: WikidataClass, client: SparqlClient, settings: WikidataSettings
) -> Iterator[Page]:
    """Fetch a class, page by page.

    wanted (WikidataClass): The class.
    client (SparqlClient): Sends the queries.
    settings (WikidataSettings): What is fetched.
    YIELDS (Page): In order; pages that run out of time come in halves.
    RAISES (EndpointError): If the endpoint fails for good.
    """
    end = settings.limit
    sliced = is_sliced(wanted, settings)
    if sliced:
        count = count_items(wanted, client)
        end = count if end is None else min(end, count)
    offset = 0
    while end is None or offset < end:
        size = settings.page_size
        size = size if end is None else min(size, end - offset)
        for page in _fetch_page(wanted, client, settings, offset, size):
            yield page
            n_items = page.offset + page.n_items - offset
        # A slice may be short too, where items were deleted since they were counted.
        if n_items < size and not sliced:
            return
        offset += size


def _fetch_page(
    wanted: WikidataClass,
    client: SparqlClient,
    settings: WikidataSettings,
    offset: int,
    size: int,
) -> Iterator[Page]:
    query = build_query(wanted, settings, offset, size)
    half = size // 2
    halves = [(offset, half), (offset + half, size - half)]
    if client.is_cached(query) or not _was_halved(
        wanted, client, settings, offset, size
    ):
        try:
            rows = client.select(query)
        except EndpointTimeout:
            if half < MIN_PAGE_SIZE:
                raise
        else:
            yield Page(offset, rows, len({row.get("item") for row in rows}))
            return
    for part in halves:
        yield from _fetch_page(wanted, client, settings, *part)


def _was_halved(
    wanted: WikidataClass,
    client: SparqlClient,
    settings: WikidataSettings,
    offset: int,
    size: int,
) -> bool:
    """Whether a run before this one halved a page, once or again and again."""
    while size // 2 >= MIN_PAGE_SIZE:
        size //= 2
        if client.is_cached(build_query(wanted, settings, offset, size)):
            return True
    return False


def count_items(wanted: WikidataClass, client: SparqlClient) -> int:
    """Count the instances of a class.

    wanted (WikidataClass): The class; its subclasses are not counted.
    client (SparqlClient): Sends the query.
    RETURNS (int): The count.
    RAISES (EndpointError): If the endpoint gives none.
    """
    rows = client.select(build_count_query(wanted))
    try:
        return int(rows[0]["count"])
    except (IndexError, KeyError, ValueError) as error:
        raise DataError(
            f"{client.endpoint} does not count the instances of {wanted.class_id}: "
            "try --paging offset"
        ) from error


class LexiconBuilder:
    """Makes a lexicon of the pages, in which an item's fame is the weight of its names.

    min_sitelinks (int): Leave out items that fewer wikis have a page about.
    """

    def __init__(self, min_sitelinks: int = 0) -> None:
        self.min_sitelinks = min_sitelinks
        self.report = LexiconReport()
        self.n_little_known = 0
        self._entries: Dict[Tuple[str, str], Entry] = {}

    @property
    def entries(self) -> List[Entry]:
        """The lexicon so far (List[Entry])."""
        return list(self._entries.values())

    def add(self, wanted: WikidataClass, rows: Sequence[Row]) -> None:
        """Add the names on a page.

        wanted (WikidataClass): Their class.
        rows (Sequence[Dict[str, str]]): The page's rows.
        """
        source = f"wikidata:{wanted.class_id}"
        for row in rows:
            if "name" not in row:
                continue
            sitelinks = row.get("sitelinks", "")
            weight = float(sitelinks) if sitelinks.isdecimal() else None
            if (weight or 0) < self.min_sitelinks:
                self.n_little_known += 1
                continue
            name, problem = clean_name(row["name"])
            if problem is not None:
                self.report.leave_out(problem, row["name"])
                continue
            entry = Entry(name, wanted.label, weight, source)
            add_entry(self._entries, entry, self.report)
