"""Confidences beside what is right."""

import pytest
import spacy
from spacy.tokens import Doc, Span, SpanGroup
from spacy.training import Example

from spacy_entlm.evaluation.calibration import (
    Bin,
    CalibrationCurve,
    calibration_curve,
    calibration_page,
)
from spacy_entlm.evaluation.pages import has_matplotlib

NLP = spacy.blank("en")
WORDS = ["Ann", "saw", "Rome", "and", "Bob", "and", "Paris"]


def doc_of(entities, scores=None):
    doc = Doc(NLP.vocab, words=WORDS)
    doc.ents = [Span(doc, start, end, label) for start, end, label in entities]
    if scores is not None:
        group = SpanGroup(doc, name="ner", spans=doc.ents, attrs={"scores": scores})
        doc.spans["ner"] = group
    return doc


GOLD = doc_of([(0, 1, "PER"), (2, 3, "LOC"), (6, 7, "LOC")])


def test_each_bin_has_its_entities_and_the_share_that_is_right():
    found = [(0, 1, "PER"), (2, 3, "PER"), (4, 5, "PER"), (6, 7, "LOC")]
    predicted = doc_of(found, [0.92, 0.91, 0.3, 0.94])
    result = calibration_curve([Example(predicted, GOLD)])
    low, high = result.bins
    assert (low.low, low.high, low.n, low.right) == (0.2, 0.4, 1, 0.0)
    assert (high.low, high.high, high.n) == (0.9, 0.95, 3)
    assert high.confidence == pytest.approx((0.92 + 0.91 + 0.94) / 3)
    assert high.right == pytest.approx(2 / 3)
    error = 0.25 * 0.3 + 0.75 * (high.confidence - 2 / 3)
    assert result.error == pytest.approx(error)


def test_entities_on_words_that_are_not_annotated_do_not_count():
    gold = doc_of([])
    gold.set_ents([gold[0:1]], missing=[gold[2:7]], default="outside")
    predicted = doc_of([(0, 1, "PER"), (2, 3, "LOC")], [0.8, 0.9])
    (only,) = calibration_curve([Example(predicted, gold)]).bins
    assert only.n == 1 and only.confidence == 0.8


def test_without_confidences_there_is_nothing_to_tell():
    result = calibration_curve([Example(doc_of([(0, 1, "PER")]), GOLD)])
    assert result.bins == [] and result.error is None
    assert "No entity with a confidence" in calibration_page(result, "Confidences")


def test_the_page_has_the_bins_and_a_picture():
    predicted = doc_of([(0, 1, "PER"), (2, 3, "PER")], [0.97, 0.55])
    page = calibration_page(
        calibration_curve([Example(predicted, GOLD)]), "<Confidences>"
    )
    assert "&lt;Confidences&gt;" in page
    assert "0.50 to 0.60" in page and "0.95 to 1.00" in page
    assert ("<svg" in page) == has_matplotlib()


@pytest.mark.slow
def test_the_page_fits_a_phone_and_its_points_are_whole(browser, tmp_path):
    pytest.importorskip("matplotlib")
    bins = [Bin(0.0, 0.2, 5, 0.0, 0.0), Bin(0.95, 1.0, 200, 1.0, 1.0)]
    title = "Confidences of a_rather_long_path/to/figures_of_the_test_part.json"
    path = tmp_path / "page.html"
    path.write_text(
        calibration_page(CalibrationCurve(bins, 0.1), title), encoding="utf8"
    )
    page = browser.new_page(viewport={"width": 390, "height": 844})
    page.goto(path.as_uri())
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    # What is drawn is cut at the frame: the largest point lies within it.
    code = """() => { const frame = document.querySelector("#patch_2")
        .getBoundingClientRect(); return [...document.querySelectorAll(
        "#PathCollection_1 path")].map(x => x.getBoundingClientRect()).every(p =>
        frame.left <= p.left && p.right <= frame.right && frame.top <= p.top &&
        p.bottom <= frame.bottom); }"""
    assert page.locator("#PathCollection_1 path").count() == 2
    assert page.evaluate(code)
