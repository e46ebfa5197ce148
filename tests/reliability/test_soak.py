"""Long runs take no more and more memory, and a pipeline can be saved while threads
predict with it. How long: --soak-minutes, 6 in the thorough profile, else seconds."""

import gc
import random
import threading
import time
from pathlib import Path

import numpy
import pytest
import spacy
from scipy.stats import linregress

import spacy_entlm

STATM = Path("/proc/self/statm")
PAGE = 4096
SUITE_MINUTES, THOROUGH_MINUTES = 0.03, 6.0
# A part of the time in which memory still grows: caches, and the allocator's.
WARM_UP = 0.25
# Each gives its least memory: what lasts.
N_BLOCKS = 20
# Of the slope's standard error; and what may be taken once, in MiB: by the allocator,
# and by PyTorch for each new shape of a batch. Where nothing has run before, this is 5
# in the first second, and 8 in a quarter of a minute.
N_ERRORS, ONCE = 3.0, 12.0
N_THREADS = 8

needs_proc = pytest.mark.skipif(
    not STATM.is_file(), reason="this system does not tell a process's memory so"
)


@pytest.fixture(scope="session")
def minutes(pytestconfig, thorough):
    given = pytestconfig.getoption("soak_minutes", None)
    return given or (THOROUGH_MINUTES if thorough else SUITE_MINUTES)


@pytest.fixture(scope="session")
def many_texts(texts):
    """Texts of 5 to 150 words."""
    order = random.Random(0)
    return [" ".join(order.choices(texts, k=order.randint(1, 25))) for _ in range(200)]


@pytest.fixture
def nlp(request, trained_folder, tmp_path):
    """A trained pipeline, on the engine that is asked for."""
    nlp = spacy.load(trained_folder)
    if request.param == "onnx":
        pytest.importorskip("onnx", reason="needs the extra `onnx`")
        pytest.importorskip("onnxruntime", reason="needs the extra `onnx`")
        return spacy_entlm.export(nlp, tmp_path / "exported")
    return nlp


def memory():
    """Of this process, in MiB."""
    return int(STATM.read_text().split()[1]) * PAGE / 2**20


def soak(work, minutes):
    """Work again and again. RETURNS: How much more memory it takes, in MiB an hour,
    its standard error, and how often it worked."""
    # Of each block the least memory, and when; what is noted takes no more memory.
    lows, moments, n_done = numpy.full(N_BLOCKS, numpy.inf), numpy.zeros(N_BLOCKS), 0
    begin = time.monotonic() + 60 * minutes * WARM_UP
    seconds = 60 * minutes * (1 - WARM_UP)
    while (now := time.monotonic() - begin) < seconds or numpy.isfinite(lows).sum() < 3:
        work()
        n_done += 1
        # A slow machine gets more time than it was given, for some blocks.
        block = int(now / seconds * N_BLOCKS) % N_BLOCKS
        if now >= 0 and (taken := memory()) < lows[block]:
            lows[block], moments[block] = taken, now / 3600
    known = numpy.isfinite(lows)
    moments, lows = moments[known], lows[known]
    line = linregress(moments, lows)
    # Where memory is always the same, there is no error to tell.
    slope, stderr = float(line.slope), float(numpy.nan_to_num(line.stderr))
    hours = (1 - WARM_UP) * minutes / 60
    assert slope * hours < max(N_ERRORS * stderr * hours, ONCE), (slope, stderr)
    return slope, stderr, n_done


@needs_proc
@pytest.mark.parametrize("nlp", ["torch", "onnx"], indirect=True)
def test_prediction_leaks_nothing(nlp, many_texts, minutes, request, record_property):
    engine = request.node.callspec.params["nlp"]
    order = random.Random(1)

    def work():
        for _ in nlp.pipe(order.sample(many_texts, 20), batch_size=8):
            pass

    slope, error, n_done = soak(work, minutes)
    record_property(f"texts, {engine}", 20 * n_done)
    record_property(f"MiB an hour, {engine}", slope)
    record_property(f"its standard error, {engine}", error)


@needs_proc
@pytest.mark.parametrize("nlp", ["torch"], indirect=True)
def test_training_leaks_nothing(nlp, make_examples, minutes, record_property):
    examples, order = make_examples(nlp), random.Random(1)
    optimizer = nlp.resume_training()

    def work():
        nlp.update(order.sample(examples, 4), sgd=optimizer)

    slope, error, n_done = soak(work, minutes)
    record_property("training steps", n_done)
    record_property("MiB an hour, training", slope)
    record_property("its standard error, training", error)


@pytest.mark.parametrize("nlp", ["torch", "onnx"], indirect=True)
def test_saved_while_threads_predict(
    nlp, many_texts, entities, tmp_path, minutes, record_property
):
    some = many_texts[:20]
    expected = [entities(doc) for doc in nlp.pipe(some)]
    assert any(expected)
    end = time.monotonic() + min(60.0, 60 * minutes)
    wrong, n_read = [], [0] * N_THREADS

    def predict(number):
        try:
            while time.monotonic() < end:
                found = [entities(doc) for doc in nlp.pipe(some, batch_size=4)]
                n_read[number] += len(found)
                if found != expected:
                    wrong.append(found)
        except Exception as error:
            wrong.append(error)

    threads = [threading.Thread(target=predict, args=(i,)) for i in range(N_THREADS)]
    for thread in threads:
        thread.start()
    n_saved = 0
    while time.monotonic() < end or not n_saved:
        nlp.to_disk(tmp_path / "saved")
        again = spacy.load(tmp_path / "saved")
        assert [entities(doc) for doc in again.pipe(some)] == expected
        del again
        n_saved += 1
    for thread in threads:
        thread.join(120)
    gc.collect()
    assert not wrong and all(n_read)
    record_property("texts of threads", sum(n_read))
    record_property("saves beside threads", n_saved)
