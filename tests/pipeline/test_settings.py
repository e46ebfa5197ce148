"""threshold, label_bias, overwrite, spans_key, precision, and what config refuses."""

import numpy
import pytest
import spacy
from confection import ConfigValidationError
from spacy.cli.find_threshold import find_threshold
from spacy.tokens import DocBin, Span

import spacy_entlm

NAME = "entlm_ner"
TEXT = "Anna Smith lives in Berlin ."


@pytest.fixture
def pipe(trained):
    return trained.get_pipe(NAME)


def load(folder, **settings):
    return spacy.load(folder, config={"components": {NAME: settings}})


def found(doc):
    return [(ent.text, ent.label_) for ent in doc.ents]


def test_threshold_drops_less_confident_entities(trained, pipe):
    doc = trained(TEXT)
    low, high = sorted(doc.spans[NAME].attrs["scores"].tolist())
    pipe.cfg["threshold"] = (low + high) / 2
    doc = trained(TEXT)
    assert len(doc.ents) == len(doc.spans[NAME]) == 1
    assert doc.spans[NAME].attrs["scores"].tolist() == [high]


def test_entity_as_confident_as_the_threshold_stays(trained, pipe):
    scores = trained(TEXT).spans[NAME].attrs["scores"].tolist()
    pipe.cfg["threshold"] = min(scores)
    assert len(trained(TEXT).ents) == 2


def test_threshold_can_be_set_when_loading(trained_folder):
    assert len(load(trained_folder)(TEXT).ents) == 2
    assert len(load(trained_folder, threshold=1.0)(TEXT).ents) == 0


CHANGED = {
    "threshold": 0.5,
    "label_bias": -0.25,
    "overwrite": False,
    "spans_key": "mine",
    "annotate_ents": False,
    "lexicon_key": "names",
    "lexicon_weight": 7.0,
}


@pytest.mark.parametrize("setting", CHANGED)
def test_each_setting_is_an_attribute_that_may_be_changed(pipe, setting):
    assert getattr(pipe, setting) != CHANGED[setting]
    setattr(pipe, setting, CHANGED[setting])
    assert getattr(pipe, setting) == pipe.cfg[setting] == CHANGED[setting]


def test_a_component_that_was_sourced_can_be_told_to_fill_gaps(trained, tmp_path):
    nlp = spacy.blank("en")
    ruler = nlp.add_pipe("entity_ruler")
    ruler.add_patterns([{"label": "OLD", "pattern": "Berlin"}])
    nlp.add_pipe(NAME, source=trained)
    assert found(nlp(TEXT)) == [("Anna Smith", "PER"), ("Berlin", "LOC")]
    nlp.get_pipe(NAME).overwrite = False
    expected = [("Anna Smith", "PER"), ("Berlin", "OLD")]
    assert found(nlp(TEXT)) == expected
    nlp.to_disk(tmp_path)
    assert found(spacy.load(tmp_path)(TEXT)) == expected


def test_what_was_changed_is_saved_and_loaded(trained, pipe, tmp_path):
    pipe.cfg.update(CHANGED)
    trained.to_disk(tmp_path / "first")
    first = spacy.load(tmp_path / "first")
    first.to_disk(tmp_path / "second")  # still others than those of the config
    by_bytes = spacy.blank("xx").from_config(trained.config)
    by_bytes.from_bytes(trained.to_bytes())
    for nlp in (first, spacy.load(tmp_path / "second"), by_bytes):
        assert nlp.get_pipe(NAME).cfg == CHANGED
    assert set(first(TEXT).spans) == {"mine"} and not first(TEXT).ents


@pytest.mark.parametrize("setting", ["threshold", "label_bias"])
def test_what_is_said_when_loading_comes_before_what_was_changed(
    trained, pipe, tmp_path, setting
):
    pipe.threshold, pipe.label_bias = 0.5, -0.25
    trained.to_disk(tmp_path)
    loaded = load(tmp_path, **{setting: 0.125}).get_pipe(NAME)
    expected = {"threshold": 0.5, "label_bias": -0.25, setting: 0.125}
    assert {key: getattr(loaded, key) for key in expected} == expected


def test_loading_forgets_what_was_changed_and_not_saved(trained, pipe, tmp_path):
    trained.to_disk(tmp_path)
    data = trained.to_bytes()
    for load_again in (
        lambda: trained.from_disk(tmp_path),
        lambda: trained.from_bytes(data),
    ):
        pipe.threshold = 1.0
        load_again()
        assert len(trained(TEXT).ents) == 2
    pipe.threshold = 1.0
    trained.from_disk(tmp_path, exclude=[NAME])
    pipe.from_disk(tmp_path / NAME, exclude=["cfg"])
    assert pipe.threshold == 1.0


def test_a_pipeline_of_before_is_loaded_with_the_settings_of_its_config(
    trained, tmp_path
):
    trained.to_disk(tmp_path)
    (tmp_path / NAME / "cfg").unlink()
    assert load(tmp_path, threshold=0.25).get_pipe(NAME).threshold == 0.25


def test_settings_saved_with_a_pipeline_do_not_win_over_the_config(
    trained_folder, tmp_path
):
    nlp = load(trained_folder, threshold=1.0, overwrite=False)
    nlp.to_disk(tmp_path)
    assert len(spacy.load(tmp_path)(TEXT).ents) == 0
    assert len(load(tmp_path, threshold=0.0)(TEXT).ents) == 2
    bytes_of_strict = nlp.to_bytes()
    lenient = load(trained_folder).from_bytes(bytes_of_strict)
    assert lenient.get_pipe(NAME).threshold == 0.0


@pytest.mark.parametrize("reads_names, least", [(False, 0.0), (True, 0.3)])
def test_threshold_suits_the_backbone(
    bert, naming, blank_nlp, make_examples, tmp_path, reads_names, least
):
    """Where it is not given; it is saved with the pipeline."""
    nlp = blank_nlp(naming if reads_names else bert)
    nlp.initialize(lambda: make_examples(nlp))
    nlp.to_disk(tmp_path)
    pipe = spacy.load(tmp_path).get_pipe(NAME)
    assert pipe.cfg["threshold"] is None
    assert pipe.threshold == least
    pipe.threshold = 0.0
    assert pipe.threshold == 0.0


def test_entities_below_the_suitable_threshold_are_none(trained, pipe):
    score = min(trained(TEXT).spans[NAME].attrs["scores"])
    for least, n_ents in ((score, 2), (score + 1e-3, 1)):
        pipe.calibration = pipe.calibration._replace(least=float(least))
        assert len(trained(TEXT).ents) == n_ents
    pipe.threshold = 0.0
    assert len(trained(TEXT).ents) == 2


def test_find_threshold_of_spacy_works(
    trained, trained_folder, make_examples, tmp_path
):
    examples = make_examples(trained)
    path = tmp_path / "dev.spacy"
    DocBin(docs=[eg.reference for eg in examples]).to_disk(path)
    best, score, all_scores = find_threshold(
        str(trained_folder), path, NAME, "threshold", "ents_f", n_trials=3
    )
    assert all_scores == {0.0: 1.0, 0.5: 1.0, 1.0: 0.0}
    assert (best < 1.0, score) == (True, 1.0)


def test_label_bias_finds_more_or_less(trained, pipe):
    text = "Anna Smith lives in Berlin . The cat sleeps ."
    n_words = {}
    for bias in (-1000.0, 0.0, 1000.0):
        pipe.cfg["label_bias"] = bias
        n_words[bias] = sum(len(ent) for ent in trained(text).ents)
    assert n_words[-1000.0] == 0 < n_words[0.0] < n_words[1000.0] == 10


def test_label_bias_can_be_set_when_loading(trained_folder):
    assert len(load(trained_folder, label_bias=-1000.0)(TEXT).ents) == 0


def test_negative_label_bias_lowers_confidence(trained_folder):
    decoder = {"@misc": "spacy-entlm.io_decoder.v1"}  # it looks at single words
    plain = load(trained_folder, decoder=decoder)
    strict = load(trained_folder, decoder=decoder, label_bias=-0.5)
    scores, lower = (nlp(TEXT).spans[NAME].attrs["scores"] for nlp in (plain, strict))
    assert (lower < scores).all()


def set_entities(doc, *spans):
    doc.set_ents([Span(doc, *span) for span in spans])
    return doc


def test_entities_already_set_are_replaced_by_default(trained, pipe):
    doc = set_entities(trained.make_doc(TEXT), (2, 4, "OLD"))
    assert found(pipe(doc)) == [("Anna Smith", "PER"), ("Berlin", "LOC")]


def test_without_overwrite_ours_fill_the_gaps(trained, pipe):
    pipe.cfg["overwrite"] = False
    doc = set_entities(trained.make_doc(TEXT), (1, 3, "OLD"))
    assert found(pipe(doc)) == [("Smith lives", "OLD"), ("Berlin", "LOC")]
    # The group holds all that this component found.
    assert [ent.text for ent in doc.spans[NAME]] == ["Anna Smith", "Berlin"]
    assert len(doc.spans[NAME].attrs["scores"]) == 2


def test_spans_can_be_all_that_is_set(trained_folder):
    nlp = load(trained_folder, annotate_ents=False)
    doc = set_entities(nlp.make_doc(TEXT), (2, 4, "OLD"))
    nlp.get_pipe(NAME)(doc)
    assert [ent.label_ for ent in doc.ents] == ["OLD"]
    assert [ent.text for ent in doc.spans[NAME]] == ["Anna Smith", "Berlin"]


def test_entities_that_would_go_nowhere_are_an_error(trained_folder):
    with pytest.raises(ValueError, match="entities would go nowhere"):
        load(trained_folder, annotate_ents=False, spans_key=None)


def test_change_after_which_entities_would_go_nowhere_is_an_error(pipe):
    pipe.spans_key = None
    with pytest.raises(ValueError, match="entities would go nowhere"):
        pipe.annotate_ents = False
    assert pipe.annotate_ents
    pipe.spans_key, pipe.annotate_ents = "mine", False
    with pytest.raises(ValueError, match="entities would go nowhere"):
        pipe.spans_key = None
    assert pipe.spans_key == "mine"


@pytest.mark.parametrize("value", [5, -0.1])
def test_threshold_that_cannot_be_is_an_error(trained_folder, pipe, value):
    with pytest.raises(ValueError, match="threshold is from 0 to 1"):
        load(trained_folder, threshold=value)
    with pytest.raises(ValueError, match="threshold is from 0 to 1"):
        pipe.threshold = value


def test_threshold_can_be_changed_at_any_time(trained, pipe):
    confidences = trained(TEXT).spans[NAME].attrs["scores"]
    pipe.threshold = float(confidences.min()) + 1e-6
    assert len(trained(TEXT).ents) == len(confidences) - 1
    assert pipe.cfg["threshold"] == pipe.threshold


def test_confidence_of_an_entity_is_that_of_its_span(trained):
    doc = trained(TEXT)
    scores = doc.spans[NAME].attrs["scores"].tolist()
    assert [spacy_entlm.confidence(ent) for ent in doc.ents] == scores
    assert [spacy_entlm.confidence(ent, NAME) for ent in doc.ents] == scores
    assert spacy_entlm.confidence(doc.ents[0], "other") is None
    assert spacy_entlm.confidence(doc[2:4]) is None


@pytest.mark.parametrize("overwrite", [True, False])
@pytest.mark.parametrize(
    "spans",
    [
        [(0, 6, "OLD")],
        [(0, 1, "OLD"), (1, 2, "OLD")],
        [(4, 5, "LOC")],
        [(0, 2, "PER"), (5, 6, "OLD")],
        [(5, 6, "OLD")],
        [],
    ],
)
def test_entities_that_meet_never_overlap(trained, pipe, overwrite, spans):
    pipe.cfg["overwrite"] = overwrite
    doc = pipe(set_entities(trained.make_doc(TEXT), *spans))
    kept = [] if overwrite else [doc[start:end] for start, end, _ in spans]
    assert all(ent.text in {e.text for e in doc.ents} for ent in kept)
    covered = [i for ent in doc.ents for i in range(ent.start, ent.end)]
    assert len(covered) == len(set(covered))


def test_without_overwrite_entities_keep_their_ids(trained, pipe):
    pipe.cfg["overwrite"] = False
    doc = trained.make_doc(TEXT)
    doc.set_ents([Span(doc, 0, 1, "PER", kb_id="Q1", span_id="a")])
    doc = pipe(doc)
    assert (doc.ents[0].kb_id_, doc.ents[0].id_) == ("Q1", "a")


def test_spans_key_is_the_name_of_the_component(bert, start_nlp):
    nlp = start_nlp(bert, name="people")
    assert set(nlp(TEXT).spans) == {"people"}


def test_spans_key_can_be_chosen(trained_folder):
    doc = load(trained_folder, spans_key="mine")(TEXT)
    assert set(doc.spans) == {"mine"}
    assert doc.spans["mine"].name == "mine"


def test_spans_key_none_makes_no_group(trained_folder):
    doc = load(trained_folder, spans_key=None)(TEXT)
    assert len(doc.spans) == 0
    assert len(doc.ents) == 2


def test_other_span_groups_are_left_alone(trained, pipe):
    doc = trained.make_doc(TEXT)
    doc.spans["other"] = [doc[0:1]]
    assert set(pipe(doc).spans) == {"other", NAME}


def test_precision_can_be_set_when_loading(trained_folder, texts):
    full = load(trained_folder)
    half = load(trained_folder, model={"precision": "bfloat16"})
    for ours, theirs in zip(full.pipe(texts), half.pipe(texts)):
        assert found(ours) == found(theirs)
        scores, rounded = (doc.spans[NAME].attrs["scores"] for doc in (ours, theirs))
        assert rounded.dtype == "float32"
        numpy.testing.assert_allclose(rounded, scores, atol=0.05)
        if len(scores):
            assert not numpy.array_equal(rounded, scores)


@pytest.mark.parametrize(
    "setting, message",
    [
        ({"precision": "float8"}, "precision is one of .*, not 'float8'"),
        ({"max_batch_pieces": 1}, "max_batch_pieces must be at least 16"),
    ],
)
def test_setting_without_such_a_value_is_refused(bert, blank_nlp, setting, message):
    with pytest.raises(ValueError, match=message):
        blank_nlp(bert, model=setting)


@pytest.mark.parametrize(
    "config, message",
    [
        ({"treshold": 0.5}, "treshold"),
        ({"model": {"nam": "x"}}, "nam"),
        ({"threshold": "much"}, "threshold"),
        ({"model": {"window": "wide"}}, "window"),
        ({"model": {"transformer_config": 3}}, "transformer_config"),
    ],
)
def test_unknown_or_ill_typed_config_key_is_named(config, message):
    with pytest.raises(ConfigValidationError, match=message):
        spacy.blank("en").add_pipe(NAME, config=config)


def test_settings_of_the_config_reach_the_component(bert, blank_nlp):
    nlp = blank_nlp(bert, threshold=0.3, label_bias=1.5, overwrite=False)
    assert nlp.get_pipe(NAME).cfg["threshold"] == 0.3
    assert nlp.get_pipe(NAME).cfg["label_bias"] == 1.5
    assert nlp.get_pipe(NAME).cfg["overwrite"] is False


@pytest.mark.parametrize("overwrite", [True, False])
def test_blocked_words_stay_blocked(trained, pipe, overwrite):
    pipe.cfg["overwrite"] = overwrite
    for blocked, expected in ((1, ["Berlin"]), (4, ["Anna Smith"]), (2, None)):
        doc = trained.make_doc(TEXT)
        doc.set_ents([], blocked=[doc[blocked : blocked + 1]], default="missing")
        pipe(doc)
        expected = expected or ["Anna Smith", "Berlin"]
        assert [ent.text for ent in doc.ents] == expected
        assert (doc[blocked].ent_iob_, doc[blocked].ent_type_) == ("B", "")
