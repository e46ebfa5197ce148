"""What finished trainings found outlives the run."""

import pytest

from spacy_entlm.evaluation.crossval.errors import CrossvalError
from spacy_entlm.evaluation.crossval.store import FoldStore

FOUND = [[(0, 2, "PER"), (3, 4, "Ort ä")], []]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "new" / "a.folds.jsonl"


def test_what_is_appended_is_read(path):
    with FoldStore(path) as store:
        assert store.read() == {}
        store.append("a", FOUND)
        store.append("b", [])
    with FoldStore(path) as store:
        assert store.read() == {"a": FOUND, "b": []}


def test_an_unfinished_line_is_taken_away(path):
    with FoldStore(path) as store:
        store.append("a", FOUND)
        store.append("b", FOUND)
    path.write_bytes(path.read_bytes()[:-5])
    with FoldStore(path) as store:
        assert list(store.read()) == ["a"]
        store.append("c", [])
        assert list(store.read()) == ["a", "c"]


def test_lines_of_another_version_are_passed_over(path):
    with FoldStore(path) as store:
        store.append("a", FOUND)
        path.write_text(path.read_text().replace('"format": 1', '"format": 9'))
        assert store.read() == {}


@pytest.mark.parametrize("line", ["no json", "[1]", '{"format": 1, "found": []}'])
def test_another_file_is_refused(path, line):
    with FoldStore(path) as store:
        path.write_text(f"{line}\n")
        with pytest.raises(CrossvalError, match="line 1: not what a cross-validation"):
            store.read()


def test_a_second_run_is_refused(path):
    with FoldStore(path), pytest.raises(CrossvalError, match="another run writes"):
        FoldStore(path).__enter__()
