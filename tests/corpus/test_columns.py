"""Columns of words and tags are told by what is in them, or asked for."""

from itertools import permutations

import pytest

from .sentence import FOUND, table

WORDS = ["Mira", "Holt", "travels", "to", "Ulmstadt", "."]
TAGS = ["B-PER", "I-PER", "O", "O", "B-LOC", "O"]
BARE = ["PER", "PER", "O", "O", "LOC", "O"]
LEMMAS = ["mira", "holt", "travel", "to", "ulmstadt", "."]
POS = ["PROPN", "PROPN", "VERB", "ADP", "PROPN", "PUNCT"]
TREEBANK = ["NNP", "NNP", "VBZ", "TO", "NNP", "."]


def read_words(read, text, name="a.conll", **how):
    docs, report = read(name, text, **how)
    assert [[token.text for token in doc] for doc in docs] == [WORDS] * len(docs)
    for doc in docs:
        assert [(ent.text, ent.label_) for ent in doc.ents] == FOUND
    return report


def numbers(start=1):
    return [str(n) for n in range(start, start + len(WORDS))]


@pytest.mark.parametrize(
    "before",
    [
        numbers(),
        numbers(0),
        [f"w{n}" for n in numbers()],
        [f"s1-{n}" for n in numbers()],
        ["Sentence: 1"] * len(WORDS),
        ["news_07"] * len(WORDS),
        ["https://news.example/a"] * len(WORDS),
        ["report.txt"] * len(WORDS),
        ["9f86d081884c7d65"] * len(WORDS),
        ["an article"] * len(WORDS),
    ],
)
def test_ids_and_addresses_before_the_word_are_no_words(read, before):
    report = read_words(read, table(before, WORDS, TAGS), "a.tsv")
    assert report.understood == "columns 2 word, 3 tag"


@pytest.mark.parametrize("gap", ["\t", " "])
@pytest.mark.parametrize("pos", [POS, TREEBANK])
def test_parts_of_speech_behind_the_tag_are_no_classes(read, gap, pos):
    read_words(read, table(WORDS, TAGS, pos, gap=gap))
    read_words(read, table(WORDS, [tag.split("-")[-1] for tag in TAGS], pos, gap=gap))
    read_words(read, table(pos, WORDS, TAGS, gap=gap))


def test_conllu_has_the_word_in_its_second_column(read):
    blank = ["_"] * len(WORDS)
    whole = table(
        *[numbers(), WORDS, LEMMAS, POS, TREEBANK],
        *[blank, ["0"] * len(WORDS), ["dep"] * len(WORDS), blank, TAGS],
    )
    rows = whole.splitlines()
    rows.insert(3, "\t".join(["4-5", "toUlmstadt", *"_" * 8]))
    text = "\n".join(["# sent_id = 1", "# text = Mira Holt", *rows])
    report = read_words(read, f"{text}\n")
    assert report.understood == "columns 2 word, 10 tag"


def test_remarks_of_other_width_before_a_sentence_are_left_out(read):
    sentence = table(numbers(), WORDS, TAGS, ["O"] * len(WORDS))
    remark = "#\thttps://news.example/a [2009-10-17]\n"
    report = read_words(read, f"{remark}{sentence}\n{remark}{sentence}", "a.tsv")
    assert (report.docs, report.understood) == (2, "columns 2 word, 3 tag")


def test_tags_inside_those_of_another_column_are_counted(read):
    inner = ["B-NAME", "O", "O", "O", "O", "O"]
    report = read_words(read, table(WORDS, TAGS, inner))
    assert report.skipped == {"entities inside others": 1}
    bare = ["NAME", "O", "O", "O", "LOC", "O"]
    report = read_words(read, table(WORDS, BARE, bare))
    assert report.skipped == {"entities inside others": 1}


def test_phrases_are_no_entities(read):
    phrases = ["B-NP", "I-NP", "B-VP", "B-PP", "B-NP", "O"]
    read_words(read, table(WORDS, TREEBANK, phrases, TAGS))
    read_words(read, table(WORDS, TAGS, phrases, TREEBANK))


@pytest.mark.parametrize("head", ["word\ttag", "Token\tNER", "TEXT\tlabel", "#w\tTags"])
@pytest.mark.parametrize("scheme", ["BIO", "IO"])
def test_a_header_row_is_no_sentence(read, head, scheme):
    tags = TAGS if scheme == "BIO" else [tag.split("-")[-1] for tag in TAGS]
    body = table(WORDS, tags)
    report = read_words(read, f"{head}\n{body}\n{head}\n{body}", "a.tsv")
    assert (report.docs, report.entities) == (2, {"PER": 2, "LOC": 2})
    assert "row 1 a header" in report.understood


@pytest.mark.parametrize("tags", [TAGS, BARE], ids=["BIO", "IO"])
@pytest.mark.parametrize(
    "head",
    ["Wort\tEtikett", "palabra\tEtiqueta", "word\tNER Tag", "Tokens\tNamed-Entity"],
)
def test_a_header_in_other_words_is_no_sentence(read, head, tags):
    report = read_words(read, f"{head}\n{table(WORDS, tags)}", "a.tsv")
    assert "row 1 a header" in report.understood


@pytest.mark.parametrize(
    "head, column", [("id\tx\ty", numbers()), ("pos\tx\ty", POS)], ids=["id", "pos"]
)
def test_a_header_is_told_by_the_columns_below_it(read, head, column):
    report = read_words(read, f"{head}\n{table(column, WORDS, BARE)}", "a.tsv")
    assert report.understood == "columns 2 word, 3 tag (row 1 a header)"


def test_a_class_of_the_first_row_alone_is_no_header(read):
    for text in ("Ann PER\nleft O\n\nRome LOC\nfell O\n", "1 Ann X\n2 left O\n"):
        docs, report = read("a.conll", text)
        assert docs[0].text.startswith("Ann") and len(docs[0].ents) == 1
        assert "header" not in report.understood


def test_words_that_stand_in_headers_stay_words(read):
    docs, _ = read("a.conll", "word O\ntag O\n\nclass B-X\nlabel O\n")
    assert [[token.text for token in doc] for doc in docs] == [
        ["word", "tag"],
        ["class", "label"],
    ]


@pytest.mark.parametrize(
    "text",
    [
        table(WORDS, POS),
        table(WORDS, LEMMAS, POS),
        table(numbers(), TAGS),
        table(WORDS, TAGS, ["O", "O", "B-PER", "O", "O", "B-X"]),
        table(WORDS, TAGS, ["B-HUM", "I-HUM", "O", "O", "B-GEO", "O"]),
        table(WORDS, BARE, ["O", "O", "V", "O", "O", "O"]),
        table(WORDS, BARE, ["O", "O", "ORG", "O", "LOC", "O"]),
    ],
    ids=[
        *("no tags", "no tags of three", "no words", "two of tags", "two levels"),
        *("verbs", "two without prefixes"),
    ],
)
def test_what_the_content_does_not_tell_is_asked_for(error_of, text):
    message = error_of("a.conll", text)
    first = text.splitlines()[0].split("\t")
    assert all(f"{i} {value!r}" in message for i, value in enumerate(first, 1))
    assert "line 1" in message and "--columns" in message and "word,tag" in message


def test_columns_can_be_named(read, error_of):
    other = ["O", "O", "B-PER", "O", "O", "B-X"]
    text = table(WORDS, other, TAGS)
    read_words(read, text, columns="1,3")
    for asked in ["1,9", "1", "1,1", "a,b", ""]:
        assert "--columns" in error_of("a.conll", text, columns=asked)
    head = f"word\tner\ttag\n{text}"
    read_words(read, head, columns="Word,tag")
    assert "(word, ner, tag)" in error_of("a.conll", head, columns="word,two")


def test_what_was_understood_is_one_line(read):
    text = f"{table(numbers(), WORDS, POS, TAGS)}\n" * 2
    _, report = read("a.conll", text)
    assert report.lines() == [
        "columns 2 word, 4 tag; 2 sentences of 12 words; LOC 2, PER 2"
    ]


def test_classes_that_differ_in_case_only_are_told(read):
    _, report = read("a.conll", "Ann B-PER\nleft O\nBo B-per\n")
    assert "Classes differ in case only: PER 1, per 1" in report.problems()


def test_every_order_of_five_columns_is_read(read):
    columns = [numbers(), WORDS, LEMMAS[::-1], TREEBANK, TAGS]
    for order in permutations(range(5)):
        if order.index(1) < order.index(2):  # a lemma comes after its word
            read_words(read, table(*(columns[i] for i in order)))
