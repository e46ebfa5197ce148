"""Figures and reports from what trainings found, made by hand."""

import json
from pathlib import Path

import pytest

from spacy_entlm.evaluation import pages
from spacy_entlm.evaluation.crossval.folds import Training
from spacy_entlm.evaluation.crossval.report import inline, render, screen_lines
from spacy_entlm.evaluation.crossval.result import Confusion, Outcome, summarise
from spacy_entlm.evaluation.crossval.scores import RULE, TOO_FEW

from ...html_page import Page, assert_needs_nothing_beside_it

N = 40
HTML, MARKDOWN, JSON = Path("r.html"), Path("r.MD"), Path("r.json")


@pytest.fixture
def docs(make_doc):
    return [
        make_doc("Ann saw <Rome> .", [(0, 1, "PER"), (2, 3, "LOC")]) for _ in range(N)
    ]


def results(docs, quality, n_repeats=2):
    """Two folds; a training of part p finds all in every sentence whose number is
    below N * quality[p], else nothing."""
    halves = [tuple(range(0, N, 2)), tuple(range(1, N, 2))]
    outcomes = {}
    for part, share in quality.items():
        for repeat in range(n_repeats):
            for fold in range(2):
                train, test = halves[1 - fold][: 5 * part], halves[fold]
                training = Training(repeat, fold, part, repeat, train, test)
                words = {"PER": ["Ann"], "LOC": ["<Rome>", f"Rom{fold}"]}
                found = [
                    [(0, 1, "PER"), (2, 3, "LOC")] if i < share * N else []
                    for i in test
                ]
                outcomes[training] = Outcome(found, words)
    return summarise(docs, outcomes)


def one_repeat(docs, *repeats):
    """The result of repeats of one fold each, from what each found."""
    numbers = tuple(range(len(docs)))
    return summarise(
        docs,
        {
            Training(i, 0, 4, i, (), numbers): Outcome(found, {})
            for i, found in enumerate(repeats)
        },
    )


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
    assert result.label_words == {"LOC": ["<Rome>", "Rom0", "Rom1"], "PER": ["Ann"]}


def test_wrong_sentences_come_with_gold_and_found(make_doc):
    docs = [make_doc("Ann saw Rome .", [(0, 1, "PER")]) for _ in range(3)]
    right, wrong = [(0, 1, "PER")], [(0, 1, "PER"), (2, 3, "LOC")]
    result = one_repeat(docs, [right, wrong, []], *2 * [[right, right, wrong]])
    assert [(s.number, s.n_wrong) for s in result.wrong] == [(3, 3), (2, 1)]
    assert inline(result.wrong[0].gold) == "[Ann](PER) saw Rome ."
    assert inline(result.wrong[0].found) == "[Ann](PER) saw [Rome](LOC) ."
    assert [p.mark for p in result.wrong[0].found if p.mark] == ["right", "wrong"]
    # A class that is found only is a class, without support.
    assert [(c.label, c.support) for c in result.classes] == [("LOC", 0), ("PER", 3)]


def test_neighbours_of_one_class_are_no_error_of_an_io_tagger(make_doc):
    docs = [make_doc("Ann Bob", [(0, 1, "PER"), (1, 2, "PER")]) for _ in range(4)]
    result = one_repeat(docs, [[(0, 2, "PER")]] * 4)
    assert result.io.value == 100
    assert result.bio.value == 0
    assert result.wrong == []


def test_confusions_say_which_class_for_which(make_doc):
    gold = [(0, 2, "PER"), (3, 4, "LOC")]
    docs = [make_doc("Ann Lee saw Rome .", gold)]
    result = one_repeat(
        docs,
        [[(0, 1, "PER"), (3, 4, "ORG")]],
        [[(0, 2, "ORG"), (2, 3, "ORG"), (3, 4, "ORG")]],
        [[(0, 2, "PER"), (4, 5, "LOC")]],
    )
    # Neighbours of one class are one, IO: "Ann Lee saw Rome" is ORG in the second.
    assert set(result.confusions) == {
        *(Confusion("LOC", "ORG", 2), Confusion("PER", "PER", 1)),
        *(Confusion("PER", "ORG", 1), Confusion("LOC", "", 1)),
        Confusion("", "LOC", 1),
    }
    assert result.confusions[0] == Confusion("LOC", "ORG", 2)


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


@pytest.mark.parametrize(
    "quality, usable, verdict",
    [
        ({4: 0.9}, True, "usable"),
        ({4: 0.3}, False, "not yet: annotate more LOC, PER"),
        ({4: 0.5}, False, "not yet: annotate more sentences"),
        ({2: 0.3, 4: 0.3}, False, "not yet: try other label words or another backbone"),
        ({4: 0}, False, "not yet: nothing was found in any fold"),
    ],
)
def test_verdict_follows_the_intervals(docs, quality, usable, verdict):
    result = results(docs, quality)
    assert result.usable == usable
    assert result.verdict.startswith(verdict)
    assert screen_lines(result)[0] == f"Verdict: {result.verdict}"


def test_verdict_asks_for_more_than_a_few_sentences(make_doc):
    """Some that are all right say little of others, whatever their interval."""
    gold = [(0, 1, "PER")]
    docs = [make_doc("Ann saw it .", gold) for _ in range(30)]
    few = one_repeat(docs[:29], [gold] * 29)
    assert not few.usable
    assert few.verdict.startswith("not yet: 29 sentences look good, but are too few")
    assert one_repeat(docs, [gold] * 30).usable


def test_verdict_asks_for_a_class_of_too_few_examples(make_doc):
    gold = [(0, 1, "PER")]
    docs = [make_doc("Ann saw it .", gold) for _ in range(20)]
    docs.append(make_doc("Hammers help .", [(0, 1, "TOOL")]))
    result = one_repeat(docs, [*20 * [gold], [(0, 1, "TOOL")]])
    assert result.verdict == "not yet: annotate more TOOL"
    assert str(result.classes[1].f1) == f"100.0 ({TOO_FEW})"
    assert any(TOO_FEW in line for line in screen_lines(result))
    assert TOO_FEW in render(result, {}, HTML)
    assert json.loads(render(result, {}, JSON))["classes"][1]["f1"]["low"] is None


def test_every_form_has_all_errors(docs):
    result = results(docs, {1: 0.1, 2: 0.2, 3: 0.4, 4: 0.5})
    screen = screen_lines(result)
    assert len(screen) < 12
    assert "Sentences with errors: 20 of 40" in screen
    settings = {"folds": 2, "a|b": "c|d"}
    markdown = render(result, settings, MARKDOWN)
    assert markdown.count("\n      gold:  ") == 20
    assert "\n      gold:  [Ann](PER) saw [<Rome>](LOC) .\n" in markdown
    assert "\n| a\\|b | c\\|d |\n" in markdown
    assert "\n| LOC | <Rome>, Rom0, Rom1 |\n" in markdown
    assert RULE in markdown
    data = json.loads(render(result, settings, JSON))
    assert len(data["wrong"]) == 20
    assert data["wrong"][0]["gold"][0] == ["Ann", "PER", "missed"]
    assert data["io"]["value"] == pytest.approx(200 / 3)
    assert [point["n_sentences"] for point in data["curve"]] == [5, 10, 15, 20]


def test_page_tells_entities_apart_without_colour(docs):
    page = render(results(docs, {2: 0.2, 4: 0.5}), {"folds": 2}, HTML)
    assert page.count('<mark class="missed" style') == 40
    assert "<bdi>&lt;Rome&gt;</bdi> <small>○ <bdi>LOC</bdi></small></mark>" in page
    for mark, line in (("right", "solid"), ("wrong", "dashed"), ("missed", "dotted")):
        assert f"mark.{mark} {{ text-decoration-style: {line}; }}" in page
        assert f'<mark class="{mark}">{mark}' in page  # the legend
    # The text is dark in the legend and in dark mode too.
    assert "mark { background: var(--class, #dddddd); color: #111" in page
    assert "prefers-color-scheme: dark" in page
    assert page.count('class="sentence" dir="auto"') == 40
    assert RULE in page.replace("&#39;", "'")
    assert "docs/label_words.md" in page


def test_page_needs_nothing_beside_it(docs):
    page = render(results(docs, {2: 0.2, 4: 0.5}), {"<script>": "\x00\ud800"}, HTML)
    page.encode("utf8")
    assert_needs_nothing_beside_it(page)
    assert Page(page).count("svg") == 1


def test_curve_is_not_silently_left_out(docs, monkeypatch):
    result = results(docs, {2: 0.2, 4: 0.5})
    assert pages.HOW_TO_GET not in screen_lines(result)
    monkeypatch.setitem(__import__("sys").modules, "matplotlib", None)
    page = render(result, {}, HTML)
    assert "<svg" not in page
    assert "pip install" in page
    assert pages.HOW_TO_GET in screen_lines(result)


@pytest.mark.parametrize("path", [HTML, MARKDOWN, JSON])
def test_nothing_wrong_has_a_report_too(docs, path):
    result = results(docs, {4: 1})
    assert "usable" in render(result, {}, path)
