"""A SPARQL endpoint on this machine that answers as Wikidata's does, and fails too."""

import json
import random
import re
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs

import pytest

JSON_TYPE = "application/sparql-results+json;charset=utf-8"


class Reply:
    """What the server sends. cut (int): Bytes at the end that it announces but keeps.

    hang (float): Seconds that it waits before it answers, or before each byte of it.
    trickle (bool): Whether it waits before each byte.
    """

    def __init__(
        self, status=200, body="", *, headers=None, cut=0, hang=0.0, trickle=False
    ):
        self.status = status
        self.body = body.encode("utf-8")
        self.headers = {"Content-Type": JSON_TYPE, **(headers or {})}
        self.cut = cut
        self.hang = hang
        self.trickle = trickle


class Endpoint:
    """Classes with items, and replies that come before the right answers.

    classes (Dict[str, List[Tuple[List[str], int]]]): Class -> items: names and number
        of sitelinks.
    faults (List[Reply]): Sent first, one per query.
    fault_if (Callable): Called with each query; a Reply that it gives is sent in place
        of the answer.
    """

    Reply = Reply

    def __init__(self, classes):
        self.classes = classes
        self.faults = []
        self.fault_if = lambda query: None
        self.queries = []
        self.user_agents = []
        self.url = ""
        self.closing = threading.Event()

    def pages_asked(self):
        """Offset and limit of each query for a page."""
        return [page_of(query) for query in self.queries if "COUNT" not in query]

    def reply(self, query):
        self.queries.append(query)
        if self.faults:
            return self.faults.pop(0)
        return self.fault_if(query) or self.answer(query)

    def answer(self, query):
        class_id = re.search(r"wd:(Q\d+)", query).group(1)
        items = list(enumerate(self.classes.get(class_id, [])))
        if "COUNT(*)" in query:
            return Reply(body=as_json([{"count": str(len(items))}]))
        sliced = "SERVICE bd:slice" in query
        offset, limit = page_of(query)
        if sliced and offset >= len(items):
            return Reply(500, "java.lang.RuntimeException: fromIndex > toIndex")
        if not sliced and "ORDER BY ?item" not in query:
            # What has no order comes in another one each time.
            random.Random(len(self.queries)).shuffle(items)
        rows = []
        for i, (names, sitelinks) in items[offset : offset + limit]:
            row = {"item": f"http://www.wikidata.org/entity/Q9{i}"}
            row["sitelinks"] = str(sitelinks)
            rows += [{**row, "name": name} for name in names] or [row]
        return Reply(body=as_json(rows))


def page_of(query):
    offset = re.search(r"slice\.offset (\d+)|OFFSET (\d+)", query)
    limit = re.search(r"slice\.limit (\d+)|LIMIT (\d+)", query)
    return tuple(int(m.group(1) or m.group(2)) for m in (offset, limit))


def as_json(rows):
    bindings = [
        {key: {"type": "literal", "value": value} for key, value in row.items()}
        for row in rows
    ]
    return json.dumps({"head": {"vars": []}, "results": {"bindings": bindings}})


Endpoint.page_of = staticmethod(page_of)
Endpoint.as_json = staticmethod(as_json)


@contextmanager
def serve(endpoint):
    """Runs the endpoint in a thread, and sets its url."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            endpoint.user_agents.append(self.headers["User-Agent"])
            reply = endpoint.reply(parse_qs(body.decode("utf-8"))["query"][0])
            if reply.hang and not reply.trickle:
                endpoint.closing.wait(reply.hang)
            try:
                self.send_response(reply.status)
                for key, value in reply.headers.items():
                    self.send_header(key, value)
                self.send_header("Content-Length", str(len(reply.body)))
                self.end_headers()
                body = reply.body[: len(reply.body) - reply.cut]
                for byte in body if reply.trickle else ():
                    self.wfile.write(bytes([byte]))
                    self.wfile.flush()
                    if endpoint.closing.wait(reply.hang):
                        break
                self.wfile.write(b"" if reply.trickle else body)
            except OSError:
                pass  # The client waits no longer.
            self.close_connection = True

        def log_message(self, *args):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    endpoint.url = f"http://127.0.0.1:{server.server_address[1]}/sparql"
    try:
        yield endpoint
    finally:
        endpoint.closing.set()
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture
def endpoint():
    """A running endpoint: 250 people in Q5, three places (one nameless) in Q515."""
    people = [([f"Person {i}", f"P. {i}"], i) for i in range(250)]
    places = [(["Lima", "Ciudad de los Reyes"], 200), ([], 1), (["Rome"], 300)]
    with serve(Endpoint({"Q5": people, "Q515": places})) as endpoint:
        yield endpoint
