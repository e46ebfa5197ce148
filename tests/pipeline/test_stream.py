import pytest
import spacy
from spacy.tokens import Doc

from spacy_entlm.pipeline import stream
from spacy_entlm.pipeline.stream import look_ahead

VOCAB = spacy.blank("en").vocab


def docs_of(*lengths):
    return [Doc(VOCAB, words=["a"] * length) for length in lengths]


@pytest.fixture(autouse=True)
def small_limits(monkeypatch):
    monkeypatch.setattr(stream, "FEWEST_WORDS", 10)
    monkeypatch.setattr(stream, "MOST_WORDS", 30)


@pytest.mark.parametrize(
    "lengths, batch_size, expected",
    [
        ([], 2, []),
        ([4, 4, 4, 4, 4], 1, [3, 2]),  # too few words after one Doc
        ([10, 10, 10], 1, [1, 1, 1]),
        ([10, 10, 10, 10], 3, [3, 1]),
        ([40, 40, 1], 2, [1, 1, 1]),  # long Docs do not wait for others
        ([0, 0, 0], 1, [3]),
    ],
)
def test_docs_are_taken_together(lengths, batch_size, expected):
    docs = docs_of(*lengths)
    batches = list(look_ahead(iter(docs), batch_size))
    assert [len(batch) for batch in batches] == expected
    assert [doc for batch in batches for doc in batch] == docs


def test_no_more_is_read_than_needed():
    source = iter(docs_of(10, 10, 10))
    next(look_ahead(source, 1))
    assert len(list(source)) == 2
