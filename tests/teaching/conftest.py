import json

import pytest

from spacy_entlm.teaching.run import Teaching
from spacy_entlm.teaching.settings import Settings

# What kinds the names of the annotated sentences have, from the finest.
KINDS = {
    "PER": ["writer", "person"],
    "LOC": ["city", "location"],
    "ORG": ["company", "group"],
}
# Small and quick; a checkpoint after each step.
QUICK = {
    **{"steps": 4, "lines": 4, "texts": 2, "length": 16, "held_out": 0.2},
    **{"device": "cpu", "checkpoint_minutes": 0.0},
}


@pytest.fixture(scope="session")
def marked(annotated):
    """The annotated sentences as objects of a file of marked lines."""
    return [
        {
            "text": text,
            "lang": "en",
            "spans": [
                {"start": start, "end": end, "kinds": KINDS[label]}
                for start, end, label in annotation["entities"]
            ],
        }
        for text, annotation in annotated
    ]


@pytest.fixture
def write_lines(tmp_path):
    """Writes objects to a file of the test, one a line."""

    def write(name, objects):
        path = tmp_path / name
        lines = (json.dumps(one) + "\n" for one in objects)
        path.write_text("".join(lines), encoding="utf8")
        return path

    return write


@pytest.fixture
def lines(write_lines, marked):
    """A file of marked lines."""
    return write_lines("marked.jsonl", marked)


@pytest.fixture
def text(tmp_path, texts):
    """A file of plain text."""
    path = tmp_path / "text.txt"
    path.write_text("\n".join(texts) + "\n", encoding="utf8")
    return path


@pytest.fixture
def teach(bert, lines, text, tmp_path):
    """Teaches a tiny BERT: (out, **settings) -> report. What it would print is in
    `teach.lines`."""

    def run(out, *, run=None, **settings):
        given = {"backbone": str(bert), "lines": [lines], "text": [text], **(run or {})}
        flags = {key: given.pop(key, False) for key in ("resume", "overwrite")}
        teaching = Teaching(
            out=tmp_path / out,
            settings=Settings(**{**QUICK, **settings}),
            echo=run_lines.append,
            **given,
        )
        return teaching.run(**flags)

    run_lines = run.lines = []
    return run


@pytest.fixture
def weights(tmp_path):
    """The bytes of the weights in a model folder, and of its map."""

    def read(out):
        names = ("model.safetensors", "name_map.safetensors")
        return [(tmp_path / out / name).read_bytes() for name in names]

    return read


@pytest.fixture
def names(tmp_path):
    """Names in the folder of the test, or in one below it."""

    def read(folder="."):
        return sorted(path.name for path in (tmp_path / folder).iterdir())

    return read
