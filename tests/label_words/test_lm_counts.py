"""What the masked LM predicts at labelled words, counted (paper, Eq. 6)."""

import importlib.util
import json
from collections import Counter
from pathlib import Path

import pytest
import spacy
import torch
from spacy.tokens import Doc, Span
from spacy.training import Example
from transformers import AutoModelForMaskedLM, AutoTokenizer

from spacy_entlm.corpus.docs import write_docs
from spacy_entlm.corpus.readers import read_docs
from spacy_entlm.label_words import lm_counts
from spacy_entlm.label_words.lm_counts import (
    NOT_COUNTED,
    count_predictions,
    piece_as_word,
)
from spacy_entlm.model.search_reader import TextReader

ROOT = Path(__file__).resolve().parents[2]
SHARED = ROOT.parent / "shared"
NLP = spacy.blank("en")


@pytest.fixture(scope="module")
def docs(annotated):
    examples = [
        Example.from_dict(NLP.make_doc(text), entities) for text, entities in annotated
    ]
    return [eg.reference for eg in examples]


@pytest.fixture(scope="module")
def reader(bert):
    return TextReader(str(bert))


def one_by_one(folder, docs, *, top_k=3):
    """The same counts by a loop over words."""
    tokenizer = AutoTokenizer.from_pretrained(folder)
    lm = AutoModelForMaskedLM.from_pretrained(folder).eval()
    counts = {}
    for doc in docs:
        encoding = tokenizer(doc.text, return_offsets_mapping=True, return_tensors="pt")
        offsets = encoding["offset_mapping"][0].tolist()
        for token in doc:
            if not token.ent_type_:
                continue
            begin, end = token.idx, token.idx + len(token)
            own = [i for i, (b, e) in enumerate(offsets) if b < end and e > begin]
            ids = encoding["input_ids"].clone()
            read = tokenizer.convert_ids_to_tokens(ids[0, own[0]].item())
            with torch.no_grad():
                logits = lm(input_ids=ids).logits[0, own[0]]
            counter = counts.setdefault(token.ent_type_, Counter())
            for index in logits.topk(top_k).indices.tolist():
                piece = tokenizer.convert_ids_to_tokens(index)
                word = piece_as_word(piece, tokenizer)
                if piece not in read and word not in NOT_COUNTED:
                    counter[word] += 1
    return counts


def test_counts_are_those_of_a_loop_over_words(backbone, docs):
    counts = count_predictions(TextReader(str(backbone)), docs, top_k=4)
    assert counts == one_by_one(backbone, docs, top_k=4)
    assert sum(map(sum, (counter.values() for counter in counts.values()))) > 40


def in_order(counts):
    return [(label, list(counter.items())) for label, counter in counts.items()]


@pytest.mark.parametrize("max_batch_pieces", [1, 40, 100_000])
def test_size_of_batches_changes_neither_counts_nor_order(
    reader, docs, max_batch_pieces, monkeypatch
):
    counts = count_predictions(reader, docs)
    reading = reader.layer.attrs["reading"]
    monkeypatch.setattr(reading, "max_batch_pieces", max_batch_pieces)
    assert in_order(count_predictions(reader, docs)) == in_order(counts)


def test_reading_in_chunks_changes_neither_counts_nor_order(reader, docs, monkeypatch):
    counts = count_predictions(reader, docs)
    monkeypatch.setattr(lm_counts, "CHUNK_WORDS", 10)
    chunks = []

    def progress(items):
        chunks.extend(items)
        return items

    again = count_predictions(reader, docs, progress=progress)
    assert in_order(again) == in_order(counts)
    assert len(chunks) > 3


def test_counts_of_shards_add_up(reader, docs):
    first, second = (count_predictions(reader, part) for part in (docs[:4], docs[4:]))
    assert count_predictions(reader, docs) == {
        label: first.get(label, Counter()) + second.get(label, Counter())
        for label in {**first, **second}
    }


def test_first_label_and_first_prediction_come_first(reader, bert, docs):
    counts = count_predictions(reader, docs)
    assert list(counts) == ["PER", "LOC", "ORG"]
    first = one_by_one(bert, docs[:1])
    n = len(first["LOC"])
    assert list(counts["LOC"])[:n] == list(first["LOC"])


class NotingReader:
    """A reader that notes which Docs it reads."""

    def __init__(self, reader):
        self.reader = reader
        self.seen = []

    def __getattr__(self, name):
        return getattr(self.reader, name)

    def read_words(self, docs, **settings):
        self.seen += docs
        return self.reader.read_words(docs, **settings)


def test_docs_without_entities_are_not_run(reader, docs):
    noting = NotingReader(reader)
    count_predictions(noting, docs)
    assert noting.seen == [doc for doc in docs if doc.ents]
    assert len(noting.seen) < len(docs)
    assert count_predictions(reader, []) == {}


def test_text_longer_than_a_window_is_counted_to_its_end(reader):
    doc = NLP(" ".join(["Anna met John ."] * 60))
    spans = [Span(doc, i, i + 1, "PER") for i in range(0, len(doc), 4)]
    doc.set_ents(spans)
    counts = count_predictions(reader, [doc], top_k=len(reader.tokenizer))
    # Every piece is among so many predictions: once for each labelled word.
    assert counts["PER"]["london"] == 60


def test_entity_without_a_piece_counts_nothing(reader):
    doc = Doc(NLP.vocab, words=[" "])
    doc.set_ents([Span(doc, 0, 1, "PER")])
    assert count_predictions(reader, [doc]) == {"PER": Counter()}


@pytest.mark.parametrize("top_k", [0, 10**6])
def test_impossible_number_of_predictions_is_refused(reader, docs, top_k):
    with pytest.raises(ValueError, match="top_k must be from 1 to"):
        count_predictions(reader, docs, top_k=top_k)


@pytest.mark.parametrize(
    "family, pieces",
    [
        ("bert", {"berlin": "berlin", "##s": "##s"}),
        ("roberta", {"ĠBerlin": "Berlin", "s": "##s", "Ġ": ""}),
        ("xlm-roberta", {"▁Berlin": "Berlin", "s": "##s"}),
    ],
)
def test_pieces_are_spelled_as_words(backbone_folder, family, pieces):
    tokenizer = AutoTokenizer.from_pretrained(backbone_folder(family))
    assert {piece: piece_as_word(piece, tokenizer) for piece in pieces} == pieces


def test_benchmark_measures_both_ways_and_compares_the_counts(
    bert, docs, tmp_path, capsys
):
    path = ROOT / "project" / "benchmarks" / "lm_counts.py"
    spec = importlib.util.spec_from_file_location("lm_counts_benchmark", path)
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    data = tmp_path / "data.jsonl"
    write_docs(docs, data)
    for pad_to in (None, 32):
        script.main(str(bert), data, n_sentences=10, pad_to=pad_to, save=None)
        assert "same counts" in capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.skipif(not SHARED.is_dir(), reason="no shared data")
def test_counts_are_those_of_the_authors_code():
    peer = json.loads((SHARED / "peers" / "lm-counts.json").read_text())
    data = SHARED / "data" / "conll03" / "distant.jsonl"
    docs = read_docs(data, NLP)[0][:2000]
    reader = TextReader(str(SHARED / "lm" / "bert-minilm-mlm"))
    assert count_predictions(reader, docs) == peer["counts"]
    assert set(peer["not_counted"]["pieces"]) == NOT_COUNTED
