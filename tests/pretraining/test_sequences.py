"""Full sequences of a stream: every piece once a pass, in an order of its own."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from spacy_entlm.pretraining.batches import PackedSequences

sizes = st.integers(1, 200)


@given(sizes, st.integers(3, 20), st.integers(0, 5))
def test_a_pass_reads_every_piece_at_most_once(n_pieces, length, seed):
    sequences = PackedSequences(np.arange(n_pieces), length, [-1], [-2], seed)
    ids = sequences.batch(0, sequences.n_sequences)
    assert ids.shape == (sequences.n_sequences, sequences.length)
    assert (ids[:, 0] == -1).all() and (ids[:, -1] == -2).all()
    read = ids[:, 1:-1].reshape(-1)
    assert len(set(read.tolist())) == len(read)
    # What a pass leaves out is less than one sequence.
    assert n_pieces - len(read) < sequences.body
    # In each sequence the pieces follow one another, on a ring.
    assert (np.diff(ids[:, 1:-1]) % n_pieces == (1 % n_pieces)).all()


def test_passes_differ_and_depend_on_the_seed():
    sequences = PackedSequences(np.arange(100), 12, [0], [0], seed=1)
    first, second = sequences.batch(0, 10), sequences.batch(10, 10)
    assert (first != second).any()
    other = PackedSequences(np.arange(100), 12, [0], [0], seed=2)
    assert (other.batch(0, 10) != first).any()


@given(st.integers(0, 60), st.integers(1, 9))
def test_a_batch_does_not_depend_on_what_was_read_before(first, size):
    fresh = PackedSequences(np.arange(100), 12, [0], [0], seed=1)
    used = PackedSequences(np.arange(100), 12, [0], [0], seed=1)
    used.batch(37, 20)
    assert (fresh.batch(first, size) == used.batch(first, size)).all()


def test_text_shorter_than_a_sequence_is_a_shorter_sequence():
    sequences = PackedSequences(np.arange(1, 4), 128, [0], [9], seed=1)
    assert (sequences.n_sequences, sequences.length) == (1, 5)
    (row,) = sequences.batch(5, 1)
    assert sorted(row[1:-1]) == [1, 2, 3]


def test_pieces_of_two_bytes_do_not_overflow():
    stream = np.array([65535, 65534], dtype=np.uint16)
    ids = PackedSequences(stream, 4, [70000], [0], seed=0).batch(0, 1)
    assert ids.dtype == np.int64
    assert set(ids[0]) == {70000, 65535, 65534, 0}
