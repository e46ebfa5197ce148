"""The command `lexicon wikidata`: names and aliases of the instances of classes."""

from pathlib import Path
from typing import Annotated, Iterator, List, Optional

from typer import Option

from ..files.errors import DataError
from ..lexicon import wikidata as wd
from ..lexicon.entries import Entry, LexiconReport, merge_entries
from ..lexicon.sparql import USER_AGENT, EndpointError, SparqlClient
from ._lexicon import OverwriteOption, check_lexicon_output, write_and_report
from ._util import echo_lines, one_line_errors, progress_bar
from .lexicon import LexiconOutputArgument, lexicon_cli

_PAGING = "slice: fast for millions, Wikidata's endpoint has it; offset: any endpoint"
_MIN_SITELINKS = "Leave out items with pages in fewer wikis"
_USER_AGENT = "What to call yourself: Wikidata asks for an address to write to"


@lexicon_cli.command("wikidata")
def wikidata_cli(
    output_path: LexiconOutputArgument,
    config: Annotated[Path, Option(help="JSON file of labels and Wikidata classes")],
    language: Annotated[
        Optional[List[str]],
        Option(help="Of the names, repeatable", show_default=", ".join(wd.LANGUAGES)),
    ] = None,
    limit: Annotated[Optional[int], Option(help="Items of a class at most")] = None,
    min_sitelinks: Annotated[int, Option(help=_MIN_SITELINKS)] = 0,
    page_size: Annotated[
        int, Option(help="Items a query; halved when time runs out")
    ] = wd.PAGE_SIZE,
    paging: Annotated[str, Option(help=_PAGING)] = wd.SLICE,
    cache: Annotated[
        Optional[Path],
        Option(
            help="Folder of pages; delete it to fetch anew", show_default="OUT.pages"
        ),
    ] = None,
    endpoint: Annotated[str, Option(help="Address for SPARQL queries")] = wd.ENDPOINT,
    user_agent: Annotated[str, Option(help=_USER_AGENT)] = USER_AGENT,
    timeout: Annotated[
        float, Option(help="Seconds until a whole answer must be there")
    ] = wd.TIMEOUT_SECONDS,
    attempts: Annotated[int, Option(help="Tries of a query")] = wd.ATTEMPTS,
    overwrite: OverwriteOption = False,
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
    with one_line_errors():
        check_lexicon_output(output_path, [config], overwrite)
        classes = wd.read_config(config)
        settings = wd.WikidataSettings(
            language or wd.LANGUAGES, page_size, paging, limit
        )
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
                echo_lines(
                    [f"{wanted.label} {wanted.class_id}: {n_items:,} items{notice}"]
                )

        try:
            entries = merge_entries(fetched(), report)
        except EndpointError as error:
            raise DataError(
                f"{error}. What was fetched is kept in {cache}: the same command goes "
                "on from there"
            ) from error
        if not entries:
            raise DataError(
                "no names found: check the classes, the languages and --min-sitelinks",
                path=config,
            )
        write_and_report(entries, output_path, report.problems())
