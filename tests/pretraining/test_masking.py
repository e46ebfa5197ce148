"""Which pieces are hidden, and what stands in their place."""

import numpy as np
import pytest
import transformers

from spacy_entlm.pretraining.batches import Masker


@pytest.fixture(scope="module")
def tokenizer(backbone):
    return transformers.AutoTokenizer.from_pretrained(backbone)


def encode(tokenizer, lines, length=32):
    """Full sequences of the lines. RETURNS: int64 (n, length)."""
    ids = [i for line in lines for i in tokenizer(line).input_ids]
    n = len(ids) // length
    return np.array(ids[: n * length]).reshape(n, length)


def test_the_share_is_exact_and_special_pieces_stay(tokenizer, lines):
    ids = encode(tokenizer, lines)
    batch = Masker(tokenizer, 0.15).mask(ids, np.random.default_rng(1))
    flat = ids.reshape(-1)
    n_ordinary = (~np.isin(flat, tokenizer.all_special_ids)).sum()
    assert len(batch.positions) == round(0.15 * n_ordinary)
    assert (np.diff(batch.positions) > 0).all()
    assert (flat[batch.positions] == batch.targets).all()
    assert not np.isin(batch.targets, tokenizer.all_special_ids).any()
    changed = np.flatnonzero(batch.ids.reshape(-1) != flat)
    assert np.isin(changed, batch.positions).all()


def test_eight_in_ten_become_the_mask_one_stays_one_is_another(tokenizer, lines):
    ids = np.tile(encode(tokenizer, lines), (20, 1))
    batch = Masker(tokenizer, 0.15).mask(ids, np.random.default_rng(1))
    now = batch.ids.reshape(-1)[batch.positions]
    assert (now == tokenizer.mask_token_id).mean() == pytest.approx(0.8, abs=0.002)
    # Another piece is the same one by chance, once in a vocabulary.
    assert (now == batch.targets).mean() == pytest.approx(0.1, abs=0.01)
    others = now[(now != tokenizer.mask_token_id) & (now != batch.targets)]
    assert not np.isin(others, tokenizer.all_special_ids).any()
    assert len(set(others)) > 20


def test_the_input_stays_and_chance_is_the_generators(tokenizer, lines):
    ids = encode(tokenizer, lines)
    before = ids.copy()
    masker = Masker(tokenizer, 0.15)
    first, again, other = (
        masker.mask(ids, np.random.default_rng(seed)) for seed in (1, 1, 2)
    )
    assert (ids == before).all()
    assert all((a == b).all() for a, b in zip(first, again))
    assert (first.ids != other.ids).any()


def test_nothing_to_hide_is_no_error(bert):
    tokenizer = transformers.AutoTokenizer.from_pretrained(bert)
    ids = np.full((2, 4), tokenizer.sep_token_id)
    masker = Masker(tokenizer, 0.15)
    batch = masker.mask(ids, np.random.default_rng(1))
    assert batch.positions.size == batch.targets.size == 0
    assert (batch.ids == ids).all()
