import random

import pytest

from spacy_entlm.pretraining.run import Pretraining
from spacy_entlm.pretraining.settings import Settings

WORDS = (
    "anna john berlin paris acme bank london rome lives works for in the a met left "
    "zanzibar petersen stockholm"
)
N_LINES = 60
# Small and quick; a checkpoint after each step.
QUICK = {
    "steps": 4,
    "batch_size": 4,
    "length": 16,
    "held_out": 0.2,
    "precision": "float32",
    "device": "cpu",
    "checkpoint_minutes": 0.0,
}


@pytest.fixture(scope="session")
def lines():
    """Random sentences of words that the tiny backbones know."""
    rng = random.Random(3)
    words = WORDS.split()
    return [" ".join(rng.choices(words, k=rng.randint(3, 9))) for _ in range(N_LINES)]


@pytest.fixture
def text(tmp_path, lines):
    """A text file of these."""
    path = tmp_path / "text.txt"
    path.write_text("\n".join(lines) + "\n", encoding="utf8")
    return path


@pytest.fixture
def pretrain(bert, text, tmp_path):
    """Pre-trains a tiny BERT: (out, **settings) -> report. What it would print is in
    `pretrain.lines`."""

    def run(out, *, run=None, **settings):
        options = {"backbone": str(bert), "text": [text], **(run or {})}
        flags = {key: options.pop(key, False) for key in ("resume", "overwrite")}
        pretraining = Pretraining(
            out=tmp_path / out,
            settings=Settings(**{**QUICK, **settings}),
            echo=run_lines.append,
            **options,
        )
        return pretraining.run(**flags)

    run_lines = run.lines = []
    return run


@pytest.fixture
def weights(tmp_path):
    """The bytes of the weights in a model folder."""

    def read(out):
        return (tmp_path / out / "model.safetensors").read_bytes()

    return read


@pytest.fixture
def names(tmp_path):
    """Names in the folder of the test, or in one below it."""

    def read(folder="."):
        return sorted(path.name for path in (tmp_path / folder).iterdir())

    return read
