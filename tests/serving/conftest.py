"""Servers in a thread, with a reader that a test can hold up, and real processes."""

import contextlib
import os
import subprocess
import sys
import threading
from types import SimpleNamespace

import httpx
import pytest

from spacy_entlm.serving.limits import Limits
from spacy_entlm.serving.reader import Failure

LONG = 60


class SlowReader:
    """Says how long texts are, once it may go on. Text "bad" fails."""

    def __init__(self, n_copies=1):
        self.n_copies = n_copies
        self.batches, self.loads = [], 0
        self.goes_on, self.has_begun = threading.Event(), threading.Event()
        self.goes_on.set()

    def load(self):
        self.loads += 1
        if self.loads > 1:
            raise ValueError("broken\nmodel")

    def close(self):
        pass

    def read(self, texts):
        self.batches.append(texts)
        self.has_begun.set()
        assert self.goes_on.wait(LONG)
        return [Failure("why") if t == "bad" else [{"end": len(t)}] for t in texts]


@pytest.fixture
def slow():
    return SlowReader()


@pytest.fixture
def serve_reader():
    """Serves a reader in a thread: (reader, **limits) -> a client, and the server."""
    pytest.importorskip("prometheus_client", reason="needs the extra `serve`")
    from spacy_entlm.serving.http import listen
    from spacy_entlm.serving.server import Server, Service

    with contextlib.ExitStack() as stack:

        def start(reader, **limits):
            listening = listen(0)
            server = Server(Service(reader, Limits(**limits)))
            run = {"target": server.run, "kwargs": {"sockets": [listening]}}
            thread = threading.Thread(**run)
            thread.start()
            address = f"http://127.0.0.1:{listening.getsockname()[1]}"
            stack.callback(thread.join, LONG)
            client = stack.enter_context(httpx.Client(base_url=address, timeout=LONG))
            stack.callback(setattr, server, "should_exit", True)
            return SimpleNamespace(
                client=client, server=server, thread=thread, address=address
            )

        yield start


@pytest.fixture
def serve_process(trained_folder):
    """Starts the command on the trained pipeline: (*options) -> process, address."""
    pytest.importorskip("prometheus_client", reason="needs the extra `serve`")
    started = []

    def start(*options, folder=trained_folder):
        line = [sys.executable, "-m", "spacy", "entlm", "serve", str(folder)]
        process = subprocess.Popen(
            [*line, "--port", "0", *options],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONWARNINGS": "ignore"},
        )
        started.append(process)
        return process, process.stdout.readline().strip()

    yield start
    for process in started:
        process.kill()
        process.communicate()
