"""Batches that other processes make ahead."""

import itertools
import os
import signal
import subprocess
import sys
import time

import pytest

from spacy_entlm.files.errors import DataError
from spacy_entlm.teaching import feed
from spacy_entlm.teaching.feed import Feed

pytestmark = pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")


@pytest.mark.parametrize("workers", [0, 1, 3])
@pytest.mark.parametrize("first", [0, 5])
def test_batches_come_in_their_order(workers, first):
    with Feed(lambda number: number * 10, first, workers) as batches:
        found = list(itertools.islice(batches, 10))
    assert found == [10 * number for number in range(first, first + 10)]


def test_others_make_them_and_are_gone_at_the_end():
    with Feed(lambda number: os.getpid(), 0, 2) as batches:
        pids = list(itertools.islice(batches, 4))
    assert pids[:2] == pids[2:] and len({*pids, os.getpid()}) == 3
    for pid in set(pids):
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


def test_they_are_gone_after_an_error_too():
    with pytest.raises(KeyError), Feed(lambda number: os.getpid(), 0, 2) as batches:
        pid = next(batches)
        raise KeyError
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_what_fails_here_is_raised():
    def fail(number):
        raise KeyError(number)

    with pytest.raises(KeyError), Feed(fail, 3, 0) as batches:
        next(batches)


def test_a_process_that_has_ended_is_told(monkeypatch):
    """Killed where there is too little memory, for instance."""
    monkeypatch.setattr(feed, "PATIENCE", 0.1)

    def end(number):
        if number == 3:
            os.kill(os.getpid(), signal.SIGKILL)
        return number

    told = pytest.raises(DataError, match="has ended: is there too little memory")
    with told, Feed(end, 0, 2) as batches:
        for expected in range(4):
            assert next(batches) == expected


def is_running(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_they_are_gone_after_a_kill_too():
    """Of the process that wants the batches."""
    code = (
        "import os, signal\n"
        "from spacy_entlm.teaching import feed\n"
        "feed.PATIENCE = 0.2\n"
        "with feed.Feed(lambda number: os.getpid(), 0, 2) as batches:\n"
        "    print(next(batches), next(batches), flush=True)\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    command = [sys.executable, "-W", "ignore", "-c", code]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        pids = [int(pid) for pid in process.stdout.readline().split()]
    assert len(pids) == 2
    deadline = time.monotonic() + 10
    while any(map(is_running, pids)) and time.monotonic() < deadline:
        time.sleep(0.1)
    alive = [pid for pid in pids if is_running(pid)]
    for pid in alive:
        os.kill(pid, signal.SIGKILL)
    assert not alive
