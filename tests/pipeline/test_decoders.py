"""The decoders that a config names, and the text from which one counts transitions."""

import json

import pytest
import spacy
from spacy.tokens import Doc, DocBin, Span
from spacy.training import Example

from spacy_entlm.decoding.io import IODecoder
from spacy_entlm.decoding.transitions import TransitionCounts
from spacy_entlm.decoding.viterbi import ViterbiDecoder
from spacy_entlm.files.errors import DataError
from spacy_entlm.pipeline.decoders import build_viterbi_decoder, read_transitions_text

NLP = spacy.blank("en")
LABELS = ("PER", "LOC")


def annotated_doc(words, *ents):
    doc = Doc(NLP.vocab, words=words)
    doc.set_ents([Span(doc, *ent) for ent in ents])
    return doc


def examples(*docs):
    return lambda: [Example(Doc(NLP.vocab, words=[t.text for t in d]), d) for d in docs]


@pytest.mark.parametrize(
    "name, decoder_class",
    [
        ("spacy-entlm.io_decoder.v1", IODecoder),
        ("spacy-entlm.viterbi_decoder.v1", ViterbiDecoder),
    ],
)
def test_config_names_the_decoders(name, decoder_class):
    assert isinstance(spacy.registry.misc.get(name)(), decoder_class)


def test_settings_reach_the_viterbi_decoder():
    decoder = build_viterbi_decoder(tau=0.4)
    assert decoder.tau == 0.4


@pytest.mark.parametrize("extension", ["spacy", "jsonl"])
def test_transitions_are_counted_in_annotated_text(tmp_path, extension):
    path = tmp_path / f"annotated.{extension}"
    if extension == "spacy":
        DocBin(docs=[annotated_doc(list("abc"), (0, 1, "LOC"))]).to_disk(path)
    else:
        line = {"text": ["a", "b", "c"], "label": ["B-LOC", "O", "O"]}
        path.write_text(json.dumps(line) + "\n")
    decoder = build_viterbi_decoder(transitions=str(path))
    decoder.initialize(examples(annotated_doc(["x"], (0, 1, "PER"))), LABELS)
    assert decoder.counts == TransitionCounts(0, 1, 1, 0, 1, 0, 0)


def test_annotated_text_that_is_not_there_is_named(tmp_path):
    decoder = build_viterbi_decoder(transitions=tmp_path / "none.spacy")
    with pytest.raises(DataError, match=r"none\.spacy"):
        decoder.initialize(examples(annotated_doc(["x"])), LABELS)


def test_annotated_text_that_need_not_be_there(tmp_path):
    path = tmp_path / "annotated.spacy"
    decoder = build_viterbi_decoder(transitions=path, require=False)
    decoder.initialize(examples(annotated_doc(["x"], (0, 1, "PER"))), LABELS)
    assert decoder.counts == TransitionCounts(start_inside=1)
    DocBin(docs=[annotated_doc(list("abc"), (0, 1, "LOC"))]).to_disk(path)
    decoder.initialize(examples(annotated_doc(list("wxyz"), (0, 1, "PER"))), LABELS)
    assert decoder.counts.outside_outside == 1


@pytest.mark.parametrize("require, n_outside", [(True, 7), (False, 2)])
def test_text_in_which_a_short_list_marks_little_tells_nothing(
    tmp_path, require, n_outside
):
    path = tmp_path / "annotated.spacy"
    DocBin(docs=[annotated_doc(list("abcdefghi"), (0, 1, "LOC"))]).to_disk(path)
    decoder = build_viterbi_decoder(transitions=path, require=require)
    decoder.initialize(examples(annotated_doc(list("wxyz"), (0, 1, "PER"))), LABELS)
    assert decoder.counts.outside_outside == n_outside


def test_annotated_text_without_these_classes_is_refused(tmp_path):
    path = tmp_path / "other.spacy"
    DocBin(docs=[annotated_doc(["a"], (0, 1, "DRUG"))]).to_disk(path)
    decoder = build_viterbi_decoder(transitions=path)
    with pytest.raises(ValueError, match="no entity of the classes PER, LOC"):
        decoder.initialize(examples(annotated_doc(["x"])), LABELS)
    decoder = build_viterbi_decoder(transitions=path, require=False)
    decoder.initialize(examples(annotated_doc(["x"], (0, 1, "PER"))), LABELS)
    assert decoder.counts == TransitionCounts(start_inside=1)


def test_an_empty_file_of_transitions_is_none_where_it_need_not_be(tmp_path):
    """What `annotate` writes for a folder of data without a lexicon."""
    path = tmp_path / "annotated.spacy"
    path.write_bytes(b"")
    assert read_transitions_text(path, False, "en", ("PER",)) is None
    with pytest.raises(DataError, match="the file is empty"):
        read_transitions_text(path, True, "en", ("PER",))
