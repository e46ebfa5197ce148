"""The components `nnshot` and `structshot`: the nearest word of the support set."""

import numpy
import pytest
import spacy
import torch
from spacy.tokens import Doc
from spacy.training import Example
from spacy.util import load_model_from_config
from thinc.api import Adam, fix_random_seed

from spacy_entlm.decoding.io import IODecoder
from spacy_entlm.decoding.viterbi import ViterbiDecoder
from spacy_entlm.files.errors import DataError

FACTORIES = ["nnshot", "structshot"]
LABELS = ["PER", "LOC", "ORG"]


@pytest.fixture(scope="module", params=FACTORIES)
def fitted(request, bert, blank_peer, train_peer):
    """A trained pipeline of each factory: a test may not change it."""
    nlp = blank_peer(request.param, bert)
    train_peer(nlp)
    return nlp


@pytest.fixture
def started(bert, blank_peer, make_examples):
    """An initialised, untrained `nnshot`."""
    fix_random_seed(0)
    nlp = blank_peer("nnshot", bert)
    nlp.initialize(lambda: make_examples(nlp))
    return nlp


def pipe_of(nlp):
    return nlp.get_pipe(nlp.pipe_names[-1])


def network_of(nlp):
    return pipe_of(nlp).network


def found(nlp, texts):
    key = nlp.pipe_names[-1]
    return [
        [(ent.start_char, ent.end_char, ent.label_) for ent in doc.ents]
        + doc.spans[key].attrs["scores"].tolist()
        for doc in nlp.pipe(texts)
    ]


def step(nlp, examples):
    nlp.update(examples, sgd=Adam(1e-2, L2=0.0, grad_clip=0.0))


def test_finds_the_entities_of_its_own_support_set(fitted, annotated, entities):
    for text, annotation in annotated:
        assert entities(fitted(text)) == annotation["entities"]


def test_each_factory_has_its_decoder(bert, blank_peer):
    kinds = [type(pipe_of(blank_peer(name, bert)).decoder) for name in FACTORIES]
    assert kinds == [IODecoder, ViterbiDecoder]


def test_scores_are_distances_to_the_nearest_word_of_each_class(started, make_examples):
    """By hand: every word of the support set against every word of a text."""
    network = network_of(started)
    examples = make_examples(started)
    encoder = network.masked_lm.body.bert

    def features(text):
        encoding = network.tokenizer(text)
        words = encoding.word_ids()
        first = [words.index(i) for i in range(max(filter(None, words)) + 1)]
        ids = torch.tensor([encoding["input_ids"]])
        network.eval()
        with torch.no_grad():
            rows = encoder(ids).last_hidden_state[0, first].double()
        return rows / rows.norm(dim=1, keepdim=True)

    support = torch.cat([features(eg.text) for eg in examples])
    tags = [t.ent_type_ for eg in examples for t in eg.reference]
    text = "Mary sleeps in Acme Bank ."
    distances = ((features(text)[:, None] - support[None]) ** 2).sum(dim=2)
    nearest = [
        distances[:, [tag == label for tag in tags]].amin(dim=1)
        for label in ["", *LABELS]
    ]
    expected = torch.softmax(-torch.stack(nearest, dim=1), dim=1).numpy()
    scores = pipe_of(started).score_docs([started.make_doc(text)])
    numpy.testing.assert_allclose(scores.outside, expected[:, 0], atol=1e-4)
    numpy.testing.assert_allclose(scores.probs, expected[:, 1:], atol=1e-4)


def test_class_without_a_support_word_is_never_found(bert, blank_peer, make_examples):
    nlp = blank_peer("nnshot", bert)
    pipe = pipe_of(nlp)
    pipe.initialize(lambda: make_examples(nlp), labels=[*LABELS, "DRUG"])
    scores = pipe.score_docs([nlp.make_doc("John works")])
    assert (scores.probs[:, 3] == 0).all()
    assert (scores.probs[:, :3] > 0).all()


def test_missing_annotation_is_no_part_of_the_support_set(started, make_examples):
    examples = make_examples(started)
    blank = started.make_doc("Nobody knows this .")
    examples.append(Example(started.make_doc(blank.text), blank))
    pipe_of(started).set_support(examples)
    started("John works")
    n_words = sum(len(eg.reference) for eg in examples) - len(blank)
    assert len(network_of(started).support_tags) == n_words


def test_support_set_is_read_anew_after_an_update(started, make_examples):
    network = network_of(started)
    assert not network.has_index
    started("John works")
    before = network.support_features.clone()
    step(started, make_examples(started))
    assert not network.has_index
    started("John works")
    assert not torch.allclose(network.support_features, before)


def test_gradients_that_add_up_do_not_change_it(started, make_examples):
    started("John works")
    pipe_of(started).update(make_examples(started), sgd=None)
    assert network_of(started).has_index


def test_pipeline_from_disk_and_bytes_predicts_the_same(fitted, texts, tmp_path):
    expected = found(fitted, texts)
    fitted.to_disk(tmp_path)
    assert found(spacy.load(tmp_path), texts) == expected
    loaded = load_model_from_config(fitted.config).from_bytes(fitted.to_bytes())
    assert found(loaded, texts) == expected


def test_index_is_saved_though_nothing_was_predicted(
    started, make_examples, texts, tmp_path
):
    step(started, make_examples(started))
    started.to_disk(tmp_path)
    saved = tmp_path / "nnshot" / "model" / "support.safetensors"
    size = saved.stat().st_size
    loaded = spacy.load(tmp_path)
    assert network_of(loaded).has_index
    assert found(loaded, texts) == found(started, texts)
    # The words' features, and no text.
    n_words, width = network_of(loaded).support_features.shape
    assert size < 4 * n_words * width + 8 * n_words + 1000


def test_loaded_pipeline_that_is_trained_on_asks_for_its_support_set(
    started, make_examples, tmp_path, caplog
):
    """Once; until it is given, the features of before the training serve."""
    started.to_disk(tmp_path)
    nlp = spacy.load(tmp_path)
    examples = make_examples(nlp)
    before = network_of(nlp).support_features.clone()
    for _ in range(2):
        step(nlp, examples)
        nlp("John works")
        assert torch.equal(network_of(nlp).support_features, before)
    told = [record for record in caplog.records if "rate" not in record.getMessage()]
    (record,) = told
    assert record.levelname == "WARNING"
    assert "set_support(examples)" in record.getMessage()
    pipe_of(nlp).set_support(examples)
    nlp("John works")
    assert network_of(nlp).has_index
    assert not torch.allclose(network_of(nlp).support_features, before)


def test_without_a_support_set_it_is_asked_for(
    bert, blank_peer, train_peer, make_examples
):
    """One that has a tagger's weights alone."""
    tagger = blank_peer("bert_tagger", bert)
    train_peer(tagger, epochs=0)
    nlp = blank_peer("nnshot", bert)
    pipe_of(nlp).from_bytes(pipe_of(tagger).to_bytes())
    with pytest.raises(ValueError, match=r"set_support\(examples\)"):
        nlp("John works")
    pipe_of(nlp).set_support(make_examples(nlp))
    assert nlp("John works").has_annotation("ENT_IOB")


def test_weights_of_a_tagger_are_taken_over(bert, blank_peer, train_peer, annotated):
    """One training for several methods, as a benchmark does."""
    tagger = blank_peer("bert_tagger", bert)
    train_peer(tagger)
    nlp = blank_peer("nnshot", bert)
    train_peer(nlp, epochs=0)
    nlp("John works")  # reads the support set with the first weights
    data = pipe_of(tagger).to_bytes(exclude=["decoder"])
    pipe_of(nlp).from_bytes(data, exclude=["decoder"])
    for ours, theirs in zip(
        network_of(nlp).parameters(), network_of(tagger).parameters()
    ):
        assert torch.equal(ours, theirs)
    for text, annotation in annotated:
        doc = nlp(text)
        ents = [(ent.start_char, ent.end_char, ent.label_) for ent in doc.ents]
        assert ents == annotation["entities"]


def test_broken_index_is_refused(started, tmp_path):
    started.to_disk(tmp_path)
    path = tmp_path / "nnshot" / "model" / "support.safetensors"
    path.write_bytes(b"nonsense")
    with pytest.raises(DataError, match="cannot be read"):
        spacy.load(tmp_path)


def test_pipeline_that_was_never_initialised_is_saved_and_loaded(
    bert, blank_peer, tmp_path
):
    nlp = blank_peer("structshot", bert)
    nlp.to_disk(tmp_path)
    with pytest.raises(ValueError, match="E109"):
        spacy.load(tmp_path)("John")


def test_examples_may_have_another_vocabulary(bert, blank_peer, make_examples):
    """One whose strings know the labels, which ours do not yet."""
    nlp = blank_peer("nnshot", bert)
    references = [eg.reference for eg in make_examples(spacy.blank("xx"))]
    examples = [Example(nlp.make_doc(doc.text), doc) for doc in references]
    nlp.initialize(lambda: examples)
    assert set(pipe_of(nlp).labels) == set(LABELS)
    assert nlp("John works").has_annotation("ENT_IOB")


def test_support_set_without_annotation_is_refused(started):
    doc = started.make_doc("John works")
    with pytest.raises(ValueError, match="No word of the support set"):
        pipe_of(started).set_support([Example(doc, doc.copy())])


def test_docs_of_the_caller_are_not_kept(started, make_examples):
    """Training may annotate them, which must not change the support set."""
    examples = make_examples(started)
    pipe_of(started).set_support(examples)
    kept, _ = pipe_of(started)._support
    assert all(copy is not eg.predicted for copy, eg in zip(kept, examples))
    assert [copy.text for copy in kept] == [eg.text for eg in examples]


def test_empty_docs_are_fine(fitted):
    assert [len(doc.ents) for doc in fitted.pipe([Doc(fitted.vocab), "", "  "])] == [
        0,
        0,
        0,
    ]


def test_bytes_hold_the_support_set(
    started, bert, blank_peer, annotated, make_examples
):
    texts = [text for text, _ in annotated]
    for change in (lambda: None, lambda: step(started, make_examples(started))):
        change()
        copy = blank_peer("nnshot", bert).from_bytes(started.to_bytes())
        assert found(copy, texts) == found(started, texts)


def test_what_is_loaded_forgets_the_support_set_of_before(
    started, bert, blank_peer, make_examples
):
    other = blank_peer("nnshot", bert)
    examples = [eg for eg in make_examples(other) if eg.reference.ents]
    for eg in examples:
        eg.reference.set_ents([e for e in eg.reference.ents if e.label_ == "PER"])
    other.initialize(lambda: examples)
    pipe_of(started).from_bytes(pipe_of(other).to_bytes())
    assert pipe_of(started).labels == ("PER",)
    step(started, examples)  # the index is that of the other one
    started("Anna Smith lives in Berlin.")
