import os
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest
import spacy
from hypothesis import assume, given
from hypothesis import strategies as st
from spacy.tokens import Doc

from spacy_entlm.corpus import sampling
from spacy_entlm.corpus.readers import read_docs
from spacy_entlm.corpus.sampling import SamplingError, sample_at_least, sample_exact
from spacy_entlm.files.errors import DataError

ROOT = Path(__file__).parents[2]
SHARED = ROOT.parent / "shared" / "data"

NLP = spacy.blank("en")


def make_doc(number, labels, n_outside=1):
    """Make a sentence with one-word entities; its last word is its number."""
    tags = [f"B-{label}" for label in labels] + ["O"] * n_outside
    words = ["w"] * (len(tags) - 1) + [str(number)]
    return Doc(NLP.vocab, words=words, ents=tags)


def count(docs):
    return Counter(ent.label_ for doc in docs for ent in doc.ents)


def numbers(docs):
    return [doc[-1].text for doc in docs]


corpora = st.lists(
    st.lists(st.sampled_from("ABC"), max_size=4), min_size=1, max_size=30
)


@given(corpus=corpora, shots=st.integers(1, 4), seed=st.integers(), keep=st.booleans())
def test_sample_holds_exactly_k_of_every_class(corpus, shots, seed, keep):
    docs = [make_doc(i, labels) for i, labels in enumerate(corpus)]
    try:
        sample = sample_exact(docs, shots, seed=seed, keep_negatives=keep)
    except SamplingError:
        assume(False)
    assert count(sample) == {label: shots for labels in corpus for label in labels}
    assert len(set(numbers(sample))) == len(sample)
    assert {id(doc) for doc in sample} <= {id(doc) for doc in docs}
    assert keep or all(doc.ents for doc in sample)
    again = sample_exact(docs, shots, seed=seed, keep_negatives=keep)
    assert numbers(again) == numbers(sample)


@given(shots=st.integers(1, 9), seed=st.integers())
def test_k_is_always_reached_when_sentences_hold_one_entity(shots, seed):
    docs = [make_doc(i, "AB"[i % 2]) for i in range(20)]
    assert count(sample_exact(docs, shots, seed=seed)) == {"A": shots, "B": shots}


def test_other_seeds_give_other_samples():
    docs = [make_doc(i, "A") for i in range(100)]
    samples = {tuple(numbers(sample_exact(docs, 5, seed=seed))) for seed in range(10)}
    assert len(samples) == 10


def test_unlucky_order_is_tried_again():
    # Only the sentence with four of A makes five with the one of one A; whichever
    # sentence with two comes first spoils it.
    docs = [make_doc(i, "AA") for i in range(8)]
    docs += [make_doc(8, "AAAA"), make_doc(9, "A")]
    for seed in range(5):
        assert count(sample_exact(docs, 5, seed=seed)) == {"A": 5}


def test_sample_does_not_depend_on_the_hash_seed():
    code = (
        "import spacy; from spacy.tokens import Doc\n"
        "from spacy_entlm.corpus.sampling import sample_exact\n"
        "vocab = spacy.blank('en').vocab\n"
        "docs = [Doc(vocab, words=['a', str(i)], ents=['B-' + 'ABCDE'[i % 5], 'O'])"
        " for i in range(50)]\n"
        "print(*[doc[1].text for doc in sample_exact(docs, 3, seed=1)])\n"
    )
    result = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONHASHSEED": "1"},
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    )
    # This process has a hash seed of its own, a random one.
    docs = [make_doc(i, "ABCDE"[i % 5]) for i in range(50)]
    assert result.stdout.split() == numbers(sample_exact(docs, 3, seed=1))


def test_sentences_without_entities_are_left_out_unless_kept():
    docs = [make_doc(i, "A" if i % 10 == 0 else "") for i in range(100)]
    assert all(doc.ents for doc in sample_exact(docs, 5, seed=1))
    kept = sample_exact(docs, 5, seed=1, keep_negatives=True)
    assert count(kept) == {"A": 5}
    assert 0 < sum(not doc.ents for doc in kept) < 90
    # Nothing is drawn once all classes have K.
    assert kept[-1].ents


def test_short_sentences_are_left_out():
    docs = [make_doc(i, "A", n_outside=i % 4) for i in range(1, 41)]
    sample = sample_exact(docs, 5, seed=1, min_words=3)
    assert all(len(doc) >= 3 for doc in sample)


def test_docs_with_missing_annotation_are_left_out():
    docs = [
        Doc(NLP.vocab, words=["a", str(i)], ents=["B-A", "O" if i < 5 else ""])
        for i in range(50)
    ]
    assert docs[5][1].ent_iob_ == ""
    assert sorted(numbers(sample_exact(docs, 5, seed=1))) == ["0", "1", "2", "3", "4"]


def test_too_few_examples_are_an_error_that_names_the_classes():
    docs = [make_doc(i, "AB") for i in range(3)] + [make_doc(i, "A") for i in range(9)]
    with pytest.raises(SamplingError) as caught:
        sample_exact(docs, 5, seed=1)
    message = str(caught.value)
    assert "there are B: 3 of 5. Lower --shots, add examples" in message
    assert message.endswith(
        "add examples of these classes, or use all with --shots all"
    )
    assert "A: " not in message
    assert isinstance(caught.value, DataError)


def test_unreachable_k_is_an_error_that_names_the_way_out():
    docs = [make_doc(i, "AA") for i in range(9)]
    with pytest.raises(SamplingError, match=r"there is no such sample\. .* --at-least"):
        sample_exact(docs, 5, seed=1)
    # A sentence has more than K of a class: that, too, is no reason to give up.
    with pytest.raises(SamplingError, match=r"A: 0 of 1 \(9 .* --at-least"):
        sample_exact(docs, 1, seed=1)


def dense_docs():
    """One sample of five of each class, that no shuffle finds."""
    rare = "ABCDEFGH"
    docs = [make_doc(i, rare[i] * 3 + rare[(i + 1) % 8] * 2) for i in range(8)]
    return docs + [make_doc(i, rare[i % 8] * 4 + "A") for i in range(9, 400)]


def test_the_sample_is_found_where_shuffles_fail(monkeypatch):
    monkeypatch.setattr(sampling, "_try_shuffles", lambda *args: None)
    assert len(sample_exact(dense_docs(), 5, seed=1)) == 8
    docs = [make_doc(i, ["A", "AB", "BB", "ABC", "C"][i % 5]) for i in range(200)]
    docs += [make_doc(i, "") for i in range(200, 300)]
    samples = [sample_exact(docs, 5, seed=seed) for seed in range(5)]
    assert all(count(sample) == {"A": 5, "B": 5, "C": 5} for sample in samples)
    assert len({tuple(numbers(sample)) for sample in samples}) == 5
    assert numbers(sample_exact(docs, 5, seed=0)) == numbers(samples[0])
    kept = sample_exact(docs, 5, seed=1, keep_negatives=True)
    assert 0 < sum(not doc.ents for doc in kept) < len(kept) / 2


@given(corpus=corpora, shots=st.integers(1, 4), seed=st.integers())
def test_fewest_sentences_hold_k_of_every_class_or_more(corpus, shots, seed):
    docs = [make_doc(i, labels) for i, labels in enumerate(corpus)]
    wanted = {label for labels in corpus for label in labels}
    try:
        sample = sample_at_least(docs, shots, seed=seed)
    except SamplingError:
        assume(False)
    assert all(count(sample)[label] >= shots for label in wanted)
    assert numbers(sample_at_least(docs, shots, seed=seed)) == numbers(sample)
    try:
        exact = sample_exact(docs, shots, seed=seed)
    except SamplingError:
        return
    assert len(sample) <= len(exact)


def test_of_the_fewest_sentences_those_with_the_fewest_entities_are_drawn():
    docs = [make_doc(i, "AAA" if i % 9 else "AA") for i in range(30)]
    assert count(sample_at_least(docs, 5, seed=1)) == {"A": 5}
    assert count(sample_at_least(docs[:1] + docs[1:9], 4, seed=1)) == {"A": 5}


def test_too_few_examples_for_at_least_k_are_an_error():
    with pytest.raises(SamplingError, match=r"there are A: 2 of 3\. Lower --shots"):
        sample_at_least([make_doc(0, "AA")], 3, seed=1)
    with pytest.raises(ValueError, match="must be"):
        sample_at_least([make_doc(0, "AA")], 0, seed=1)


def test_a_rare_class_is_drawn_before_frequent_ones_are_full():
    # B stands beside A only: in the order of a shuffle, A is full long before B.
    docs = [make_doc(i, "A") for i in range(2_000)]
    docs += [make_doc(i, "AB") for i in range(2_000, 2_012)]
    samples = [sample_exact(docs, 10, seed=seed) for seed in (1, 2)]
    for sample in samples:
        assert count(sample) == {"A": 10, "B": 10}
    assert numbers(samples[0]) != numbers(samples[1])


def test_class_seen_only_in_short_sentences_is_an_error_that_says_so():
    docs = [make_doc(i, "A", n_outside=9) for i in range(9)] + [make_doc(9, "B")]
    with pytest.raises(SamplingError, match=r"B: 0 of 1 \(1 sentences with entities"):
        sample_exact(docs, 1, seed=1, min_words=5)


def test_corpus_without_entities_is_an_error():
    with pytest.raises(SamplingError, match="no entities in 2 sentences"):
        sample_exact([make_doc(0, ""), make_doc(1, "")], 1, seed=1)


@pytest.mark.parametrize("kwargs", [{"shots": 0}, {"shots": 1, "min_words": -1}])
def test_arguments_out_of_range_are_refused(kwargs):
    with pytest.raises(ValueError, match="must be"):
        sample_exact([make_doc(0, "A")], seed=1, **kwargs)


def test_hopeless_sample_of_15000_sentences_takes_seconds():
    docs = [make_doc(i, "AA" if i % 2 else "BB") for i in range(15_000)]
    start = time.process_time()
    with pytest.raises(SamplingError, match="no such sample"):
        sample_exact(docs, 5, seed=1)
    # Measured at about 2 s; far more means that the search is no longer linear.
    assert time.process_time() - start < 20


@pytest.mark.skipif(not SHARED.is_dir(), reason="no shared data")
def test_real_corpus_gives_exact_samples():
    docs, _ = read_docs(SHARED / "wikigold" / "train.jsonl", NLP)
    samples = [sample_exact(docs, 5, seed=seed) for seed in (1, 2, 3)]
    for sample in samples:
        assert count(sample) == {"LOC": 5, "MISC": 5, "ORG": 5, "PER": 5}
    assert len({tuple(doc.text for doc in sample) for sample in samples}) == 3


@pytest.mark.skipif(not SHARED.is_dir(), reason="no shared data")
@pytest.mark.parametrize("name", ["politics", "science"])
def test_dense_corpus_gives_a_few_more_than_k(name):
    docs, _ = read_docs(SHARED / "breadth" / name / "pool.jsonl", NLP)
    with pytest.raises(SamplingError, match="--at-least"):
        sample_exact(docs, 5, seed=1)
    counts = count(sample_at_least(docs, 5, seed=1))
    assert min(counts.values()) == 5 and max(counts.values()) <= 12
