"""Label rows that start from features at the words of a class."""

import pytest
import spacy
import torch
from spacy.tokens import Doc, Span

from spacy_entlm.files.errors import DataError
from spacy_entlm.files.tensors import save_tensors
from spacy_entlm.label_words.prototypes import (
    find_prototypes,
    read_label_rows,
)
from spacy_entlm.label_words.rows import initial_row
from spacy_entlm.model.search_reader import TextReader

WORDS = {"PER": ["John", "Mary"], "LOC": ["Paris"], "ORG": ["Corp"], "NONE": []}


@pytest.fixture
def docs(annotated):
    """Docs with PER and LOC; nothing is annotated as ORG."""
    nlp = spacy.blank("xx")
    docs = []
    for text, annotation in annotated:
        doc = nlp.make_doc(text)
        spans = [doc.char_span(*span) for span in annotation["entities"]]
        doc.ents = [span for span in spans if span.label_ != "ORG"]
        docs.append(doc)
    return docs


def test_rows_are_what_features_of_a_class_have_in_common(backbone, docs, monkeypatch):
    reader = TextReader(str(backbone))
    pieces = reader.read_words(docs)
    features = torch.zeros(sum(map(len, docs)), reader.vocabulary.weight.shape[1])
    features[torch.from_numpy(pieces.words)] = pieces.features
    types = [token.ent_type_ for doc in docs for token in doc]
    # Also over several parts of the text.
    monkeypatch.setattr("spacy_entlm.label_words.prototypes.CHUNK_WORDS", 20)
    rows = find_prototypes(reader, docs, WORDS)
    assert list(rows) == ["PER", "LOC"]
    for label, row in rows.items():
        here = features[torch.tensor([type_ == label for type_ in types])].mean(0)
        direction = here - features.mean(0)
        cosine = torch.cosine_similarity(row, direction, dim=0)
        assert cosine > 0.9999
    ids = [[reader.tokenizer.convert_tokens_to_ids("paris")]]
    if ids[0][0] != reader.tokenizer.unk_token_id:  # the uncased WordPiece
        of_word, _ = initial_row(reader.vocabulary, ids)
        torch.testing.assert_close(rows["LOC"].norm(), of_word.norm())


def test_rows_come_back_from_their_file(tmp_path):
    rows = {"PER": torch.arange(4.0), "a/b c": torch.ones(4)}
    save_tensors(tmp_path / "rows.safetensors", rows)
    found = read_label_rows(tmp_path / "rows.safetensors", 4)
    assert found.keys() == rows.keys()
    assert all(torch.equal(found[label], rows[label]) for label in rows)
    save_tensors(tmp_path / "none.safetensors", {})
    assert read_label_rows(tmp_path / "none.safetensors", 4) == {}


def test_rows_of_another_backbone_or_none_at_all_are_refused(tmp_path):
    path = tmp_path / "rows.safetensors"
    with pytest.raises(DataError, match="no such file"):
        read_label_rows(path, 4)
    path.write_bytes(b"nothing of the kind")
    with pytest.raises(DataError, match="cannot be read"):
        read_label_rows(path, 4)
    save_tensors(path, {"PER": torch.ones(5)})
    with pytest.raises(DataError, match="search them again"):
        read_label_rows(path, 4)


def test_docs_without_entities_give_no_rows(bert):
    reader = TextReader(str(bert))
    doc = Doc(spacy.blank("xx").vocab, words=["a", "cat"])
    assert find_prototypes(reader, [doc], WORDS) == {}
    doc.set_ents([Span(doc, 1, 2, "ANIMAL")])
    assert find_prototypes(reader, [doc], WORDS) == {}
