"""The server: who may call it, what it answers, and that text stays text."""

import re

import httpx
import pytest

from spacy_entlm.workbench.adding import NewText
from spacy_entlm.workbench.runs import Runs

from .conftest import history

pytest.importorskip("fastapi", reason="needs the extra `workbench`")


@pytest.fixture
def client(serving):
    address, token = serving
    headers = {"x-workbench-token": token}
    with httpx.Client(base_url=address, headers=headers) as client:
        yield client


def test_the_page_needs_nothing_from_elsewhere(client):
    page = client.get("/")
    assert page.status_code == 200 and page.headers["content-type"].startswith("text/")
    policy = page.headers["content-security-policy"]
    assert "default-src 'none'" in policy and "unsafe" not in policy
    assert "//" not in page.text and "<style" not in page.text
    assert "style=" not in page.text and " onclick" not in page.text
    scripts = re.findall(r'from "\./(.+)"', client.get("/page.js").text)
    assert len(scripts) == 10
    for name in ("page.css", "views.css", "page.js", "chart.js", *scripts):
        answer = client.get(f"/{name}")
        assert answer.status_code == 200
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert "innerHTML" not in answer.text


CALLS = [
    ("GET", "state"),
    ("GET", "next"),
    ("GET", "texts/1"),
    ("GET", "texts/1/neighbour"),
    ("GET", "list"),
    ("GET", "entities"),
    ("GET", "contexts"),
    ("PUT", "texts/1"),
    ("PUT", "texts/1/part"),
    ("POST", "texts/1/back"),
    ("PUT", "order"),
    ("PUT", "least"),
    ("PUT", "classes/1"),
    ("PUT", "classes/order"),
    ("POST", "classes"),
    ("POST", "classes/1/remove"),
    ("POST", "mend"),
    ("POST", "undo"),
    ("POST", "redo"),
    ("POST", "train"),
    ("POST", "wheel"),
    ("POST", "export"),
    ("POST", "report"),
]


@pytest.mark.parametrize("token", [None, "", "wrong", "ünïcode"])
def test_no_call_without_the_token(serving, token):
    headers = {} if token is None else {"x-workbench-token": token.encode()}
    for method, path in CALLS:
        answer = httpx.request(
            method, f"{serving[0]}/api/{path}?token={serving[1]}", headers=headers
        )
        assert answer.status_code == 403, path


def test_every_call_is_tried_above(folder, store):
    from spacy_entlm.workbench import routes

    runs = Runs(folder)
    paths = {
        (method, route.path.removeprefix("/api")[1:].replace("{number}", "1"))
        for router in (
            routes.reading_routes(runs),
            routes.writing_routes(runs),
            routes.class_routes(runs),
            routes.work_routes(runs),
            routes.report_routes(runs, []),
        )
        for route in router.routes
        for method in route.methods
    }
    assert paths == {*CALLS, ("GET", "report/{ticket}")}


def test_no_page_lists_the_calls(client):
    assert client.get("/docs").status_code == 404
    assert client.get("/openapi.json").status_code == 404


@pytest.mark.parametrize(
    "headers, code",
    [
        ({"host": "evil.example"}, 400),
        ({"host": "127.0.0.1"}, 400),
        ({"host": "127.0.0.1:1"}, 400),
        ({"origin": "http://evil.example"}, 403),
        ({"origin": "null"}, 403),
        ({"origin": "http://127.0.0.1:1"}, 403),
        ({"sec-fetch-site": "cross-site"}, 403),
        ({"sec-fetch-site": "same-site"}, 403),
    ],
)
def test_other_sites_may_neither_read_nor_write(client, store, headers, code):
    assert client.get("/api/state", headers=headers).status_code == code
    answer = client.post("/api/classes", json={"name": "X"}, headers=headers)
    assert answer.status_code == code
    assert "access-control-allow-origin" not in answer.headers
    assert len(store.classes()) == 3


def test_the_page_itself_may_call(client, serving):
    headers = {"origin": serving[0], "sec-fetch-site": "same-origin"}
    assert client.get("/api/state", headers=headers).status_code == 200
    headers = {"origin": "http://evil.example", "access-control-request-method": "PUT"}
    assert client.options("/api/texts/1", headers=headers).status_code == 403


def test_it_listens_on_this_machine_alone(folder):
    from spacy_entlm.workbench import server

    listening = server.listen(0)
    assert listening.getsockname()[0] == "127.0.0.1"
    listening.close()


def test_a_text_goes_through_as_it_is(client, store):
    words = [("<script>alert(1)</script>", True), ("&amp;", False)]
    store.add_texts([NewText(words, is_test=False)])
    number = store.counts()["texts"]
    answer = client.get(f"/api/texts/{number}")
    assert answer.headers["content-type"] == "application/json"
    assert answer.json()["words"] == [list(word) for word in words]


def test_mark_accept_undo(client):
    text = client.get("/api/next").json()
    path = f"/api/texts/{text['id']}"
    body = {"answer": "accept", "marks": [[0, 1, 1]], "version": text["version"]}
    assert client.put(path, json=body).json()["marks"] == [[0, 1, 1]]
    other_tab = client.put(path, json={**body, "marks": []})
    assert other_tab.status_code == 409
    assert "elsewhere" in other_tab.json()["detail"]
    assert client.get("/api/next").json()["id"] != text["id"]
    assert client.get("/api/state").json()["counts"]["train"] == 1
    undone = {"kind": "answer", "target": text["id"], "n": 1}
    assert client.post("/api/undo").json() == undone
    assert client.get("/api/next").json()["id"] == text["id"]


def test_classes_are_added_and_renamed(client, store):
    number = client.post("/api/classes", json={"name": "DRUG"}).json()
    assert client.put(f"/api/classes/{number}", json={"name": "LOC"}).status_code == 422
    client.put(f"/api/classes/{number}", json={"name": "GENE"})
    (row,) = (row for row in store.classes() if row["id"] == number)
    assert row["name"] == "GENE"
    client.put(f"/api/classes/{number}", json={"words": "gene", "color": "#00ff00"})
    assert store.classes()[-1] == {
        **{"id": number, "name": "GENE", "words": "gene", "color": "#00ff00"}
    }


@pytest.mark.parametrize(
    "method, path, body",
    [
        ("PUT", "texts/1", {"answer": "accept", "marks": [[0, 99, 1]], "version": 0}),
        ("PUT", "texts/1", {"answer": "maybe", "marks": [], "version": 0}),
        ("PUT", "texts/1", {"answer": "accept", "marks": [[0, "1", 1]], "version": 0}),
        ("PUT", "texts/1", {"answer": "accept", "marks": [], "version": 0, "x": 1}),
        ("PUT", "texts/99", {"answer": "accept", "marks": [], "version": 0}),
        ("PUT", "texts/1/part", {"is_test": 1}),
        ("PUT", "texts/99/part", {"is_test": True}),
        ("POST", "texts/99/back", {"version": 0}),
        ("PUT", "order", {"order": "drop table"}),
        ("PUT", "least", {"least": 2}),
        ("PUT", "classes/1", {"color": "red;"}),
        ("PUT", "classes/1", {"words": "x" * 301}),
        ("PUT", "classes/order", {"numbers": [1, 2]}),
        ("POST", "classes/1/remove", {"into": 1}),
        ("POST", "classes/9/remove", {}),
        ("POST", "mend", {"words": "Anna", "class": 9, "texts": [1]}),
        ("POST", "classes", {"name": "O"}),
        ("POST", "classes", {"name": "x" * 101}),
    ],
)
def test_bad_calls_change_nothing(client, store, method, path, body):
    before = history(store.path)
    answer = client.request(method, f"/api/{path}", json=body)
    assert answer.status_code == 422 and answer.json()["detail"]
    assert history(store.path) == before


def test_large_bodies_are_refused(client):
    answer = client.post("/api/classes", json={"name": "x" * 100_000})
    assert answer.status_code == 413


def test_unknown_texts_are_none(client):
    assert client.get("/api/texts/999").status_code == 404


def test_a_run_begins_once(client, folder):
    from filelock import FileLock

    with FileLock(folder / ".run.lock"):
        assert client.post("/api/train").status_code == 200
        assert client.post("/api/train").status_code == 409
        state = client.get("/api/state").json()
        assert state["running"] and state["run"]["kind"] == "train"
    assert client.get("/api/state").json()["run"]["state"] == "killed"


def test_the_place_of_a_wheel_is_told(client, folder):
    assert client.get("/api/state").json()["wheels"] is None
    (folder / "wheels").mkdir()
    (folder / "wheels" / "mine-1.0.1-py3-none-any.whl").write_bytes(b"")
    assert client.get("/api/state").json()["wheels"] == str(folder / "wheels")


def test_a_report_is_opened_once_with_a_ticket(client, folder):
    assert client.post("/api/report").status_code == 404
    (folder / "crossval.html").write_text("<p>Figures")
    ticket = client.post("/api/report").json()
    assert client.get("/report/other").status_code == 404
    page = client.get(f"/report/{ticket}")
    assert page.text == "<p>Figures" and "text/html" in page.headers["content-type"]
    policy = page.headers["content-security-policy"]
    assert "script" not in policy and "default-src 'none'" in policy
    assert client.get(f"/report/{ticket}").status_code == 404


def test_data_are_written_in_the_form_that_is_chosen(client, folder):
    text = client.get("/api/next").json()
    body = {"answer": "accept", "marks": [[0, 1, 1]], "version": 0}
    client.put(f"/api/texts/{text['id']}", json=body)
    names = [name for name, _ in client.get("/api/state").json()["forms"]]
    assert names[0] == "prodigy" and {"conll", "label-studio"} <= set(names)
    found = client.post("/api/export").json()
    assert found["files"] == ["train.jsonl", "unlabeled.jsonl"]
    assert (folder / "data" / "train.jsonl").is_file()
    found = client.post("/api/export", json={"form": "conll"}).json()
    assert found["files"] == ["train.conll", "unlabeled.jsonl"]
    assert found["folder"] == str(folder / "data-conll")
    answer = client.post("/api/export", json={"form": "../odd"})
    assert answer.status_code == 422 and "unknown form" in answer.json()["detail"]
