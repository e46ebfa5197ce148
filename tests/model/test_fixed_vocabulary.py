"""Word embeddings and output matrix stay as they are where classes start from their
names."""

import pytest
import spacy
import torch

import spacy_entlm
from spacy_entlm.model import network as network_module
from spacy_entlm.training.adam import build_adam

NAME = "entlm_ner"
FIXED = {"train_vocabulary": False}


def network_of(nlp):
    return nlp.get_pipe(NAME).network


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
    assert {f"rows.{i}" for i in range(3)} <= changed
    assert any("attention" in name or "attn" in name for name in changed)
    # The optimizer holds nothing of it, either.
    names = {name for _, name in optimizer.mom1}
    assert changed <= names <= others.keys()


def test_the_map_from_names_never_learns(start_nlp, naming, make_examples):
    nlp = start_nlp(naming, model={"train_vocabulary": True})
    name_map = network_of(nlp).name_map
    before = [parameter.clone() for parameter in name_map.parameters()]
    optimizer = learn(nlp, make_examples)
    assert same(name_map.parameters(), before)
    assert not any("name_map" in name for _, name in optimizer.mom1)


def test_the_vocabulary_learns_if_it_is_to(start_nlp, bert, make_examples):
    nlp = start_nlp(bert, model={"train_vocabulary": True})
    before = vocabulary_of(nlp)
    learn(nlp, make_examples)
    for old, new in zip(before, vocabulary_of(nlp)):
        assert not torch.equal(old, new)


def n_rivals(nlp, text="Anna left Rome ."):
    scores, _ = nlp.get_pipe(NAME).model.begin_update([nlp.make_doc(text)])
    return scores.n_rivals


def test_fixed_rows_are_sampled_and_others_not(
    start_nlp, bert, make_examples, monkeypatch
):
    """A vocabulary that learns is compared with as in the paper: all of it."""
    monkeypatch.setattr(network_module, "N_SAMPLED", 5)
    learning = start_nlp(bert, model={"train_vocabulary": True})
    assert n_rivals(learning) == len(network_of(learning).vocabulary)
    nlp = start_nlp(bert, model=FIXED)
    assert n_rivals(nlp) == 4 + 5  # its own pieces, each once
    assert n_rivals(nlp, "Anna left Rome . Anna left Rome .") == 4 + 5
    optimizer, losses = build_adam(1e-2), []
    for _ in range(20):
        losses.append(nlp.update(make_examples(nlp), sgd=optimizer)[NAME])
    assert losses[-1] < losses[0] / 2


def learns(nlp):
    network = network_of(nlp)
    embeddings = network.masked_lm.body.get_input_embeddings().weight
    assert embeddings.requires_grad == network.vocabulary.weight.requires_grad
    return embeddings.requires_grad


def test_it_learns_where_classes_start_from_words(start_nlp, bert):
    assert learns(start_nlp(bert))


def test_it_is_fixed_where_the_backbone_reads_names(start_nlp, naming):
    """Whatever texts classes start from, and unless the setting says otherwise."""
    for setting, expected in ((None, False), (True, True), (False, False)):
        assert (
            learns(start_nlp(naming, model={"train_vocabulary": setting})) is expected
        )


def test_new_classes_change_nothing_about_it(start_nlp, bert, naming):
    for folder, expected in ((bert, True), (naming, False)):
        nlp = start_nlp(folder)
        nlp.get_pipe(NAME).add_label("DRUG", ["red"])
        assert learns(nlp) is expected


@pytest.mark.parametrize("setting", [True, False])
def test_the_setting_comes_before_what_was_saved(start_nlp, bert, tmp_path, setting):
    start_nlp(bert, model={"train_vocabulary": not setting}).to_disk(tmp_path)
    path = f"components.{NAME}.model.train_vocabulary"
    assert learns(spacy.load(tmp_path, config={path: setting})) is setting
    assert learns(spacy.load(tmp_path, config={path: None})) is not setting


def test_it_is_saved_what_learns(start_nlp, bert, naming, tmp_path):
    for folder, expected in ((bert, True), (naming, False)):
        nlp = start_nlp(folder)
        nlp.to_disk(tmp_path / "pipeline")
        copy = start_nlp(bert).from_bytes(nlp.to_bytes())
        for loaded in (spacy.load(tmp_path / "pipeline"), copy):
            assert learns(loaded) is expected
    path = tmp_path / "pipeline" / NAME / "model" / "training.json"
    for broken in ("{", "[]", '{"train_vocabulary": 1}', '{"other": true}'):
        path.write_text(broken)
        with pytest.raises(ValueError, match=r"training\.json"):
            spacy.load(tmp_path / "pipeline")
    path.unlink()  # as in earlier versions
    assert learns(spacy.load(tmp_path / "pipeline"))


def test_what_is_fixed_stays_once_it_was_saved(
    start_nlp, bert, make_examples, tmp_path
):
    start_nlp(bert, model=FIXED).to_disk(tmp_path)
    nlp = spacy.load(tmp_path)
    before = vocabulary_of(nlp)
    learn(nlp, make_examples)
    assert same(vocabulary_of(nlp), before)


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
