"""Word embeddings and output matrix stay as they are, unless they are to learn."""

import spacy
import torch

import spacy_entlm
from spacy_entlm.training.optimizer import build_adam

NAME = "entlm_ner"
FIXED = {"train_vocabulary": False}


def network_of(nlp):
    return nlp.get_pipe(NAME).label_model.network


def vocabulary_of(nlp):
    """Copies of what is read and said of each piece."""
    network = network_of(nlp)
    embeddings = network.masked_lm.body.get_input_embeddings().weight
    parts = [embeddings, network.vocabulary.weight, network.vocabulary.bias]
    return [part.detach().clone() for part in parts if part is not None]


def others_of(nlp):
    network = network_of(nlp)
    fixed = {id(p) for p in network.masked_lm.decoder.parameters()}
    fixed |= {id(network.masked_lm.body.get_input_embeddings().weight)}
    named = network.named_parameters()
    return {n: p.detach().clone() for n, p in named if id(p) not in fixed}


def same(one, other):
    return all(torch.equal(x, y) for x, y in zip(one, other, strict=True))


def learn(nlp, make_examples):
    optimizer = build_adam(1e-2)
    nlp.update(make_examples(nlp), sgd=optimizer)
    return optimizer


def test_all_but_the_vocabulary_learns(start_nlp, backbone, make_examples):
    nlp = start_nlp(backbone, model=FIXED)
    vocabulary, others = vocabulary_of(nlp), others_of(nlp)
    optimizer = learn(nlp, make_examples)
    assert same(vocabulary_of(nlp), vocabulary)
    changed = {n for n, p in others_of(nlp).items() if not torch.equal(p, others[n])}
    assert {f"head.rows.{i}" for i in range(3)} <= changed
    assert any("attention" in name or "attn" in name for name in changed)
    # The optimizer holds nothing of it, either.
    names = {name for _, name in optimizer.fused}
    assert changed <= names <= others.keys()


def test_the_vocabulary_learns_if_it_is_to(start_nlp, bert, make_examples):
    nlp = start_nlp(bert, model={"train_vocabulary": True})
    before = vocabulary_of(nlp)
    learn(nlp, make_examples)
    for old, new in zip(before, vocabulary_of(nlp)):
        assert not torch.equal(old, new)


def test_it_is_fixed_by_default(bert):
    nlp = spacy.blank("xx")
    nlp.add_pipe(NAME, config={"model": {"name": str(bert)}})
    assert nlp.config["components"][NAME]["model"]["train_vocabulary"] is False


def test_it_stays_fixed_once_it_was_saved(start_nlp, bert, make_examples, tmp_path):
    nlp = start_nlp(bert, model=FIXED)
    nlp.to_disk(tmp_path)
    copy = start_nlp(bert, model=FIXED).from_bytes(nlp.to_bytes())
    for loaded in (spacy.load(tmp_path), copy):
        before = vocabulary_of(loaded)
        learn(loaded, make_examples)
        assert same(vocabulary_of(loaded), before)


def test_rehearsal_and_new_classes_leave_it_alone(start_nlp, bert, make_examples):
    nlp = start_nlp(bert, model=FIXED)
    before = vocabulary_of(nlp)
    pipe = nlp.get_pipe(NAME)
    optimizer = nlp.resume_training()
    pipe.add_label("DRUG", ["aspirin"])
    learn(nlp, make_examples)
    assert nlp.rehearse(make_examples(nlp), sgd=optimizer)[NAME] > 0
    assert same(vocabulary_of(nlp), before)


def test_plain_text_teaches_it_all_the_same(start_nlp, bert, annotated, label_words):
    nlp = start_nlp(bert, model=FIXED)
    before = vocabulary_of(nlp)
    settings = {"label_words": label_words, "epochs": 1, "trainings": 1}
    texts = [text for text, _ in annotated]
    spacy_entlm.train(nlp, annotated, unlabeled=texts, **settings)
    assert not same(vocabulary_of(nlp), before)
    after = vocabulary_of(nlp)
    spacy_entlm.train(nlp, annotated, **settings)
    assert same(vocabulary_of(nlp), after)
