"""The server: batches, limits, what is refused, health and metrics."""

import re
import socket
import time
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from spacy_entlm.files.errors import DataError
from spacy_entlm.serving.limits import Limits

from .conftest import LONG, SlowReader


def ask(served, *texts, **settings):
    return served.client.post("/entities", json={"texts": texts}, **settings)


def wait_until(condition):
    end = time.monotonic() + LONG
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.005)


def held_up(served, slow, pool):
    """Hold the reader with one request: the next ones wait."""
    slow.goes_on.clear()
    first = pool.submit(ask, served, "first")
    assert slow.has_begun.wait(LONG)
    return first


def test_each_request_gets_its_own_answers(serve_reader, slow):
    served = serve_reader(slow)
    assert ask(served, "a", "bcd").json() == {"entities": [[{"end": 1}], [{"end": 3}]]}
    assert ask(served).json() == {"entities": []}


def test_requests_that_arrive_together_are_read_together(serve_reader, slow):
    served = serve_reader(slow, batch=4)
    waiting = served.server.service.batches
    with ThreadPoolExecutor(8) as pool:
        held_up(served, slow, pool)
        answers = [pool.submit(ask, served, "x" * i, "y") for i in range(1, 6)]
        wait_until(lambda: waiting.n_waiting == 10)
        slow.goes_on.set()
        for i, answer in enumerate(answers, 1):
            assert answer.result().json()["entities"] == [[{"end": i}], [{"end": 1}]]
    assert [len(batch) for batch in slow.batches] == [1, 4, 4, 2]
    assert waiting.n_waiting == 0


def test_half_of_many_requests_that_wait_are_read(serve_reader, slow):
    served = serve_reader(slow)
    with ThreadPoolExecutor(11) as pool:
        held_up(served, slow, pool)
        answers = [pool.submit(ask, served, "text") for _ in range(10)]
        wait_until(lambda: served.server.service.batches.n_waiting == 10)
        slow.goes_on.set()
        assert all(answer.result().status_code == 200 for answer in answers)
    assert [len(batch) for batch in slow.batches] == [1, 5, 2, 2, 1]


def test_as_many_batches_are_read_at_once_as_there_are_copies(serve_reader):
    slow = SlowReader(n_copies=2)
    served = serve_reader(slow)
    waiting = served.server.service.batches
    slow.goes_on.clear()
    with ThreadPoolExecutor(3) as pool:
        answers = []
        for text in "first", "second":
            answers.append(pool.submit(ask, served, text))
            wait_until(lambda n=len(answers): len(slow.batches) == n)
        answers.append(pool.submit(ask, served, "third"))
        wait_until(lambda: waiting.n_waiting == 1)
        assert slow.batches == [["first"], ["second"]]
        slow.goes_on.set()
        ends = [answer.result().json()["entities"][0][0]["end"] for answer in answers]
    assert ends == [5, 6, 5] and slow.batches[2] == ["third"]


def test_a_long_text_lets_short_ones_pass(serve_reader, slow):
    served, waiting = serve_reader(slow), []
    with ThreadPoolExecutor(6) as pool:
        first = held_up(served, slow, pool)
        time.sleep(0.1)  # so long for five characters
        slow.goes_on.set()
        first.result()
        slow.has_begun.clear()
        waiting.append(held_up(served, slow, pool))
        for n_texts, text in enumerate(["long " * 100, *["short"] * 4], 1):
            waiting.append(pool.submit(ask, served, text))
            wait_until(lambda n=n_texts: served.server.service.batches.n_waiting == n)
        slow.goes_on.set()
        assert all(answer.result().status_code == 200 for answer in waiting)
    assert slow.batches[2:] == [["short"] * 2, ["short"] * 2, ["long " * 100]]


def test_a_text_that_fails_is_its_own_request_s_error(serve_reader, slow):
    served = serve_reader(slow)
    with ThreadPoolExecutor(3) as pool:
        held_up(served, slow, pool)
        bad = pool.submit(ask, served, "good", "bad")
        good = pool.submit(ask, served, "good")
        wait_until(lambda: served.server.service.batches.n_waiting == 3)
        slow.goes_on.set()
        assert bad.result().status_code == 500
        assert bad.result().json() == {"detail": "Text 2 cannot be read: why"}
        assert good.result().json() == {"entities": [[{"end": 4}]]}


def test_a_reader_that_breaks_answers_the_next_batch(serve_reader, slow, caplog):
    served, read = serve_reader(slow), slow.read

    def break_once(texts):
        served.server.service.batches.read = read
        raise MemoryError("too much")

    served.server.service.batches.read = break_once
    answer = ask(served, "a")
    assert answer.status_code == 500 and "too much" in answer.json()["detail"]
    assert ask(served, "a").status_code == 200


def test_a_full_queue_refuses_at_once(serve_reader, slow):
    served = serve_reader(slow, queue=3, texts=3)
    with ThreadPoolExecutor(3) as pool:
        first = held_up(served, slow, pool)
        second = pool.submit(ask, served, "a", "b")
        wait_until(lambda: served.server.service.batches.n_waiting == 2)
        refused = ask(served, "a", "b")
        assert refused.status_code == 429 and refused.headers["retry-after"]
        third = pool.submit(ask, served, "c")
        wait_until(lambda: served.server.service.batches.n_waiting == 3)
        slow.goes_on.set()
        assert [x.result().status_code for x in (first, second, third)] == [200] * 3
    assert ask(served, "a", "b").status_code == 200


def test_what_takes_too_long_is_told_and_not_read(serve_reader, slow):
    served = serve_reader(slow, seconds=0.3)
    with ThreadPoolExecutor(2) as pool:
        reading = held_up(served, slow, pool)
        waiting = ask(served, "never read")
        assert reading.result().status_code == 504
        assert waiting.status_code == 503 and waiting.headers["retry-after"]
        assert served.server.service.batches.n_waiting == 0
        slow.goes_on.set()
    assert ask(served, "next").status_code == 200
    assert ["never read"] not in slow.batches


@pytest.mark.parametrize(
    "body, code, text",
    [
        (b"{", 422, "JSON"),
        (b"[" * 100_000, 422, "JSON"),
        (b"\xff", 422, "texts"),
        (b"null", 422, "texts"),
        (b"{}", 422, "texts"),
        (b'{"texts": "a"}', 422, "texts"),
        (b'{"texts": [1]}', 422, "texts.0"),
        (b'{"texts": ["\\ud800"]}', 422, "texts"),
        (b'{"texts": [], "more": 1}', 422, "more"),
        (b'{"texts": ["", "", "", ""]}', 413, "3 texts"),
        (b'{"texts": ["a", "12345678901"]}', 413, "Text 2"),
        (b" " * 100_001, 413, "bytes"),
    ],
)
def test_wrong_or_large_requests_are_one_line(serve_reader, slow, body, code, text):
    served = serve_reader(slow, bytes=100_000, texts=3, characters=10)
    answer = served.client.post("/entities", content=body)
    assert answer.status_code == code
    detail = answer.json()["detail"]
    assert text in detail and len(detail.splitlines()) == 1 and len(detail) < 200
    assert not slow.batches


def test_a_body_without_a_length_or_from_a_page_is_refused(serve_reader, slow):
    served = serve_reader(slow)
    parts = iter([b'{"texts": []}'])
    assert served.client.post("/entities", content=parts).status_code == 411
    page = {"origin": "http://evil.example"}
    assert ask(served, "a", headers=page).status_code == 403
    assert served.client.post("/reload", headers=page).status_code == 403
    assert not slow.loads


def test_a_request_that_does_not_come_to_its_end(serve_reader, slow):
    served = serve_reader(slow, seconds=0.2)
    place = ("127.0.0.1", int(served.address.rsplit(":", 1)[1]))
    with socket.create_connection(place) as mine:
        mine.settimeout(LONG)
        mine.sendall(
            b"POST /entities HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n{"
        )
        assert b" 408 " in mine.recv(1000)


def test_health_and_metrics(serve_reader, slow):
    served = serve_reader(slow)
    assert served.client.get("/health").json() == {"status": "ok", "waiting": 0}
    ask(served, "a", "bcd")
    served.client.post("/entities", content=b"{")
    page = served.client.get("/metrics")
    assert page.headers["content-type"].startswith("text/plain")
    figures = dict(re.findall(r"^(entlm\S+) (\S+)$", page.text, re.MULTILINE))
    assert figures['entlm_requests_total{code="200"}'] == "1.0"
    assert figures['entlm_requests_total{code="422"}'] == "1.0"
    assert figures["entlm_texts_total"] == "2.0"
    assert figures["entlm_characters_total"] == "4.0"
    assert figures["entlm_entities_total"] == "2.0"
    assert figures["entlm_batch_texts_sum"] == "2.0"
    assert figures["entlm_waiting_texts"] == "0.0"
    assert "process_resident_memory_bytes" in page.text


def test_a_reload_that_fails_is_told(serve_reader, slow):
    served = serve_reader(slow)
    assert served.client.post("/reload").json() == {"status": "ok"}
    answer = served.client.post("/reload")
    assert answer.status_code == 500
    assert answer.json()["detail"].endswith("goes on: ValueError: broken model")
    assert ask(served, "a").status_code == 200
    text = served.client.get("/metrics").text
    assert 'entlm_reloads_total{result="failed"} 1.0' in text


def test_no_page_lists_the_calls(serve_reader, slow):
    served = serve_reader(slow)
    assert served.client.get("/docs").status_code == 404
    assert served.client.get("/entities").status_code == 405


def test_connections_that_are_kept_are_told_of_the_end(serve_reader, slow):
    served = serve_reader(slow)
    assert "connection" not in ask(served, "a").headers
    served.server.should_exit = True
    wait_until(lambda: served.server.service.is_stopping)
    time.sleep(0.8)  # a client may well let a connection rest for so long
    last = ask(served, "a")
    assert last.status_code == 200 and last.headers["connection"] == "close"
    with pytest.raises(httpx.ConnectError):
        ask(served, "a")


def test_who_waits_for_an_answer_is_told_of_the_end_with_it(serve_reader, slow):
    """Else the next request would go into a connection that is being closed."""
    served = serve_reader(slow)
    with ThreadPoolExecutor(1) as pool:
        first = held_up(served, slow, pool)
        served.server.should_exit = True
        wait_until(lambda: served.server.service.is_stopping)
        slow.goes_on.set()
        last = first.result(LONG)
    assert last.status_code == 200 and last.headers["connection"] == "close"


def test_a_server_without_connections_ends_at_once(serve_reader, slow):
    served = serve_reader(slow)
    ask(served, "a")
    served.client.close()
    served.server.should_exit = True
    start = time.monotonic()
    served.thread.join(LONG)
    assert time.monotonic() - start < 1


def test_a_connection_is_kept_for_longer_than_a_client_keeps_it(serve_reader, slow):
    """Load balancers rest one for a minute: who closes it first loses no request."""
    served = serve_reader(slow)
    assert served.server.config.timeout_keep_alive > 60


def test_a_port_that_is_taken_is_told(serve_reader, slow):
    from spacy_entlm.serving.http import listen

    served = serve_reader(slow)
    with pytest.raises(DataError, match="cannot listen on port"):
        listen(int(served.address.rsplit(":", 1)[1]))
    with pytest.raises(DataError, match=r"name\.invalid, port 0"):
        listen(0, "name.invalid")


def test_a_request_that_could_never_wait_is_refused_at_the_start():
    with pytest.raises(DataError, match="more than may wait"):
        Limits(texts=10, queue=5)
