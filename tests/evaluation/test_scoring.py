"""F1 against gold as annotated (BIO) and with neighbours merged (IO)."""

import spacy
from spacy.tokens import Doc, Span
from spacy.training import Example

from spacy_entlm.evaluation.scoring import (
    entity_spans,
    judged_entities,
    score_entities,
    score_words,
)

NLP = spacy.blank("en")


def make_doc(*spans, n_words=4):
    doc = Doc(NLP.vocab, words=["w"] * n_words)
    doc.set_ents([Span(doc, *span) for span in spans])
    return doc


def test_neighbours_of_one_class_count_as_one_in_io():
    gold = make_doc((0, 1, "PER"), (1, 2, "PER"), (3, 4, "LOC"))
    predicted = make_doc((0, 2, "PER"), (3, 4, "LOC"))
    scores = score_entities([Example(predicted, gold)])
    assert scores["io"]["f"] == 1.0
    assert scores["io"]["per_type"]["PER"] == {"p": 1.0, "r": 1.0, "f": 1.0}
    # As annotated: 1 of 2 found is right, 1 of 3 is found.
    assert (scores["bio"]["p"], scores["bio"]["r"]) == (0.5, 1 / 3)
    assert scores["n_entities"] == 3


def test_neighbours_that_a_tagger_tells_apart_are_merged_in_io_too():
    """One that can is no worse in IO than one that cannot."""
    predicted = make_doc((0, 1, "PER"), (1, 2, "PER"))
    for gold, of_bio in ((predicted.copy(), 1.0), (make_doc((0, 2, "PER")), 0.0)):
        scores = score_entities([Example(predicted, gold)])
        assert (scores["io"]["f"], scores["bio"]["f"]) == (1.0, of_bio)
    assert len(predicted.ents) == 2


def test_words_whose_annotation_is_missing_stay_so():
    gold = make_doc()
    gold.set_ents([Span(gold, 0, 1, "PER")], missing=[gold[1:3]], default="outside")
    found = [(0, 1, "PER"), (1, 2, "PER"), (3, 4, "PER")]
    assert judged_entities(gold, found, merged=True) == [found[0], found[2]]
    # What is found there is neither right nor wrong.
    predicted = make_doc((0, 1, "PER"), (2, 3, "LOC"))
    scores = score_entities([Example(predicted, gold)])
    assert (scores["io"]["f"], scores["bio"]["f"]) == (1.0, 1.0)


def test_nothing_found_and_nothing_to_find_score_zero():
    scores = score_entities([Example(make_doc(), make_doc((0, 1, "PER")))])
    assert (scores["io"]["f"], scores["bio"]["f"]) == (0.0, 0.0)
    assert score_entities([])["n_entities"] == 0


def test_neighbours_of_two_classes_stay_apart():
    doc = make_doc((0, 1, "PER"), (1, 2, "LOC"), (2, 3, "LOC"))
    merged = judged_entities(doc, entity_spans(doc), merged=True)
    assert merged == [(0, 1, "PER"), (1, 3, "LOC")]
    assert len(doc.ents) == 3


def test_words_are_scored_apart_from_entities():
    gold = Doc(NLP.vocab, ["Ann", "Li", "saw", "Lima", "Rome", "x"])
    gold.set_ents(
        [Span(gold, 0, 2, "PER"), Span(gold, 3, 4, "LOC")],
        missing=[gold[5:6]],
    )
    mine = Doc(NLP.vocab, [t.text for t in gold])
    mine.set_ents(
        [
            Span(mine, 0, 1, "PER"),
            Span(mine, 3, 4, "PER"),
            Span(mine, 4, 5, "LOC"),
            Span(mine, 5, 6, "LOC"),
        ]
    )
    scores = score_words([Example(mine, gold)])
    per, loc = scores["PER"], scores["LOC"]
    assert (per.tp, per.fp, per.fn) == (1, 1, 1)
    assert (loc.tp, loc.fp, loc.fn) == (0, 1, 1)
