"""What spaCy's own components promise, of each of ours."""

import pickle
import threading

import numpy
import pytest
import spacy
import srsly
import torch
from spacy.cli.package import package
from spacy.tokens import Doc, Span
from spacy.training import Example
from thinc.api import Adam, Model, with_debug

from spacy_entlm.files.folder import LIST_FILE
from spacy_entlm.model.layer import shim_of

from .conftest import OTHER_LANGUAGE

MORE_TEXTS = ["", " ", "\n\n", "Peter", "Rome , Rome and Rome", "red " * 300 + "Rome ."]


def examples_of(nlp, annotated):
    return [Example.from_dict(nlp.make_doc(text), gold) for text, gold in annotated]


def weights_of(pipe):
    return {
        name: parameter.detach().clone()
        for name, parameter in pipe.network.named_parameters()
    }


def gradients_of(pipe):
    parameters = pipe.network.named_parameters()
    return {n: p.grad.clone() for n, p in parameters if p.grad is not None}


def same(one, other, **tolerance):
    return one.keys() == other.keys() and all(
        torch.allclose(one[key], other[key], **tolerance) for key in one
    )


def break_on(pipe, word):
    """Let the component fail at Docs that hold a word."""
    get_spans = pipe.layer.attrs["reading"].get_spans

    def fail(docs):
        if any(word in doc.text for doc in docs):
            raise RuntimeError(f"cannot read {word}")
        return get_spans(docs)

    pipe.layer.attrs["reading"].get_spans = fail


@pytest.mark.parametrize("batch_size", [1, 3, 128])
def test_pipe_gives_what_call_gives(nlp, factory, texts, found, batch_size):
    texts = [*texts, *MORE_TEXTS]
    expected = [found(nlp(text), factory) for text in texts]
    docs = list(nlp.pipe(texts, batch_size=batch_size))
    assert [doc.text for doc in docs] == texts
    for doc, one in zip(docs, expected):
        many = found(doc, factory)
        assert [span for span, _ in many] == [span for span, _ in one]
        confidences = [[score for _, score in some] for some in (many, one)]
        assert confidences[0] == pytest.approx(confidences[1], abs=2e-4)


def test_known_sentences_are_found(nlp, annotated, entities):
    for text, gold in annotated:
        assert entities(nlp(text)) == gold["entities"]


@pytest.mark.parametrize("batch_size", [1, 4])
def test_stream_is_read_no_further_than_a_batch(nlp, pipe, texts, batch_size):
    pulled = []

    def stream():
        for text in texts * 3:
            pulled.append(text)
            yield nlp.make_doc(text)

    for done, _ in enumerate(pipe.pipe(stream(), batch_size=batch_size)):
        assert len(pulled) <= (done // batch_size + 1) * batch_size


def test_only_the_doc_that_fails_goes_to_the_error_handler(nlp, pipe, texts, factory):
    break_on(pipe, "Globex")
    failed = []

    def note(name, proc, docs, error):
        failed.append((name, proc, [doc.text for doc in docs], str(error)))

    pipe.set_error_handler(note)
    good = [text for text in texts if "Globex" not in text]
    docs = list(
        pipe.pipe((nlp.make_doc(text) for text in texts), batch_size=len(texts))
    )
    assert [doc.text for doc in docs] == good
    assert all(factory in doc.spans for doc in docs)
    bad = [text for text in texts if "Globex" in text]
    assert failed == [(factory, pipe, [text], "cannot read Globex") for text in bad]


def test_an_error_is_raised_by_default(nlp, pipe, texts):
    break_on(pipe, "Globex")
    with pytest.raises(RuntimeError, match="cannot read Globex"):
        list(nlp.pipe(texts))


def test_errors_of_whoever_reads_the_stream_are_their_own(nlp, pipe, texts):
    pipe.set_error_handler(lambda *args: pytest.fail("not the component's error"))
    stream = pipe.pipe(map(nlp.make_doc, texts), batch_size=3)
    next(stream)
    with pytest.raises(KeyError):
        stream.throw(KeyError("of the reader"))


def test_nothing_to_do_is_done(nlp, pipe):
    assert list(pipe.pipe([])) == []
    assert pipe.predict([]) == []
    pipe.set_annotations([], [])
    empty = Doc(nlp.vocab)
    assert pipe(empty) is empty
    assert list(empty.ents) == []
    assert pipe.update([]) == {pipe.name: 0.0}
    gold = Example.from_dict(Doc(nlp.vocab), {"entities": []})
    assert pipe.update([gold], sgd=Adam(0.1)) == {pipe.name: 0.0}


def test_docs_of_another_vocabulary_get_labels_as_text(nlp, pipe, annotated, entities):
    other = spacy.blank(OTHER_LANGUAGE)
    assert other.vocab is not nlp.vocab
    text, gold = annotated[0]
    assert entities(pipe(other.make_doc(text))) == gold["entities"]


def test_predicting_changes_no_doc(nlp, pipe, texts):
    doc = nlp.make_doc(texts[0])
    pipe.predict([doc])
    assert not doc.ents and not doc.spans and not doc.user_data


def test_excluded_parts_stay_as_they_are(pipe, tmp_path):
    pipe.to_disk(tmp_path)
    before = {p: p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()}
    for part in ("model", "decoder"):
        pipe.to_disk(tmp_path, exclude=[part])
        after = {p: p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()}
        assert after == before


def test_a_part_left_out_is_not_written(pipe, tmp_path):
    pipe.to_disk(tmp_path / "all")
    pipe.to_disk(tmp_path / "some", exclude=["model"])
    names = {path.name for path in (tmp_path / "all").iterdir()}
    assert {path.name for path in (tmp_path / "some").iterdir()} == names - {"model"}


@pytest.mark.parametrize("part", ["model", "decoder", "label_words", "labels", "vocab"])
def test_loading_without_a_part_leaves_what_was_there(pipe, tmp_path, texts, nlp, part):
    pipe.to_disk(tmp_path)
    labels = pipe.labels
    pipe.from_disk(tmp_path, exclude=[part])
    assert pipe.labels == labels
    assert nlp(texts[0]).ents


def test_bytes_hold_the_files_of_the_folder(pipe, tmp_path):
    pipe.to_disk(tmp_path)
    files = {
        path.relative_to(tmp_path).as_posix(): path.read_bytes()
        for path in tmp_path.rglob("*")
        if path.is_file() and path.name != LIST_FILE
    }
    assert srsly.msgpack_loads(pipe.to_bytes()) == files


def test_bytes_and_folder_give_the_same(nlp, factory, blank, texts, found, tmp_path):
    expected = [found(doc, factory) for doc in nlp.pipe(texts)]
    nlp.to_disk(tmp_path)
    by_bytes = blank(factory).from_bytes(nlp.to_bytes())
    for other in (spacy.load(tmp_path), by_bytes):
        assert [found(doc, factory) for doc in other.pipe(texts)] == expected
        assert other.pipe_labels == nlp.pipe_labels


def test_classes_added_before_there_is_a_network_are_saved(blank, factory, tmp_path):
    nlp, other = blank(factory), blank(factory)
    nlp.get_pipe(factory).add_label("DRUG")
    nlp.get_pipe(factory).to_disk(tmp_path)
    assert other.get_pipe(factory).from_disk(tmp_path).labels == ("DRUG",)
    data = nlp.get_pipe(factory).to_bytes()
    assert blank(factory).get_pipe(factory).from_bytes(data).labels == ("DRUG",)


def test_saving_while_another_thread_predicts(nlp, pipe, texts, found, tmp_path):
    expected = [found(doc, pipe.name) for doc in nlp.pipe(texts)]
    errors, stop = [], threading.Event()

    def predict():
        while not stop.is_set():
            try:
                docs = nlp.pipe(texts)
                assert [found(doc, pipe.name) for doc in docs] == expected
            except Exception as error:
                errors.append(error)

    thread = threading.Thread(target=predict)
    thread.start()
    for _ in range(5):
        pipe.to_disk(tmp_path)
        pipe.to_bytes()
    stop.set()
    thread.join()
    assert errors == []


def test_a_pickled_component_is_the_same_and_leaves_threads_alone(
    nlp, pipe, texts, found
):
    expected = [found(doc, pipe.name) for doc in nlp.pipe(texts)]
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        copy = pickle.loads(pickle.dumps(pipe))
        docs = list(copy.pipe(map(nlp.make_doc, texts)))
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)
    assert [found(doc, pipe.name) for doc in docs] == expected


def test_sourced_renamed_and_twice_in_one_pipeline(nlp, factory, texts, found):
    expected = [found(doc, factory) for doc in nlp.pipe(texts)]
    other = spacy.blank(OTHER_LANGUAGE)
    other.add_pipe(factory, name="first", source=nlp)
    assert [found(doc, "first") for doc in other.pipe(texts)] == expected
    assert other.get_pipe("first").spans_key == "first"
    second = spacy.blank(OTHER_LANGUAGE)
    second.add_pipe("first", source=other)
    second.add_pipe("first", name="second", source=other)
    second.rename_pipe("second", "third")
    assert [span.label_ for doc in second.pipe(texts) for span in doc.ents]


def test_a_disabled_component_finds_nothing(saved, factory, texts):
    nlp = spacy.load(saved, disable=[factory])
    assert not any(doc.ents for doc in nlp.pipe(texts))
    nlp.enable_pipe(factory)
    assert all(doc.ents for doc in nlp.pipe(texts[:3]))


def test_scorer_gets_the_span_group(nlp, pipe, annotated):
    asked = {}

    def scorer(examples, **kwargs):
        asked.update(kwargs)
        return {}

    pipe.scorer = scorer
    nlp.evaluate(examples_of(nlp, annotated))
    assert asked["spans_key"] == pipe.name
    assert asked["labels"] == pipe.labels


def test_a_loss_that_is_looked_at_changes_nothing(nlp, pipe, annotated):
    examples = examples_of(nlp, annotated)
    before = weights_of(pipe)
    pieces, _ = pipe.model.begin_update([eg.predicted for eg in examples])
    losses = [pipe.get_loss(examples, pieces)[0] for _ in range(2)]
    assert losses[0] == losses[1] > 0
    assert gradients_of(pipe) == {}
    assert same(weights_of(pipe), before)


def test_gradients_of_sub_batches_are_those_of_one_batch(saved, factory, annotated):
    gradients = []
    no_dropout = dict.fromkeys(
        ["hidden_dropout_prob", "attention_probs_dropout_prob"], 0.0
    )
    key = f"components.{factory}.model.transformer_config"
    for size in (10, 3):
        nlp = spacy.load(saved, config={key: no_dropout})
        examples, pipe = examples_of(nlp, annotated), nlp.get_pipe(factory)
        for start in range(0, len(examples), size):
            nlp.update(examples[start : start + size], sgd=False)
        gradients.append(gradients_of(pipe))
    assert gradients[0]
    assert same(*gradients, rtol=1e-3, atol=1e-5)


def test_prediction_is_by_the_newest_weights(nlp, pipe, factory, annotated, blank):
    """As spaCy's training loop does it with components that annotate."""
    examples = examples_of(nlp, annotated)
    nlp.update(examples, sgd=False, annotates=[factory])
    pipe.finish_update(Adam(0.01, use_averages=False, L2=0.0, grad_clip=0.0))
    fresh = blank(factory).from_bytes(nlp.to_bytes())
    text = annotated[1][0]
    pipes = [(each(text), each.get_pipe(factory)) for each in (nlp, fresh)]
    ours, theirs = (its.model.predict([doc]) for doc, its in pipes)
    assert numpy.allclose(ours.probs, theirs.probs, atol=1e-5)


def test_averaged_parameters_take_the_place_of_the_last_ones(nlp, pipe, annotated):
    optimizer = Adam(0.01, use_averages=True)
    for _ in range(3):
        nlp.update(examples_of(nlp, annotated), sgd=optimizer)
    last = weights_of(pipe)
    with nlp.use_params(optimizer.averages):
        assert not same(weights_of(pipe), last)
        name = next(iter(last))
        average = optimizer.averages[(shim_of(pipe.layer).id, name)]
        assert numpy.allclose(weights_of(pipe)[name].numpy(), average)
    assert same(weights_of(pipe), last)


def test_entities_that_are_replaced_take_their_ids_with_them(pipe, annotated, entities):
    text, gold = annotated[0]
    for kept in (False, True):
        pipe.cfg["overwrite"] = not kept
        doc = Doc(pipe.vocab, words=text.split(" "))
        doc.set_ents([Span(doc, 0, len(doc), "THEIRS", kb_id="Q9", span_id="x")])
        doc = pipe(doc)
        assert {(t.ent_id_, t.ent_kb_id_) for t in doc} == {("x" * kept, "Q9" * kept)}
        if not kept:
            assert entities(doc) == gold["entities"]


def test_a_failed_initialisation_changes_nothing(nlp, pipe, blank, factory, texts):
    labels, found = pipe.labels, [len(doc.ents) for doc in nlp.pipe(texts)]
    new = blank(factory).get_pipe(factory)
    new.add_label("DRUG")

    def fail(*args):
        raise RuntimeError("in the middle")

    gold = {"entities": [(0, 4, "PER"), (5, 8, "DRUG")]}
    example = Example.from_dict(nlp.make_doc("John cat"), gold)
    for each in (pipe, new):
        each.decoder.initialize = fail
        with pytest.raises(RuntimeError, match="in the middle"):
            each.initialize(lambda: [example])
    assert pipe.labels == labels
    assert [len(doc.ents) for doc in nlp.pipe(texts)] == found
    assert new.labels == ("DRUG",)
    assert not new.is_initialized


def test_a_layer_around_the_model_is_survived(nlp, pipe, annotated, tmp_path, texts):
    calls = []
    expected = [len(doc.ents) for doc in nlp.pipe(texts)]
    inner: Model = pipe.model

    def note(model, X, is_train):
        calls.append(is_train)

    pipe.model = with_debug(inner, on_forward=note)
    assert [len(doc.ents) for doc in nlp.pipe(texts)] == expected
    nlp.update(examples_of(nlp, annotated), sgd=Adam(1e-5))
    assert calls == [False, True]
    pipe.to_disk(tmp_path)
    assert pipe.from_disk(tmp_path).labels == pipe.labels
    assert [len(doc.ents) for doc in nlp.pipe(texts)] == expected


def test_sentences_are_what_is_read_together(blank, factory, annotated, fit, entities):
    """Also by the support set, which is read before anything is predicted."""
    spans = {"get_spans": {"@span_getters": "spacy-transformers.sent_spans.v1"}}
    nlp = blank(factory, model=spans)
    nlp.add_pipe("sentencizer", first=True)
    fit(nlp, epochs=20, label_words=None, annotates=["sentencizer"])
    text, gold = annotated[0]
    assert entities(nlp(text)) == gold["entities"]


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_package_of_a_sourced_component_asks_for_ours(nlp, factory, tmp_path):
    other = spacy.blank(OTHER_LANGUAGE)
    other.add_pipe(factory, source=nlp)
    other.to_disk(tmp_path / "model")
    (tmp_path / "out").mkdir()
    package(tmp_path / "model", tmp_path / "out", create_sdist=False)
    (meta,) = (tmp_path / "out").glob("*/meta.json")
    requirements = srsly.read_json(meta)["requirements"]
    assert "spacy-entlm>=1.0.0,<2" in requirements
