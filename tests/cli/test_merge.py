"""The command `merge`: what it says of two workbenches."""

from functools import partial
from pathlib import Path

import pytest

from spacy_entlm.workbench.adding import NewText
from spacy_entlm.workbench.store import Store

from ..commands import entlm, error_of

WORDS = [("Anna", True), ("met", True), ("Bob", False)]


@pytest.fixture
def merge(tmp_path, monkeypatch):
    """Runs the command on two workbenches of twelve texts, in which the second has not
    marked Bob, and rejected the last text."""
    monkeypatch.chdir(tmp_path)
    for name in ("one", "two"):
        Path(name).mkdir()
        store = Store(Path(name, "workbench.sqlite"))
        store.add_class("PER", given=True)
        for i in range(12):
            new = NewText([(f"{i}", True), *WORDS], is_test=False)
            store.add_texts([new])
            marks = [(1, 2, 1)] if name == "two" else [(1, 2, 1), (3, 4, 1)]
            answer = "reject" if name == "two" and i == 11 else "accept"
            store.answer(i + 1, answer, marks, 0)
    return partial(entlm, "merge")


def test_agreement_and_the_first_disagreements_are_shown(merge):
    result = merge("one", "two", "both")
    assert result.exit_code == 0, result.stderr
    said = result.stdout
    # Eleven texts: 11 entities in both, 22 and 11 in all.
    assert "on 11 texts that both accepted: F1 66.7 (PER 66.7)" in said
    # 33 of 44 words are equal; by chance (22 * 11 + 22 * 33) / 1936 = .5.
    assert "Cohen's kappa of 44 words: 0.50" in said
    assert "Disagreements on 12 texts, left without an answer:" in said
    assert "  0 Anna met Bob\n    first: Bob (PER)\n    second: nothing else\n" in said
    assert said.count("first:") == 10 and "2 more: all are in both/dis" in said
    lines = Path("both", "disagreements.jsonl").read_text("utf8").splitlines()
    assert len(lines) == 12
    store = Store(Path("both", "workbench.sqlite"))
    assert store.counts()["answers"]["accept"] == 0


def test_what_is_taken_can_be_said(merge):
    said = merge("one", "two", "both", "--take", "second").stdout
    assert "Disagreements on 12 texts, the second is taken:" in said
    store = Store(Path("both", "workbench.sqlite"))
    assert store.counts()["answers"] == {
        **dict.fromkeys(("open", "ignore"), 0),
        **{"accept": 11, "reject": 1},
    }


@pytest.mark.parametrize(
    "args, text",
    [
        (["one", "one", "out"], "is the other one, too"),
        (["one", "none", "out"], "is no workbench"),
        (["one", "two", "two"], "is there already"),
        (["one", "two", "out", "--take", "third"], "choose none, first, second"),
    ],
)
def test_bad_arguments_are_one_line(merge, args, text):
    assert text in error_of(merge(*args))
    assert not Path("out").exists()
