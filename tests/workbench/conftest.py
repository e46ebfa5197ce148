"""Workbenches of a few texts, and servers of them."""

import threading

import pytest
import spacy

from spacy_entlm.workbench.adding import NewText
from spacy_entlm.workbench.database import reading
from spacy_entlm.workbench.reading import Texts
from spacy_entlm.workbench.runs import FILE, Runs
from spacy_entlm.workbench.store import Store

NLP = spacy.blank("xx")


def new_texts(texts, **settings):
    docs = map(NLP.make_doc, texts)
    words = [[(t.text, bool(t.whitespace_)) for t in doc] for doc in docs]
    return [NewText(one, **settings) for one in words]


def new_store(folder, *labels):
    store = Store(folder / FILE)
    for label in labels:
        store.add_class(label, given=True)
    return store


def read(path, **settings):
    return Texts(NLP, tell=lambda line: None, **settings).read(path)


def history(path):
    """All changes of the file of a workbench, the first first."""
    with reading(path) as db:
        return [dict(row) for row in db.execute("SELECT * FROM changes ORDER BY id")]


@pytest.fixture
def folder(tmp_path):
    return tmp_path


@pytest.fixture
def store(folder, texts):
    """A store of the annotated texts, none of them for the test, with three classes:
    PER 1, LOC 2, ORG 3."""
    store = new_store(folder, "PER", "LOC", "ORG")
    store.setting("lang", "xx")
    store.add_texts(new_texts(texts, is_test=False))
    return store


@pytest.fixture
def gold(annotated):
    """Marks of a text, by its words, as a person would make them."""
    numbers = {"PER": 1, "LOC": 2, "ORG": 3}
    known = {}
    for text, annotation in annotated:
        doc = NLP.make_doc(text)
        spans = [doc.char_span(*place) for place in annotation["entities"]]
        known[text] = [[s.start, s.end, numbers[s.label_]] for s in spans]
    return lambda one: known["".join(w + " " * blank for w, blank in one["words"])]


@pytest.fixture
def idle(monkeypatch):
    """Runs begin, and no process does their work."""

    class Process:
        def __init__(self, line, **settings):
            self.line = line

        def poll(self):
            return 0

    monkeypatch.setattr("spacy_entlm.workbench.runs.subprocess.Popen", Process)


@pytest.fixture
def serving(folder, store, idle):
    """Gives the address of a server of the store, and its token."""
    pytest.importorskip("fastapi", reason="needs the extra `workbench`")
    from spacy_entlm.workbench import server

    listening = server.listen(0)
    port = listening.getsockname()[1]
    running = server.make_server(Runs(folder), port)
    thread = threading.Thread(target=running.run, kwargs={"sockets": [listening]})
    thread.start()
    yield f"http://127.0.0.1:{port}", store.token()
    running.should_exit = True
    thread.join(20)
    listening.close()
