"""Adding a class before and after training."""

import pytest
import spacy
import torch
from spacy.training import Example
from thinc.api import Adam

from spacy_entlm.label_words.words import LabelWordError

NAME = "entlm_ner"
TEXTS_WITH_COLOR = [
    ("Anna has a red house .", [(0, 4, "PER"), (11, 14, "COLOR")]),
    ("the green river in Rome", [(4, 9, "COLOR"), (19, 23, "LOC")]),
    ("she see a blue street", [(10, 14, "COLOR")]),
]


def label_logits(nlp, texts):
    """Scores of the label rows at every piece, one tensor a text."""
    network = nlp.get_pipe(NAME).network
    network.eval()
    logits = []
    with torch.no_grad():
        for text in texts:
            inputs = torch.tensor([network.tokenizer(text)["input_ids"]])
            features = network.masked_lm(inputs, torch.ones_like(inputs))[0]
            logits.append(network.label_rows.scores(features))
    return logits


def examples_of(nlp, data):
    return [
        Example.from_dict(nlp.make_doc(text), {"entities": entities})
        for text, entities in data
    ]


def test_label_added_before_training_is_a_class(bert, blank_nlp, make_examples):
    nlp = blank_nlp(bert)
    pipe = nlp.get_pipe(NAME)
    assert pipe.add_label("COLOR", ["red", "green"]) == 1
    assert pipe.add_label("SIZE") == 1
    assert pipe.labels == ("COLOR", "SIZE")
    nlp.config["initialize"]["components"][NAME] = {"label_words": {"SIZE": ["a"]}}
    nlp.initialize(lambda: make_examples(nlp))
    assert set(pipe.labels) == {"COLOR", "SIZE", "PER", "LOC", "ORG"}
    assert pipe.label_data["COLOR"] == ["red", "green"]


def test_label_that_is_there_already_is_not_added_again(trained):
    pipe = trained.get_pipe(NAME)
    before = pipe.label_data
    assert pipe.add_label("PER", ["Peter"]) == 0
    assert pipe.label_data == before
    assert len(pipe.network.rows) == len(before)


def test_added_label_leaves_the_scores_of_the_others_as_they_are(trained, texts):
    before = label_logits(trained, texts)
    pipe = trained.get_pipe(NAME)
    assert pipe.add_label("COLOR", ["red", "green"]) == 1
    assert pipe.labels == ("PER", "LOC", "ORG", "COLOR")
    for old, new in zip(before, label_logits(trained, texts)):
        assert new.shape == (len(old), 4)
        torch.testing.assert_close(new[:, :3], old)


def test_added_label_has_the_mean_of_its_words(trained):
    pipe = trained.get_pipe(NAME)
    pipe.add_label("COLOR", ["red", "green"])
    network = pipe.network
    ids = network.tokenizer.convert_tokens_to_ids(["red", "green"])
    expected = network.vocabulary.weight[ids].mean(0)
    torch.testing.assert_close(network.rows[3], expected)


def test_added_label_can_be_learned_and_predicted(trained, annotated, entities):
    trained.get_pipe(NAME).add_label("COLOR", ["red", "green"])
    optimizer = trained.resume_training(sgd=Adam(5e-3, L2=0.0))
    examples = examples_of(trained, TEXTS_WITH_COLOR)
    examples += [Example.from_dict(trained.make_doc(t), a) for t, a in annotated]
    for _ in range(40):
        trained.update(examples, sgd=optimizer)
    for text, expected in TEXTS_WITH_COLOR:
        assert entities(trained(text)) == expected
    for text, annotation in annotated:
        assert entities(trained(text)) == annotation["entities"]


def test_label_can_be_added_between_two_updates_of_one_optimizer(
    bert, start_nlp, make_examples
):
    """An optimizer that has seen the other rows takes the new one in."""
    nlp = start_nlp(bert)
    optimizer = Adam(1e-2, L2=0.0)
    nlp.update(make_examples(nlp), sgd=optimizer)
    nlp.get_pipe(NAME).add_label("COLOR", ["red"])
    row = nlp.get_pipe(NAME).network.rows[3].detach().clone()
    nlp.update(examples_of(nlp, TEXTS_WITH_COLOR), sgd=optimizer)
    assert not torch.equal(nlp.get_pipe(NAME).network.rows[3], row)


@pytest.mark.parametrize("words", [None, [], ["漢漢"]])
def test_label_without_a_usable_word_is_refused_on_a_trained_pipeline(trained, words):
    pipe = trained.get_pipe(NAME)
    with pytest.raises(LabelWordError, match="'COLOR'"):
        pipe.add_label("COLOR", words)
    assert pipe.labels == ("PER", "LOC", "ORG")
    assert len(pipe.network.rows) == 3
    assert len(trained("Anna Smith lives in Berlin .").ents) == 2


@pytest.mark.parametrize("label", [3, None, b"PER"])
def test_label_must_be_text(trained, label):
    with pytest.raises(ValueError, match="E187"):
        trained.get_pipe(NAME).add_label(label, ["red"])


def test_added_label_is_saved(trained, texts, tmp_path):
    trained.get_pipe(NAME).add_label("COLOR", ["red"])
    trained.to_disk(tmp_path)
    loaded = spacy.load(tmp_path)
    assert loaded.get_pipe(NAME).labels == ("PER", "LOC", "ORG", "COLOR")
    for ours, theirs in zip(label_logits(trained, texts), label_logits(loaded, texts)):
        torch.testing.assert_close(ours, theirs)


def test_rehearsal_does_not_hold_a_new_class_back(trained, texts):
    """The earlier model did not know the class: its row gets no gradient."""
    trained.resume_training()
    trained.get_pipe(NAME).add_label("COLOR", ["red"])
    row = trained.get_pipe(NAME).network.rows[3].detach().clone()
    raw = [Example(trained.make_doc(text), trained.make_doc(text)) for text in texts]
    trained.rehearse(raw, sgd=Adam(1e-2, L2=0.0))
    assert torch.equal(trained.get_pipe(NAME).network.rows[3], row)


def test_label_is_in_the_string_store(trained):
    trained.get_pipe(NAME).add_label("COLOR", ["red"])
    assert "COLOR" in trained.vocab.strings
