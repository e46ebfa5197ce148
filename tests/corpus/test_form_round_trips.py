"""What is written in any form is read as the same words and entities, whatever they
are: forms that we write, and forms of others, which are written here."""

import json
import tempfile
from html import escape
from pathlib import Path

import pandas
import pytest
import spacy
from hypothesis import given, settings
from hypothesis import strategies as st
from spacy.tokens import Doc, Span

from spacy_entlm.corpus.docs import write_docs
from spacy_entlm.corpus.forms.all_forms import FORMS, JSON_KINDS
from spacy_entlm.corpus.forms.out import WRITERS
from spacy_entlm.corpus.readers import read_docs
from spacy_entlm.corpus.tags import doc_to_tags

# Splits at blanks only, so that words and offsets say the same.
NLP = spacy.blank("xx")
NLP.tokenizer.infix_finditer = None
NLP.tokenizer.prefix_search = NLP.tokenizer.suffix_search = None
WORDS = st.text("abzéüß東😀'&%", min_size=1, max_size=6)
PIECES = st.tuples(st.integers(1, 3), st.sampled_from([None, "PER", "LOC", "B-CELL"]))


@st.composite
def sentences(draw):
    """Docs of words between blanks, with entities that may touch each other; one at
    least has an entity, and one a word outside."""
    docs = []
    drawn = draw(st.lists(st.lists(PIECES, min_size=1, max_size=5), max_size=3))
    for pieces in [[(1, "PER"), (2, None)], *drawn]:
        spans, words = [], []
        for length, label in pieces:
            if label is not None:
                spans.append((len(words), len(words) + length, label))
            words += draw(st.lists(WORDS, min_size=length, max_size=length))
        words[0] = f"{len(docs)}x{words[0]}"  # a text that stands only once
        doc = Doc(NLP.vocab, words=words, spaces=[True] * (len(words) - 1) + [False])
        doc.set_ents([Span(doc, *span) for span in spans])
        docs.append(doc)
    return docs


def content(docs):
    return [
        (
            [token.text for token in doc],
            [(ent.start, ent.end, ent.label_) for ent in doc.ents],
        )
        for doc in docs
    ]


def check(docs, name, write, **how):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, name)
        write(docs, path)
        again, report = read_docs(path, NLP, **how)
    assert content(again) == content(docs)
    assert not report.problems()


def spans(doc, last=0):
    return [(e.start_char, e.end_char - last, e.label_) for e in doc.ents]


def objects(doc, last=0, keys=("start", "end", "label")):
    return [dict(zip(keys, span)) for span in spans(doc, last)]


def lines(make):
    def write(docs, path):
        path.write_text("\n".join(make(doc) for doc in docs), encoding="utf8")

    return write


def json_lines(make):
    return lines(lambda doc: json.dumps(make(doc)))


def json_list(make):
    def write(docs, path):
        path.write_text(json.dumps(list(map(make, docs)), indent=1), encoding="utf8")

    return write


def marked(doc, mark):
    text = doc.text
    for ent in reversed(doc.ents):
        inner = mark(ent.text, ent.label_)
        text = text[: ent.start_char] + inner + text[ent.end_char :]
    return text


def xml(doc):
    parts, at = [], 0
    for ent in doc.ents:
        parts += [escape(doc.text[at : ent.start_char]), f"<{ent.label_}>"]
        parts += [escape(ent.text), f"</{ent.label_}>"]
        at = ent.end_char
    return "".join([*parts, escape(doc.text[at:])])


def inline(doc):
    return marked(doc, lambda text, label: f"[{text}]({label})")


def rasa_yaml(docs, path):
    items = "\n".join(f"    - {inline(doc)}" for doc in docs)
    text = f"nlu:\n- intent: a\n  examples: |\n{items}\n"
    path.write_text(text, encoding="utf8")


def rasa_markdown(docs, path):
    items = "\n".join(f"- {inline(doc)}" for doc in docs)
    path.write_text(f"## intent:a\n{items}\n", encoding="utf8")


def conllu(docs, path):
    rows = [
        "\n".join(
            f"{i}\t{token.text}\t_\t_\t_\t_\t_\t_\t_\tname={tag}"
            for i, (token, tag) in enumerate(zip(doc, doc_to_tags(doc)), 1)
        )
        for doc in docs
    ]
    path.write_text("\n\n".join(rows) + "\n\n", encoding="utf8")


def webanno(docs, path):
    text, number = "#FORMAT=WebAnno TSV 3.3\n#T_SP=x.NamedEntity|value\n\n", 0
    for n, doc in enumerate(docs, 1):
        cells = ["_"] * len(doc)
        for ent in doc.ents:
            number += 1
            is_long = len(ent) > 1
            value = ent.label_ + (f"[{number}]" if is_long else "")
            cells[ent.start : ent.end] = [value] * len(ent)
        text += f"\n#Text={doc.text}\n"
        for token, cell in zip(doc, cells):
            place = f"{n}-{token.i + 1}\t{token.idx}-{token.idx + len(token)}"
            text += f"{place}\t{token.text}\t{cell}\t\n"
    path.write_text(text, encoding="utf8")


def brat(docs, path):
    for number, doc in enumerate(docs):
        one = path / f"{number}.txt"
        one.write_text(doc.text, encoding="utf8")
        marks = [
            f"T{i}\t{ent.label_} {ent.start_char} {ent.end_char}\t{ent.text}\n"
            for i, ent in enumerate(doc.ents, 1)
        ]
        one.with_suffix(".ann").write_text("".join(marks), encoding="utf8")


def span_frame(docs):
    rows = [
        (doc.text, *span) for doc in docs for span in (spans(doc) or [("", "", "")])
    ]
    return pandas.DataFrame(rows, columns=["text", "start", "end", "label"])


def word_frame(docs):
    rows = [
        (f"s{n}", token.text, tag)
        for n, doc in enumerate(docs)
        for token, tag in zip(doc, doc_to_tags(doc))
    ]
    return pandas.DataFrame(rows, columns=["sentence", "word", "tag"])


def comprehend(docs, path):
    texts = "\n".join(doc.text for doc in docs)
    path.with_name("docs.txt").write_text(texts, encoding="utf8")
    rows = [("docs.txt", n, *span) for n, doc in enumerate(docs) for span in spans(doc)]
    head = ["File", "Line", "Begin Offset", "End Offset", "Type"]
    pandas.DataFrame(rows, columns=head).to_csv(path, index=False)


def gliner(doc):
    marks = [[ent.start, ent.end - 1, ent.label_] for ent in doc.ents]
    return {"tokenized_text": [token.text for token in doc], "ner": marks}


def spacy_json(doc):
    tokens = [
        {"id": token.i, "orth": token.text, "ner": tag}
        for token, tag in zip(doc, doc_to_tags(doc))
    ]
    return {
        "id": 0,
        "paragraphs": [{"raw": doc.text, "sentences": [{"tokens": tokens}]}],
    }


def dataturks(doc):
    points = objects(doc, 1, ("start", "end", "label"))
    marks = [{"label": [x.pop("label")], "points": [x]} for x in points]
    return {"content": doc.text, "annotation": marks}


def manifest(doc):
    marks = objects(doc, keys=("startOffset", "endOffset", "label"))
    return {"source": doc.text, "job": {"annotations": {"entities": marks}}}


def labels_of(doc):
    return [
        {"start": a, "end": b, "text": doc.text[a:b], "labels": [label]}
        for a, b, label in spans(doc)
    ]


def task(doc):
    marks = [{"to_name": "text", "type": "labels", "value": x} for x in labels_of(doc)]
    return {"data": {"text": doc.text}, "annotations": [{"result": marks}]}


JSON_WRITERS = {
    "label-studio": task,
    "label-studio-min": lambda doc: {
        **{"text": doc.text, "label": labels_of(doc)},
        **{"annotator": 1, "annotation_id": 1},
    },
    "argilla": lambda doc: {
        "fields": {"text": doc.text},
        "responses": {"spans": [{"value": objects(doc)}]},
    },
    "argilla1": lambda doc: {
        "text": doc.text,
        "annotation": [[label, a, b] for a, b, label in spans(doc)],
    },
    "spacy-json": spacy_json,
    "spacy-pairs": lambda doc: [doc.text, {"entities": spans(doc)}],
    "gliner": gliner,
    "dataturks": dataturks,
    "manifest": manifest,
    "comprehend": lambda doc: {
        "Text": doc.text,
        "Entities": [
            {"BeginOffset": a, "EndOffset": b, "Type": label}
            for a, b, label in spans(doc)
        ],
    },
    "texts": lambda doc: {"text": doc.text, "spans": objects(doc)},
}
FILE_WRITERS = {
    "jsonl": ("a.jsonl", json_lines(JSON_WRITERS["texts"])),
    "json": ("a.json", json_list(lambda doc: {"text": doc.text, "label": spans(doc)})),
    "inline": ("a.txt", lines(inline)),
    "rasa": ("a.md", rasa_markdown),
    "rasa-yaml": ("a.yml", rasa_yaml),
    "webanno": ("a.tsv", webanno),
    "conllu": ("a.conllu", conllu),
    "xml": ("a.xml", lines(xml)),
    "brat": ("", brat),
    "csv": ("a.csv", lambda docs, path: span_frame(docs).to_csv(path, index=False)),
    "excel": (
        "a.xlsx",
        lambda docs, path: span_frame(docs).to_excel(path, index=False),
    ),
    "conll": ("a.conll", lambda docs, path: write_docs(docs, path)),
}
MORE_WRITERS = {
    "csv of words": (
        "a.csv",
        lambda docs, path: word_frame(docs).to_csv(path, index=False),
    ),
    "excel of words": (
        "a.xlsx",
        lambda docs, path: word_frame(docs).to_excel(path, index=False),
    ),
    "comprehend": ("a.csv", comprehend),
    "tags in a string": (
        "a.jsonl",
        json_lines(
            lambda doc: {"text": doc.text, "labels": " ".join(doc_to_tags(doc))}
        ),
    ),
}


def test_every_form_of_the_table_is_tried():
    assert set(FILE_WRITERS) == {form.name for form in FORMS}
    assert set(JSON_WRITERS) == set(JSON_KINDS)


@pytest.mark.parametrize("writer", WRITERS, ids=lambda writer: writer.name)
@settings(max_examples=12, deadline=None)
@given(docs=sentences())
def test_what_we_write_is_read_again(writer, docs):
    for extension in writer.extensions:
        name = f"a{extension}"
        check(docs, name, lambda docs, path: write_docs(docs, path, writer.name))


@pytest.mark.parametrize("kind", JSON_WRITERS)
@pytest.mark.parametrize("is_list", [True, False])
@settings(max_examples=8, deadline=None)
@given(docs=sentences())
def test_json_of_others_is_read(kind, is_list, docs):
    make = JSON_WRITERS[kind]
    write = json_list(make) if is_list else json_lines(make)
    name = "a.json" if is_list else "a.jsonl"
    check(docs, name, write)
    check(docs, name, write, format=kind)


@pytest.mark.parametrize("form", [*FILE_WRITERS, *MORE_WRITERS])
@settings(max_examples=8, deadline=None)
@given(docs=sentences())
def test_files_of_others_are_read(form, docs):
    name, write = {**FILE_WRITERS, **MORE_WRITERS}[form]
    check(docs, name, write)
