import pytest
import spacy
from hypothesis import given
from hypothesis import strategies as st
from spacy.tokens import Doc

from spacy_entlm.corpus.tags import doc_to_tags, find_prefixed, tags_to_entities

NLP = spacy.blank("en")
LABELS = st.sampled_from(["PER", "LOC", "B-CELL"])


def read(*tags):
    return tags_to_entities(tags, find_prefixed(tags))


@st.composite
def segmentations(draw):
    """Draw a sentence as pieces: (number of words, label, None for outside)."""
    lengths = draw(st.lists(st.integers(1, 4), max_size=6))
    return [(length, draw(st.none() | LABELS)) for length in lengths]


def entities_of(pieces):
    spans, start = [], 0
    for length, label in pieces:
        if label is not None:
            spans.append((start, start + length, label))
        start += length
    return spans


def write_tags(pieces, begin, inside, end, single):
    tags = []
    for length, label in pieces:
        if label is None:
            tags += ["O"] * length
        elif length == 1:
            tags.append(f"{single}-{label}")
        else:
            middle = [f"{inside}-{label}"] * (length - 2)
            tags += [f"{begin}-{label}", *middle, f"{end}-{label}"]
    return tags


@pytest.mark.parametrize("scheme", ["BIIB", "BILU", "BIES"])
@given(pieces=segmentations())
def test_tags_of_prefixed_schemes_give_the_entities_back(scheme, pieces):
    tags = write_tags(pieces, *scheme)
    entities = tags_to_entities(tags, find_prefixed(tags))
    assert entities.spans == entities_of(pieces)
    assert entities.missing == []


def test_iob1_begins_entities_with_i_and_separates_neighbours_with_b():
    assert read("I-PER", "I-PER", "B-PER", "O", "I-LOC").spans == [
        (0, 2, "PER"),
        (2, 3, "PER"),
        (4, 5, "LOC"),
    ]


def test_inside_tag_of_another_class_begins_an_entity():
    assert read("B-PER", "I-LOC").spans == [(0, 1, "PER"), (1, 2, "LOC")]


def test_last_tag_without_a_beginning_is_an_entity_of_one_word():
    assert read("L-PER", "L-PER").spans == [(0, 1, "PER"), (1, 2, "PER")]


def test_neighbouring_words_of_one_class_are_one_entity_in_io():
    assert read("PER", "PER", "LOC", "O", "PER").spans == [
        (0, 2, "PER"),
        (2, 3, "LOC"),
        (4, 5, "PER"),
    ]


def test_missing_tags_end_an_entity_and_are_listed():
    entities = read("B-PER", "-", "I-PER", "", "O")
    assert entities.spans == [(0, 1, "PER"), (2, 3, "PER")]
    assert entities.missing == [1, 3]


def test_class_names_may_hold_dashes_digits_and_other_scripts():
    assert read("B-E-MAIL", "O").spans == [(0, 1, "E-MAIL")]
    assert read("人名", "WORK_OF_ART", "T2", "GENE/PROTEIN").spans == [
        (0, 1, "人名"),
        (1, 2, "WORK_OF_ART"),
        (2, 3, "T2"),
        (3, 4, "GENE/PROTEIN"),
    ]


@pytest.mark.parametrize(
    "tag", ["X-PER", "B_PER", "b-PER", "o", "B-", ".", "12", "B:PER", "-X-", "-PER"]
)
def test_unknown_tag_is_refused_by_name(tag):
    with pytest.raises(ValueError, match="unknown tag") as caught:
        read("O", tag)
    assert repr(tag) in str(caught.value)


def test_bare_class_name_among_prefixed_tags_is_refused():
    with pytest.raises(ValueError, match="'LOC' has no prefix, but 'B-PER'"):
        read("B-PER", "LOC")


def test_doc_to_tags_marks_missing_and_blocked_words():
    doc = Doc(NLP.vocab, words=["a", "b", "c"])
    doc.set_ents([], missing=[doc[0:1]], blocked=[doc[1:2]])
    assert doc_to_tags(doc) == ["-", "O", "O"]
