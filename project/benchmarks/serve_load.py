"""Load on `entlm serve`: open loop, so that a slow server does not slow the clients.

    python project/benchmarks/serve_load.py PIPELINE TEXTS --seconds 30

Requests of one text each, of mixed lengths, are sent at random moments of a given rate,
whatever was answered before. First alone, one after the other; then `nlp.pipe` on the
same texts in this process while the server waits, and the server when far more comes
than it can read; then half of that rate, where percentiles of the latency are taken;
then the same with a reload and a SIGTERM in the middle; if wanted, short ones of these
again and again, each with a new server. A request is lost if a
connection took it and no answer came; one that found no listener is "refused".

The client shares the cores with the server, so it is aiohttp (to be installed): httpx
wants up to ten times as much of them.
"""

import asyncio
import random
import signal
import statistics
import subprocess
import sys
import time
from collections import Counter
from itertools import cycle, islice
from pathlib import Path
from typing import List, Optional, Tuple

import aiohttp
import spacy
import typer

from spacy_entlm.corpus.texts import read_texts

LOST, REFUSED = "lost", "refused"
# Words of the texts, which are put together from lines: from a query to a page.
LENGTHS = (5, 20, 20, 60, 60, 200)
BATCH_SIZE = 128
# That each process of `nlp.pipe` reads, so that starting it counts for little.
PIPE_BATCHES = 6
# Requests a second for saturation, far more than can be read.
FLOOD = 1000
LONG = 120
# Of each of the short parts with a reload and a SIGTERM.
STOP_SECONDS = 9.0
# For saturation: its last requests wait as long as it lasts.
FLOOD_SECONDS = 40


def main(
    pipeline: Path,
    texts: Path = typer.Argument(help="Plain text of any form"),
    seconds: float = typer.Option(30.0, help="Of each of the last two parts"),
    n_texts: int = typer.Option(600, help="Different texts"),
    stops: int = typer.Option(0, help="More reloads and stops, 9 seconds each"),
    readers: int = typer.Option(1, help="Of the server; processes of nlp.pipe"),
    seed: int = 0,
) -> None:
    """Measure, and print figures."""
    mixed = mix(texts, n_texts, random.Random(seed))
    print(f"{len(mixed)} texts, {sum(len(text.split()) for text in mixed):,} words")
    process, address = start(pipeline, readers)
    try:
        one = asyncio.run(alone(address, mixed[:100]))
        median = statistics.median(one)
        print(f"alone: median {1000 * median:.1f} ms")
        offline = pipe_rate(pipeline, mixed, readers)
        print(f"nlp.pipe: {offline:.1f} texts a second, in batches of {BATCH_SIZE}")
        rate = asyncio.run(flood(address, mixed, int(offline * FLOOD_SECONDS)))
        print(f"server, saturated: {rate:.1f} texts a second, {rate / offline:.2f}")
        half = asyncio.run(load(address, mixed, rate / 2, seconds))
        report("half load", half, median)
        half = asyncio.run(load(address, mixed, rate / 2, seconds, process))
        report("reload, then SIGTERM", half, median)
        print(f"ended with {process.wait(LONG)}")
    finally:
        process.kill()
    every: List[Tuple[str, float]] = []
    for _ in range(stops):
        every += stop_once(pipeline, readers, mixed, rate / 2)
    if every:
        report(f"{stops} more", every, median)


def stop_once(
    pipeline: Path, readers: int, texts: List[str], rate: float
) -> List[Tuple[str, float]]:
    """Outcomes of requests to a server that is reloaded and ended meanwhile."""
    process, address = start(pipeline, readers)
    try:
        return asyncio.run(load(address, texts, rate, STOP_SECONDS, process))
    finally:
        process.kill()


def mix(path: Path, n_texts: int, rng: random.Random) -> List[str]:
    """Texts of mixed lengths, made of the lines of a file."""
    lines = (line for again in cycle([path]) for line in read_texts([again]))
    words = (word for line in lines for word in line.split())
    return [" ".join(islice(words, rng.choice(LENGTHS))) for _ in range(n_texts)]


def start(pipeline: Path, readers: int) -> Tuple[subprocess.Popen, str]:
    """The server, with a queue that takes all, and its address."""
    line = [sys.executable, "-m", "spacy", "entlm", "serve", str(pipeline)]
    line += ["--port", "0", "--queue", "1000000", "--timeout", str(LONG)]
    line += ["--readers", str(readers)]
    process = subprocess.Popen(line, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    if not (address := process.stdout.readline().strip()):
        raise SystemExit("The server did not start")
    return process, address


def pipe_rate(pipeline: Path, texts: List[str], n_process: int) -> float:
    """Texts a second of `nlp.pipe`; the server has nothing to do meanwhile."""
    nlp = spacy.load(pipeline)
    list(nlp.pipe(texts[:BATCH_SIZE], batch_size=BATCH_SIZE))
    many = list(islice(cycle(texts), PIPE_BATCHES * n_process * BATCH_SIZE))
    start = time.perf_counter()
    for _ in nlp.pipe(many, batch_size=BATCH_SIZE, n_process=n_process):
        pass
    return len(many) / (time.perf_counter() - start)


def client_of(address: str) -> aiohttp.ClientSession:
    """A client with as many connections as there are requests; in an event loop."""
    return aiohttp.ClientSession(
        address,
        connector=aiohttp.TCPConnector(limit=0),
        timeout=aiohttp.ClientTimeout(LONG),
    )


async def ask(client: aiohttp.ClientSession, text: str) -> Tuple[str, float]:
    """What became of a request, and after how many seconds."""
    start = time.perf_counter()
    try:
        async with client.post("/entities", json={"texts": [text]}) as answer:
            await answer.read()
            outcome = str(answer.status)
    except aiohttp.ClientConnectorError:
        outcome = REFUSED
    except (aiohttp.ClientError, asyncio.TimeoutError):
        outcome = LOST
    return outcome, time.perf_counter() - start


async def alone(address: str, texts: List[str]) -> List[float]:
    """Seconds of requests one after the other."""
    async with client_of(address) as client:
        return [(await ask(client, text))[1] for text in texts]


async def flood(address: str, texts: List[str], n_requests: int) -> float:
    """Answers a second when requests come at FLOOD a second."""
    start = time.perf_counter()
    async with client_of(address) as client:
        tasks = []
        for text in islice(cycle(texts), n_requests):
            tasks.append(asyncio.create_task(ask(client, text)))
            if len(tasks) % 10 == 0:
                await asyncio.sleep(10 / FLOOD)
        outcomes = await asyncio.gather(*tasks)
    assert {outcome for outcome, _ in outcomes} == {"200"}
    return n_requests / (time.perf_counter() - start)


async def load(
    address: str,
    texts: List[str],
    rate: float,
    seconds: float,
    process: Optional[subprocess.Popen] = None,
) -> List[Tuple[str, float]]:
    """Outcomes of requests at a rate; with a process it is told to reload after a third
    of the time, and to end after two thirds."""
    rng, tasks, loop = random.Random(1), [], asyncio.get_running_loop()
    begin = at = loop.time()
    signals = [(1 / 3, signal.SIGHUP), (2 / 3, signal.SIGTERM)] if process else []
    async with client_of(address) as client:
        for text in cycle(texts):
            at += rng.expovariate(rate)
            if at > begin + seconds:
                break
            await asyncio.sleep(max(0.0, at - loop.time()))
            tasks.append(asyncio.create_task(ask(client, text)))
            if process and signals and at - begin > signals[0][0] * seconds:
                process.send_signal(signals.pop(0)[1])
        return list(await asyncio.gather(*tasks))


def report(title: str, outcomes: List[Tuple[str, float]], median: float) -> None:
    """Print how many there were, and percentiles of those answered."""
    counts = Counter(outcome for outcome, _ in outcomes)
    taken = sorted(seconds for outcome, seconds in outcomes if outcome == "200")
    cuts = statistics.quantiles(taken, n=100)
    shown = ", ".join(f"{p}th {1000 * cuts[p - 1]:.0f} ms" for p in (50, 95, 99))
    print(f"{title}: {dict(counts)}, lost {counts[LOST]}; {shown}", end=" ")
    print(f"({cuts[98] / median:.1f} times the median alone)")


if __name__ == "__main__":
    typer.run(main)
