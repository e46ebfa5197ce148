"""The component `bert_tagger`: a new linear layer on the encoder."""

import shutil

import numpy
import pytest
import spacy
import srsly
import torch
import transformers
from spacy.tokens import Span
from spacy.training import Example
from spacy.util import load_model_from_config
from thinc.api import SGD, Adam, fix_random_seed

from spacy_entlm.backbones.errors import BackboneError
from spacy_entlm.backbones.suitable import learn_rate_for_width
from spacy_entlm.decoding.io import IODecoder
from spacy_entlm.decoding.viterbi import ViterbiDecoder
from spacy_entlm.files.errors import DataError
from spacy_entlm.pipeline.calibration import UNCHANGED, Calibration

NAME = "bert_tagger"
NO_DROPOUT = {
    "transformer_config": dict.fromkeys(
        ["hidden_dropout_prob", "attention_probs_dropout_prob"], 0.0
    )
}


@pytest.fixture
def start(bert, blank_peer, make_examples):
    """Makes an initialised, untrained pipeline without dropout."""

    def start_nlp(**config):
        fix_random_seed(0)
        nlp = blank_peer(NAME, bert, model=NO_DROPOUT, **config)
        nlp.initialize(lambda: make_examples(nlp))
        return nlp

    return start_nlp


@pytest.fixture(scope="module")
def fitted(bert, blank_peer, train_peer):
    """A trained pipeline: a test may not change it."""
    nlp = blank_peer(NAME, bert)
    train_peer(nlp)
    return nlp


def network_of(nlp):
    return nlp.get_pipe(NAME).network


def found(nlp, texts):
    return [
        [(ent.start_char, ent.end_char, ent.label_) for ent in doc.ents]
        + doc.spans[NAME].attrs["scores"].tolist()
        for doc in nlp.pipe(texts)
    ]


def test_learns_the_sentences_by_heart(fitted, annotated, entities):
    for text, annotation in annotated:
        assert entities(fitted(text)) == annotation["entities"]


def test_each_class_has_a_row(start):
    nlp = start()
    assert nlp.get_pipe(NAME).labels == ("PER", "LOC", "ORG")
    assert len(network_of(nlp).rows) == 3


def test_works_with_each_backbone(backbone, blank_peer, train_peer, texts):
    nlp = blank_peer(NAME, backbone)
    losses = train_peer(nlp, epochs=1)
    assert numpy.isfinite(losses[NAME])
    assert len(list(nlp.pipe(texts))) == len(texts)


def test_features_are_the_encoders_and_not_the_heads(start):
    network = network_of(start())
    ids = torch.tensor([network.tokenizer("John works")["input_ids"]])
    mask = torch.ones_like(ids)
    positions = torch.arange(ids.shape[1])
    network.eval()
    with torch.no_grad():
        encoder = network.masked_lm.body.bert(ids, mask).last_hidden_state[0]
        torch.testing.assert_close(network(ids, mask, positions), encoder)
        assert not torch.allclose(network.masked_lm(ids, mask)[0], encoder)


def test_probabilities_are_a_softmax_over_no_entity_and_the_tags(start):
    nlp = start()
    network, pipe = network_of(nlp), nlp.get_pipe(NAME)
    doc = nlp.make_doc("John works in Rome")
    scores = pipe.score_docs([doc])
    ids = torch.tensor([network.tokenizer(doc.text)["input_ids"]])
    weight = torch.cat([network.outside.weight, *(r[None] for r in network.rows)])
    bias = torch.cat([network.outside.bias, *network.biases])
    with torch.no_grad():
        features = network.masked_lm.body.bert(ids).last_hidden_state[0, 1:-1]
        expected = torch.softmax(features @ weight.T + bias, dim=1).numpy()
    # Every word of this text is one piece.
    numpy.testing.assert_allclose(scores.outside, expected[:, 0], rtol=1e-4)
    numpy.testing.assert_allclose(scores.probs, expected[:, 1:], rtol=1e-4)


def test_first_pieces_alone_carry_loss(start):
    """The plain cross-entropy of the first piece of each word."""
    nlp = start()
    network = network_of(nlp)
    text = "Anna johnmary ."
    assert len(network.tokenizer("johnmary")["input_ids"]) > 3
    encoding = network.tokenizer(text)
    doc = nlp.make_doc(text)
    doc.set_ents([Span(doc, 1, 2, "LOC")])
    words = encoding.word_ids()
    first = [words.index(word) for word in (0, 1, 2)]
    ids = torch.tensor([encoding["input_ids"]])
    with torch.no_grad():
        features = network.masked_lm.body.bert(ids).last_hidden_state[0, first]
        none, tags = network.outside(features), network.label_rows.scores(features)
        scores = torch.cat([none, tags], 1)
        expected = torch.nn.functional.cross_entropy(scores, torch.tensor([0, 2, 0]))
    loss = nlp.update([Example(nlp.make_doc(text), doc)], sgd=False)[NAME]
    assert loss == pytest.approx(float(expected), rel=1e-4)


def test_trains_as_transformers_token_classification_does(
    bert, blank_peer, make_examples
):
    """The same rows, plain gradient descent: the same losses, step by step."""
    fix_random_seed(0)
    nlp = blank_peer(NAME, bert, model=NO_DROPOUT)
    examples = make_examples(nlp)
    nlp.initialize(lambda: examples)
    network = network_of(nlp)
    peer = transformers.AutoModelForTokenClassification.from_pretrained(
        bert, num_labels=4, **NO_DROPOUT["transformer_config"]
    )
    rows = [network.outside.weight, *(row[None] for row in network.rows)]
    peer.classifier.weight.data = torch.cat(rows).detach().clone()
    peer.train()
    optimizer = torch.optim.SGD(peer.parameters(), lr=0.1)
    labels = ["", *nlp.get_pipe(NAME).labels]
    for step in range(6):
        batch = examples[3 * (step % 3) : 3 * (step % 3) + 3]
        encoded = network.tokenizer(
            [eg.text for eg in batch], return_tensors="pt", padding=True
        )
        # Every word of these texts is one piece.
        targets = torch.full(encoded["input_ids"].shape, -100)
        for i, eg in enumerate(batch):
            tags = [labels.index(token.ent_type_) for token in eg.reference]
            targets[i, 1 : len(tags) + 1] = torch.tensor(tags)
        expected = peer(**encoded, labels=targets).loss
        expected.backward()
        torch.nn.utils.clip_grad_norm_(peer.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        loss = nlp.update(batch, sgd=SGD(0.1, L2=0.0, grad_clip=0.0))[NAME]
        assert loss == pytest.approx(float(expected.detach()), rel=1e-4)


def test_missing_annotation_carries_no_loss(start):
    nlp = start()
    blank = nlp.make_doc("John works")
    assert nlp.update([Example(nlp.make_doc(blank.text), blank)], sgd=False)[NAME] == 0


def test_head_of_the_masked_lm_is_left_alone(start, make_examples):
    nlp = start()
    network = network_of(nlp)
    before = {k: v.clone() for k, v in network.state_dict().items()}
    nlp.update(make_examples(nlp), sgd=Adam(1e-2, L2=0.0, grad_clip=0.0))
    changed = {k for k, v in network.state_dict().items() if not v.equal(before[k])}
    assert {"outside.weight", "rows.0", "biases.2"} <= changed
    assert any("encoder" in key for key in changed)
    assert not any("cls.predictions.transform" in key for key in changed)


def test_pipeline_from_disk_and_bytes_predicts_the_same(fitted, texts, tmp_path):
    expected = found(fitted, texts)
    fitted.to_disk(tmp_path)
    assert found(spacy.load(tmp_path), texts) == expected
    loaded = load_model_from_config(fitted.config).from_bytes(fitted.to_bytes())
    assert found(loaded, texts) == expected
    assert loaded.get_pipe(NAME).labels == fitted.get_pipe(NAME).labels
    for path in (tmp_path / NAME).rglob("*"):
        assert path.is_dir() or path.suffix in (".json", ".safetensors", ".txt", "")


def test_pipeline_that_was_never_initialised_is_saved_and_loaded(
    bert, blank_peer, tmp_path
):
    nlp = blank_peer(NAME, bert)
    nlp.get_pipe(NAME).add_label("PER")
    nlp.to_disk(tmp_path)
    loaded = spacy.load(tmp_path)
    assert loaded.get_pipe(NAME).labels == ("PER",)
    with pytest.raises(ValueError, match="E109"):
        loaded("John")


def test_files_that_do_not_fit_each_other_are_refused(start, tmp_path):
    start().to_disk(tmp_path)
    path = tmp_path / NAME / "model" / "tags.json"
    path.write_text('["PER"]')
    with pytest.raises(DataError, match="does not fit the model"):
        spacy.load(tmp_path)
    path.unlink()
    with pytest.raises(BackboneError, match="Cannot read the tags"):
        spacy.load(tmp_path)


def test_added_label_is_learned_and_the_others_stay(start, make_examples):
    nlp = start()
    pipe = nlp.get_pipe(NAME)
    optimizer = Adam(1e-2, L2=0.0, grad_clip=0.0)
    nlp.update(make_examples(nlp), sgd=optimizer)
    scores = pipe.score_docs([nlp.make_doc("John works")])
    assert (pipe.add_label("DRUG"), pipe.add_label("DRUG")) == (1, 0)
    again = pipe.score_docs([nlp.make_doc("John works")])
    ratio = again.probs[:, :3] / scores.probs
    numpy.testing.assert_allclose(ratio, ratio[:, :1].repeat(3, axis=1), rtol=1e-4)
    nlp.update(make_examples(nlp), sgd=optimizer)
    assert pipe.labels == ("PER", "LOC", "ORG", "DRUG")


def test_labels_can_be_given(bert, blank_peer, make_examples):
    nlp = blank_peer(NAME, bert)
    pipe = nlp.get_pipe(NAME)
    pipe.initialize(lambda: make_examples(nlp), labels=["ORG", "LOC", "PER"])
    assert pipe.label_data == ["ORG", "LOC", "PER"]


def test_label_that_is_none_of_the_classes_is_named(start):
    nlp = start()
    doc = nlp.make_doc("John works")
    doc.set_ents([Span(doc, 0, 1, "DRUG")])
    with pytest.raises(ValueError, match="'DRUG'"):
        nlp.update([Example(nlp.make_doc(doc.text), doc)])


def test_examples_without_entities_are_refused(bert, blank_peer):
    nlp = blank_peer(NAME, bert)
    doc = nlp.make_doc("John works")
    example = Example(doc, doc.copy())
    with pytest.raises(ValueError, match="There is no class to learn"):
        nlp.initialize(lambda: [example])


def test_viterbi_decoder_without_weight_finds_the_same(start, make_examples, texts):
    """White space aside, and but for the confidences."""
    viterbi = {"@misc": "spacy-entlm.viterbi_decoder.v1", "tau": 0.0}
    nlp = start(decoder=viterbi)
    pipe = nlp.get_pipe(NAME)
    assert isinstance(pipe.decoder, ViterbiDecoder)
    nlp.update(make_examples(nlp), sgd=Adam(1e-2, L2=0.0, grad_clip=0.0))
    by_path = found(nlp, texts)
    pipe.decoder = IODecoder()
    for ours, theirs in zip(by_path, found(nlp, texts)):
        n_ents = len(ours) // 2
        assert ours[:n_ents] == theirs[:n_ents]
        numpy.testing.assert_allclose(ours[n_ents:], theirs[n_ents:], atol=1e-3)


def test_settings_of_the_config_take_effect(fitted, tmp_path):
    fitted.to_disk(tmp_path)
    text = "Anna Smith lives in Berlin ."
    strict = spacy.load(tmp_path, config={f"components.{NAME}.threshold": 1.0})
    assert (len(strict(text).ents), len(fitted(text).ents)) == (0, 2)


def test_long_text_is_read_in_windows(fitted, texts):
    """More pieces than the backbone takes."""
    text = " ".join(texts * 5)
    expected = {ent.text for text in texts for ent in fitted(text).ents}
    assert {ent.text for ent in fitted(text).ents} & expected


def test_confidences_of_a_new_start_are_not_calibrated(bert, blank_peer, make_examples):
    nlp = blank_peer("bert_tagger", bert)
    pipe = nlp.get_pipe("bert_tagger")
    pipe.calibration = Calibration(0.5, -3.0)
    nlp.initialize(lambda: make_examples(nlp))
    assert pipe.calibration == UNCHANGED


def test_its_rate_is_not_that_of_rows_that_begin_by_a_name(
    knowing, tmp_path, blank_peer, make_examples
):
    # They are near to where they have to go, and rows of a tagger are new.
    backbone = shutil.copytree(knowing, tmp_path / "bert")
    srsly.write_json(backbone / "pretrain.json", {"learn_rate": 1e-5})
    tagger = blank_peer(NAME, backbone)
    tagger.initialize(lambda: make_examples(tagger))
    rate = tagger.get_pipe(NAME).learn_rate
    assert rate == learn_rate_for_width(network_of(tagger).width) > 1e-4
    config = {"labels": ["PER"], "model": {"name": str(backbone)}}
    pipe = spacy.blank("xx").add_pipe("entlm_ner", config=config)
    pipe.begin()
    assert pipe.learn_rate == 1e-5
