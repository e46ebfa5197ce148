"""Whatever text a pipeline gets, it does not fail, leaves the text as it is, finds
entities of words only, and the same ones in every batch size.

The suite tries a few documents; 10,000 for each decoder on each engine, with a report,
as conftest.py tells.
"""

import math
from collections import Counter

import pytest
import spacy
from hypothesis import event, given, settings
from hypothesis import strategies as st
from spacy.tokens import Doc, Span

import spacy_entlm

NAME = "entlm_ner"
DECODERS = ["io", "viterbi"]
ENGINES = ["torch", "onnx"]
# Documents of one example, which are read one by one, and in batches of some size.
N_DOCS = 4
BATCH_SIZES = (1, 3, 128)
# Examples in the suite, and documents in the thorough profile.
N_EXAMPLES, N_THOROUGH = 10, 10_000
TOLERANCE = 2e-4
# A long word is cut, which is said.
pytestmark = pytest.mark.filterwarnings("ignore:Some words have more than")

LETTERS = [
    "abcXYZ019",
    "éüßøĳſ",
    "жяЁѣ",
    "αΩς",
    "אבשׁ",
    "عربيﷺ",
    "हिन्दीक्ष",
    "ไทยที่",
    "東京日本語",
    "한국어각",
    "𝔄𝟘𐍈𠀀",
    "😀👩‍👩‍👧🇩🇪🏳️‍🌈",
    "e\u0301\u0327o\u0308\u20dd",  # combining
    "\u200b\u200c\u200d\u2060\ufeff\u00ad\u202e\u2066",  # without width
    "\x00\x01\x07\x1b\x1f\x7f\x80\x9f\ufffd\uffff",  # control
    ".,:;!?'\"()[]{}<>/\\|@#$%^&*_-+=~`",
]
KNOWN = [
    "Anna",
    "Smith",
    "Berlin",
    "Paris",
    "Acme",
    "Corp",
    "lives",
    "in",
    ".",
    "[MASK]",
]
GAPS = ["", " ", "  ", "\t", "\n", "\r\n", "\n\n", "\u00a0", "\u3000", "\u2028", "\x85"]

parts = st.sampled_from(LETTERS).flatmap(lambda s: st.text(s, min_size=1, max_size=8))
short_words = st.sampled_from(KNOWN) | st.lists(parts, min_size=1, max_size=3).map(
    "".join
)
long_words = st.builds(
    lambda part, n: (part * n)[:10_000], parts, st.sampled_from([30, 500, 10_000])
)
words = st.one_of(*[short_words] * 40, long_words)
# Of letters: spaCy's tokenizer takes minutes for 10,000 brackets or emoji in a row.
long_letters = long_words.filter(str.isalnum) | st.sampled_from(["é\u0301" * 5000])
text_words = st.one_of(*[short_words] * 40, long_letters)
n_repeats = st.sampled_from([1] * 280 + [30] * 15 + [1000])


@st.composite
def texts(draw):
    pairs = draw(st.lists(st.tuples(text_words, st.sampled_from(GAPS)), max_size=12))
    text = "".join(map("".join, pairs))
    # Nothing of 10,000 characters is said a thousand times.
    n = draw(n_repeats) if len(text) < 200 else 1
    # A gap, so that brackets do not stand in one row (see above).
    return f"{text} " * n if n > 1 else text


@st.composite
def token_lists(draw):
    """Words with flags of spaces, as another tokenizer might have left them."""
    odd = st.sampled_from([" ", "\n", "\t ", "\u00a0", "New York", " a", "b "])
    pairs = draw(st.lists(st.tuples(words | odd, st.booleans()), max_size=12))
    n = draw(n_repeats) if sum(len(word) for word, _ in pairs) < 200 else 1
    return pairs * n


@st.composite
def annotations(draw):
    """Shares of a Doc where sentences begin, and where entities stand."""
    share = st.floats(0, 1, exclude_max=True)
    starts = draw(st.none() | st.lists(share, max_size=4))
    spans = draw(st.lists(st.tuples(share, st.integers(1, 3)), max_size=3))
    return starts, spans


def make_doc(nlp, content, annotation):
    """A Doc, of which copies are read: they are changed then."""
    if isinstance(content, str):
        doc = nlp.make_doc(content)
    else:
        given_words, spaces = zip(*content) if content else ([], [])
        doc = Doc(nlp.vocab, words=list(given_words), spaces=list(spaces))
    starts, spans = annotation
    if len(doc) and starts is not None:
        first = {0, *(int(start * len(doc)) for start in starts)}
        for i, token in enumerate(doc):
            token.is_sent_start = i in first
    taken, entities = set(), []
    for start, length in spans:
        begin = int(start * len(doc))
        place = range(begin, min(begin + length, len(doc)))
        if place and taken.isdisjoint(place):
            taken.update(place)
            entities.append(Span(doc, place.start, place.stop, label="OLD"))
    doc.set_ents(entities, default="missing")
    return doc


@pytest.fixture(scope="session")
def pipelines(trained_folder, annotated, tmp_path_factory):
    """Gives a trained pipeline with a decoder, on an engine; each is made once."""
    made = {}

    def make(decoder, engine):
        key = f"components.{NAME}.decoder"
        named = {"@misc": f"spacy-entlm.{decoder}_decoder.v1"}
        nlp = spacy.load(trained_folder, config={key: named})
        gold = [
            spacy.training.Example.from_dict(nlp.make_doc(text), entities)
            for text, entities in annotated
        ]
        pipe = nlp.get_pipe(NAME)
        pipe.decoder.initialize(lambda: gold, pipe.labels)
        if engine == "onnx":
            for module in ("onnx", "onnxruntime"):
                pytest.importorskip(module, reason="needs the extra `onnx`")
            return spacy_entlm.export(nlp, tmp_path_factory.mktemp("exported"))
        return nlp

    def pipeline(decoder, engine):
        if (decoder, engine) not in made:
            made[decoder, engine] = make(decoder, engine)
        return made[decoder, engine]

    return pipeline


def found(doc):
    group = doc.spans[NAME]
    spans = [(span.start, span.end, span.label_) for span in group]
    return spans, [float(score) for score in group.attrs["scores"]]


def check(doc, before, kept, labels):
    """What holds of every Doc that was read."""
    assert doc.text == before.text
    assert [t.text_with_ws for t in doc] == [t.text_with_ws for t in before]
    spans, scores = found(doc)
    last = 0
    for (start, end, label), score in zip(spans, scores, strict=True):
        assert last <= start < end <= len(doc)
        assert label in labels
        assert math.isfinite(score) and 0 <= score <= 1
        assert not doc[start].is_space and not doc[end - 1].is_space
        last = end
    entities = [(ent.start, ent.end, ent.label_) for ent in doc.ents]
    assert set(kept) <= set(entities) <= {*kept, *spans}
    if not kept:
        assert entities == spans


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("decoder", DECODERS)
def test_any_document(pipelines, decoder, engine, tried, record_property):
    nlp, n_read = pipelines(decoder, engine), Counter()

    @settings(max_examples=tried(N_EXAMPLES, N_THOROUGH // N_DOCS))
    @given(
        contents=st.lists(
            st.tuples(texts() | token_lists(), annotations()),
            min_size=N_DOCS,
            max_size=N_DOCS,
        ),
        overwrite=st.booleans(),
        batch_size=st.sampled_from(BATCH_SIZES),
    )
    def any_document(contents, overwrite, batch_size):
        before = [make_doc(nlp, *content) for content in contents]
        check_documents(nlp, before, overwrite, batch_size)
        n_read["documents"] += len(before)
        n_read["words"] += sum(map(len, before))

    any_document()
    for name, value in n_read.items():
        record_property(name, value)


def check_documents(nlp, before, overwrite, batch_size):
    """Read Docs one by one, and in batches."""
    pipe = nlp.get_pipe(NAME)
    pipe.cfg["overwrite"] = overwrite
    kept = [
        [] if overwrite else [(ent.start, ent.end, ent.label_) for ent in doc.ents]
        for doc in before
    ]
    alone = [nlp(doc.copy()) for doc in before]
    docs = list(nlp.pipe((doc.copy() for doc in before), batch_size=batch_size))
    for doc, old, entities, one in zip(docs, before, kept, alone, strict=True):
        for read in (one, doc):
            check(read, old, entities, pipe.labels)
        event("with entities" if found(one)[0] else "without entities")
        spans, scores = found(doc)
        assert spans == found(one)[0]
        assert scores == pytest.approx(found(one)[1], abs=TOLERANCE)


ODD = [
    "",
    " \n\t ",
    "Anna Smith lives in Berlin .",
    "\ufeffAnna\u200b Smith\u00ad lives\x00 in \u202eBerlin\u0301 .",
    "Anna\n\nSmith\r\nlives  in\u3000Paris .",
    "👩‍👩‍👧 met Anna 🇩🇪 in 東京 .",
    "x" * 10_000 + " Anna",
    "Anna " * 3000,
]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("decoder", DECODERS)
@pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")
def test_two_processes_give_what_one_gives(pipelines, decoder, engine, at_most):
    nlp = pipelines(decoder, engine)
    tokens = [("Anna", False), ("Smith", True), (" ", True), ("\n", False)]

    def stream():
        return [*map(nlp.make_doc, ODD), make_doc(nlp, tokens, (None, [(0, 2)]))]

    expected = [(doc.text, found(doc)) for doc in nlp.pipe(stream())]
    with at_most(300):
        docs = list(nlp.pipe(stream(), n_process=2, batch_size=2))
    assert [doc.text for doc in docs] == [text for text, _ in expected]
    for doc, (_, (spans, scores)) in zip(docs, expected):
        assert found(doc)[0] == spans
        assert found(doc)[1] == pytest.approx(scores, abs=TOLERANCE)


@pytest.mark.slow
@pytest.mark.parametrize("decoder", DECODERS)
def test_a_hundred_thousand_words(pipelines, decoder):
    nlp = pipelines(decoder, "torch")
    text = "Anna Smith lives in Berlin . " * 17_000
    doc = nlp(text)
    assert len(doc) > 100_000 and doc.text == text
    (batched,) = nlp.pipe([text])
    assert found(batched)[0] == found(doc)[0]
    assert len(doc.ents) > 30_000
