"""n_process=2 after torch was used in the parent, forked and spawned."""

import json
import os
import signal
import subprocess
import sys

import pytest

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
        [(e.start, e.end, e.label_) for e in doc.ents]
        + [round(float(s), 4) for s in doc.spans["entlm_ner"].attrs["scores"]]
        for doc in docs
    ]


if __name__ == "__main__":
    multiprocessing.set_start_method(method)
    torch.set_num_threads(2)
    nlp = spacy.load(folder)
    short = ["Anna Smith lives in Berlin .", "Acme Bank is in London ."] * 4
    # Forked: more words than torch fills with one thread.
    n_words = {"fork": 12_000, "spawn": 100}[method]
    texts = ["red " * n_words + "Anna left Rome .", *short, "", " "]
    # The parent's threads are running when the workers are forked.
    assert float(torch.ones(300, 300).matmul(torch.ones(300, 300)).sum()) > 0
    torch.zeros(10**6).add_(1)
    alone = found(nlp.pipe(texts))
    together = found(nlp.pipe(texts, n_process=2, batch_size=3))
    print(json.dumps({"equal": alone == together, "found": alone[1]}))
"""


@pytest.mark.slow
@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_two_processes_give_what_one_gives(trained_folder, tmp_path, method):
    if method == "fork" and not hasattr(os, "fork"):
        pytest.skip("this system cannot fork")
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    command = [sys.executable, str(script), method, str(trained_folder)]
    process = subprocess.Popen(
        command,
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
    assert result["found"][:2] == [[0, 2, "PER"], [4, 5, "LOC"]]
