import pytest
import spacy
from spacy.tokens import Doc, DocBin, Span

from spacy_entlm.corpus.docs import write_docs
from spacy_entlm.corpus.readers import DataError, read_docs
from spacy_entlm.corpus.tags import doc_to_tags


@pytest.fixture
def docs(nlp):
    """Two annotated sentences, one of them with neighbouring entities of a class."""
    people = Doc(nlp.vocab, words=["Ann", "Lee", "Smith", "in", "Lima"])
    people.set_ents(
        [
            Span(people, 0, 1, "PER"),
            Span(people, 1, 3, "PER"),
            Span(people, 4, 5, "LOC"),
        ]
    )
    weather = Doc(nlp.vocab, words=["It", "rained"])
    weather.set_ents([])
    return [people, weather]


def content(docs):
    return [
        (
            [token.text for token in doc],
            [(ent.start, ent.end, ent.label_) for ent in doc.ents],
            doc_to_tags(doc),
        )
        for doc in docs
    ]


@pytest.mark.parametrize("extension", [".spacy", ".jsonl"])
def test_written_docs_are_read_back(docs, nlp, tmp_path, extension):
    doc = Doc(nlp.vocab, words=["Lima", "is", "big"])
    doc.set_ents([Span(doc, 0, 1, "LOC")], missing=[doc[2:3]])
    path = tmp_path / f"a{extension}"
    write_docs([*docs, doc], path)
    again, report = read_docs(path, spacy.blank("en"))
    assert content(again) == content([*docs, doc])
    assert doc_to_tags(again[2]) == ["B-LOC", "O", "-"]
    assert all(doc.has_unknown_spaces for doc in again)
    assert report.entities == {"PER": 2, "LOC": 2}


def test_tokens_of_blanks_are_not_written_as_words(nlp, tmp_path):
    doc = nlp.make_doc("It  rained")
    doc.set_ents([])
    assert len(doc) == 3
    write_docs([doc], tmp_path / "a.jsonl")
    (again,), report = read_docs(tmp_path / "a.jsonl", nlp)
    assert [token.text for token in again] == ["It", "rained"]
    assert not report.problems()


def test_writing_another_extension_is_refused(docs, tmp_path):
    with pytest.raises(DataError, match=r"end its name in \.spacy, \.jsonl, \.conll"):
        write_docs(docs, tmp_path / "a.txt")
    with pytest.raises(DataError, match=r"end its name in \.json"):
        write_docs(docs, tmp_path / "a.txt", "label-studio")
    with pytest.raises(DataError, match="unknown form 'pdf': choose spacy"):
        write_docs(docs, tmp_path / "a.txt", "pdf")


def test_empty_docs_of_a_docbin_are_left_out_and_counted(docs, nlp, tmp_path):
    DocBin(docs=[Doc(nlp.vocab), *docs]).to_disk(tmp_path / "a.spacy")
    again, report = read_docs(tmp_path / "a.spacy", nlp)
    assert len(again) == 2
    assert report.skipped == {"empty texts": 1}


def test_damaged_docbin_is_a_corpus_error(docs, nlp, tmp_path):
    data = DocBin(docs=docs).to_bytes()
    path = tmp_path / "a.spacy"
    for bad in (b"not a DocBin", data[:-9], data[:20], b"\x80\x04."):
        path.write_bytes(bad)
        with pytest.raises(DataError, match=r"a\.spacy: no DocBin, or a damaged one"):
            read_docs(path, nlp)


def test_docbin_without_annotation_is_an_error(nlp, tmp_path):
    path = tmp_path / "a.spacy"
    DocBin(docs=[Doc(nlp.vocab, words=["Lima"])]).to_disk(path)
    with pytest.raises(DataError, match="no annotated docs in 1 read"):
        read_docs(path, nlp)
