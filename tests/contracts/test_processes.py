"""n_process=2 after torch was used in the parent, forked and spawned."""

import json
import os
import signal
import subprocess
import sys

import pytest
import spacy

from .conftest import FACTORIES

# A worker that waits for threads its parent had never comes back.
TIMEOUT = 60
SCRIPT = """
import json
import multiprocessing
import sys

import spacy
import torch

method, folder = sys.argv[1:]


def found(docs):
    return [
        {
            name: [(span.start, span.end, span.label_) for span in doc.spans[name]]
            for name in sorted(doc.spans)
        }
        for doc in docs
    ]


if __name__ == "__main__":
    multiprocessing.set_start_method(method)
    nlp = spacy.load(folder)
    # Forked: more words than torch fills with one thread.
    n_words = {"fork": 4_000, "spawn": 100}[method]
    texts = ["red " * n_words + "Anna left Rome .", "Mary and John met Peter .", ""] * 2
    # The parent's threads are running when the workers are forked.
    torch.set_num_threads(2)
    assert float(torch.ones(300, 300).matmul(torch.ones(300, 300)).sum()) > 0
    torch.zeros(10**6).add_(1)
    alone = found(nlp.pipe(texts))
    together = found(nlp.pipe(texts, n_process=2, batch_size=2))
    print(json.dumps({"equal": alone == together, "found": alone[1]}))
"""


@pytest.fixture(scope="module")
def all_of_them(saved_folder, tmp_path_factory):
    """The folder of one pipeline with every component."""
    nlp = spacy.blank("xx")
    for factory in FACTORIES:
        nlp.add_pipe(factory, source=spacy.load(saved_folder(factory)))
    folder = tmp_path_factory.mktemp("all")
    nlp.to_disk(folder)
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_two_processes_give_what_one_gives(all_of_them, tmp_path, method):
    if method == "fork" and not hasattr(os, "fork"):
        pytest.skip("this system cannot fork")
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    process = subprocess.Popen(
        [sys.executable, str(script), method, str(all_of_them)],
        env={**os.environ, "OMP_NUM_THREADS": "2"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        stdout, stderr = process.communicate(timeout=TIMEOUT)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)  # the workers, too
        process.communicate()
        pytest.fail(f"{method}: no result after {TIMEOUT} seconds")
    assert process.returncode == 0, stderr
    result = json.loads(stdout.splitlines()[-1])
    assert result["equal"]
    people = [[0, 1, "PER"], [2, 3, "PER"], [4, 5, "PER"]]
    assert result["found"] == dict.fromkeys(sorted(FACTORIES), people)


BY_NAME = """
import json
import sys

import spacy
import torch

if __name__ == "__main__":
    torch.set_num_threads(2)
    assert float(torch.ones(300, 300).matmul(torch.ones(300, 300)).sum()) > 0
    torch.zeros(10**6).add_(1)
    nlp = spacy.blank("xx")
    config = {"model": json.loads(sys.argv[1]), "labels": ["PER"]}
    nlp.add_pipe("entlm_ner", config=config)
    docs = nlp.pipe(["Mary and John met Peter ."] * 6, n_process=2, batch_size=2)
    print(json.dumps([[ent.text for ent in doc.ents] for doc in docs]))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
def test_forked_processes_load_the_backbone_of_classes_that_only_have_names(
    knowing, spans, tmp_path
):
    """After torch was used in the parent, whose threads they lack."""
    script = tmp_path / "script.py"
    script.write_text(BY_NAME)
    model = json.dumps({"name": str(knowing), **spans})
    command = [sys.executable, str(script), model]
    done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert found == [["Mary", "John", "Peter"]] * 6


OWN_PROCESS = """
import json
import multiprocessing
import sys

import torch


def work(folder, queue):
    import spacy

    torch.set_num_threads(2)
    nlp = spacy.load(folder)
    queue.put([len(nlp("Mary and John met Peter .").ents), torch.get_num_threads()])


if __name__ == "__main__":
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    process = context.Process(target=work, args=(sys.argv[1], queue))
    process.start()
    print(json.dumps(queue.get(timeout=60)))
    process.join()
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
def test_a_pipeline_that_a_forked_process_loads_itself_has_all_threads(
    saved_folder, tmp_path
):
    """As under a web server that forks its workers first."""
    script = tmp_path / "script.py"
    script.write_text(OWN_PROCESS)
    command = [sys.executable, str(script), str(saved_folder("entlm_ner"))]
    done = subprocess.run(command, capture_output=True, text=True, timeout=90)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[-1]) == [3, 2]
