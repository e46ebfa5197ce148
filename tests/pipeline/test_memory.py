"""What a pipeline with the package's own backbone holds in memory, beside the libraries
that it needs."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

STATUS = Path("/proc/self/status")
MAX_MIB, MAX_PEAK_MIB = 300, 320

SCRIPT = """
import json

import spacy
import torch
import transformers
from transformers import AutoTokenizer, BertForMaskedLM

import spacy_entlm
from spacy_entlm.backbones import loading

torch.set_num_threads(1)


def memory(key):
    lines = open("/proc/self/status").read().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(key)) / 1024


before = memory("VmRSS")
nlp = spacy.blank("en")
nlp.add_pipe("entlm_ner", config={"labels": ["person", "location"]})
found = [ent.text for ent in nlp("Angela Merkel left London .").ents]
held, peak = memory("VmRSS") - before, memory("VmHWM") - before
print(json.dumps({"found": found, "held": held, "peak": peak}))
"""


@pytest.mark.skipif(not STATUS.exists(), reason="needs Linux's account of memory")
def test_a_pipeline_takes_less_than_300_mib():
    """And no more while it is loaded."""
    command = [sys.executable, "-c", SCRIPT]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    seen = json.loads(done.stdout.splitlines()[-1])
    assert seen["found"] == ["Angela Merkel", "London"]
    assert seen["held"] < MAX_MIB and seen["peak"] < MAX_PEAK_MIB
