"""The search for label words in annotated sentences (paper, Eq. 5 and 8)."""

from spacy_entlm.label_words.search import (
    SearchSettings,
    count_words,
    search_label_words,
)


def tagged(text):
    """Pairs of a word and its class, from text such as John/PER lives/O."""
    return [tuple(pair.rsplit("/", 1)) for pair in text.split()]


def count(*sentences):
    return count_words([tagged(sentence) for sentence in sentences])


def test_words_are_counted_per_class():
    counts = count("John/PER met/O John/PER", "met/O John/LOC")
    assert counts["PER"] == {"John": 2}
    assert counts["LOC"] == {"John": 1}
    assert counts["O"] == {"met": 2}


def search(counts, **settings):
    found = search_label_words(
        counts, settings=SearchSettings(method="data", **settings)
    )
    return {label: each.words for label, each in found.items()}


def test_share_of_a_class_counts_other_classes_too():
    counts = count(*["Washington/PER"] * 6, *["Washington/LOC"] * 4)
    settings = SearchSettings(method="data")
    (conflict,) = search_label_words(counts, settings=settings)["PER"].conflicts
    assert (conflict.word, conflict.ratio) == ("Washington", 0.6)
    assert search(counts) == {"PER": [], "LOC": []}  # more than 0.6 is wanted


def test_most_frequent_words_come_first_and_ties_keep_their_order():
    counts = count("Bo/PER Al/PER Cy/PER Al/PER")
    assert search(counts) == {"PER": ["Al", "Bo", "Cy"]}


def test_no_class_gets_more_than_top_k():
    counts = count("Bo/PER Al/PER Cy/PER")
    assert search(counts, top_k=2) == {"PER": ["Bo", "Al"]}


def test_words_of_one_character_and_without_a_letter_are_out():
    counts = count("J/PER 42/PER --/PER Al/PER")
    assert search(counts) == {"PER": ["Al"]}


def test_words_outside_entities_are_no_class():
    assert search(count("John/PER lives/O")) == {"PER": ["John"]}
