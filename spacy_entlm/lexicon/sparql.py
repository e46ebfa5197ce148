"""SPARQL queries over HTTP, each answer kept on disk."""

import gzip
import hashlib
import json
import os
import re
import secrets
import time
import zlib
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any, Callable, Dict, List, Optional

import httpx

from ..about import __version__
from ..files.errors import DataError

USER_AGENT = f"spacy-entlm/{__version__} (python-httpx/{httpx.__version__})"
MAX_BACKOFF_SECONDS = 60.0
# An endpoint that asks for more has shut us out for long: then we stop.
MAX_WAIT_SECONDS = 900.0

_TRY_AGAIN = frozenset({429, 500, 502, 503, 504})
_GATEWAY_TIMEOUT = 504
# What Wikidata's endpoint writes where a query has used up its time, also in the
# middle of an answer that began well.
_SERVER_TIMEOUT = "TimeoutException"
_N_BODY_CHARS = 200

Row = Dict[str, str]


class EndpointError(DataError):
    """The endpoint gave no answer that can be used."""


class EndpointTimeout(EndpointError):
    """The endpoint had not enough time: a smaller query may do."""


class _TryAgain(Exception):
    """One attempt failed. wait (float): Seconds that the endpoint asks to wait."""

    def __init__(self, message: str, *, wait: float = 0.0, timeout: bool = False):
        super().__init__(message)
        self.wait = wait
        self.timeout = timeout


class SparqlClient:
    """Sends queries, patiently, and remembers the answers.

    endpoint (str): Address that takes SPARQL queries by POST.
    cache (Path): Folder of the answers, one file each; made if it is missing.
    timeout (float): Seconds to wait for an answer.
    attempts (int): How often a query is sent at most, with waits of 1, 2, 4, ...
        seconds, or longer ones if the endpoint asks for them.
    user_agent (str): What we call ourselves. Wikidata's rules ask for an address of
        whoever runs the queries.
    sleep (Callable[[float], None]): Waits; tests put another in its place.
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
        self.endpoint = endpoint
        self.cache = cache
        self.attempts = max(1, attempts)
        self.n_sent = 0
        self._sleep = sleep
        headers = {
            "User-Agent": user_agent,
            "Accept": "application/sparql-results+json",
        }
        self._http = httpx.Client(
            headers=headers, timeout=timeout, follow_redirects=True
        )

    def __enter__(self) -> "SparqlClient":
        return self

    def __exit__(self, *_: object) -> None:
        self._http.close()

    def select(self, query: str) -> List[Row]:
        """Give the answer to a query, from disk if it was sent before.

        query (str): A SPARQL SELECT query.
        RETURNS (List[Dict[str, str]]): Per row, variable -> value.
        RAISES (EndpointTimeout): If the endpoint has too little time for it.
        RAISES (EndpointError): If it does not answer, or not with SPARQL results.
        """
        rows = self._read_cache(query)
        if rows is None:
            rows = self._send_patiently(query)
            self._write_cache(query, rows)
        return rows

    def is_cached(self, query: str) -> bool:
        """Whether the answer to a query lies on disk.

        query (str): The query.
        RETURNS (bool): True if it does.
        """
        return self._cache_path(query).exists()

    def _cache_path(self, query: str) -> Path:
        key = f"{self.endpoint}\n{query}".encode()
        return self.cache / f"{hashlib.sha256(key).hexdigest()[:32]}.json.gz"

    def _read_cache(self, query: str) -> Optional[List[Row]]:
        try:
            rows = json.loads(gzip.decompress(self._cache_path(query).read_bytes()))
        except FileNotFoundError:
            return None
        # A damaged file is as good as none: the answer is fetched again.
        except (ValueError, EOFError, zlib.error, gzip.BadGzipFile):
            return None
        return rows if isinstance(rows, list) else None

    def _write_cache(self, query: str, rows: List[Row]) -> None:
        path = self._cache_path(query)
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_name(f".{secrets.token_hex(4)}.tmp")
        try:
            data = json.dumps(rows, ensure_ascii=False).encode("utf-8")
            temporary.write_bytes(gzip.compress(data))
            os.replace(temporary, path)
        finally:
            temporary.unlink(missing_ok=True)

    def _send_patiently(self, query: str) -> List[Row]:
        attempt = 1
        while True:
            try:
                return self._send(query)
            except _TryAgain as error:
                if error.wait > MAX_WAIT_SECONDS:
                    raise EndpointError(
                        f"{self.endpoint} asks to wait {error.wait:,.0f} seconds "
                        f"({error}): run the command again after that"
                    ) from error
                if attempt == self.attempts:
                    kind = EndpointTimeout if error.timeout else EndpointError
                    raise kind(
                        f"{self.endpoint} failed {attempt} times, last: {error}"
                    ) from error
                backoff = min(2.0 ** (attempt - 1), MAX_BACKOFF_SECONDS)
                self._sleep(max(backoff, error.wait))
            attempt += 1

    def _send(self, query: str) -> List[Row]:
        self.n_sent += 1
        try:
            response = self._http.post(self.endpoint, data={"query": query})
        except httpx.TimeoutException as error:
            raise _TryAgain("no answer in time", timeout=True) from error
        except httpx.TransportError as error:
            # An answer that breaks off is what a server leaves whose time is up.
            broken = isinstance(error, (httpx.RemoteProtocolError, httpx.ReadError))
            raise _TryAgain(
                f"{type(error).__name__}: {error}", timeout=broken
            ) from error
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise EndpointError(
                f"{self.endpoint} cannot be asked ({error}): check --endpoint"
            ) from error
        if response.status_code == httpx.codes.OK:
            return self._parse(response)
        said = f"status {response.status_code}: {_shorten(response.text)}"
        if _SERVER_TIMEOUT in response.text:
            raise EndpointTimeout(f"{self.endpoint} ran out of time ({said})")
        if response.status_code in _TRY_AGAIN:
            raise _TryAgain(
                said,
                wait=_parse_retry_after(response.headers.get("Retry-After", "")),
                timeout=response.status_code == _GATEWAY_TIMEOUT,
            )
        raise EndpointError(f"{self.endpoint} refuses the query ({said})")

    def _parse(self, response: httpx.Response) -> List[Row]:
        text = response.text
        if "html" in response.headers.get("Content-Type", "") or re.match(
            r"\s*<", text
        ):
            raise EndpointError(
                f"{self.endpoint} sends a web page in place of results "
                f"({_shorten(text)}): check --endpoint"
            )
        try:
            answer: Any = json.loads(text)
        except ValueError as error:
            if _SERVER_TIMEOUT in text:
                raise EndpointTimeout(
                    f"{self.endpoint} ran out of time in the middle of its answer"
                ) from error
            raise _TryAgain(
                f"the answer stops or breaks after {len(text):,} characters ({error})",
                timeout=True,
            ) from error
        try:
            return [
                {variable: cell["value"] for variable, cell in binding.items()}
                for binding in answer["results"]["bindings"]
            ]
        except (KeyError, TypeError, AttributeError) as error:
            raise EndpointError(
                f"{self.endpoint} sends JSON that is no SPARQL result "
                f"({_shorten(text)}): check --endpoint"
            ) from error


def _parse_retry_after(value: str) -> float:
    """Read the seconds to wait from a number or a date, 0 if it is neither."""
    try:
        return max(0.0, float(value))
    except ValueError:
        pass
    try:
        date = parsedate_to_datetime(value)
    except ValueError:
        return 0.0
    if date.tzinfo is None:
        date = date.replace(tzinfo=timezone.utc)
    return max(0.0, (date - datetime.now(timezone.utc)).total_seconds())


def _shorten(body: str) -> str:
    text = " ".join(re.sub(r"<[^>]*>", " ", body).split())
    return text[:_N_BODY_CHARS] or "nothing"
