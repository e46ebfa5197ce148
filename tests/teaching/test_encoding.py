"""Marked lines as pieces."""

import numpy
import pytest
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

from spacy_entlm.backbones.loading import load_masked_lm
from spacy_entlm.teaching.encoding import (
    CHUNK,
    LOWER,
    NO_MARK,
    PLAIN,
    SWAPPED,
    UPPER,
    WORD,
    LineEncoder,
)
from spacy_entlm.teaching.lines import Mark, MarkedLine

NAMES = ["Anna", "Bea", "Cleo", "Dora", "Ella", "Fay", "Gil", "Hugo"]


@pytest.fixture
def letters():
    """A cased tokenizer whose pieces are pairs of letters, or one, within words."""
    characters = [chr(i) for i in range(33, 127)] + list("äßé")
    pairs = [a + b for a in characters for b in characters if (a + b).isalpha()]
    merges = [(a, b) for a in characters for b in characters if (a + b).isalpha()]
    vocabulary = {piece: i for i, piece in enumerate(["?", *characters, *pairs])}
    tokenizer = Tokenizer(models.BPE(vocabulary, merges, unk_token="?"))
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.normalizer = normalizers.NFC()
    return tokenizer


def test_the_first_piece_of_each_word_and_the_mark_that_it_is_in(letters):
    text = "Anna-Lea is , Rom ."
    marks = [Mark(0, 8, ("person",)), Mark(14, 17, ("city",))]
    encoded = LineEncoder(letters, []).encode(text, marks)
    pieces = [letters.id_to_token(int(i)) for i in encoded.ids]
    assert pieces == ["An", "na", "-", "Le", "a", "is", ",", "Ro", "m", "."]
    found = [pieces[i] for i in encoded.positions]
    assert found == ["An", "-", "Le", "is", ",", "Ro", "."]
    assert encoded.marks.tolist() == [0, 0, 0, NO_MARK, NO_MARK, 1, NO_MARK]
    assert encoded.ids.dtype == "int32"


@pytest.mark.parametrize(
    "text, name, words",
    [
        ("王芳住在上海。", "上海", "王芳住在上海。"),
        ("東京へ行く", "東京", "東京へ行く"),
        ("삼성은 서울에", "서울", "삼성은서울에"),
        ("ดูกรุงเทพ", "กรุงเทพ", "ดูกรุงเทพ"),
    ],
)
def test_letters_of_scripts_without_blanks_are_words(text, name, words):
    tokenizer = Tokenizer(
        models.WordLevel({c: i for i, c in enumerate("?" + text)}, "?")
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Split("", "isolated")
    start = text.index(name)
    mark = Mark(start, start + len(name), ("city",))
    encoded = LineEncoder(tokenizer, []).encode(text, [mark])
    assert "".join(text[i] for i in encoded.positions) == words
    marked = [text[i] for i in encoded.positions[encoded.marks == 0]]
    assert "".join(marked) == name


def test_vowel_signs_of_india_do_not_end_a_word():
    assert WORD.findall("हिन्दी में। ঢাকা") == ["हिन्दी", "में", "।", "ঢাকা"]


def test_a_mark_that_begins_within_a_word_is_that_of_no_word(letters):
    encoded = LineEncoder(letters, []).encode("unAnna left", [Mark(2, 6, ("x",))])
    assert encoded.marks.tolist() == [NO_MARK, NO_MARK]


def test_lines_that_are_too_long_or_have_no_piece_are_left_out(letters):
    encoder = LineEncoder(letters, [], max_pieces=3)
    assert encoder.encode("ab cd ef", []) is not None
    assert encoder.encode("ab cd ef g", []) is None
    assert encoder.encode("", []) is None
    assert encoder.encode(" \n", []) is None
    assert encoder.forms(MarkedLine("ab cd ef g", "", ()), 0) == {}


def forms_of(tokenizer, line, lines=(), seed=0):
    found = LineEncoder(tokenizer, lines).forms(line, seed)
    return {
        form: "".join(tokenizer.id_to_token(int(i)) for i in encoded.ids)
        for form, encoded in found.items()
    }


def test_a_line_is_read_in_several_forms(letters):
    line = MarkedLine("Anna left", "en", (Mark(0, 4, ("person",)),))
    expected = {PLAIN: "Annaleft", LOWER: "annaleft", UPPER: "ANNALEFT"}
    assert forms_of(letters, line) == expected
    found = LineEncoder(letters, []).forms(line, 0)
    assert all(one.marks.tolist() == [0, NO_MARK] for one in found.values())


def test_forms_that_are_the_same_or_move_marks_are_left_out(letters):
    assert set(forms_of(letters, MarkedLine("1 , 2", "", ()))) == {PLAIN}
    assert set(forms_of(letters, MarkedLine("Straße", "", ()))) == {PLAIN, LOWER}


def test_names_of_a_kind_take_the_place_of_each_other(letters):
    lines = [
        MarkedLine(f"so {name} left", "en", (Mark(3, 3 + len(name), ("person", "x")),))
        for name in NAMES
    ]
    seen = set()
    for seed in range(60):
        found = forms_of(letters, lines[0], lines, seed)
        seen.add(found.get(SWAPPED, "none"))
    expected = {f"so{name}left" for name in NAMES if name != "Anna"}
    assert seen - {"none"} == expected
    swapped = LineEncoder(letters, lines).forms(lines[0], 1).get(SWAPPED)
    assert swapped is None or swapped.marks.tolist() == [NO_MARK, 0, NO_MARK]
    again = [forms_of(letters, lines[0], lines, 7) for _ in range(2)]
    assert again[0] == again[1]


@pytest.mark.parametrize("change", ["few", "language", "kind", "labels", "case"])
def test_names_that_are_no_other_of_the_kind_stay_away(letters, change):
    kinds, lang, names = ("person",), "en", NAMES
    if change == "few":
        names = NAMES[:7]
    if change == "language":
        lang = "fr"
    if change == "kind":
        kinds = ("city", "person")
    if change == "case":
        names = [name.lower() for name in NAMES]
    labels = kinds if change == "labels" else ()
    others = [
        MarkedLine(name, lang, (Mark(0, len(name), kinds),), labels) for name in names
    ]
    line = MarkedLine("Zoe left", "en", (Mark(0, 3, ("person",)),))
    assert all(SWAPPED not in forms_of(letters, line, others, i) for i in range(20))


@pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")
def test_other_processes_give_the_same_forms(bert):
    tokenizer = load_masked_lm(bert).tokenizer.backend_tokenizer
    lines = [
        MarkedLine(f"{name} left {i} .", "en", (Mark(0, len(name), ("person",)),))
        for i in range(CHUNK // 4)
        for name in NAMES
    ]
    encoder = LineEncoder(tokenizer, lines)
    alone, together = (encoder.all_forms(lines, 3, workers) for workers in (0, 2))
    assert len(alone) == len(together) == len(lines)
    for ours, theirs in zip(alone, together):
        assert ours.keys() == theirs.keys()
        for form, one in ours.items():
            assert numpy.array_equal(one.ids, theirs[form].ids)
            assert numpy.array_equal(one.marks, theirs[form].marks)
