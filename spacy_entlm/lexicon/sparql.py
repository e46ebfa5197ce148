"""SPARQL queries over HTTP, each answer kept on disk for good: an HTTP cache would drop
what the endpoint calls stale, and keep answers that break off."""

import asyncio
import hashlib
import json
import re
import time
from contextlib import suppress
from email.utils import mktime_tz, parsedate_tz
from functools import partial
from pathlib import Path
from typing import Any, Callable, Optional

from ..about import __version__
from ..files.errors import DataError
from ..files.file import replace_file, write_file
from ..files.json_lines import dump_line, read_objects
from ..files.text import open_packed

USER_AGENT = f"spacy-entlm/{__version__}"
MAX_ANSWER_BYTES = 64 * 2**20
MAX_BACKOFF_SECONDS = 60.0
# An endpoint that asks for more has shut us out for long: then we stop.
MAX_WAIT_SECONDS = 900.0

# Other ways of packing, and several at once, unpack a few bytes to gigabytes.
_PACKINGS = frozenset({"", "identity", "gzip", "deflate"})
_OK, _GATEWAY_TIMEOUT = 200, 504
_TRY_AGAIN = frozenset({429, 500, 502, 503, _GATEWAY_TIMEOUT})
# What Wikidata's endpoint writes where time is up, also amid an answer that began well.
_SERVER_TIMEOUT = "TimeoutException"
_N_BODY_CHARS = 200

Row = dict[str, str]


class EndpointError(DataError):
    """The endpoint gave no answer that can be used.
    wait (Optional[float]): Seconds until the query may be sent again; None: never."""

    def __init__(self, message: str, *, wait: Optional[float] = None) -> None:
        super().__init__(message)
        self.wait = wait


class QueryTooLarge(EndpointError):
    """The endpoint lacks the time, or we the space: a smaller query may do."""


class SparqlClient:
    """Sends queries, patiently, and remembers the answers.

    endpoint: Address that takes SPARQL queries by POST.
    cache: Folder of the answers, one file each; made if it is missing.
    timeout: Seconds until an answer must be there as a whole.
    attempts: How often a query is sent at most, with waits of 1, 2, 4, ... seconds, or
        longer ones if the endpoint asks for them.
    RAISES (DataError): If the packages of the extra "wikidata" are missing.
    """

    def __init__(
        self,
        endpoint: str,
        cache: Path,
        *,
        timeout: float,
        attempts: int,
        user_agent: str = USER_AGENT,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        try:
            import httpx
            from tenacity import Retrying, retry_if_exception, stop_after_attempt
        except ImportError as error:
            raise DataError(
                f"cannot ask Wikidata ({error}): pip install httpx tenacity"
            ) from error
        self.endpoint, self.cache, self.timeout = endpoint, cache, timeout
        accept = "application/sparql-results+json"
        self._client = partial(
            httpx.AsyncClient,
            headers={
                "User-Agent": user_agent,
                "Accept": accept,
                "Accept-Encoding": "gzip",
            },
            verify=httpx.create_ssl_context(),
            timeout=timeout,
            follow_redirects=True,
        )
        self._attempts = max(1, attempts)
        self._patiently = Retrying(
            retry=retry_if_exception(lambda e: getattr(e, "wait", None) is not None),
            stop=stop_after_attempt(self._attempts),
            wait=_seconds_to_wait,
            sleep=sleep,
            reraise=True,
        )

    def select(self, query: str) -> list[Row]:
        """Give the answer to a SELECT query, from disk if it was sent before: per row,
        variable -> value.
        RAISES (QueryTooLarge): If a smaller query may do.
        RAISES (EndpointError): If there is no answer, or it holds no SPARQL results."""
        if self._path(query, "too-large").exists():
            raise QueryTooLarge("was too large before")
        path = self._path(query, "jsonl.gz")
        # A damaged file is as good as none: it is fetched again.
        with suppress(DataError):
            return [row for _, row in read_objects(path, form="row")]
        try:
            rows = self._patiently(self._send, query)
        except EndpointError as error:
            if error.wait is None:
                raise
            problem = f"{self.endpoint} failed {self._attempts} times, last: {error}"
            raise type(error)(problem) from error
        with write_file(path) as temporary, open_packed(temporary) as file_:
            file_.write(b"".join(map(dump_line, rows)))
        return rows

    def mark_too_large(self, query: str) -> None:
        """Remember to send smaller queries in place of this one."""
        replace_file(self._path(query, "too-large"), b"")

    def _path(self, query: str, extension: str) -> Path:
        key = hashlib.sha256(f"{self.endpoint}\n{query}".encode()).hexdigest()[:32]
        return self.cache / f"{key}.{extension}"

    def _send(self, query: str) -> list[Row]:
        import httpx

        # The limits of the HTTP client are for each byte, this one is for all.
        answer = asyncio.wait_for(self._post(query), self.timeout)
        try:
            response, body = asyncio.run(answer)
        except (httpx.TimeoutException, asyncio.TimeoutError) as error:
            raise QueryTooLarge("no answer in time", wait=0.0) from error
        except httpx.TransportError as error:
            # An answer that breaks off is what a server leaves whose time is up.
            broken = isinstance(error, (httpx.RemoteProtocolError, httpx.ReadError))
            kind = QueryTooLarge if broken else EndpointError
            raise kind(f"{type(error).__name__}: {error}", wait=0.0) from error
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise EndpointError(
                f"{self.endpoint} cannot be asked ({error}): check --endpoint"
            ) from error
        text = body.decode("utf8", "replace")
        if response.status_code != _OK:
            raise self._refused(response, text)
        return self._parse(text, response.headers.get("Content-Type", ""))

    async def _post(self, query: str) -> tuple[Any, bytes]:
        body = bytearray()
        async with (
            self._client() as client,
            client.stream("POST", self.endpoint, data={"query": query}) as response,
        ):
            packing = response.headers.get("Content-Encoding", "").lower()
            if packing not in _PACKINGS:
                raise EndpointError(
                    f"{self.endpoint} packs its answer as {packing[:_N_BODY_CHARS]!r}: "
                    "check --endpoint"
                )
            async for part in response.aiter_bytes():
                body += part
                if len(body) > MAX_ANSWER_BYTES:
                    raise QueryTooLarge(
                        f"{self.endpoint} sends more than {MAX_ANSWER_BYTES:,} bytes: "
                        "lower --page-size"
                    )
        return response, bytes(body)

    def _refused(self, response: Any, text: str) -> EndpointError:
        said = f"status {response.status_code}: {_shorten(text)}"
        if _SERVER_TIMEOUT in text:
            return QueryTooLarge(f"{self.endpoint} ran out of time ({said})")
        if response.status_code not in _TRY_AGAIN:
            return EndpointError(f"{self.endpoint} refuses the query ({said})")
        wait = _parse_retry_after(response.headers.get("Retry-After", ""))
        if wait > MAX_WAIT_SECONDS:
            return EndpointError(
                f"{self.endpoint} asks to wait {wait:,.0f} seconds ({said}): run the "
                "command again after that"
            )
        is_late = response.status_code == _GATEWAY_TIMEOUT
        return (QueryTooLarge if is_late else EndpointError)(said, wait=wait)

    def _parse(self, text: str, content_type: str) -> list[Row]:
        if "html" in content_type or re.match(r"\s*<", text):
            raise self._unknown(text, "a web page in place of results")
        try:
            # Python reads no whole number of thousands of digits.
            answer = json.loads(text, parse_int=float)
        except (ValueError, RecursionError) as error:
            if _SERVER_TIMEOUT in text:
                raise QueryTooLarge(
                    f"{self.endpoint} ran out of time in the middle of its answer"
                ) from error
            message = f"the answer breaks after {len(text):,} characters ({error})"
            raise QueryTooLarge(message, wait=0.0) from error
        try:
            return [
                {variable: _whole(cell["value"]) for variable, cell in binding.items()}
                for binding in answer["results"]["bindings"]
            ]
        except (KeyError, TypeError, AttributeError) as error:
            raise self._unknown(text, "JSON that is no SPARQL result") from error

    def _unknown(self, text: str, what: str) -> EndpointError:
        said = f"{what} ({_shorten(text)})"
        return EndpointError(f"{self.endpoint} sends {said}: check --endpoint")


def _whole(value: Any) -> str:
    """A value, in which halves of characters are marked as broken."""
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is no string")
    return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _seconds_to_wait(state: Any) -> float:
    backoff = min(2.0 ** (state.attempt_number - 1), MAX_BACKOFF_SECONDS)
    return max(backoff, state.outcome.exception().wait)


def _parse_retry_after(value: str) -> float:
    """Read the seconds to wait from a number or a date, 0 if it is neither."""
    try:
        return max(0.0, float(value))
    except ValueError:
        date = parsedate_tz(value)
    with suppress(ValueError, OverflowError):  # a year that no calendar has
        if date is not None:
            return max(0.0, mktime_tz(date) - time.time())
    return 0.0


def _shorten(body: str) -> str:
    # Cut first: looking for the ends of a thousand tags takes seconds in a long text.
    text = " ".join(re.sub(r"<[^>]*>", " ", body[: 10 * _N_BODY_CHARS]).split())
    return text[:_N_BODY_CHARS] or "nothing"
