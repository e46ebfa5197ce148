"""Pipelines whose word embeddings stay packed give what those give that unpack them,
in prediction, in training and in their files; what wants all of them unpacks them."""

import pickle
from copy import deepcopy
from functools import partial

import numpy
import pytest
import spacy
import torch
from safetensors.numpy import load_file
from spacy.training import Example
from thinc.api import fix_random_seed

import spacy_entlm
from spacy_entlm.backbones import compact
from spacy_entlm.backbones.compact import COMPACT_FILE
from spacy_entlm.backbones.loading import load_masked_lm
from spacy_entlm.evaluation.label_words.page import pipeline_page
from spacy_entlm.model import network as network_module
from spacy_entlm.model.search_reader import TextReader
from spacy_entlm.training import adaptation
from spacy_entlm.training.adam import build_adam
from spacy_entlm.training.weights import mix

NAME = "entlm_ner"
EMBEDDINGS = "bert.embeddings.word_embeddings.weight"
FREE = {"train_vocabulary": True}


@pytest.fixture(autouse=True)
def small_matrices_are_packed(monkeypatch):
    """Those of tiny models are too small to be looked at."""
    monkeypatch.setattr(compact, "MIN_VALUES", 1)


@pytest.fixture
def unpacking(monkeypatch):
    """Until it is called networks stay packed; from then on they are unpacked as they
    are loaded."""

    def unpack(name, packed=False, **settings):
        return load_masked_lm(name, **settings)

    return partial(monkeypatch.setattr, network_module, "load_masked_lm", unpack)


def lm_of(nlp):
    return nlp.get_pipe(NAME).network.masked_lm


def scores_of(nlp, texts):
    found = nlp.get_pipe(NAME).model.predict([nlp.make_doc(text) for text in texts])
    return found.probs.tobytes(), found.outside.tobytes()


def found_in(nlp, texts):
    docs = nlp.pipe(texts)
    return [
        [(e.start, e.end, e.label_, spacy_entlm.confidence(e)) for e in d.ents]
        for d in docs
    ]


def files_of(folder):
    paths = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in paths}


def stored_of(folder):
    return load_file(folder / NAME / "model" / COMPACT_FILE)


@pytest.fixture
def both(unpacking):
    """What a function gives with networks that stay packed, and with others."""

    def run(make):
        fix_random_seed(0)
        packed = make()
        unpacking()
        fix_random_seed(0)
        return packed, make()

    return run


@pytest.fixture
def trained_packed(packed_bert, blank_nlp, fit, tmp_path):
    """The folder of a pipeline that was trained, and whose vocabulary was not."""
    nlp = blank_nlp(packed_bert)
    fit(nlp, epochs=3)
    nlp.to_disk(tmp_path / "trained")
    return tmp_path / "trained"


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_predictions_are_the_same(trained_packed, texts, both, precision):
    config = {f"components.{NAME}.model.precision": precision}

    def predict():
        nlp = spacy.load(trained_packed, config=config)
        return lm_of(nlp).is_packed, scores_of(nlp, texts), found_in(nlp, texts)

    packed, plain = both(predict)
    assert (packed[0], plain[0]) == (True, False)
    assert packed[1:] == plain[1:]
    assert any(packed[2])


@pytest.mark.parametrize("settings", [{}, {"trainings": 2}])
def test_trainings_and_their_files_are_the_same(
    packed_bert, blank_nlp, fit, both, tmp_path, settings
):
    def train():
        nlp = blank_nlp(packed_bert)
        history = fit(nlp, epochs=3, seed=4, **settings)
        folder = tmp_path / str(lm_of(nlp).is_packed)
        nlp.to_disk(folder)
        return history, files_of(folder), nlp.to_bytes()

    packed, plain = both(train)
    assert packed == plain
    assert {path.name for path in tmp_path.iterdir()} == {"True", "False"}
    assert stored_of(tmp_path / "True")[EMBEDDINGS + ".q4"].dtype == "uint8"


def test_averages_of_weights_take_the_place_of_those_that_learn(
    trained_packed, make_examples, both, texts
):
    def train():
        nlp = spacy.load(trained_packed)
        optimizer = build_adam(1e-2, use_averages=True)
        examples = make_examples(nlp)
        for _ in range(3):
            nlp.update(examples, sgd=optimizer)
        with nlp.use_params(optimizer.averages):
            averaged = scores_of(nlp, texts)
        return averaged, scores_of(nlp, texts)

    packed, plain = both(train)
    assert packed == plain and packed[0] != packed[1]


def test_rehearsals_and_new_classes_are_the_same(
    trained_packed, make_examples, both, texts
):
    def go_on():
        nlp = spacy.load(trained_packed)
        optimizer = nlp.resume_training()
        nlp.get_pipe(NAME).add_label("city")
        nlp.rehearse(make_examples(nlp), sgd=optimizer)
        nlp.update(make_examples(nlp), sgd=optimizer)
        return scores_of(nlp, texts)

    packed, plain = both(go_on)
    assert packed == plain


def test_plain_text_changes_the_words_too(
    trained_packed, packed_bert, blank_nlp, fit, both, tmp_path
):
    """A backbone that guesses hidden pieces is unpacked before; in a pipeline that goes
    on, and in a new one that is trained several times."""
    plain_text = ["Mary left Rome .", "Anna met Peter in Paris ."]

    def adapt(make, **settings):
        nlp = make()
        fit(nlp, epochs=1, seed=5, unlabeled=plain_text, **settings)
        assert not lm_of(nlp).is_packed
        folder = tmp_path / "adapted"
        nlp.to_disk(folder)
        assert EMBEDDINGS in stored_of(folder)
        return files_of(folder)

    def adapt_both():
        one = adapt(partial(spacy.load, trained_packed), trainings=1)
        return one, adapt(partial(blank_nlp, packed_bert), trainings=2)

    packed, plain = both(adapt_both)
    assert packed == plain


def test_a_reading_that_fails_leaves_what_was(trained_packed, fit, monkeypatch, texts):
    nlp = spacy.load(trained_packed)
    before = scores_of(nlp, texts)

    def fail(masked_lm, texts, seed):
        masked_lm.decoder.weight.data += 1
        raise KeyboardInterrupt

    monkeypatch.setattr(adaptation, "guess_hidden", fail)
    with pytest.raises(KeyboardInterrupt):
        fit(nlp, unlabeled=texts)
    assert scores_of(nlp, texts) == before


@pytest.mark.parametrize("packed_first", [True, False])
def test_means_of_one_that_has_learned_and_one_that_has_not(packed_bert, packed_first):
    packed = load_masked_lm(packed_bert, packed=True)
    other = load_masked_lm(packed_bert)
    weight = other.decoder.weight.detach().clone()
    other.decoder.weight.data += 1
    network = packed if packed_first else other
    mix(network, other if packed_first else packed, 0.5)
    torch.testing.assert_close(network.decoder.weight.detach(), weight + 0.5)


@pytest.mark.parametrize("is_new", [True, False])
def test_a_vocabulary_that_is_to_learn_is_unpacked(
    packed_bert, trained_packed, start_nlp, make_examples, is_new, tmp_path
):
    if is_new:
        nlp = start_nlp(packed_bert, model=FREE)
    else:
        config = {f"components.{NAME}.model.train_vocabulary": True}
        nlp = spacy.load(trained_packed, config=config)
    masked_lm = lm_of(nlp)
    assert not masked_lm.is_packed and masked_lm.decoder.bias.requires_grad
    weight = masked_lm.decoder.weight
    assert weight is masked_lm.body.get_input_embeddings().weight
    before = weight.detach().clone()
    nlp.update(make_examples(nlp), sgd=build_adam(1e-2))
    assert not torch.equal(weight, before)
    nlp.to_disk(tmp_path / "new")
    loaded = spacy.load(tmp_path / "new")
    assert (
        not lm_of(loaded).is_packed and loaded.get_pipe(NAME).network.learns_vocabulary
    )


def test_unpacked_by_the_way_it_computes_the_same(trained_packed, texts):
    nlp = spacy.load(trained_packed)
    network = nlp.get_pipe(NAME).network
    expected = scores_of(nlp, texts)
    network.train_vocabulary(False)
    assert network.masked_lm.is_packed
    network.train_vocabulary(True)
    network.train_vocabulary(False)
    assert not network.learns_vocabulary and scores_of(nlp, texts) == expected


def test_where_all_pieces_are_rivals_the_vocabulary_is_unpacked(
    trained_packed, texts, both
):
    config = {f"components.{NAME}.model.rivals": "vocabulary"}

    def predict():
        nlp = spacy.load(trained_packed, config=config)
        return lm_of(nlp).is_packed, scores_of(nlp, texts)

    packed, plain = both(predict)
    assert packed == plain and not packed[0]


def test_rivals_of_a_packed_vocabulary_are_the_same(trained_packed):
    """Where they are set later, too."""
    network = spacy.load(trained_packed).get_pipe(NAME).network
    network.rival_kind = "vocabulary"
    features = torch.randn(5, network.width)
    found = network.word_scores(features, numpy.arange(5))
    network.masked_lm.unpack()
    for one, other in zip(found, network.word_scores(features, numpy.arange(5))):
        assert torch.equal(one, other)


def test_peers_that_learn_all_are_unpacked(packed_bert, blank_nlp, make_examples):
    nlp = spacy.blank("xx")
    nlp.add_pipe("bert_tagger", config={"model": {"name": str(packed_bert)}})
    nlp.initialize(lambda: make_examples(nlp))
    network = nlp.get_pipe("bert_tagger").network
    assert network.learns_vocabulary and not network.masked_lm.is_packed


def test_copies_of_a_pipeline_find_the_same(trained_packed, texts):
    nlp = spacy.load(trained_packed)
    expected = found_in(nlp, texts)
    for copy in (
        pickle.loads(pickle.dumps(nlp)),
        spacy.load(trained_packed).from_bytes(nlp.to_bytes()),
    ):
        assert lm_of(copy).is_packed and found_in(copy, texts) == expected
    network = deepcopy(nlp.get_pipe(NAME).network)
    assert network.masked_lm.is_packed
    docs = nlp.pipe(texts * 4, n_process=2, batch_size=3)
    assert [len(doc.ents) for doc in docs] == [len(ents) for ents in expected * 4]


def test_an_exported_pipeline_is_the_same(trained_packed, both, tmp_path):
    def export():
        nlp = spacy.load(trained_packed)
        folder = tmp_path / str(lm_of(nlp).is_packed)
        spacy_entlm.export(nlp, folder)
        return lm_of(nlp).is_packed, files_of(folder)

    packed, plain = both(export)
    assert (packed[0], plain[0]) == (True, False) and packed[1] == plain[1]


def test_pages_and_searches_see_all_words(trained_packed, packed_bert, both):
    def look():
        pipe = spacy.load(trained_packed).get_pipe(NAME)
        weight = pipe.network.vocabulary.weight.detach().numpy().tobytes()
        reader = TextReader(str(packed_bert))
        row = reader.network.row_of_name("city")[0].detach().numpy().tobytes()
        seen = reader.vocabulary.weight.numpy().tobytes()
        assert not reader.network.masked_lm.is_packed
        return weight, row, seen, pipeline_page(pipe, "a pipeline")

    packed, plain = both(look)
    assert packed == plain


def test_one_text_is_learned_without_all_rows(trained_packed, monkeypatch):
    """Neither prediction nor training unpacks more than it wants."""
    nlp = spacy.load(trained_packed)
    rows = lm_of(nlp).decoder.weight
    monkeypatch.setattr(type(rows), "unpacked", lambda self: pytest.fail("all rows"))
    doc = nlp("Mary left Rome .")
    example = Example.from_dict(nlp.make_doc(doc.text), {"entities": [(0, 4, "PER")]})
    nlp.update([example], sgd=nlp.resume_training())
    nlp.get_pipe(NAME).add_label("city")
    nlp.to_bytes()
    assert lm_of(nlp).is_packed
