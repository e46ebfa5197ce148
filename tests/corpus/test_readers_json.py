"""JSON lines of words and tags, and of texts and spans."""

import pytest
import spacy
from spacy.tokens import Doc, DocBin, Span

from spacy_entlm.corpus.readers import DataError, read_docs

from .sentence import entities, jsonl, words


def test_json_lines_of_words_and_tags_are_read(read):
    entry = {"text": ["Angela", "Ruiz", "left"], "label": ["U-PER", "U-PER", "O"]}
    docs, report = read("a.jsonl", jsonl(entry) + "\n" + jsonl(entry))
    assert [entities(doc) for doc in docs] == [[("Angela", "PER"), ("Ruiz", "PER")]] * 2
    assert report.docs == 2


def test_json_lines_with_offsets_are_tokenised(read):
    entry = {
        "text": "Angela Ruiz left.",
        "spans": [{"start": 0, "end": 11, "label": "PER", "token_start": 0}],
        "answer": "accept",
        "_input_hash": 1,
    }
    (doc,), _ = read("a.jsonl", jsonl(entry))
    assert words(doc) == ["Angela", "Ruiz", "left", "."]
    assert entities(doc) == [("Angela Ruiz", "PER")]
    assert not doc.has_unknown_spaces


@pytest.mark.parametrize(
    "entry", [{}, {"spans": []}, {"spans": None}, {"spans": [], "label": 1}]
)
def test_text_without_spans_has_no_entities(read, entry):
    (doc,), _ = read("a.jsonl", jsonl({"text": "It rained.", **entry}))
    assert [token.ent_iob_ for token in doc] == ["O", "O", "O"]


def test_lines_that_the_annotator_did_not_accept_are_skipped_and_counted(read):
    entries = [{"text": t, "answer": t} for t in ["accept", "reject", "ignore"]]
    docs, report = read("a.jsonl", jsonl(*entries))
    assert [doc.text for doc in docs] == ["accept"]
    assert report.skipped == {"texts not accepted by the annotator": 2}


def test_empty_texts_are_skipped_and_counted(read):
    entries = [{"text": " "}, {"text": []}, {"text": [" "]}, {"text": "Hi"}]
    docs, report = read(
        "a.jsonl", jsonl(*({"label": ["O"] * len(e["text"]), **e} for e in entries))
    )
    assert [doc.text for doc in docs] == ["Hi"]
    assert report.skipped == {"empty texts": 3, "blank words": 1}


def test_misaligned_spans_are_counted_shown_and_made_missing(read):
    text = "Flights to Limas and to Lima"
    spans = [
        {"start": 11, "end": 15, "label": "LOC"},
        {"start": 24, "end": 28, "label": "LOC"},
    ]
    docs, report = read("a.jsonl", jsonl(*[{"text": text, "spans": spans}] * 7))
    assert [token.ent_iob_ for token in docs[0]] == ["O", "O", "", "O", "O", "B"]
    assert report.misaligned == {"LOC": 7}
    assert report.misaligned_examples[0] == "'Lima' (LOC) in 'Limas', line 1"
    assert len(report.misaligned_examples) == 5
    assert any(
        "7 spans do not begin and end where words do" in line for line in report.lines()
    )


def test_span_over_several_words_with_a_cut_word_makes_all_of_them_missing(read):
    span = {"start": 0, "end": 9, "label": "LOC"}
    (doc,), _ = read("a.jsonl", jsonl({"text": "New Yorkers came", "spans": [span]}))
    assert [token.ent_iob_ for token in doc] == ["", "", "O"]


def test_longest_of_overlapping_spans_is_kept_and_others_counted(read):
    spans = [
        {"start": 0, "end": 3, "label": "A"},
        {"start": 0, "end": 11, "label": "B"},
        {"start": 0, "end": 11, "label": "C"},
        {"start": 9, "end": 16, "label": "D"},
    ]
    entry = {"text": "The New Yor k it was", "spans": spans}
    (doc,), report = read("a.jsonl", jsonl(entry))
    assert entities(doc) == [("The New Yor", "B")]
    assert report.overlapping == 3
    assert "3 spans overlap another one: left out" in report.lines()


@pytest.mark.parametrize(
    "line, what",
    [
        ('{"text": ', "broken JSON"),
        ("[" * 100_000, "broken JSON"),
        ('["a"]', "a JSON list where an object is needed"),
        ('{"txt": "a"}', 'no "text" that is a string or a list of words (keys'),
        ('{"words": ["a"]}', "no tags"),
        ('{"text": ["a"]}', "no tags"),
        ('{"text": ["a"], "label": []}', '1 words in "text" but 0 tags in "label"'),
        ('{"text": ["a"], "label": [null]}', '"label" holds None'),
        ('{"text": ["a"], "label": "O"}', "must be a list of strings, not 'O'"),
        ('{"text": [1], "label": ["O"]}', '"text" holds 1'),
        ('{"text": ["a"], "label": ["B"]}', "tag 'B' has no prefix, but 'B-X'"),
        ('{"text": ["\\ud800"], "label": ["O"]}', "spaCy refuses this text"),
        ('{"text": "a", "spans": {"start": 0}}', '"spans" must be a list'),
        ('{"text": "a", "spans": [3]}', 'span 3 needs whole numbers "start"'),
        ('{"text": "a", "spans": [{"start": true, "end": 1}]}', "needs whole numbers"),
        (
            '{"text": "a", "spans": [{"start": 0, "end": 1}]}',
            'and a "label" that is a string',
        ),
        (
            '{"text": "a", "spans": [{"start": 0, "end": 2, "label": "X"}]}',
            "does not lie in its text of 1 characters",
        ),
        (
            '{"text": "a", "spans": [{"start": 1, "end": 1, "label": "X"}]}',
            "does not lie in its text",
        ),
    ],
)
def test_bad_json_line_is_an_error_with_its_line(error_of, line, what):
    good = '{"text": ["a"], "label": ["B-X"]}\n\n'
    message = error_of("a.jsonl", good + line + "\n")
    assert ", line 3: " in message
    assert what in message


@pytest.mark.parametrize(
    "annotation",
    [
        {"label": [[0, 3, "PER"], [12, 16, "LOC"]], "Comments": [], "id": 7},
        {"labels": [[0, 3, "PER"], [12, 16, "LOC"]], "meta": {"a": [1]}},
        {"entities": [[0, 3, "PER"], [12, 16, "LOC"]]},
        {"entities": [{"start": 0, "end": 3, "label": "PER"}, [12, 16, "LOC"]]},
        {
            "entities": [
                {"id": 1, "label": "PER", "start_offset": 0, "end_offset": 3},
                {"id": 2, "label": "LOC", "start_offset": 12, "end_offset": 16},
            ],
            "relations": [],
        },
        {
            "spans": [[0, 3, "PER"], [12, 16, "LOC"]],
            **{"label": "PER", "tokens": [{"text": "Ann"}], "_input_hash": [1]},
        },
    ],
)
def test_spans_of_other_tools_are_read(read, annotation):
    (doc,), report = read("a.jsonl", jsonl({"text": "Ann lives i Lima", **annotation}))
    assert entities(doc) == [("Ann", "PER"), ("Lima", "LOC")]
    assert not report.problems()


def test_lists_that_are_not_read_are_named(read):
    span = [0, 1, "X"]
    texts = {"text": "a", "spans": [span], "entities": [span], "annotations": [1]}
    words = {"text": ["a"], "label": ["O"], "ner_tags": [1], "meta": [1]}
    _, report = read("a.jsonl", jsonl(texts, texts, words))
    assert report.unread == {"entities": 2, "annotations": 2, "ner_tags": 1}
    assert "2 lines have 'annotations', which is not read" in report.lines()


@pytest.mark.parametrize("label", ["O", "-", "B-", "", " ", "A\tB", "A\nB", " A"])
def test_label_that_no_file_can_hold_is_refused_with_its_place(error_of, nlp, label):
    good = jsonl({"text": ["a", "b"], "label": ["B-X", "O"]})
    spans = [{"start": 0, "end": 1, "label": label}]
    message = error_of("a.jsonl", good + jsonl({"text": "a", "spans": spans}))
    assert ", line 2: " in message and "is no class of entities" in message
    if label:
        doc = Doc(nlp.vocab, words=["a"])
        doc.set_ents([Span(doc, 0, 1, label)])
        message = error_of("a.spacy", DocBin(docs=[doc, doc]).to_bytes())
        assert "doc 1: " in message and "is no class of entities" in message


@pytest.mark.parametrize(
    "name, content",
    [
        ("a.jsonl", jsonl({"text": ["a"], "label": ["B-O"]})),
        ("a.jsonl", jsonl({"text": ["a"], "label": ["B-A\nB"]})),
        ("a.conll", "a B-O\n"),
        ("a.conll", "a B-B-\n"),
        ("a.md", "[a](O)\n"),
    ],
)
def test_label_of_a_tag_or_of_markup_is_refused_too(error_of, name, content):
    message = error_of(name, content)
    assert ", line 1: " in message and "is no class of entities" in message


def test_text_longer_than_the_pipeline_allows_is_an_error_with_its_line(tmp_path):
    nlp = spacy.blank("en")
    nlp.max_length = 10
    path = tmp_path / "a.jsonl"
    path.write_text(jsonl({"text": "short"}, {"text": "much too long"}))
    with pytest.raises(DataError, match="line 2: spaCy refuses this text"):
        read_docs(path, nlp)
