"""Figures from what trainings found, made by hand."""

import json

import pytest

from spacy_entlm.evaluation.crossval.folds import Training
from spacy_entlm.evaluation.crossval.report import (
    inline,
    screen_lines,
    to_html,
    to_json,
    to_markdown,
)
from spacy_entlm.evaluation.crossval.result import summarise

N = 40


@pytest.fixture
def docs(make_doc):
    return [
        make_doc("Ann saw <Rome> .", [(0, 1, "PER"), (2, 3, "LOC")]) for _ in range(N)
    ]


def results(docs, quality, n_repeats=2):
    """Two folds; a training of part p finds all in every sentence whose number is
    below N * quality[p], else nothing."""
    halves = [tuple(range(0, N, 2)), tuple(range(1, N, 2))]
    found = {}
    for part, share in quality.items():
        for repeat in range(n_repeats):
            for fold in range(2):
                train, test = halves[1 - fold][: 5 * part], halves[fold]
                training = Training(repeat, fold, part, repeat, train, test)
                found[training] = [
                    [(0, 1, "PER"), (2, 3, "LOC")] if i < share * N else []
                    for i in test
                ]
    return summarise(docs, found)


def test_figures_of_what_was_found(docs):
    result = results(docs, {4: 0.5})
    assert (result.n_sentences, result.n_repeats, result.n_folds) == (N, 2, 2)
    assert result.io.value == result.bio.value == pytest.approx(200 / 3)
    assert [c.label for c in result.classes] == ["LOC", "PER"]
    assert {(c.precision, c.recall, c.support) for c in result.classes} == {
        (100, 50, N)
    }
    assert result.curve == []
    assert result.advice == ""


def test_wrong_sentences_come_with_gold_and_found(make_doc):
    docs = [make_doc("Ann saw Rome .", [(0, 1, "PER")]) for _ in range(3)]
    right, wrong = [(0, 1, "PER")], [(0, 1, "PER"), (2, 3, "LOC")]
    found = {
        Training(0, 0, 4, 1, (), (0, 1, 2)): [right, wrong, []],
        Training(1, 0, 4, 2, (), (0, 1, 2)): [right, right, wrong],
        Training(2, 0, 4, 3, (), (0, 1, 2)): [right, right, wrong],
    }
    result = summarise(docs, found)
    assert [(s.number, s.n_wrong) for s in result.wrong] == [(3, 3), (2, 1)]
    assert inline(result.wrong[0].gold) == "[Ann](PER) saw Rome ."
    assert inline(result.wrong[0].found) == "[Ann](PER) saw [Rome](LOC) ."
    # A class that is found only is a class, without support.
    assert [(c.label, c.support) for c in result.classes] == [("LOC", 0), ("PER", 3)]


def test_neighbours_of_one_class_are_no_error_of_an_io_tagger(make_doc):
    docs = [make_doc("Ann Bob", [(0, 1, "PER"), (1, 2, "PER")]) for _ in range(4)]
    training = Training(0, 0, 4, 1, (), tuple(range(4)))
    result = summarise(docs, {training: [[(0, 2, "PER")]] * 4})
    assert result.io.value == 100
    assert result.bio.value == 0
    assert result.wrong == []


@pytest.mark.parametrize(
    "half, whole, start",
    [
        (0.2, 0.8, "More examples would most likely help"),
        (0.8, 0.8, "More examples of this kind would hardly help"),
        (0.8, 0.2, "More examples of this kind would hardly help"),
        (0.5, 0.525, "More examples may help, but this is not certain"),
    ],
)
def test_advice_follows_the_gain_of_a_doubling(docs, half, whole, start):
    result = results(docs, {1: 0.1, 2: half, 3: half, 4: whole})
    assert result.advice.startswith(start)
    assert [point.n_sentences for point in result.curve] == [5, 10, 15, 20]
    assert [point.n_entities for point in result.curve] == [10, 20, 30, 40]
    assert result.curve[-1].f1 == result.io
    assert result.advice in screen_lines(result)


def test_the_screen_has_the_first_errors_and_the_reports_all(docs):
    result = results(docs, {1: 0.1, 2: 0.2, 3: 0.4, 4: 0.5})
    screen = "\n".join(screen_lines(result))
    assert screen.count("found: ") == 5
    assert "and 15 more in the report" in screen
    settings = {"folds": 2}
    markdown = to_markdown(result, settings)
    page = to_html(result, settings)
    data = json.loads(to_json(result, settings))
    assert markdown.count("    gold:") == page.count("gold: ") == 20
    assert len(data["wrong"]) == 20
    assert "      gold:  [Ann](PER) saw [<Rome>](LOC) ." in markdown
    assert "<mark>&lt;Rome&gt; <small>LOC</small></mark>" in page
    assert "<svg" in page
    assert data["f1"]["io"]["value"] == pytest.approx(200 / 3)
    assert [point["n_sentences"] for point in data["curve"]] == [5, 10, 15, 20]


def test_nothing_found_is_told(docs):
    assert any(
        "Nothing was found in any fold" in line
        for line in screen_lines(results(docs, {4: 0}))
    )
    assert not any(
        "Nothing was found" in line for line in screen_lines(results(docs, {4: 0.1}))
    )
