"""Confidences that mean what they say."""

import numpy
import pytest
import spacy

import spacy_entlm
from spacy_entlm.files.errors import DataError
from spacy_entlm.pipeline.calibration import (
    UNCHANGED,
    Calibration,
    fit_calibration,
    read_calibration,
)

NAME = "entlm_ner"
TEXT = "Anna Smith lives in Berlin ."
CLOSE = 2e-3


def scores(nlp):
    return nlp(TEXT).spans[NAME].attrs["scores"]


def held_out(right):
    """Examples like TEXT, of which some have the entities that are found in it."""
    ents = [(0, 10, "PER"), (20, 26, "LOC")]
    return [(TEXT, {"entities": ents if yes else []}) for yes in right]


def test_a_fit_finds_the_curve_that_confidences_came_from():
    rng = numpy.random.default_rng(0)
    told = rng.uniform(0.3, 0.999, 20_000).astype("float32")
    true = Calibration(0.5, -1.0)
    right = rng.uniform(size=len(told)) < true(told)
    fitted = fit_calibration(told, right, UNCHANGED)
    assert fitted.scale == pytest.approx(0.5, abs=0.05)
    assert fitted.shift == pytest.approx(-1.0, abs=0.1)


@pytest.mark.parametrize("right", [True, False])
def test_few_entities_change_a_calibration_little(right):
    before = Calibration(0.5, -1.0)
    fitted = fit_calibration(numpy.array([0.9]), numpy.array([right]), before)
    assert fitted == pytest.approx(before, abs=0.5)
    assert (fitted.shift > before.shift) == right


def test_without_entities_a_calibration_stays():
    nothing, before = numpy.zeros(0), Calibration(0.5, -1.0, 0.2)
    assert fit_calibration(nothing, nothing > 0, before) == before


def test_certain_and_impossible_confidences_stay_finite_and_in_order():
    calibrated = Calibration(0.5, -1.0)(numpy.array([0.0, 1e-9, 0.5, 1.0], dtype="f"))
    assert calibrated.dtype == "float32"
    assert numpy.isfinite(calibrated).all()
    assert (numpy.diff(calibrated) >= 0).all()
    assert calibrated[0] > 0 and calibrated[-1] < 1


def test_confidences_and_the_threshold_are_calibrated(trained):
    pipe = trained.get_pipe(NAME)
    pipe.calibration = UNCHANGED
    plain = scores(trained)
    pipe.calibration = Calibration(0.5, -1.0)
    lower = scores(trained)
    assert lower == pytest.approx(pipe.calibration(plain))
    assert (lower < plain).all()
    pipe.threshold = float(max(lower)) + 0.01
    assert not trained(TEXT).ents


def test_calibrate_lets_confidences_be_the_share_that_is_right(trained):
    pipe = trained.get_pipe(NAME)
    (calibration,) = spacy_entlm.calibrate(trained, held_out([True, False] * 100))
    assert pipe.calibration == calibration
    assert scores(trained) == pytest.approx(0.5, abs=0.03)
    spacy_entlm.calibrate(trained, held_out([True] * 9 * 20 + [False] * 20))
    assert scores(trained) == pytest.approx(0.9, abs=0.03)


def test_calibrate_says_what_it_wants(trained):
    with pytest.raises(ValueError, match="no examples"):
        spacy_entlm.calibrate(trained, [])
    with pytest.raises(ValueError, match="entlm_ner"):
        spacy_entlm.calibrate(spacy.blank("en"), held_out([True]))


def test_a_calibration_is_saved_with_the_pipeline(trained, tmp_path):
    trained.get_pipe(NAME).calibration = Calibration(0.5, -1.0)
    expected = scores(trained)
    trained.to_disk(tmp_path)
    assert (scores(spacy.load(tmp_path)) == expected).all()
    other = spacy.load(tmp_path, config={})
    other.get_pipe(NAME).calibration = UNCHANGED
    assert (scores(other.from_bytes(trained.to_bytes())) == expected).all()


def test_a_pipeline_of_before_has_the_confidences_that_it_had(trained, tmp_path):
    trained.get_pipe(NAME).calibration = UNCHANGED
    expected = scores(trained)
    trained.to_disk(tmp_path)
    (tmp_path / NAME / "calibration").unlink()
    assert (scores(spacy.load(tmp_path)) == expected).all()


@pytest.mark.parametrize(
    "content",
    [
        *("", "[]", "{}x", '{"scale": 0, "shift": 0}', '{"scale": "a"}'),
        *('{"other": 1}', '{"scale": 1, "shift": NaN}'),
        '{"scale": Infinity, "shift": 0}',
        '{"scale": 1, "shift": 0, "least": 1.5}',
        '{"scale": 1, "shift": 1' + 400 * "0" + "}",
    ],
)
def test_a_broken_calibration_is_one_clear_line(content, tmp_path):
    path = tmp_path / "calibration"
    path.write_text(content)
    with pytest.raises(DataError, match="calibration") as error:
        read_calibration(path)
    assert "\n" not in str(error.value)
