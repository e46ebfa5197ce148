"""A pickled component in another process than the one that made it."""

import pickle
import subprocess
import sys

import spacy

UNPICKLE = """
import pickle
import sys

import torch

torch.set_num_threads(2)
with open(sys.argv[1], "rb") as file:
    nlp = pickle.load(file)
print(len(nlp("Mary and John met Peter .").ents), torch.get_num_threads())
"""


def test_an_unpickled_pipeline_leaves_the_threads_alone(saved_folder, tmp_path):
    """As where a service keeps its pipeline in a pickle, or sends it to a process."""
    path = tmp_path / "nlp.pickle"
    path.write_bytes(pickle.dumps(spacy.load(saved_folder("entlm_ner"))))
    command = [sys.executable, "-c", UNPICKLE, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "3 2"
