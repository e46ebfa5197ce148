"""Memory of many batches: sizes that vary must not add up."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from spacy_entlm.model import shim as shims
from spacy_entlm.model.memory import CACHES, READY_PRODUCTS, limit_ready_products

STATUS = Path("/proc/self/status")
needs_account = pytest.mark.skipif(
    not STATUS.exists(), reason="needs Linux's account of memory"
)

# What the scripts below begin with: the resident memory of their process, in KiB.
RESIDENT = """
from pathlib import Path

def resident():
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("VmRSS")).split()[1])
"""

PRODUCTS = """
import torch
from spacy_entlm.model.packed import Packing, can_pack

layer, decoder = torch.nn.Linear(256, 1024), torch.nn.Linear(256, 8)
if not can_pack(layer.weight):
    raise SystemExit("no packed products here")
Packing(layer, decoder, torch.float32)
with torch.no_grad():
    layer(torch.randn(500, 256))
    before = resident()
    for n_rows in range(100, 500):
        layer(torch.randn(n_rows, 256))
print(resident() - before)
"""

FRAGMENTS = """
import ctypes
from spacy_entlm.model.memory import return_free_memory

c = ctypes.CDLL(None)
if not hasattr(c, "malloc_trim"):
    raise SystemExit("no glibc here")
c.malloc.restype = ctypes.c_void_p
c.malloc.argtypes, c.free.argtypes = [ctypes.c_size_t], [ctypes.c_void_p]
blocks = []
for _ in range(1000):
    blocks.append(c.malloc(100_000))
    ctypes.memset(blocks[-1], 1, 100_000)
    ctypes.memset(c.malloc(5_000), 1, 5_000)  # stays
for block in blocks:
    c.free(block)
before = resident()
return_free_memory()
print(before - resident())
"""


def run(script):
    """What a script prints, in a process that knows nothing of ours, or a skip with
    its reason."""
    command = [sys.executable, "-c", RESIDENT + script]
    env = {name: value for name, value in os.environ.items() if name not in CACHES}
    done = subprocess.run(command, capture_output=True, text=True, env=env)
    if done.returncode and done.stderr.startswith("no "):
        pytest.skip(done.stderr.strip())
    assert done.returncode == 0, done.stderr
    return int(done.stdout)


@needs_account
def test_products_of_many_sizes_do_not_add_up():
    """400 sizes: over a megabyte is kept for each where nothing is said."""
    assert run(PRODUCTS) < 200_000


@needs_account
def test_what_was_freed_goes_back_to_the_system():
    """100 MB in blocks between others that stay."""
    assert run(FRAGMENTS) > 80_000


def test_the_users_environment_has_the_last_word(monkeypatch):
    """Who sets a variable knows why."""
    monkeypatch.setenv(CACHES[0], "500")
    monkeypatch.setenv(CACHES[1], "500")  # so that it is as before afterwards
    monkeypatch.delenv(CACHES[1])
    limit_ready_products()
    assert os.environ[CACHES[0]] == "500"
    assert os.environ[CACHES[1]] == str(READY_PRODUCTS)


def test_training_in_half_precision_returns_memory(
    start_nlp, bert, make_examples, monkeypatch
):
    """bfloat16 products take working memory of a new size with each batch."""
    returned = []
    monkeypatch.setattr(shims, "return_free_memory", lambda: returned.append(1))
    monkeypatch.setattr(shims, "fastest_precision", lambda *_: "bfloat16")
    monkeypatch.setattr(shims, "UPDATES_BETWEEN_RETURNS", 2)
    for mixed, expected in ((True, 2), (False, 0)):
        returned.clear()
        nlp = start_nlp(bert, model={"mixed_precision": mixed})
        optimizer = nlp.resume_training()
        for _ in range(5):
            nlp.update(make_examples(nlp), sgd=optimizer)
        assert len(returned) == expected
