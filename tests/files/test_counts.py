"""Numbers of things, as people say them."""

import pytest

from spacy_entlm.files.counts import count_of, sentence_of


@pytest.mark.parametrize(
    "number, things, said",
    [
        (2, "texts", "2 texts"),
        (0, "texts", "0 texts"),
        (1, "texts", "1 text"),
        (1_234, "words", "1,234 words"),
        (1, "entities", "1 entity"),
        (1, "entities inside others", "1 entity inside others"),
        (1, "spans without a class", "1 span without a class"),
        (1, "empty texts", "1 empty text"),
        (1, "classes", "1 class"),
        (1, "entries", "1 entry"),
        (1, "matches", "1 match"),
    ],
)
def test_one_thing_has_no_plural(number, things, said):
    assert count_of(number, things) == said


def test_what_is_said_of_one_is_another_sentence():
    assert sentence_of(1, "name is", "names are") == "1 name is"
    assert sentence_of(1_000, "name is", "names are") == "1,000 names are"
