"""Processes with a pipeline: they read, are replaced, and leave nothing behind."""

import os
import shutil
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool

import pytest

from spacy_entlm.files.errors import DataError
from spacy_entlm.serving import pool as module
from spacy_entlm.serving.pool import ReaderPool
from spacy_entlm.serving.reader import Reader

from .conftest import LONG

pytestmark = pytest.mark.slow


def own_process(texts):
    return os.getpid()


def processes_of(pool):
    """Their numbers."""
    return [process.submit(own_process, []).result() for process in pool._processes]


def is_alive(number):
    try:
        os.kill(number, 0)
    except ProcessLookupError:
        return False
    return True


def wait_until(condition):
    end = time.monotonic() + LONG
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


@pytest.fixture
def pool(trained_folder, tmp_path):
    folder = shutil.copytree(trained_folder, tmp_path / "model")
    made = ReaderPool(str(folder), n_copies=2)
    yield made
    made.close()


def same(answers):
    return [
        [{**e, "score": pytest.approx(e["score"], abs=2e-4)} for e in entities]
        for entities in answers
    ]


def test_answers_are_those_of_a_reader_also_at_the_same_time(pool, texts):
    batches = [texts[start::7] for start in range(7)] * 2
    with ThreadPoolExecutor(2) as threads:
        answers = list(threads.map(pool.read, batches))
    reader = Reader(pool.pipeline)
    assert answers == [same(reader.read(batch)) for batch in batches]
    assert len(set(processes_of(pool))) == 2


def test_a_reload_is_taken_over_by_all_or_by_none(pool, tmp_path, texts):
    numbers, folder = processes_of(pool), tmp_path / "model"
    config = (folder / "config.cfg").read_text()
    (folder / "config.cfg").write_text(
        config.replace("threshold = null", "threshold = 1.0")
    )
    assert any(pool.read(texts))
    pool.load()
    assert [pool.read(texts) for _ in range(2)] == [[[]] * len(texts)] * 2
    (folder / "config.cfg").rename(tmp_path / "away")
    with pytest.raises(DataError, match="config"):
        pool.load()
    assert [pool.read(texts) for _ in range(2)] == [[[]] * len(texts)] * 2
    assert processes_of(pool) == numbers


def test_a_process_that_dies_fails_its_batch_and_is_replaced(pool, texts):
    old = processes_of(pool)
    with ThreadPoolExecutor(len(old)) as threads:
        for number in old:
            os.kill(number, signal.SIGSTOP)
        answers = [threads.submit(pool.read, texts) for _ in old]
        wait_until(lambda: not pool._free)
        time.sleep(0.5)  # until the texts are given out
        for number in old:
            os.kill(number, signal.SIGKILL)
        for answer in answers:
            with pytest.raises(BrokenProcessPool):
                answer.result()
    assert len(pool.read(texts)) == len(texts)
    assert not set(old) & set(processes_of(pool))


def test_a_process_that_was_replaced_during_a_reload_keeps_its_pipeline(pool, texts):
    process = pool._processes[0]
    process.submit(module._finish, True).result()
    assert len(process.submit(module._read, texts).result()) == len(texts)


def test_signals_for_all_do_not_end_a_process_that_reads(pool, texts):
    numbers = processes_of(pool)
    for number in numbers:
        os.kill(number, signal.SIGTERM)
        os.kill(number, signal.SIGINT)
        os.kill(number, signal.SIGHUP)
    assert len(pool.read(texts)) == len(texts)
    assert processes_of(pool) == numbers


def test_what_cannot_be_loaded_is_one_error(tmp_path):
    with pytest.raises(DataError, match="none"):
        ReaderPool(str(tmp_path / "none"))


PARENT = """
import sys, time
from spacy_entlm.serving.pool import ReaderPool
sys.path.insert(0, sys.argv[2])
from own import own_process

if __name__ == "__main__":
    pool = ReaderPool(sys.argv[1])
    print(pool._processes[0].submit(own_process, []).result(), flush=True)
    time.sleep(600)
"""


def test_no_process_outlives_a_killed_server(trained_folder, tmp_path):
    (tmp_path / "own.py").write_text(
        "import os\ndef own_process(t): return os.getpid()"
    )
    script = tmp_path / "parent.py"
    script.write_text(PARENT)
    line = [sys.executable, str(script), str(trained_folder), str(tmp_path)]
    with subprocess.Popen(line, stdout=subprocess.PIPE, text=True) as parent:
        child = int(parent.stdout.readline())
        assert is_alive(child)
        parent.kill()
    wait_until(lambda: not is_alive(child))


def test_a_process_that_dies_idle_costs_no_batch_and_no_reload(pool, texts):
    expected = pool.read(texts)
    for step in (lambda: pool.read(texts), pool.load):
        before = processes_of(pool)
        os.kill(before[0], signal.SIGKILL)
        wait_until(lambda number=before[0]: not is_alive(number))
        time.sleep(0.5)  # until that is seen
        answers = [step(), pool.read(texts), pool.read(texts)]
        assert all(same(x) == same(expected) for x in answers if x is not None)
        assert not set(before[:1]) & set(processes_of(pool))
