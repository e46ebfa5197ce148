"""How fast the page of the workbench gets its answers while a training runs.

    python project/benchmarks/workbench_answers.py project/assets/news/train.txt

A workbench of many texts, which are lines of a marked file with a number before each,
is made in an empty folder and served by the command. Some are answered, a training
begins, and a client does what a person at the page does: it marks, accepts, asks for
the next text and for the state, and looks through the list. Times are those of whole
calls over HTTP.
"""

import os
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from itertools import cycle, islice
from pathlib import Path
from typing import Any, Callable, Dict, List

import httpx
import spacy
import typer

from spacy_entlm.corpus.readers import read_docs
from spacy_entlm.files.json_lines import dump_line

# Seconds between two calls, as the page of a fast person makes them.
PAUSE = 0.05
# Of the list, and of the entities of a class, one in so many rounds.
ROUNDS_OF_LISTS = 10
LONG = 120.0


def main(
    texts: Path = typer.Argument(help="Marked text of any form"),
    n_texts: int = typer.Option(10_000, help="Of the workbench"),
    n_answered: int = typer.Option(150, help="Before the training begins"),
    seconds: float = typer.Option(40.0, help="Of the measurement"),
) -> None:
    """Measure, and print percentiles in milliseconds."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_texts(texts, folder / "data", n_texts, n_answered)
        line = [sys.executable, "-m", "spacy", "entlm", "workbench", "data", "wb"]
        line += ["--port", "0"]
        server = subprocess.Popen(line, cwd=folder, stdout=subprocess.PIPE, text=True)
        try:
            with client_of(server) as client:
                wait_for(client, lambda state: state["run"]["done"] > 0, LONG)
                report("first look", measure(client, seconds / 2))
                client.post("/api/train").raise_for_status()
                wait_for(client, is_training, LONG)
                report("training", measure(client, seconds))
                run = client.get("/api/state").json()["run"]
                print(f"then: {run['kind']} {run['state']}, {100 * run['done']:.0f} %")
        finally:
            server.terminate()
            server.wait(LONG)
            end_worker(folder / "wb")


def write_texts(source: Path, data: Path, n_texts: int, n_answered: int) -> None:
    """A folder of data: marked texts to train on, and all others without marks."""
    data.mkdir()
    docs, _ = read_docs(source, spacy.blank("en"))
    lines: List[Dict[str, Any]] = []
    for number, doc in enumerate(islice(cycle(docs), n_texts)):
        before = f"{number} "
        n = len(before)
        entry: Dict[str, Any] = {"text": before + doc.text}
        if number < n_answered:
            marks = [[e.start_char + n, e.end_char + n, e.label_] for e in doc.ents]
            entry["spans"] = marks
        lines.append(entry)
    for name, own in (
        ("train", lines[:n_answered]),
        ("unlabeled", lines[n_answered:]),
    ):
        (data / f"{name}.jsonl").write_bytes(b"".join(map(dump_line, own)))


def end_worker(folder: Path) -> None:
    """End the process that works for a workbench, which outlives the server."""
    line = ["ps", "-eww", "-o", "pid,args"]
    listed = subprocess.run(line, capture_output=True, text=True, check=True).stdout
    for each in listed.splitlines():
        if f"workbench.worker {folder.resolve()} " in each:
            os.kill(int(each.split()[0]), signal.SIGTERM)


def client_of(server: subprocess.Popen) -> httpx.Client:
    """A client of a server that is starting."""
    assert server.stdout is not None
    for said in server.stdout:
        if found := re.search(r"(http://[^/]+)/#(\S+)", said):
            headers = {"x-workbench-token": found[2]}
            return httpx.Client(base_url=found[1], headers=headers, timeout=LONG)
    raise SystemExit("The server did not start")


def wait_for(
    client: httpx.Client, is_so: Callable[[Dict[str, Any]], bool], most: float
) -> None:
    """Ask for the state until it is so."""
    end = time.monotonic() + most
    while not is_so(client.get("/api/state").json()):
        if time.monotonic() > end:
            raise SystemExit("This did not come")
        time.sleep(0.5)


def is_training(state: Dict[str, Any]) -> bool:
    """Whether a training has come as far as its first epoch."""
    return state["run"]["kind"] == "train" and state["run"]["done"] > 0


def measure(client: httpx.Client, seconds: float) -> Dict[str, List[float]]:
    """Seconds of calls, by what they ask for."""
    times: Dict[str, List[float]] = defaultdict(list)

    def call(name: str, method: str, path: str, **body: Any) -> Any:
        begin = time.perf_counter()
        answer = client.request(method, f"/api/{path}", json=body or None)
        times[name].append(time.perf_counter() - begin)
        answer.raise_for_status()
        time.sleep(PAUSE)
        return answer.json()

    end, rounds = time.monotonic() + seconds, 0
    while time.monotonic() < end:
        text = call("next", "GET", "next")
        path, marks = f"texts/{text['id']}", [[0, 1, 1]]
        for name, answer in (("mark", "open"), ("accept", "accept")):
            body = {"answer": answer, "marks": marks, "version": text["version"]}
            text = call(name, "PUT", path, **body)
        call("state", "GET", "state")
        if rounds % ROUNDS_OF_LISTS == 0:
            call("list", "GET", "list?words=the&order=unsure")
            call("entities", "GET", "entities?class_=1")
        rounds += 1
    return times


def report(title: str, times: Dict[str, List[float]]) -> None:
    """Print percentiles of all calls, and of each kind."""
    every = [seconds for own in times.values() for seconds in own]
    for name, own in {"all": every, **times}.items():
        cuts = [1000 * cut for cut in statistics.quantiles(own, n=100)]
        shown = ", ".join(f"{p} % {cuts[p - 1]:.0f}" for p in (50, 90, 99))
        print(f"{title}, {name} ({len(own)}): {shown} ms, most {1000 * max(own):.0f}")


if __name__ == "__main__":
    typer.run(main)
