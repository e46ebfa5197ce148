"""Columns of words and tags are found wherever they stand."""

from hypothesis import given, settings
from hypothesis import strategies as st

from spacy_entlm.corpus.forms.roles import find_roles

SENTENCES = st.lists(
    st.lists(
        st.tuples(
            st.text("abcdefgh", min_size=3, max_size=8),
            st.sampled_from(["O", "O", "B-PER", "I-PER", "B-LOC"]),
            st.sampled_from(["NOUN", "VERB", "ADP"]),
        ),
        min_size=2,
        max_size=6,
    ),
    min_size=3,
    max_size=6,
)


@settings(max_examples=40)
@given(sentences=SENTENCES, order=st.permutations(range(4)))
def test_columns_are_found_in_any_order(sentences, order):
    """Where words are varied and there is an entity and an O."""
    rows = [[[str(n), *row] for n, row in enumerate(rows, 1)] for rows in sentences]
    flat = [row for sentence in rows for row in sentence]
    words, tags = ({row[i] for row in flat} for i in (1, 2))
    if len(words) < len(flat) or len(tags) < 2 or "O" not in tags:
        return
    mixed = [[[row[i] for i in order] for row in sentence] for sentence in rows]
    roles = find_roles(mixed)
    assert (roles.word, roles.tag) == (order.index(1), order.index(2))
