"""How far two people agree: against values that were worked out by hand."""

import pytest

from spacy_entlm.workbench.agreement import Pair, cohens_kappa, measure

# "Anna Smith met Bob in Rome": places of the words.
WORDS = [(0, 4), (5, 10), (11, 14), (15, 18), (19, 21), (22, 26)]


def test_kappa_is_that_worked_out_by_hand():
    # 20 of 50 both yes, 15 both no, 5 only the first yes, 10 only the second:
    # equal .7; by chance .5 * .6 + .5 * .4 = .5; kappa .2 / .5 = .4.
    pairs = [("y", "y")] * 20 + [("n", "n")] * 15 + [("y", "n")] * 5
    pairs += [("n", "y")] * 10
    assert cohens_kappa(pairs) == pytest.approx(0.4)


def test_kappa_of_three_classes():
    # Equal 3 of 5; each says A twice, B twice and nothing once: by chance
    # (2 * 2 + 2 * 2 + 1 * 1) / 25; kappa (15 - 9) / (25 - 9).
    pairs = [("A", "A"), ("A", "B"), ("B", "A"), ("", ""), ("B", "B")]
    assert cohens_kappa(pairs) == pytest.approx(6 / 16)


@pytest.mark.parametrize("pairs", [[], [("", "")] * 3])
def test_kappa_that_is_not_defined_is_none(pairs):
    assert cohens_kappa(pairs) is None


def test_kappa_of_people_who_never_agree_is_below_zero():
    # Equal 0; by chance 2 * (1 * 1) / 4 = .5; kappa -.5 / .5.
    assert cohens_kappa([("A", "B"), ("B", "A")]) == -1


def test_entities_and_words_are_compared():
    anna, smith = (0, 10, "PER"), (5, 10, "PER")
    bob, rome = (15, 18, "PER"), (22, 26, "LOC")
    agreement = measure(
        [Pair(WORDS, [anna, bob, rome], [smith, bob, rome]), Pair(WORDS, [], [])]
    )
    # PER: 1 of 2 and 1 of 2 are the other's: F1 .5. LOC 1. In all 2 * 2 / (3 + 3).
    assert (agreement.n_texts, agreement.n_words) == (2, 12)
    assert agreement.classes == {"LOC": pytest.approx(1), "PER": pytest.approx(0.5)}
    assert agreement.f1 == pytest.approx(2 / 3)
    # 11 of 12 words are equal. The first has 3 PER, 1 LOC, 8 none, the second 2, 1 and
    # 9: by chance (6 + 1 + 72) / 144; kappa (132 - 79) / (144 - 79).
    assert agreement.kappa == pytest.approx(53 / 65)
    assert agreement.lines() == [
        "Agreement on 2 texts that both accepted: F1 66.7 (LOC 100.0, PER 50.0)",
        "Cohen's kappa of 12 words: 0.82",
    ]


def test_what_is_not_known_is_said_in_words():
    assert "No text was accepted by both" in measure([]).lines()[0]
    (line,) = measure([Pair(WORDS, [], [])]).lines()
    assert line == "Both accepted 1 text, and marked nothing in them"
    whole = measure([Pair([(0, 4)], [(0, 4, "PER")], [(0, 4, "PER")])])
    assert whole.f1 == pytest.approx(1) and "not defined" in whole.lines()[1]
