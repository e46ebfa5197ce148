"""A SPARQL endpoint that sends what it likes. What a slow, busy or broken one does,
tests/lexicon/test_wikidata.py tries."""

import gzip
import socketserver
import threading
import zlib

import pytest

from spacy_entlm.lexicon.sparql import EndpointError, SparqlClient

RESULT = b'{"results": {"bindings": [{"x": {"value": "1"}}]}}'


def answer(body, *headers, status="200 OK"):
    """The bytes of an answer over HTTP."""
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", *headers, "", ""]
    return "\r\n".join(lines).encode() + body


@pytest.fixture
def ask(tmp_path):
    """Sends a query to a server that answers each with some bytes."""
    servers = []

    def ask(sent, attempts=2):
        class Handler(socketserver.BaseRequestHandler):
            def handle(self):
                self.request.settimeout(5)
                try:
                    self.request.recv(10_000)
                    self.request.sendall(sent)
                except OSError:
                    pass  # the client has heard enough

        server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler)
        servers.append(server)
        threading.Thread(target=server.serve_forever, args=(0.02,)).start()
        url = f"http://127.0.0.1:{server.server_address[1]}/sparql"
        client = SparqlClient(
            url, tmp_path, timeout=10.0, attempts=attempts, sleep=lambda seconds: None
        )
        return client.select("SELECT")

    yield ask
    for server in servers:
        server.shutdown()
        server.server_close()


def test_packed_answer_is_read(ask):
    packed = answer(gzip.compress(RESULT), "Content-Encoding: gzip")
    assert ask(packed) == [{"x": "1"}]


def test_answer_that_is_packed_twice_is_not_unpacked(ask, at_most):
    twice = gzip.compress(gzip.compress(b"\0" * 300 * 2**20, 1))
    refused = pytest.raises(EndpointError, match="packs its answer as 'gzip, gzip'")
    with refused, at_most(60, 100):
        ask(answer(twice, "Content-Encoding: gzip, gzip"))


BOMB = gzip.compress(b"\0" * 100 * 2**20, mtime=0)


@pytest.mark.parametrize(
    "sent",
    [
        answer(BOMB, "Content-Encoding: gzip"),
        answer(b"", "Content-Encoding: br"),
        answer(zlib.compress(b"\0" * 100 * 2**20), "Content-Encoding: deflate"),
        answer(b"no gzip", "Content-Encoding: gzip"),
        answer(b"", "Content-Encoding: gzip"),
        answer(RESULT, *[f"X-{i}: {'x' * 1000}" for i in range(1000)]),
        b"\0" * 2**20,
        b"HTTP/1.1 200 OK\r\n" + b"x" * 2**20,
        b"",
        answer(b"\xff\xfe\0" * 2**20),
        answer(b'{"results": ' * 100_000),
        answer(b"<" * 2**20, status="500 Oh"),
    ],
    ids=str,
)
def test_garbage_is_one_short_line(ask, sent, at_most):
    with pytest.raises(EndpointError) as caught, at_most(60, 200):
        ask(sent)
    message = str(caught.value)
    assert len(message) < 1100 and "\n" not in message


@pytest.mark.parametrize(
    "location", ["/sparql", "file:///etc/passwd", "http://[", "//", "x:" * 1000, ""]
)
@pytest.mark.parametrize("status", ["302 Found", "307 Again"])
def test_redirection_without_end_or_elsewhere_is_an_error(ask, location, status):
    with pytest.raises(EndpointError):
        ask(answer(b"", f"Location: {location}", status=status))


@pytest.mark.parametrize(
    "wait", ["1e400", "9" * 5000, "Mon, 01 Jan 99999999 00:00:00 GMT", "-1", "\x80"]
)
def test_odd_time_to_wait_is_no_crash(ask, wait):
    with pytest.raises(EndpointError):
        ask(answer(b"", f"Retry-After: {wait}", status="429 Slow"))
