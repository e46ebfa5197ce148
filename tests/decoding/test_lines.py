"""Line breaks of any kind end entities, but of classes whose examples go over one."""

import logging

import numpy
import pytest
import spacy
from spacy.tokens import Doc, Span
from spacy.training import Example

from spacy_entlm.decoding.io import IODecoder
from spacy_entlm.decoding.types import LabelScores
from spacy_entlm.decoding.viterbi import ViterbiDecoder
from spacy_entlm.pipeline.decoders import build_io_decoder, build_viterbi_decoder

NLP = spacy.blank("en")
BREAKS = ["\n", "\r\n", "\f", "\v", "\x85", "\u2028", "\u2029", " \f "]
LABELS = ("ADDRESS", "PER")


def make_doc(words, *entities):
    doc = Doc(NLP.vocab, words=words, spaces=[False] * len(words))
    doc.set_ents([Span(doc, *entity) for entity in entities])
    return doc


def decode(decoder, words, best):
    doc = make_doc(words)
    probs = numpy.full((len(words), len(LABELS)), 0.01, dtype="f")
    probs[numpy.arange(len(words)), best] = 0.98
    scores = LabelScores(probs, 1 - probs.sum(axis=1), [len(words)])
    (found,) = decoder(scores, [doc])
    return [tuple(span) for span in found.spans.tolist()]


def learned(decoder, *docs):
    examples = [Example(make_doc([t.text for t in doc]), doc) for doc in docs]
    decoder.initialize(lambda: examples, LABELS)
    return decoder


def address(space):
    words = ["to", "12", "Lane", space, "Ulm", "4410", "now"]
    return make_doc(words, (1, 6, "ADDRESS"))


def names(space):
    words = ["Ann", space, "Bo", space, "Al"]
    return make_doc(words, (0, 1, "PER"), (2, 3, "PER"), (4, 5, "PER"))


@pytest.mark.parametrize("space", BREAKS)
@pytest.mark.parametrize("make", [IODecoder, ViterbiDecoder])
def test_a_line_break_of_any_kind_ends_an_entity(make, space):
    decoder = learned(make(), make_doc(["a"], (0, 1, "PER")))
    assert decode(decoder, ["a", space, "b"], [1, 1, 1]) == [(0, 1, 1), (2, 3, 1)]


@pytest.mark.parametrize("space", BREAKS)
@pytest.mark.parametrize("make", [IODecoder, ViterbiDecoder])
def test_classes_whose_examples_go_over_line_breaks_do_so(make, space):
    decoder = learned(make(), address("\n"), names("\n"))
    words = ["a", space, "b"]
    assert decode(decoder, words, [0, 0, 0]) == [(0, 3, 0)]
    assert decode(decoder, words, [1, 1, 1]) == [(0, 1, 1), (2, 3, 1)]


@pytest.mark.parametrize("make", [IODecoder, ViterbiDecoder])
def test_what_was_learned_is_saved(make):
    decoder = learned(make(), address("\n"))
    again = make().from_bytes(decoder.to_bytes())
    assert decode(again, ["a", "\n", "b"], [0, 0, 0]) == [(0, 3, 0)]
    plain = learned(make(), names("\n"))
    again.from_bytes(plain.to_bytes())
    assert decode(again, ["a", "\n", "b"], [0, 0, 0]) == [(0, 1, 0), (2, 3, 0)]


@pytest.mark.parametrize(
    "data", [b'{"span_lines": 3}', b'{"span_lines": [true]}', b"["]
)
def test_damaged_data_is_refused(data):
    with pytest.raises(ValueError):
        IODecoder().from_bytes(data)


@pytest.mark.parametrize("build", [build_io_decoder, build_viterbi_decoder])
@pytest.mark.parametrize("span_lines", [True, False])
def test_a_setting_overrides_the_examples(build, span_lines):
    decoder = learned(build(span_lines=span_lines), address("\n"), names("\n"))
    for label in (0, 1):
        found = decode(decoder, ["a", "\n", "b"], [label] * 3)
        assert (len(found) == 1) == span_lines


def test_neighbours_on_lines_outweigh_an_entity_over_one(caplog):
    broken = make_doc(["Ann", "\n", "Lee"], (0, 3, "PER"))
    with caplog.at_level(logging.WARNING, "spacy.entlm"):
        decoder = learned(IODecoder(), names("\n"), broken)
    assert decode(decoder, ["a", "\n", "b"], [1, 1, 1]) == [(0, 1, 1), (2, 3, 1)]
    assert "1 entity goes over a line break" in caplog.text
    assert "(PER)" in caplog.text and "span_lines" in caplog.text


def test_without_broken_entities_nothing_is_told(caplog):
    with caplog.at_level(logging.WARNING, "spacy.entlm"):
        learned(IODecoder(), names("\n"), address("\n"))
    assert not caplog.text
