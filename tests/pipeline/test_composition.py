"""Several components in one pipeline, and components from other pipelines."""

import pytest
import spacy
import torch
from spacy.tokens import Doc, Span, SpanGroup
from spacy.training import Example
from thinc.api import Adam

from spacy_entlm.pipeline.confidence import confidence, found_spans, scored_entities

NAME = "entlm_ner"
TEXT = "Anna Smith lives in Berlin ."
FOUND = [(0, 10, "PER"), (20, 26, "LOC")]


def weights_of(nlp, name):
    state = nlp.get_pipe(name).network.state_dict()
    return {key: value.clone() for key, value in state.items()}


def unchanged(before, after):
    return all(torch.equal(before[key], after[key]) for key in before)


@pytest.fixture
def two(bert, blank_nlp, make_examples):
    """A pipeline with two untrained components."""
    nlp = blank_nlp(bert, name="first")
    config = {"model": {"name": str(bert)}, "overwrite": False}
    nlp.add_pipe(NAME, name="second", config=config)
    nlp.initialize(lambda: make_examples(nlp))
    return nlp


def test_training_one_component_does_not_change_the_other(two, make_examples):
    first, second = (weights_of(two, name) for name in ("first", "second"))
    with two.select_pipes(enable="first"):
        two.update(make_examples(two), sgd=Adam(1e-2))
    assert not unchanged(first, weights_of(two, "first"))
    assert unchanged(second, weights_of(two, "second"))


def test_two_components_learn_side_by_side(two, make_examples):
    optimizer = Adam(1e-2, L2=0.0)
    losses = [two.update(make_examples(two), sgd=optimizer) for _ in range(30)]
    for name in ("first", "second"):
        assert losses[-1][name] < losses[0][name] / 2
    doc = two(TEXT)
    assert set(doc.spans) == {"first", "second"}
    # The second fills gaps of doc.ents only, and its group has all that it found.
    assert len(doc.spans["first"]) == len(doc.ents) == 2
    assert len(doc.spans["second"]) == 2


def test_two_components_are_saved_side_by_side(two, tmp_path):
    two.to_disk(tmp_path)
    loaded = spacy.load(tmp_path)
    for name in ("first", "second"):
        assert unchanged(weights_of(two, name), weights_of(loaded, name))


def test_component_sourced_into_another_pipeline(trained, texts, entities):
    nlp = spacy.blank("xx")
    nlp.add_pipe("sentencizer")
    nlp.add_pipe(NAME, source=trained)
    expected = [entities(doc) for doc in trained.pipe(texts)]
    assert [entities(doc) for doc in nlp.pipe(texts)] == expected


def test_sourced_component_is_saved_with_its_new_pipeline(trained, entities, tmp_path):
    nlp = spacy.blank("xx")
    nlp.add_pipe(NAME, source=trained)
    nlp.to_disk(tmp_path)
    assert entities(spacy.load(tmp_path)(TEXT)) == FOUND


def test_component_sourced_by_the_config(trained_folder, entities, tmp_path):
    config = {
        "nlp": {"lang": "xx", "pipeline": ["mine"]},
        "components": {"mine": {"source": str(trained_folder), "component": NAME}},
    }
    nlp = spacy.util.load_model_from_config(config, auto_fill=True)
    assert entities(nlp(TEXT)) == FOUND
    nlp.to_disk(tmp_path)
    assert entities(spacy.load(tmp_path)(TEXT)) == FOUND


def test_sourced_component_writes_its_group_under_its_new_name(trained, tmp_path):
    nlp = spacy.blank("xx")
    nlp.add_pipe(NAME, source=trained, name="people")
    assert set(nlp(TEXT).spans) == {"people"}
    nlp.to_disk(tmp_path)
    assert set(spacy.load(tmp_path)(TEXT).spans) == {"people"}


def test_two_sourced_components_do_not_share_a_group(trained_folder):
    nlp = spacy.load(trained_folder)
    nlp.add_pipe(NAME, source=spacy.load(trained_folder), name="other")
    assert set(nlp(TEXT).spans) == {NAME, "other"}


def test_sourced_component_can_get_a_new_class(trained, entities):
    nlp = spacy.blank("xx")
    nlp.add_pipe(NAME, source=trained)
    pipe = nlp.get_pipe(NAME)
    pipe.add_label("COLOR", ["red", "green"])
    pipe.cfg["label_bias"] = 1000.0
    assert all(ent.label_ in pipe.labels for ent in nlp("a red house").ents)
    example = Example.from_dict(nlp.make_doc("red"), {"entities": [(0, 3, "COLOR")]})
    optimizer = Adam(1e-2, L2=0.0)
    for _ in range(10):
        nlp.update([example], sgd=optimizer)
    assert entities(nlp("red")) == [(0, 3, "COLOR")]


def test_frozen_component_does_not_change(trained, make_examples):
    before = weights_of(trained, NAME)
    trained.update(make_examples(trained), sgd=Adam(1e-2), exclude=[NAME])
    assert unchanged(before, weights_of(trained, NAME))


def test_component_can_be_switched_off(trained):
    with trained.select_pipes(disable=NAME):
        assert not trained(TEXT).ents
    assert trained(TEXT).ents


def test_sentences_of_an_annotating_component_are_read_together(
    bert, blank_nlp, make_examples
):
    getter = {"@span_getters": "spacy-transformers.sent_spans.v1"}
    nlp = blank_nlp(bert, model={"get_spans": getter})
    nlp.add_pipe("sentencizer", first=True)
    nlp.initialize(lambda: make_examples(nlp))
    optimizer = Adam(1e-2, L2=0.0)
    for _ in range(30):
        losses = nlp.update(
            make_examples(nlp), sgd=optimizer, annotates=["sentencizer"]
        )
    assert losses[NAME] < 1.0
    doc = nlp("Anna Smith lives in Berlin . The cat sleeps .")
    assert [ent.text for ent in doc.ents] == ["Anna Smith", "Berlin"]


def test_sentences_that_nobody_set_are_asked_for(bert, blank_nlp, make_examples):
    getter = {"@span_getters": "spacy-transformers.sent_spans.v1"}
    nlp = blank_nlp(bert, model={"get_spans": getter})
    nlp.initialize(lambda: make_examples(nlp))
    with pytest.raises(ValueError, match="E030"):
        nlp("Anna Smith lives in Berlin .")


def test_confidences_stay_where_a_later_component_merges_words(trained):
    with trained.select_pipes(enable=[NAME]):
        known = scored_entities(trained(TEXT))
        trained.add_pipe("merge_entities")
        try:
            doc = trained(TEXT)
        finally:
            trained.remove_pipe("merge_entities")
    assert doc[0].text == "Anna Smith"
    assert scored_entities(doc) == known
    assert [confidence(ent) for ent in doc.ents] == pytest.approx(
        [span["score"] for span in known], abs=1e-4
    )
    again = Doc(trained.vocab).from_bytes(doc.to_bytes())
    assert scored_entities(again) == known
    again.ents = []
    assert [span.text for span in found_spans(again)] == ["Anna Smith", "Berlin"]


def test_a_group_that_was_changed_by_hand_is_what_it_holds(trained):
    with trained.select_pipes(enable=[NAME]):
        doc = trained(TEXT)
    group, doc.ents = doc.spans[NAME], []
    first, second = group
    doc.spans[NAME] = SpanGroup(doc, spans=[second], attrs={**group.attrs})
    assert found_spans(doc) == [second]
    renamed = Span(doc, first.start, first.end, label="PERSON")
    doc.spans[NAME] = SpanGroup(doc, spans=[renamed, second], attrs={**group.attrs})
    assert found_spans(doc) == [renamed, second]
