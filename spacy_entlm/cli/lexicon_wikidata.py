"""The command `lexicon wikidata`: names and aliases of the instances of classes."""

from pathlib import Path
from typing import Annotated, Any, List, Optional

import typer

from ..files.errors import DataError
from ..files.file import check_output
from ..lexicon.wikidata import (
    ATTEMPTS,
    ENDPOINT,
    LANGUAGES,
    PAGE_SIZE,
    SLICE,
    TIMEOUT_SECONDS,
    WikidataSettings,
    read_config,
)
from ..lexicon.writers import check_lexicon_extension
from ._util import echo_lines, one_line_errors, progress_bar
from .lexicon import LexiconOutputArgument, lexicon_cli, write_and_report


@lexicon_cli.command("wikidata")
def wikidata_cli(
    output_path: LexiconOutputArgument,
    config_path: Annotated[
        Path,
        typer.Option(
            "--config",
            help="JSON file of labels and Wikidata classes",
            show_default=False,
        ),
    ],
    languages: Annotated[
        Optional[List[str]],
        typer.Option(
            "--language",
            help="Language of the names, repeatable",
            show_default=", ".join(LANGUAGES),
        ),
    ] = None,
    limit: Annotated[
        Optional[int], typer.Option("--limit", help="Items of each class at most")
    ] = None,
    min_sitelinks: Annotated[
        int,
        typer.Option(
            "--min-sitelinks", help="Leave out items with pages in fewer wikis"
        ),
    ] = 0,
    page_size: Annotated[
        int,
        typer.Option("--page-size", help="Items a query; halved when time runs out"),
    ] = PAGE_SIZE,
    paging: Annotated[
        str,
        typer.Option(
            "--paging",
            help="slice: fast for classes of millions, Wikidata's endpoint has it; "
            "offset: any endpoint",
        ),
    ] = SLICE,
    cache: Annotated[
        Optional[Path],
        typer.Option(
            "--cache",
            help="Folder of the pages fetched; delete it to fetch anew",
            show_default="OUT.pages",
        ),
    ] = None,
    endpoint: Annotated[
        str, typer.Option("--endpoint", help="Address of the SPARQL endpoint")
    ] = ENDPOINT,
    user_agent: Annotated[
        Optional[str],
        typer.Option(
            "--user-agent",
            help="What to call yourself: Wikidata asks for an address to write to",
        ),
    ] = None,
    timeout: Annotated[
        float, typer.Option("--timeout", help="Seconds to wait for an answer")
    ] = TIMEOUT_SECONDS,
    attempts: Annotated[
        int, typer.Option("--attempts", help="How often a query is sent at most")
    ] = ATTEMPTS,
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
        check_lexicon_extension(output_path)
        check_output(output_path, source=config_path)
        fetch, sparql = _import_modules()
        classes = read_config(config_path)
        settings = WikidataSettings(
            languages=languages or LANGUAGES,
            page_size=page_size,
            paging=paging,
            limit=limit,
            min_sitelinks=min_sitelinks,
        )
        cache = cache or output_path.with_name(f"{output_path.name}.pages")
        builder = fetch.LexiconBuilder(settings.min_sitelinks)
        with sparql.SparqlClient(
            endpoint,
            cache,
            user_agent=user_agent or sparql.USER_AGENT,
            timeout=timeout,
            attempts=attempts,
        ) as client:
            try:
                for wanted in classes:
                    _fetch(wanted, fetch.fetch_pages(wanted, client, settings), builder)
            except sparql.EndpointError as error:
                raise DataError(
                    f"{error}. What was fetched is kept in {cache}: the same command "
                    "goes on from there"
                ) from error
        if not builder.entries:
            raise DataError(
                "no names found: check the classes, the languages and --min-sitelinks",
                path=config_path,
            )
        problems = builder.report.problems()
        if builder.n_little_known:
            problems.append(
                f"{builder.n_little_known:,} names of items with fewer than "
                f"{min_sitelinks} sitelinks: left out"
            )
        write_and_report(builder.entries, output_path, problems)


def _import_modules() -> Any:
    """Import what needs httpx, which is no part of the package's own requirements."""
    try:
        from ..lexicon import fetch, sparql
    except ImportError as error:
        raise DataError(
            f"cannot ask Wikidata ({error}): pip install 'spacy-entlm[wikidata]'"
        ) from error
    return fetch, sparql


def _fetch(wanted: Any, pages: Any, builder: Any) -> None:
    n_items = 0
    for page in progress_bar(pages, unit="page"):
        builder.add(wanted, page.rows)
        n_items += page.n_items
    notice = "" if n_items else ": no instances, check the class"
    echo_lines([f"{wanted.label} {wanted.class_id}: {n_items:,} items{notice}"])
