"""Docs in, entities with confidences out, nothing else."""

import copy
import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy
import pytest
import spacy
import torch
from spacy.tokens import Doc, Span, SpanGroup
from spacy.training import Example
from thinc.api import Adam

from spacy_entlm.decoding.io import IODecoder

NAME = "entlm_ner"


@pytest.fixture
def pipe(trained):
    return trained.get_pipe(NAME)


def scores_of(doc, key=NAME):
    return doc.spans[key].attrs["scores"]


def test_what_was_learned_is_found(trained, annotated, entities):
    found = [entities(trained(text)) for text, _ in annotated]
    assert found == [annotation["entities"] for _, annotation in annotated]


@pytest.mark.parametrize("batch_size", [1, 2, 3, 7, 100])
def test_pipe_gives_what_call_gives(trained, texts, entities, batch_size):
    # Texts of different lengths: padding must not matter.
    texts = [*texts, texts[0] * 9, "", "Anna", " ".join(texts)]
    one_by_one = [trained(text) for text in texts]
    piped = list(trained.pipe(texts, batch_size=batch_size))
    for single, batched in zip(one_by_one, piped):
        assert entities(batched) == entities(single)
        numpy.testing.assert_allclose(scores_of(batched), scores_of(single), atol=1e-4)


def test_long_texts_are_given_before_a_batch_is_full(trained, texts, monkeypatch):
    n_words = len(trained.make_doc(texts[0]))
    monkeypatch.setattr("spacy_entlm.pipeline.base.MAX_WORDS", 2 * n_words)
    taken = []

    def stream():
        for i in range(9):
            taken.append(i)
            yield trained.make_doc(texts[0])

    pipe = trained.get_pipe(NAME)
    docs = pipe.pipe(stream(), batch_size=100)
    next(docs)
    assert taken == [0, 1]
    assert len(list(docs)) == 8


@pytest.mark.parametrize("max_batch_pieces", [16, 64, 100_000])
def test_predictions_do_not_depend_on_the_batches_of_pieces(
    trained_folder, trained, texts, entities, max_batch_pieces
):
    model = {"max_batch_pieces": max_batch_pieces}
    config = {"components": {NAME: {"model": model}}}
    other = spacy.load(trained_folder, config=config)
    for ours, theirs in zip(trained.pipe(texts), other.pipe(texts)):
        assert entities(ours) == entities(theirs)
        numpy.testing.assert_allclose(scores_of(ours), scores_of(theirs), atol=1e-4)


def test_every_backbone_learns_and_predicts(
    trained_folder_of, annotated, entities, family
):
    nlp = spacy.load(trained_folder_of(family))
    for (_, annotation), doc in zip(annotated, nlp.pipe(text for text, _ in annotated)):
        assert entities(doc) == annotation["entities"]


def test_scores_are_float32_one_for_each_entity(trained, texts):
    for doc in trained.pipe(texts):
        group = doc.spans[NAME]
        assert isinstance(group, SpanGroup)
        assert list(group) == list(doc.ents)
        assert scores_of(doc).dtype == "float32"
        assert scores_of(doc).shape == (len(doc.ents),)
        assert ((scores_of(doc) > 0) & (scores_of(doc) <= 1)).all()


def test_confidence_is_the_probability_of_the_label_row(
    trained, pipe, texts, monkeypatch
):
    monkeypatch.setattr(pipe, "decoder", IODecoder())  # it looks at single words
    doc = trained.make_doc(texts[0])
    (found,) = pipe.predict([doc])
    scores = pipe.score_docs([doc])
    start, end, label = found.spans[0].tolist()
    assert set(scores.probs[start:end].argmax(1).tolist()) == {label}
    mean = float(numpy.mean(scores.probs[start:end, label]))
    assert found.confidences[0] == pytest.approx(mean, rel=1e-6)


def test_predict_leaves_the_doc_as_it_is(trained, pipe, texts):
    doc = trained.make_doc(texts[0])
    before = doc.to_bytes()
    pipe.predict([doc])
    assert doc.to_bytes() == before


def test_nothing_else_is_left_on_the_doc(trained, texts):
    doc = trained(texts[0])
    assert set(doc.spans) == {NAME}
    assert doc.user_data == {}
    assert len(doc.tensor) == 0
    assert doc.cats == {}
    for annotation in ("TAG", "LEMMA", "DEP", "SENT_START", "MORPH", "ENT_KB_ID"):
        assert not doc.has_annotation(annotation)
    untouched = trained.make_doc(texts[0])
    assert set(dir(doc._)) == set(dir(untouched._))


def test_every_word_is_marked_inside_or_outside(trained, texts):
    doc = trained(texts[0])
    assert all(token.ent_iob_ in ("B", "I", "O") for token in doc)
    assert trained(texts[8]).has_annotation("ENT_IOB")


def test_without_entities_there_is_an_empty_group(trained):
    doc = trained("The cat sleeps .")
    assert len(doc.ents) == 0
    assert len(doc.spans[NAME]) == 0
    assert scores_of(doc).shape == (0,)


def test_entity_spans_survive_serialisation(trained, texts):
    doc = trained(texts[0])
    copy = Doc(trained.vocab).from_bytes(doc.to_bytes())
    assert [ent.label_ for ent in copy.spans[NAME]] == ["PER", "LOC"]
    numpy.testing.assert_array_equal(scores_of(copy), scores_of(doc))


def test_white_space_is_no_entity(trained, pipe):
    pipe.cfg["label_bias"] = 1000.0
    doc = trained("  Anna \n\n Berlin \t\n ")
    assert [ent.text for ent in doc.ents] == ["Anna", "Berlin"]


def found_in(nlp, texts):
    return [
        (
            [(ent.start, ent.end, ent.label_) for ent in doc.ents],
            scores_of(doc).tolist(),
        )
        for doc in nlp.pipe(texts)
    ]


def test_prediction_in_inference_mode(trained, trained_folder, texts):
    expected = found_in(trained, texts)
    with torch.inference_mode():
        assert found_in(trained, texts) == expected
        loaded = spacy.load(trained_folder)
        assert found_in(loaded, texts) == expected
    assert found_in(loaded, texts) == expected


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_threads_that_predict_first_at_the_same_time(trained_folder, texts, precision):
    config = {"components": {NAME: {"model": {"precision": precision}}}}
    expected = found_in(spacy.load(trained_folder, config=config), texts)
    nlp = spacy.load(trained_folder, config=config)
    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(lambda _: found_in(nlp, texts), range(8)))
    assert all(result == expected for result in results)


def test_pipeline_that_has_predicted_can_be_copied_pickled_and_saved(
    trained, trained_folder, texts, tmp_path
):
    expected = found_in(trained, texts)
    pipe = trained.get_pipe(NAME)
    for model in (
        copy.deepcopy(pipe.model),
        pipe.model.copy(),
        pickle.loads(pickle.dumps(pipe.model)),
        pipe.model.from_bytes(pipe.model.to_bytes()),
    ):
        other = spacy.load(trained_folder)
        other.get_pipe(NAME).model = model
        assert found_in(other, texts) == expected
    trained.to_disk(tmp_path)
    assert found_in(spacy.load(tmp_path), texts) == expected
    weights = f"{NAME}/model/compact.safetensors"
    assert (tmp_path / weights).read_bytes() == (trained_folder / weights).read_bytes()


def test_training_after_a_prediction_is_seen_by_the_next(trained, texts):
    before = found_in(trained, texts)
    examples = [
        Example.from_dict(trained.make_doc(text), {"entities": []}) for text in texts
    ]
    optimizer = Adam(1e-2, L2=0.0, grad_clip=0.0)
    for _ in range(10):
        trained.update(examples, sgd=optimizer)
    after = found_in(trained, texts)
    assert sum(len(ents) for ents, _ in after) < sum(len(ents) for ents, _ in before)
    fresh = spacy.blank("xx")
    fresh.add_pipe(NAME).from_bytes(trained.get_pipe(NAME).to_bytes())
    assert found_in(fresh, texts) == after


def test_untrained_pipeline_says_what_is_missing(bert, blank_nlp):
    with pytest.raises(ValueError, match=r"entlm_ner.*initialize"):
        blank_nlp(bert)("Anna")


def test_component_declares_what_it_assigns(trained):
    meta = trained.get_pipe_meta(NAME)
    assert set(meta.assigns) == {
        "doc.ents",
        "token.ent_iob",
        "token.ent_type",
        "doc.spans",
    }
    assert meta.default_score_weights == {
        "ents_f": 1.0,
        "ents_p": 0.0,
        "ents_r": 0.0,
        "ents_per_type": None,
    }
    trained.analyze_pipes()


def test_pipeline_scores_itself(trained, make_examples):
    scores = trained.evaluate(make_examples(trained))
    assert scores["ents_f"] == 1.0
    assert set(scores["ents_per_type"]) == {"PER", "LOC", "ORG"}


def test_docs_of_one_batch_may_be_empty(trained, pipe):
    docs = [Doc(trained.vocab), trained.make_doc("Anna Smith lives in Berlin .")]
    found = pipe.predict(docs)
    assert len(found[0].spans) == 0
    assert len(found[1].spans) == 2
    assert pipe.predict([]) == []


def test_retokenised_words_get_a_prediction(trained):
    doc = trained.make_doc("Anna Smith lives in Berlin .")
    with doc.retokenize() as retokenizer:
        retokenizer.merge(doc[0:2])
    trained.get_pipe(NAME)(doc)
    assert [(ent.text, ent.label_) for ent in doc.ents] == [
        ("Anna Smith", "PER"),
        ("Berlin", "LOC"),
    ]


def test_entities_keep_their_label_in_docs_of_another_vocabulary(trained, texts):
    """The labels are spelled out in whichever vocabulary the Doc has."""
    doc = spacy.blank("xx").make_doc(texts[0])
    doc = trained.get_pipe(NAME)(doc)
    assert [ent.label_ for ent in doc.ents] == ["PER", "LOC"]
    assert isinstance(doc.ents[0], Span)


@pytest.mark.parametrize("lang", ["en", "de"])
def test_other_languages_learn_and_predict(
    bert, blank_nlp, fit, annotated, entities, lang
):
    nlp = blank_nlp(bert, lang=lang)
    fit(nlp)
    text, annotation = annotated[1]
    assert entities(nlp(text)) == annotation["entities"]
