"""The command as a process of its own: nothing is lost over a reload or its end."""

import shutil
import signal
import threading
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from .conftest import LONG

pytestmark = pytest.mark.slow


def ask_on_and_on(address, texts, statuses, is_over, n_asked):
    """With a connection that is kept, until nobody listens any more."""
    with httpx.Client(base_url=address, timeout=LONG) as client:
        while not is_over.is_set():
            try:
                answer = client.post("/entities", json={"texts": texts})
            except httpx.ConnectError:
                return  # never accepted
            assert len(answer.json()["entities"]) == len(texts)
            statuses.append(answer.status_code)
            if len(statuses) > 20:
                n_asked.set()


def found_in(answer):
    return [
        [(ent["start"], ent["end"], ent["label"]) for ent in entities]
        for entities in answer.json()["entities"]
    ]


@pytest.mark.parametrize("n_readers", [1, 2])
def test_reload_and_end_lose_nothing(
    serve_process, trained_folder, trained, texts, entities, tmp_path, n_readers
):
    folder = shutil.copytree(trained_folder, tmp_path / "model")
    process, address = serve_process("--readers", str(n_readers), folder=folder)
    assert address.startswith("http://127.0.0.1:")
    answer = httpx.post(f"{address}/entities", json={"texts": texts}, timeout=LONG)
    assert found_in(answer) == [entities(trained(text)) for text in texts]
    statuses, is_over, n_asked = [], threading.Event(), threading.Event()
    with ThreadPoolExecutor(4) as pool:
        args = (ask_on_and_on, address, texts, statuses, is_over, n_asked)
        clients = [pool.submit(*args) for _ in range(4)]
        try:
            assert n_asked.wait(LONG)
            assert httpx.post(f"{address}/reload", timeout=LONG).status_code == 200
            process.send_signal(signal.SIGHUP)
            shutil.move(folder / "config.cfg", folder / "away")
            answer = httpx.post(f"{address}/reload", timeout=LONG)
            assert answer.status_code == 500 and "config" in answer.json()["detail"]
            n_before = len(statuses)
            process.send_signal(signal.SIGTERM)
            for client in clients:
                client.result(LONG)
        finally:
            is_over.set()
    assert n_before > 20 and set(statuses) == {200}
    process.wait(LONG)
    assert process.returncode in (0, -signal.SIGTERM)
