"""Longest match, case rules, ambiguous names, options; against a plain loop too."""

import json
from pathlib import Path

import pytest
import spacy
from hypothesis import given
from hypothesis import strategies as st
from spacy.tokens import Doc

from spacy_entlm.files.errors import DataError
from spacy_entlm.lexicon.entries import Entry
from spacy_entlm.lexicon.match import LexiconMatcher, annotate, join_neighbours
from spacy_entlm.lexicon.match_report import MatchReport

SHARED = Path(__file__).parents[2].parent / "shared" / "data"
NLP = spacy.blank("en")


def make_matcher(*names, **settings):
    entries = [
        Entry(*name) if isinstance(name, tuple) else Entry(name, "X") for name in names
    ]
    return LexiconMatcher(entries, **settings)


def found(matcher, text):
    """What is matched, as the words of the text."""
    words = text.split() if isinstance(text, str) else text
    texts = [t.text for t in words] if isinstance(words, Doc) else words
    matches = matcher.match(words).labelled
    return [" ".join(texts[m.start : m.end]) for m in matches]


def test_longest_name_wins_and_matches_do_not_overlap():
    matcher = make_matcher("New York", "York", "New York Times", "Times Square", "New")
    assert found(matcher, "New York Times Square") == ["New York Times"]
    assert found(matcher, "New York York New") == ["New York", "York", "New"]


def test_neighbours_are_separate_matches():
    matcher = make_matcher("Lima", "Rome")
    assert found(matcher, "Lima Rome Lima") == ["Lima", "Rome", "Lima"]


def test_a_shorter_name_is_found_where_a_longer_one_breaks_off():
    matcher = make_matcher("a b c d", "b c", "c")
    assert found(matcher, "a b c e") == ["b c"]


def test_names_match_whole_words_only():
    matcher = make_matcher("Lima", "art")
    assert found(matcher, "Limassol Lima Limas cart arts") == ["Lima"]
    # Of a word with a hyphen, only the whole.
    assert found(matcher, "Lima-born from Lima") == ["Lima"]
    assert found(make_matcher("Lima-born"), "Lima-born") == ["Lima-born"]


@pytest.mark.parametrize(
    "words",
    [
        ["U.S.", "Steel", "Corp."],
        ["U.S", ".", "Steel", "Corp", "."],
        ["U", ".", "S", ".", "Steel", "Corp."],
    ],
)
def test_how_words_are_split_does_not_matter(words):
    matches = make_matcher("U.S. Steel Corp.").match(words).labelled
    assert [(m.start, m.end) for m in matches] == [(0, len(words))]


def test_typographic_marks_and_decomposed_letters_are_the_same():
    matcher = make_matcher("O'Brien", "Ana María", "Coca-Cola")
    text = ["O’Brien", "Ana", "Mari\u0301a", "Coca\u2010Cola"]
    matches = matcher.match(text).labelled
    assert [m.name for m in matches] == ["O'Brien", "Ana María", "Coca-Cola"]


def test_names_in_a_doc_are_found_across_blanks_but_not_across_lines():
    matcher = make_matcher("New York", "York")
    doc = NLP("New  York.\n\nNew\n\nYork")
    spans = [doc[m.start : m.end].text for m in matcher.match(doc).labelled]
    assert spans == ["New  York", "York"]


def test_exact_case():
    matcher = make_matcher("Apple", "iPhone")
    assert found(matcher, "Apple apple APPLE iPhone iphone") == ["Apple", "iPhone"]


def test_any_case():
    matcher = make_matcher("Apple", "straße", case="lower")
    text = "Apple apple APPLE STRASSE"
    assert found(matcher, text) == text.split()


def test_capitalised_words_only():
    matcher = make_matcher("apple", "university of oslo", "3m", case="capitalised")
    text = "apple Apple APPLE University of Oslo university of Oslo 3M"
    assert found(matcher, text) == ["Apple", "APPLE", "University of Oslo", "3M"]
    assert found(matcher, "University of oslo") == []


def test_capitalised_takes_the_very_spelling_of_the_lexicon():
    matcher = make_matcher("Bank of western lands", "iPhone case", case="capitalised")
    assert found(matcher, "Bank of western lands") == ["Bank of western lands"]
    assert found(matcher, "bank of western lands") == []
    assert found(matcher, "iPhone case") == ["iPhone case"]
    assert found(matcher, "IPHONE CASE") == ["IPHONE CASE"]


def test_capitalised_falls_back_to_the_shorter_name():
    matcher = make_matcher("new york", "new york times", case="capitalised")
    assert found(matcher, "New York times") == ["New York"]


def test_heavier_label_wins_and_equal_ones_are_left_out():
    matcher = make_matcher(
        ("Washington", "LOC", 5.0),
        ("Washington", "PER", 2.0),
        ("Jordan", "LOC"),
        ("Jordan", "PER"),
        ("Jordan River", "LOC"),
    )
    matches = matcher.match(["Jordan", "saw", "Washington", "and", "Jordan", "River"])
    assert [(m.name, m.label) for m in matches.labelled] == [
        ("Washington", "LOC"),
        ("Jordan River", "LOC"),
    ]
    assert [m.name for m in matches.ambiguous] == ["Jordan"]
    assert matcher.ambiguous_names == ["Jordan"]


def test_an_ambiguous_name_keeps_its_words_from_shorter_ones():
    matcher = make_matcher(("New York", "LOC"), ("New York", "ORG"), ("York", "LOC"))
    matches = matcher.match(["New", "York"])
    assert matches.labelled == [] and len(matches.ambiguous) == 1


def test_spellings_that_case_makes_equal_are_ambiguous_together():
    names = [("Turkey", "LOC"), ("turkey", "MISC")]
    assert make_matcher(*names).ambiguous_names == []
    assert make_matcher(*names, case="lower").ambiguous_names == ["Turkey"]


def test_minimum_length_and_stop_words():
    matcher = make_matcher("It", "Al", "Lima", "The Who", min_length=3)
    assert found(matcher, "It Al Lima The Who") == ["Lima", "The Who"]
    assert matcher.n_excluded == 2
    matcher = make_matcher("It", "Will", "Will Smith", stop_words=["it", "WILL"])
    assert found(matcher, "It Will Will Smith") == ["Will Smith"]
    assert matcher.n_excluded == 2


def test_no_name_left_is_an_error():
    with pytest.raises(DataError, match="no name is left to match"):
        make_matcher("It", min_length=3)
    with pytest.raises(DataError, match="unknown case rule 'upper'"):
        make_matcher("It", case="upper")


def test_single_words_at_the_start_of_a_sentence_can_be_left_out():
    matcher = make_matcher("May", "Rose", "Cape Town", skip_initial=True)
    assert found(matcher, "May saw May") == ["May"]
    assert found(matcher, '" May saw') == []
    assert found(matcher, "Cape Town saw Rose") == ["Cape Town", "Rose"]
    # What a second name behind it makes sure stays.
    assert found(matcher, "May Rose came") == ["May", "Rose"]


def test_sentence_starts_of_a_doc_count():
    matcher = make_matcher("May", skip_initial=True)
    words = ["May", "saw", "May", ".", "May", "left"]
    starts = [i in (0, 4) for i in range(len(words))]
    doc = Doc(NLP.vocab, words=words, sent_starts=starts)
    assert [m.start for m in matcher.match(doc).labelled] == [2]


def test_neighbours_can_be_joined():
    matcher = make_matcher(("Ann", "PER"), ("Li", "PER"), ("Lima", "LOC"))
    matches = matcher.match(["Ann", "Li", "Lima", "Ann"]).labelled
    joined = [(m.name, m.start, m.end) for m in join_neighbours(matches)]
    assert joined == [("Ann Li", 0, 2), ("Lima", 2, 3), ("Ann", 3, 4)]


def test_docs_get_the_matches_in_place_of_their_entities():
    doc = NLP("Ann Li saw Lima")
    doc.set_ents([doc.char_span(0, 3, label="OLD")])
    matcher = make_matcher(("Ann", "PER"), ("Li", "PER"), ("Lima", "LOC"))
    ((same, matches),) = annotate([doc], matcher, join=True)
    assert same is doc and len(matches.labelled) == 3
    assert [(e.text, e.label_) for e in doc.ents] == [
        ("Ann Li", "PER"),
        ("Lima", "LOC"),
    ]
    assert doc.has_annotation("ENT_IOB")


def test_empty_and_odd_texts():
    matcher = make_matcher("Lima", "!!!", "\u200cx")
    assert matcher.match([]).labelled == []
    assert matcher.match(["", " ", "\n", "\ud800", "\x1f\x1e", "\x00"]).labelled == []
    assert found(matcher, ["\x1f", "Lima", "!!!"]) == ["Lima", "!!!"]
    assert matcher.match(NLP("")).labelled == []


def test_names_of_500_words_match():
    words = [f"w{i}" for i in range(500)]
    matcher = make_matcher(" ".join(words), "w498 w499")
    assert [(m.start, m.end) for m in matcher.match(["x", *words]).labelled] == [
        (1, 501)
    ]
    assert found(matcher, words[1:]) == ["w498 w499"]


words = st.sampled_from(["a", "b", "c", "A", "é", ".", "-"])
names = st.lists(words, min_size=1, max_size=4).map(" ".join)


@given(st.sets(names, min_size=1, max_size=8), st.lists(words, max_size=25))
def test_agrees_with_a_plain_search(lexicon, text):
    matcher = make_matcher(*lexicon)
    known = {tuple(name.split()) for name in lexicon}
    expected = []
    start = 0
    while start < len(text):
        ends = [
            e for e in range(start + 1, len(text) + 1) if tuple(text[start:e]) in known
        ]
        if ends:
            expected.append((start, max(ends)))
        start = max(ends, default=start + 1)
    assert [(m.start, m.end) for m in matcher.match(text).labelled] == expected


@given(st.lists(st.text(), min_size=1, max_size=5), st.lists(st.text(), max_size=8))
def test_any_name_and_any_text(lexicon, text):
    for case in ("exact", "lower", "capitalised"):
        try:
            matcher = make_matcher(*lexicon, case=case)
        except DataError:
            continue
        last = 0
        for match in matcher.match(text).labelled:
            assert last <= match.start < match.end <= len(text)
            last = match.end


def test_report_counts_what_was_matched():
    matcher = make_matcher(
        ("Lima", "LOC"), ("Ann", "PER"), ("Jo", "PER"), ("Jo", "LOC")
    )
    report = MatchReport()
    for text in ("Ann saw Lima", "Lima", "Jo left"):
        report.add(len(text.split()), matcher.match(text.split()))
    assert report.lines() == [
        "3 texts of 6 words: 3 names found in 2 texts",
        "  LOC 2",
        "  PER 1",
        "Most frequent names:",
        "  LOC Lima 2",
        "  PER Ann 1",
        "1 place of 1 name under several labels of equal weight: left out (Jo 1)",
    ]


def test_report_shows_twenty_names_and_a_notice_for_none():
    matcher = make_matcher(*(f"n{i}" for i in range(30)))
    report = MatchReport()
    report.add(30, matcher.match([f"n{i}" for i in range(30)]))
    assert len(report.lines()) == 3 + 20
    report = MatchReport()
    report.add(1, matcher.match(["none"]))
    assert "No name of the lexicon occurs in the text" in report.lines()[-1]


@pytest.mark.skipif(not SHARED.is_dir(), reason="no shared data")
def test_a_lexicon_made_of_gold_entities_finds_nearly_all_of_them():
    path = SHARED / "wikigold" / "dev.jsonl"
    lines = path.read_text(encoding="utf-8").splitlines()
    sentences = [json.loads(line) for line in lines]
    gold = []
    for i, sentence in enumerate(sentences):
        start = None
        for j, tag in enumerate([*sentence["label"], "O"]):
            if start is not None and not tag.startswith("I-"):
                gold.append((i, start, j, " ".join(sentence["text"][start:j])))
                start = None
            if tag.startswith("B-"):
                start = j
    matcher = make_matcher(*(name for *_, name in gold))
    matches = {
        (i, m.start, m.end)
        for i, found in enumerate(matcher.match(s["text"]) for s in sentences)
        for m in found.labelled
    }
    assert len(gold) > 600
    assert sum((i, s, e) in matches for i, s, e, _ in gold) > 0.97 * len(gold)
