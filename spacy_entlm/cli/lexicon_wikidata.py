"""The command `lexicon wikidata`: names and aliases of the instances of classes."""

from pathlib import Path
from typing import Iterator, List, Optional

from ..files.errors import DataError
from ..lexicon import wikidata as wd
from ..lexicon.entries import Entry, LexiconReport, merge_entries
from ..lexicon.sparql import USER_AGENT, EndpointError, SparqlClient
from ._options import OVERWRITE, command, opt
from ._util import echo, progress_bar
from .lexicon import OUT, check_lexicon_output, lexicon_cli, write_and_report

_PAGING = "slice: fast for millions, Wikidata's endpoint has it; offset: any endpoint"
_USER_AGENT = "What to call yourself: Wikidata asks for an address to write to"
_CACHE = "Folder of pages; delete it to fetch anew"


@command("wikidata", lexicon_cli)
def wikidata_cli(
    output_path: Path = OUT,
    config: Path = opt(..., "JSON file of labels and Wikidata classes"),
    language: Optional[List[str]] = opt(
        None, "Of the names, repeatable", show_default=", ".join(wd.LANGUAGES)
    ),
    limit: Optional[int] = opt(None, "Items of a class at most"),
    min_sitelinks: int = opt(0, "Leave out items with pages in fewer wikis"),
    page_size: int = opt(wd.PAGE_SIZE, "Items a query; halved when time runs out"),
    paging: str = opt(wd.SLICE, _PAGING),
    cache: Optional[Path] = opt(None, _CACHE, show_default="OUT.pages"),
    endpoint: str = opt(wd.ENDPOINT, "Address for SPARQL queries"),
    user_agent: str = opt(USER_AGENT, _USER_AGENT),
    timeout: float = opt(wd.TIMEOUT_SECONDS, "Seconds until a whole answer is there"),
    attempts: int = opt(wd.ATTEMPTS, "Tries of a query"),
    overwrite: bool = OVERWRITE,
) -> None:
    """Fetch the names and aliases of the instances of Wikidata classes.

    The number of wikis with a page about an item is the weight of its names. Pages
    fetched are kept: a run that was stopped goes on where it was. The configuration
    says which classes get which label, and whether their subclasses count too.

    \b
    Example:
      python -m spacy entlm lexicon wikidata lexicon.jsonl --config map.json

    \b
    map.json:
      {"PER": ["Q5"], "LOC": ["Q6256", {"class": "Q515", "subclasses": true}]}
    """
    check_lexicon_output(output_path, [config], overwrite)
    classes = wd.read_config(config)
    settings = wd.WikidataSettings(language or wd.LANGUAGES, page_size, paging, limit)
    cache = cache or output_path.with_name(f"{output_path.name}.pages")
    client = SparqlClient(
        endpoint, cache, user_agent=user_agent, timeout=timeout, attempts=attempts
    )
    report = LexiconReport()

    def fetched() -> Iterator[Entry]:
        for wanted in classes:
            n_items = 0
            pages = wd.fetch_pages(wanted, client, settings)
            for rows in progress_bar(pages, unit="page"):
                yield from wd.read_page(wanted, rows, min_sitelinks, report)
                n_items += len({row.get("item") for row in rows})
            notice = "" if n_items else ": no instances, check the class"
            echo(f"{wanted.label} {wanted.class_id}: {n_items:,} items{notice}")

    try:
        entries = merge_entries(fetched(), report)
    except EndpointError as error:
        kept = f"What was fetched is kept in {cache}"
        raise DataError(f"{error}. {kept}: the same command goes on there") from error
    if not entries:
        text = "no names found: check the classes, the languages and --min-sitelinks"
        raise DataError(text, path=config)
    write_and_report(entries, output_path, report.problems())
