"""What is measured on held-out text, and that models with other pieces compare."""

import math

import numpy as np
import pytest
import torch
import transformers

from spacy_entlm.backbones.loading import load_masked_lm
from spacy_entlm.pretraining.evaluation import evaluate
from spacy_entlm.pretraining.models import change_vocabulary
from spacy_entlm.pretraining.pieces import PieceStore, write_pieces
from spacy_entlm.pretraining.settings import PretrainError, Settings


@pytest.fixture
def measure(tmp_path):
    """Measures a masked LM on lines: (masked_lm, lines) -> (figures, store)."""
    count = iter(range(100))

    def run(masked_lm, lines, length=16):
        folder = tmp_path / f"pieces{next(count)}"
        folder.mkdir()
        store = write_pieces(
            lines, masked_lm, folder, held_out=1.0, count=lambda n: None
        )
        return evaluate(masked_lm, store, length), store

    return run


def test_word_figures_are_those_computed_by_hand(backbone, measure, lines):
    """One sequence a line here: every line is cut to be one."""
    masked_lm = load_masked_lm(backbone)
    whole = transformers.AutoModelForMaskedLM.from_pretrained(backbone).eval()
    found, store = measure(masked_lm, lines, length=60)
    pieces, owners = store.array("held_out"), store.array("owners")
    letters = store.array("letters")
    prefix, suffix = masked_lm.special_pieces()
    body = 60 - len(prefix) - len(suffix)
    total, right = 0.0, dict.fromkeys(range(len(letters)), True)
    for start in range(0, len(pieces), body):
        part, owner = pieces[start : start + body], owners[start : start + body]
        masked = np.where(owner >= 0, masked_lm.tokenizer.mask_token_id, part)
        ids = torch.tensor([[*prefix, *masked.tolist(), *suffix]])
        with torch.no_grad():
            logits = whole(input_ids=ids).logits[0]
        log_probs = logits.log_softmax(-1)
        for i in np.flatnonzero(owner >= 0):
            row = log_probs[len(prefix) + i]
            total -= float(row[part[i]])
            right[owner[i]] &= int(row.argmax()) == part[i]
    assert found["masked_words"] == len(letters) > 20
    assert found["masked_characters"] == letters.sum()
    per_character = math.exp(total / letters.sum())
    assert found["perplexity_per_character"] == pytest.approx(per_character, rel=1e-4)
    assert found["word_accuracy"] == pytest.approx(np.mean(list(right.values())))


def test_masked_words_are_whole_and_about_15_percent(bert, measure, lines):
    masked_lm = load_masked_lm(bert)
    _, store = measure(masked_lm, lines * 20)
    words = [word for line in lines * 20 for word in line.split()]
    # Equal lines have equal masks, so few lines make a rough share.
    assert store.words / len(words) == pytest.approx(0.15, abs=0.05)
    text = masked_lm.tokenizer.convert_ids_to_tokens(store.array("held_out").tolist())
    owners = store.array("owners")
    letters = np.zeros(store.words, dtype=int)
    for piece, owner in zip(text, owners):
        if owner >= 0:
            unknown = piece == "[UNK]"
            whole = store.array("letters")[owner]
            letters[owner] += whole if unknown else len(piece.removeprefix("##"))
    assert (letters == store.array("letters")).all()


def test_models_with_other_pieces_are_measured_on_the_same_words(bert, measure, lines):
    old = load_masked_lm(bert)
    cut = load_masked_lm(bert)
    change_vocabulary(cut, Settings(keep_vocab=170), lambda: iter(["anna"]))
    first, store = measure(old, lines)
    second, other = measure(cut, lines)
    assert store.held_out < other.held_out
    for key in ("lines", "characters", "masked_words", "masked_characters"):
        assert first[key] == second[key] > 0


def test_figures_do_not_depend_on_what_was_measured_before(bert, measure, lines):
    masked_lm = load_masked_lm(bert)
    first, _ = measure(masked_lm, lines)
    torch.manual_seed(99)
    again, _ = measure(masked_lm, lines)
    assert first == again
    assert first["perplexity"] == pytest.approx(math.exp(first["loss"]))
    assert 0 <= first["accuracy"] < 0.2  # it has random weights


def test_measuring_leaves_the_model_as_it_was(bert, measure, lines):
    masked_lm = load_masked_lm(bert).train()
    before = {name: p.clone() for name, p in masked_lm.named_parameters()}
    measure(masked_lm, lines)
    assert masked_lm.training
    assert all(torch.equal(p, before[n]) for n, p in masked_lm.named_parameters())


def test_nothing_held_out_is_said(bert, tmp_path, lines):
    masked_lm = load_masked_lm(bert)
    store = write_pieces(lines, masked_lm, tmp_path, held_out=0.0, count=lambda n: None)
    found = evaluate(masked_lm, store, 16)
    assert found == {"lines": 0, "pieces": 0, "characters": 0, "loss": None}


def test_stored_pieces_are_those_of_the_lines(backbone, tmp_path, lines):
    masked_lm = load_masked_lm(backbone)
    n_pieces = []
    lines = [*lines, "An [MASK] 東京 \u200b x"]
    store = write_pieces(
        lines, masked_lm, tmp_path, held_out=0.0, count=n_pieces.append
    )
    tokenizer = masked_lm.tokenizer
    backend = tokenizer.backend_tokenizer
    end = masked_lm.special_pieces()[1]
    expected = [
        i
        for line in lines
        for i in [*backend.encode(line, add_special_tokens=False).ids, *end]
    ]
    again = PieceStore.load(tmp_path)
    assert again == store
    assert again.array("train").tolist() == expected
    assert sum(n_pieces) == again.train == len(expected)
    assert (again.lines, again.held_out_lines) == (len(lines), 0)
    # The text "[MASK]" is no mask.
    assert tokenizer.mask_token_id not in expected


def test_many_pieces_need_four_bytes(bert, tmp_path, lines, monkeypatch):
    masked_lm = load_masked_lm(bert)
    monkeypatch.setattr(
        type(masked_lm.tokenizer), "__len__", lambda self: 70_000, raising=True
    )
    store = write_pieces(lines, masked_lm, tmp_path, held_out=0.0, count=lambda n: None)
    assert store.array("train").dtype == np.int32


@pytest.mark.parametrize("lines", [[], ["\u200b", "\u200b\u200b"]])
@pytest.mark.parametrize("held_out", [0.0, 1.0])
def test_text_without_pieces_is_refused(bert, tmp_path, lines, held_out):
    with pytest.raises(PretrainError, match="holds no words"):
        write_pieces(
            lines,
            load_masked_lm(bert),
            tmp_path,
            held_out=held_out,
            count=lambda n: None,
        )
