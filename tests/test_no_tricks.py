"""The package uses what libraries promise, and leaves the process as it is."""

import os
import re
from pathlib import Path

import pytest
import torch

import spacy_entlm

SOURCES = sorted(Path(spacy_entlm.__file__).parent.rglob("*.py"))
PRIVATE = {
    "an operator of PyTorch's own": r"torch\.ops\b|torch\._|torch(\.\w+)+\._",
    "a function of torch.optim's inside": r"torch\.optim\.\w+ import|_fused_adam_",
    "transformers' inside": r"no_init_weights|transformers\.\w+ import _",
    "a class swapped at run time": r"__class__\s*=[^=]",
    "the C library": r"\bctypes\.(CDLL|cdll|PyDLL)|malloc_trim",
    "a variable of the environment": r"environ(\[.*\]\s*=[^=]|\.setdefault|\.update)",
    "the number of threads": r"set_num_(interop_)?threads",
}
# Where one of these is meant: in a forked worker, and in processes that are our own.
ALLOWED = {
    ("model/shim.py", "the number of threads"),
    ("evaluation/compare/workers.py", "the number of threads"),
    ("evaluation/compare/workers.py", "a variable of the environment"),
    ("cli/serve.py", "a variable of the environment"),
    ("workbench/worker.py", "the number of threads"),
}


@pytest.mark.parametrize("what", PRIVATE)
def test_no_module_reaches_into(what):
    root = Path(spacy_entlm.__file__).parent
    found = {
        (path.relative_to(root).as_posix(), what)
        for path in SOURCES
        if re.search(PRIVATE[what], path.read_text(encoding="utf8"))
    }
    assert found == {place for place in ALLOWED if place[1] == what}


def test_training_and_predicting_leave_the_process_as_it_is(blank_nlp, bert, fit):
    environment, threads = dict(os.environ), torch.get_num_threads()
    nlp = blank_nlp(bert, model={"precision": "bfloat16", "mixed_precision": True})
    fit(nlp, epochs=1)
    list(nlp.pipe(["Anna", "Rome"]))
    assert dict(os.environ) == environment
    assert torch.get_num_threads() == threads
    assert torch.is_grad_enabled()
