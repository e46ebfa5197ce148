"""What is measured on held-out text, and that models with other pieces compare."""

import math

import numpy as np
import pytest
import torch
import transformers

from spacy_entlm.backbones.loading import load_masked_lm
from spacy_entlm.files.errors import DataError
from spacy_entlm.pretraining.added_words import add_words
from spacy_entlm.pretraining.evaluation import evaluate, find_words
from spacy_entlm.pretraining.pieces import split_text


def test_figures_are_those_computed_by_hand(backbone, lines):
    masked_lm = load_masked_lm(backbone)
    whole = transformers.AutoModelForMaskedLM.from_pretrained(backbone).eval()
    found = evaluate(masked_lm, lines, 60)
    pieces, owners, letters = find_words(lines, masked_lm)
    prefix, suffix = masked_lm.special_pieces()
    body = 60 - len(prefix) - len(suffix)
    losses, hits, right = [], [], dict.fromkeys(range(len(letters)), True)
    for start in range(0, len(pieces), body):
        part, owner = pieces[start : start + body], owners[start : start + body]
        masked = np.where(owner >= 0, masked_lm.tokenizer.mask_token_id, part)
        ids = torch.tensor([[*prefix, *masked.tolist(), *suffix]])
        with torch.no_grad():
            logits = whole(input_ids=ids).logits[0]
        log_probs = logits.log_softmax(-1)
        for i in np.flatnonzero(owner >= 0):
            row = log_probs[len(prefix) + i]
            losses.append(-float(row[part[i]]))
            hits.append(int(row.argmax()) == part[i])
            right[owner[i]] &= hits[-1]
    assert found["masked_words"] == len(letters) > 20
    assert found["masked_pieces"] == len(losses) >= len(letters)
    assert found["masked_characters"] == letters.sum()
    assert found["loss"] == pytest.approx(np.mean(losses), rel=1e-4)
    assert found["perplexity"] == pytest.approx(math.exp(found["loss"]))
    assert found["accuracy"] == pytest.approx(np.mean(hits))
    per_character = math.exp(sum(losses) / letters.sum())
    assert found["perplexity_per_character"] == pytest.approx(per_character, rel=1e-4)
    assert found["word_accuracy"] == pytest.approx(np.mean(list(right.values())))


def test_masked_words_are_whole_and_about_15_percent(bert, lines):
    masked_lm = load_masked_lm(bert)
    pieces, owners, expected = find_words(lines * 20, masked_lm)
    words = [word for line in lines * 20 for word in line.split()]
    # Equal lines have equal masks, so few lines make a rough share.
    assert len(expected) / len(words) == pytest.approx(0.15, abs=0.05)
    text = masked_lm.tokenizer.convert_ids_to_tokens(pieces.tolist())
    letters = np.zeros(len(expected), dtype=int)
    for piece, owner in zip(text, owners):
        if owner >= 0:
            unknown = piece == "[UNK]"
            whole = expected[owner]
            letters[owner] += whole if unknown else len(piece.removeprefix("##"))
    assert (letters == expected).all()


def test_models_with_other_pieces_are_measured_on_the_same_words(bert, lines):
    old, grown = load_masked_lm(bert), load_masked_lm(bert)
    assert add_words(grown, lines, 5, [])["words_added"] > 1
    first, second = evaluate(old, lines, 16), evaluate(grown, lines, 16)
    assert first["pieces"] > second["pieces"]
    for key in ("lines", "characters", "masked_words", "masked_characters"):
        assert first[key] == second[key] > 0


def test_figures_do_not_depend_on_what_was_measured_before(bert, lines):
    masked_lm = load_masked_lm(bert)
    first = evaluate(masked_lm, lines, 16)
    torch.manual_seed(99)
    assert evaluate(masked_lm, lines, 16) == first
    assert 0 <= first["accuracy"] < 0.2  # it has random weights


def test_measuring_leaves_the_model_as_it_was(bert, lines):
    masked_lm = load_masked_lm(bert).train()
    before = {name: p.clone() for name, p in masked_lm.named_parameters()}
    evaluate(masked_lm, lines, 16)
    assert masked_lm.training
    assert all(torch.equal(p, before[n]) for n, p in masked_lm.named_parameters())


def test_nothing_held_out_is_said(bert):
    found = evaluate(load_masked_lm(bert), [], 16)
    assert (found["lines"], found["pieces"], found["loss"]) == (0, 0, None)


def test_pieces_are_those_of_the_lines(backbone, lines):
    masked_lm = load_masked_lm(backbone)
    lines = [*lines, "An [MASK] 東京 \u200b x"]
    found = split_text(lines, masked_lm, held_out=0.0)
    tokenizer = masked_lm.tokenizer
    backend = tokenizer.backend_tokenizer
    end = masked_lm.special_pieces()[1]
    expected = [
        i
        for line in lines
        for i in [*backend.encode(line, add_special_tokens=False).ids, *end]
    ]
    assert found.train.tolist() == expected
    assert found.train.dtype == np.uint16
    assert found.sizes["train"] == len(expected)
    assert (found.sizes["lines"], found.sizes["held_out_lines"]) == (len(lines), 0)
    # The text "[MASK]" is no mask.
    assert tokenizer.mask_token_id not in expected


def test_many_pieces_need_four_bytes(bert, lines, monkeypatch):
    masked_lm = load_masked_lm(bert)
    monkeypatch.setattr(
        type(masked_lm.tokenizer), "__len__", lambda self: 70_000, raising=True
    )
    assert split_text(lines, masked_lm, held_out=0.0).train.dtype == np.int32


@pytest.mark.parametrize("lines", [[], ["\u200b", "\u200b\u200b"]])
@pytest.mark.parametrize("held_out", [0.0, 1.0])
def test_text_without_pieces_is_refused(bert, lines, held_out):
    with pytest.raises(DataError, match="holds no words"):
        split_text(lines, load_masked_lm(bert), held_out=held_out)
