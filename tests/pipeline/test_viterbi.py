"""A pipeline that decodes with transitions: saved, loaded, set otherwise."""

import json
from dataclasses import astuple

import pytest
import spacy
from spacy.util import load_model_from_config

from spacy_entlm.decoding.viterbi import ViterbiDecoder

NAME = "entlm_ner"
IO = {"@misc": "spacy-entlm.io_decoder.v1"}
VITERBI = {"@misc": "spacy-entlm.viterbi_decoder.v1"}


@pytest.fixture(scope="module")
def struct_folder(bert, blank_nlp, fit, tmp_path_factory):
    """A trained pipeline with the Viterbi decoder, saved."""
    nlp = blank_nlp(bert, decoder=VITERBI)
    fit(nlp)
    folder = tmp_path_factory.mktemp("struct")
    nlp.to_disk(folder)
    return folder


@pytest.fixture
def struct(struct_folder):
    """That pipeline, loaded."""
    return spacy.load(struct_folder)


def predictions(nlp, texts):
    return [
        [(ent.start, ent.end, ent.label_) for ent in doc.ents]
        + doc.spans[NAME].attrs["scores"].tolist()
        for doc in nlp.pipe(texts)
    ]


def test_finds_what_it_has_seen(struct, annotated, entities):
    for text, annotation in annotated:
        assert entities(struct(text)) == annotation["entities"]


def test_transitions_are_those_of_the_training_examples(struct, make_examples):
    counts = struct.get_pipe(NAME).decoder.counts
    words = sum(len(eg.reference) for eg in make_examples(struct))
    assert sum(astuple(counts)) == words
    assert counts.n_inside == sum(
        len(ent) for eg in make_examples(struct) for ent in eg.reference.ents
    )


def test_bytes_give_the_same(struct, texts):
    loaded = load_model_from_config(struct.config).from_bytes(struct.to_bytes())
    assert predictions(loaded, texts) == predictions(struct, texts)


def test_batches_do_not_change_what_is_found(struct, texts):
    alone = [predictions(struct, [text])[0] for text in texts]
    for one, many in zip(alone, predictions(struct, texts)):
        n_ents = len(one) // 2
        assert one[:n_ents] == many[:n_ents]
        assert one[n_ents:] == pytest.approx(many[n_ents:], abs=1e-4)


def test_settings_of_the_decoder_can_be_set_when_loading(struct_folder):
    settings = {f"components.{NAME}.decoder.tau": 0.9}
    decoder = spacy.load(struct_folder, config=settings).get_pipe(NAME).decoder
    assert decoder.tau == 0.9
    assert decoder.counts is not None


def test_pipeline_trained_without_transitions_says_what_is_missing(
    bert, blank_nlp, fit, make_examples, annotated, entities, tmp_path
):
    trained = blank_nlp(bert, decoder=IO)
    fit(trained)
    trained.to_disk(tmp_path / "io")
    nlp = spacy.load(tmp_path / "io", config={f"components.{NAME}.decoder": VITERBI})
    pipe = nlp.get_pipe(NAME)
    assert isinstance(pipe.decoder, ViterbiDecoder)
    with pytest.raises(ValueError, match="has counted no transitions"):
        nlp("John works")
    pipe.decoder.initialize(lambda: make_examples(nlp), pipe.labels)
    text, annotation = annotated[0]
    assert entities(nlp(text)) == annotation["entities"]


def test_transitions_are_read_when_the_pipeline_is_initialised(
    bert, blank_nlp, make_examples, tmp_path
):
    path = tmp_path / "annotated.jsonl"
    lines = [{"text": ["Ann", "ran"], "label": ["B-PER", "O"]}] * 3
    path.write_text("\n".join(json.dumps(line) for line in lines))
    nlp = blank_nlp(bert, decoder={**VITERBI, "transitions": str(path)})
    nlp.initialize(lambda: make_examples(nlp))
    assert nlp.get_pipe(NAME).decoder.counts.start_inside == 3
    # And not again when it is loaded elsewhere.
    nlp.to_disk(tmp_path / "model")
    path.unlink()
    decoder = spacy.load(tmp_path / "model").get_pipe(NAME).decoder
    assert decoder.counts.start_inside == 3


def test_sentences_of_the_pipeline_are_the_chains(struct, texts):
    """A sentencizer before the component: each sentence is decoded by itself."""
    alone = [predictions(struct, [text])[0] for text in texts[:2]]
    struct.add_pipe("sentencizer", first=True)
    (both,) = predictions(struct, [" ".join(texts[:2])])
    n_first, n_second = (len(each) // 2 for each in alone)
    labels = [label for *_, label in both[: n_first + n_second]]
    expected = [label for each in alone for *_, label in each[: len(each) // 2]]
    assert labels == expected


def test_long_text_is_decoded_in_blocks(struct, texts):
    """The same as sentence by sentence, but for what the model sees around a word."""
    doc = struct(" ".join(texts * 12))
    assert len(doc) > 600
    assert {ent.label_ for ent in doc.ents} == {"PER", "LOC", "ORG"}
