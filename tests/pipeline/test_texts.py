"""Texts that are empty, enormous, or look like the model's own signs."""

import pytest
import torch
from spacy.training import Example

from spacy_entlm.model.layer import shim_of

NAME = "entlm_ner"
HARD_TEXTS = [
    "",
    " ",
    "\n\n\t \n",
    "\u200b",
    "\u200b\u200d\ufeff",
    "\U0001f600",
    "Anna \U0001f468\u200d\U0001f469\u200d\U0001f467 Berlin",
    "Ber\u200blin Anna\u200d",
    "e\u0301cole \u0301",
    "\u0130stanbul \ufb01n ½ ǅ",
    "東京に住む",
    "العربية עברית",
    "a\x00b\x01c",
    "\r\n\r\n",
    "\ud7ff\ue000\U0010ffff",
    "Anna" * 300,
    "." * 300,
    " . ".join("ab" * 100),
]
SIGNS = "[MASK] [SEP] [CLS] [PAD] <mask> <s> </s> <pad> I-PER B-LOC ##s Ġ ▁"


@pytest.fixture(scope="module")
def started(backbone, start_nlp):
    """An untrained pipeline of each family. A test may not change it."""
    return start_nlp(backbone)


@pytest.fixture
def eager(started, monkeypatch):
    """One that takes every word for an entity."""
    monkeypatch.setitem(started.get_pipe(NAME).cfg, "label_bias", 1000.0)
    return started


def seen_by_network(nlp, text, monkeypatch):
    """Piece ids that enter the network for a text, without those around windows."""
    shim = shim_of(nlp.get_pipe(NAME).layer)
    prefix, suffix = shim.network.masked_lm.special_pieces()
    seen = []

    def note_ids(inputs):
        for ids, mask in zip(inputs[0], inputs[1]):
            window = ids[mask == 1].tolist()
            assert window[: len(prefix)] == prefix
            assert window[-len(suffix) :] == suffix
            seen.extend(window[len(prefix) : -len(suffix)])
        return features(inputs)

    features = shim.features
    with monkeypatch.context() as patch:
        patch.setattr(shim, "features", note_ids)
        nlp(text)
    return seen


@pytest.mark.filterwarnings("ignore:Some words have more than")
@pytest.mark.parametrize("text", HARD_TEXTS, ids=range(len(HARD_TEXTS)))
def test_every_text_gives_entities_within_its_words(eager, text):
    doc = eager(text)
    assert doc.text == text
    for ent in doc.ents:
        assert ent.text.strip() == ent.text != ""
    assert len(doc.spans[NAME].attrs["scores"]) == len(doc.ents)
    # What is more than white space and known to the tokenizer is read.
    if any(char.isascii() and char.isalpha() for char in text):
        assert doc.ents


@pytest.mark.filterwarnings("ignore:Some words have more than")
def test_hard_texts_can_be_piped_together(started):
    docs = list(started.pipe(HARD_TEXTS))
    assert [doc.text for doc in docs] == HARD_TEXTS


@pytest.mark.filterwarnings("ignore:Some words have more than")
def test_hard_texts_can_be_learned_from(backbone, start_nlp):
    nlp = start_nlp(backbone)
    examples = [
        Example.from_dict(nlp.make_doc(t), {"entities": []}) for t in HARD_TEXTS
    ]
    losses = nlp.update(examples, sgd=nlp.create_optimizer())
    assert 0 < losses[NAME] < 20
    parameters = nlp.get_pipe(NAME).network.parameters()
    assert all(torch.isfinite(parameter).all() for parameter in parameters)


@pytest.fixture
def n_windows(eager, monkeypatch):
    """Counts the windows that go through the network."""
    shim = shim_of(eager.get_pipe(NAME).layer)
    features, counts = shim.features, []

    def count_windows(inputs):
        counts.append(len(inputs[0]))
        return features(inputs)

    monkeypatch.setattr(shim, "features", count_windows)
    return counts


def test_a_million_line_breaks_are_no_entity_and_no_work(eager, n_windows):
    doc = eager("Anna" + "\n" * 999_990 + "Rome")
    assert [ent.text for ent in doc.ents] == ["Anna", "Rome"]
    assert sum(n_windows) <= 2


@pytest.mark.parametrize("space", [" ", "\n "])
def test_pages_of_spaces_are_no_work(eager, n_windows, space):
    doc = eager("Anna" + space * 5_000 + "Rome")
    assert {word for ent in doc.ents for word in ent.text.split()} == {"Anna", "Rome"}
    assert sum(n_windows) <= 2


def test_a_million_line_breaks_alone(bert, start_nlp):
    assert len(start_nlp(bert)("\n" * 1_000_000).ents) == 0


@pytest.mark.filterwarnings("ignore:Some words have more than")
def test_signs_of_the_model_are_plain_text(started, monkeypatch):
    network = started.get_pipe(NAME).network
    special = set(network.tokenizer.all_special_ids) - {network.tokenizer.unk_token_id}
    for text in (SIGNS, *SIGNS.split(), SIGNS.replace(" ", "")):
        seen = seen_by_network(started, text, monkeypatch)
        assert seen
        assert not special & set(seen)
        assert max(seen) < len(network.vocabulary)


def test_sign_of_the_model_is_spelled_out(bert, start_nlp, monkeypatch):
    nlp = start_nlp(bert)
    seen = seen_by_network(nlp, "[MASK]", monkeypatch)
    tokenizer = nlp.get_pipe(NAME).network.tokenizer
    assert tokenizer.convert_ids_to_tokens(seen) == ["[", "mask", "]"]


def test_signs_of_the_model_are_plain_text_in_training(started):
    network = started.get_pipe(NAME).network
    special = set(network.tokenizer.all_special_ids) - {network.tokenizer.unk_token_id}
    doc = started.make_doc(SIGNS)
    scores, _ = started.get_pipe(NAME).model.begin_update([doc])
    assert not special & set(scores.pieces.ids.tolist())


def test_text_that_names_a_label_is_not_that_label(trained, monkeypatch):
    """Label rows stand beside the output matrix, out of the tokenizer's reach."""
    seen = seen_by_network(trained, "I-PER PER", monkeypatch)
    tokenizer = trained.get_pipe(NAME).network.tokenizer
    assert tokenizer.convert_ids_to_tokens(seen) == ["i", "-", "per", "per"]


def test_accents_and_case_do_not_move_entities(trained, entities):
    assert entities(trained("ANNA SMITH lives in Bérlin .")) == [
        (0, 10, "PER"),
        (20, 26, "LOC"),
    ]
    # With a combining accent, which is a character of its own.
    assert entities(trained("ANNA SMITH lives in Be\u0301rlin .")) == [
        (0, 10, "PER"),
        (20, 27, "LOC"),
    ]
