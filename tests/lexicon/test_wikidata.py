"""Building a lexicon from a SPARQL endpoint that is slow, rude or dies."""

import re
import time
from datetime import datetime, timedelta, timezone
from email.utils import format_datetime
from types import SimpleNamespace

import pytest

from spacy_entlm.lexicon import sparql
from spacy_entlm.lexicon.entries import BROKEN_NAMES, LexiconReport, merge_entries
from spacy_entlm.lexicon.sparql import (
    MAX_WAIT_SECONDS,
    USER_AGENT,
    EndpointError,
    QueryTooLarge,
    SparqlClient,
)
from spacy_entlm.lexicon.wikidata import (
    MIN_PAGE_SIZE,
    WikidataClass,
    WikidataSettings,
    build_query,
    fetch_pages,
    read_page,
)

N_PEOPLE = 250
HUMAN = WikidataClass("PER", "Q5")
TIMEOUT_BODY = "SPARQL-QUERY: ... java.util.concurrent.TimeoutException\n\tat x.y.z"


@pytest.fixture
def fetch(endpoint, tmp_path):
    """Fetches a class; gives entries and report, and the waits."""

    def fetch(
        wanted=HUMAN,
        *,
        page_size=100,
        attempts=3,
        timeout=5.0,
        min_sitelinks=0,
        **settings,
    ):
        waits = []
        report = LexiconReport()
        client = SparqlClient(
            endpoint.url,
            tmp_path / "pages",
            attempts=attempts,
            timeout=timeout,
            sleep=waits.append,
        )
        pages = fetch_pages(
            wanted, client, WikidataSettings(page_size=page_size, **settings)
        )
        names = (
            entry
            for page in pages
            for entry in read_page(wanted, page, min_sitelinks, report)
        )
        entries = merge_entries(names, report)
        return SimpleNamespace(entries=entries, report=report), waits

    return fetch


def limit_of(query):
    """Items that a query asks for, 0 for a count."""
    if "COUNT" in query:
        return 0
    return int(re.search(r"(?:slice\.limit|LIMIT) (\d+)", query).group(1))


@pytest.mark.parametrize("paging", ["slice", "offset"])
@pytest.mark.parametrize("page_size", [1000, 250, 125, 100, 1])
def test_all_names_and_aliases_come_whatever_the_page_size(fetch, paging, page_size):
    wanted = WikidataClass("LOC", "Q515") if page_size == 1 else HUMAN
    found, _ = fetch(wanted, paging=paging, page_size=page_size)
    names = {entry.name for entry in found.entries}
    if page_size == 1:
        assert names == {"Lima", "Ciudad de los Reyes", "Rome"}
    else:
        assert names == {f"{p} {i}" for i in range(N_PEOPLE) for p in ("Person", "P.")}
    assert {entry.label for entry in found.entries} == {wanted.label}


def test_sitelinks_are_the_weight_and_the_class_is_the_source(fetch):
    found, _ = fetch(WikidataClass("LOC", "Q515"), min_sitelinks=250)
    (entry,) = found.entries
    assert entry._asdict() == {
        "name": "Rome",
        "label": "LOC",
        "weight": 300.0,
        "source": "wikidata:Q515",
    }
    reason = "names of items with fewer than 250 sitelinks"
    assert found.report.left_out == {reason: 2}


def test_a_slice_never_begins_beyond_the_end(fetch, endpoint):
    fetch(page_size=125)
    assert endpoint.pages_asked() == [(0, 125), (125, 125)]
    found, _ = fetch(WikidataClass("PER", "Q404"))
    assert found.entries == [] and len(endpoint.queries) == 4


def test_a_class_may_be_limited(fetch, endpoint):
    for paging in ("slice", "offset"):
        found, _ = fetch(paging=paging, limit=150)
        assert len(found.entries) == 300
    assert endpoint.pages_asked() == [(0, 100), (100, 50)] * 2


def test_subclasses_are_asked_for_by_offset():
    wanted = WikidataClass("LOC", "Q515", subclasses=True)
    query = build_query(wanted, WikidataSettings(), 10, 5)
    assert "wdt:P31/wdt:P279* wd:Q515" in query and "LIMIT 5 OFFSET 10" in query
    assert "slice" not in query
    assert 'LANG(?name) IN ("en", "mul")' in query


def test_client_says_who_it_is(fetch, endpoint):
    fetch()
    assert set(endpoint.user_agents) == {USER_AGENT}
    assert USER_AGENT.startswith("spacy-entlm/")


@pytest.mark.parametrize("status", [429, 500, 502, 503, 504])
def test_busy_endpoint_is_asked_again_after_a_growing_wait(fetch, endpoint, status):
    endpoint.faults = [endpoint.Reply(status, "busy")] * 3
    found, waits = fetch(attempts=4)
    assert waits == [1.0, 2.0, 4.0]
    assert len(found.entries) == 2 * N_PEOPLE


def test_retry_after_is_honoured(fetch, endpoint):
    soon = format_datetime(datetime.now(timezone.utc) + timedelta(seconds=40))
    endpoint.faults = [
        endpoint.Reply(429, headers={"Retry-After": value})
        for value in ("7", soon, "soon", "-5", "nan")
    ]
    _, waits = fetch(attempts=6)
    assert waits[0] == 7.0
    assert 35 < waits[1] <= 40
    assert waits[2:] == [4.0, 8.0, 16.0]


def test_a_ban_is_an_error_at_once(fetch, endpoint):
    day = str(int(MAX_WAIT_SECONDS * 100))
    endpoint.faults = [endpoint.Reply(429, "banned", headers={"Retry-After": day})]
    with pytest.raises(EndpointError, match="asks to wait 90,000 seconds"):
        fetch()
    assert len(endpoint.queries) == 1


def test_no_answer_in_time_is_tried_again_and_then_an_error(fetch, endpoint):
    endpoint.faults = [endpoint.Reply(hang=5.0)]
    found, waits = fetch(timeout=1.0)
    assert waits == [1.0] and len(found.entries) == 2 * N_PEOPLE


def test_endpoint_that_never_answers_is_an_error(fetch, endpoint):
    endpoint.fault_if = lambda query: endpoint.Reply(hang=0.2)
    with pytest.raises(QueryTooLarge, match="failed 2 times, last: no answer"):
        fetch(timeout=0.05, attempts=2)


def test_answer_that_comes_byte_by_byte_does_not_outlive_the_timeout(fetch, endpoint):
    def trickle(query):
        reply = endpoint.answer(query)
        reply.hang, reply.trickle = 0.05, True
        return reply

    endpoint.fault_if = trickle
    start = time.monotonic()
    with pytest.raises(QueryTooLarge, match="no answer in time"):
        fetch(timeout=1.0, attempts=1)
    assert time.monotonic() - start < 5


def test_answer_without_end_is_refused(fetch, endpoint, monkeypatch):
    monkeypatch.setattr(sparql, "MAX_ANSWER_BYTES", 1000)
    with pytest.raises(QueryTooLarge, match=r"more than 1,000 bytes: lower"):
        fetch()


def test_page_that_runs_out_of_time_is_halved(fetch, endpoint):
    def fail_large(query):
        if limit_of(query) > 60:
            return endpoint.Reply(500, TIMEOUT_BODY)
        return None

    endpoint.fault_if = fail_large
    for paging in ("slice", "offset"):
        found, waits = fetch(page_size=200, paging=paging)
        assert len(found.entries) == 2 * N_PEOPLE
        # A query that is too large is not sent again.
        assert waits == []
    n_asked = len(endpoint.queries)
    fetch(page_size=200)
    fetch(page_size=200, paging="offset")
    # The halves are remembered too: nothing is asked twice.
    assert len(endpoint.queries) == n_asked


def test_page_that_runs_out_of_time_however_small_is_an_error(fetch, endpoint):
    endpoint.fault_if = lambda q: (
        None if "COUNT" in q else endpoint.Reply(500, TIMEOUT_BODY)
    )
    with pytest.raises(QueryTooLarge, match="ran out of time"):
        fetch(page_size=200)
    assert min(limit for _, limit in endpoint.pages_asked()) >= MIN_PAGE_SIZE


def test_answer_that_breaks_off_is_asked_for_again(fetch, endpoint):
    # First bytes that were announced are missing, then the JSON is not complete.
    ways = ["cut", "body"]

    def break_off(query):
        if "COUNT" in query or not ways:
            return None
        reply = endpoint.answer(query)
        if ways.pop(0) == "cut":
            reply.cut = 50
        else:
            reply.body = reply.body[:-50]
        return reply

    endpoint.fault_if = break_off
    found, waits = fetch()
    assert waits == [1.0, 2.0] and len(found.entries) == 2 * N_PEOPLE


def test_answer_that_ends_in_a_server_error_is_halved(fetch, endpoint):
    def break_large(query):
        reply = endpoint.answer(query)
        if limit_of(query) > 60:
            return endpoint.Reply(body=reply.body.decode()[:-50] + TIMEOUT_BODY)
        return reply

    endpoint.fault_if = break_large
    found, waits = fetch()
    assert waits == [] and len(found.entries) == 2 * N_PEOPLE


@pytest.mark.parametrize(
    "reply, text",
    [
        (
            {
                "body": "<html><title>Welcome</title></html>",
                "headers": {"Content-Type": "text/html"},
            },
            r"sends a web page in place of results \(Welcome\): check --endpoint",
        ),
        ({"body": "\n<!DOCTYPE html><p>Sign in"}, "sends a web page"),
        ({"body": '{"answer": 42}'}, "JSON that is no SPARQL result"),
        ({"body": "[]"}, "JSON that is no SPARQL result"),
        (
            {"status": 400, "body": "MalformedQueryException"},
            "refuses the query",
        ),
        (
            {"status": 403, "body": "who are you"},
            "status 403: who are you",
        ),
    ],
)
def test_what_is_no_answer_is_an_error_at_once(fetch, endpoint, reply, text):
    endpoint.faults = [endpoint.Reply(**reply)]
    with pytest.raises(EndpointError, match=text):
        fetch()
    assert len(endpoint.queries) == 1


@pytest.mark.parametrize("value", ["1", '["Lima"]', "null", "9" * 5000])
def test_value_that_is_no_string_is_an_error(fetch, endpoint, value):
    cells = f'{{"count": {{"value": {value}}}}}'
    body = f'{{"results": {{"bindings": [{cells}]}}}}'
    endpoint.faults = [endpoint.Reply(body=body)]
    with pytest.raises(EndpointError, match="JSON that is no SPARQL result"):
        fetch()


@pytest.mark.parametrize("count", [10**12, "9" * 400, "-1", "many", ""])
def test_count_that_cannot_be_is_an_error(fetch, endpoint, count):
    body = endpoint.as_json([{"count": str(count)}])
    endpoint.faults = [endpoint.Reply(body=body)]
    with pytest.raises(EndpointError, match="does not count the instances of Q5"):
        fetch()
    assert len(endpoint.queries) == 1


def test_count_that_is_too_high_does_not_ask_for_ever(fetch, endpoint):
    def answer(query):
        if "COUNT" in query:
            return endpoint.Reply(body=endpoint.as_json([{"count": "999999999"}]))
        offset, _ = endpoint.page_of(query)
        return None if offset < N_PEOPLE else endpoint.Reply(body=endpoint.as_json([]))

    endpoint.fault_if = answer
    found, _ = fetch()
    assert len(found.entries) == 2 * N_PEOPLE and len(endpoint.queries) == 5


def test_endpoint_that_disregards_the_offset_is_an_error(fetch, endpoint):
    first = endpoint.answer("wd:Q5 OFFSET 0 LIMIT 100 ORDER BY ?item")
    endpoint.fault_if = lambda query: first
    with pytest.raises(EndpointError, match="sends a page of Q5 again"):
        fetch(paging="offset")


def test_item_that_comes_again_on_the_next_page_is_no_error(fetch, endpoint):
    # Another one was made before it since the first page was fetched.
    def shift(query):
        offset = "COUNT" not in query and endpoint.page_of(query)[0]
        before = f"slice.offset {offset - 1} " if offset else ""
        return before and endpoint.answer(
            query.replace(f"slice.offset {offset} ", before)
        )

    endpoint.fault_if = shift
    found, _ = fetch()
    assert len(found.entries) == 2 * (N_PEOPLE - 2 + 1)


@pytest.mark.parametrize("sitelinks", ["9" * 400, "-1", "many", ""])
def test_sitelinks_that_are_no_number_are_an_error(fetch, endpoint, sitelinks):
    endpoint.classes["Q5"] = [(["Ann"], sitelinks)]
    with pytest.raises(EndpointError, match=r"of 'http.*' is no number of sitelinks"):
        fetch()


def test_half_a_character_makes_a_broken_name(fetch, endpoint):
    endpoint.classes["Q5"] = [(["Ann", "B\ud800"], 3)]
    found, _ = fetch()
    assert [e.name for e in found.entries] == ["Ann"]
    assert found.report.left_out == {BROKEN_NAMES: 1}


def test_long_body_of_an_error_is_shortened_at_once():
    start = time.monotonic()
    assert len(sparql._shorten("<" * 1_000_000)) == 200
    assert time.monotonic() - start < 1


def test_endpoint_that_is_not_there_is_an_error(tmp_path):
    waits = []
    for url, text in [("http://127.0.0.1:9/sparql", "failed 2 times"), ("x y", "x y")]:
        client = SparqlClient(
            url, tmp_path, attempts=2, timeout=5.0, sleep=waits.append
        )
        with pytest.raises(EndpointError, match=text):
            client.select("SELECT")


def test_stopped_run_goes_on_where_it_was(fetch, endpoint):
    endpoint.fault_if = lambda q: (
        endpoint.Reply(502) if "slice.offset 200" in q else None
    )
    with pytest.raises(EndpointError, match="failed 3 times, last: status 502"):
        fetch()
    endpoint.fault_if = lambda query: None
    endpoint.queries.clear()
    found, _ = fetch()
    assert endpoint.pages_asked() == [(200, 50)] and len(endpoint.queries) == 1
    assert len(found.entries) == 2 * N_PEOPLE


def test_damaged_page_on_disk_is_fetched_again(fetch, endpoint, tmp_path):
    found, _ = fetch()
    pages = sorted((tmp_path / "pages").iterdir())
    assert len(pages) == 4
    pages[0].write_bytes(b"damaged")
    pages[1].write_bytes(pages[1].read_bytes()[:20])
    endpoint.queries.clear()
    again, _ = fetch()
    assert len(endpoint.queries) == 2
    assert again.entries == found.entries


def test_bad_names_are_left_out_and_counted(fetch, endpoint):
    endpoint.classes["Q5"] = [(["A\x00b", "Ann", "", " Bo  Li "], 3)]
    found, _ = fetch()
    assert [e.name for e in found.entries] == ["Ann", "Bo Li"]
    assert found.report.left_out[BROKEN_NAMES] == 1
    assert "e.g. 'A\\x00b'" in " ".join(found.report.problems())
