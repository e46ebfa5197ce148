"""nlp.update, rehearse, resume: what carries loss, and what is kept."""

import numpy
import pytest
import spacy
import torch
from spacy.tokens import Doc, Span
from spacy.training import Example
from thinc.api import SGD, Adam, fix_random_seed

from spacy_entlm.model.layer import shim_of
from spacy_entlm.model.objective import label_cross_entropy

NAME = "entlm_ner"


@pytest.fixture
def started(bert, start_nlp):
    """An initialised, untrained pipeline without dropout."""
    settings = ["hidden_dropout_prob", "attention_probs_dropout_prob"]
    return start_nlp(bert, model={"transformer_config": dict.fromkeys(settings, 0.0)})


def loss_of(nlp, example):
    return nlp.update([example], sgd=False)[NAME]


def weights_of(nlp):
    state = nlp.get_pipe(NAME).network.state_dict()
    return {name: value.clone() for name, value in state.items()}


def same_weights(left, right):
    return all(torch.equal(left[name], right[name]) for name in left)


def steps(nlp, examples, n_steps, *, learn_rate=1e-2):
    optimizer = Adam(learn_rate, L2=0.0, grad_clip=0.0)
    fix_random_seed(0)
    return [nlp.update(examples, sgd=optimizer)[NAME] for _ in range(n_steps)]


def test_loss_falls(started, make_examples):
    losses = steps(started, make_examples(started), 20)
    assert losses[-1] < losses[0] / 2


def test_loss_is_the_mean_per_piece_and_adds_up(started, make_examples):
    examples = make_examples(started)[:2]
    each = [loss_of(started, eg) for eg in examples]
    losses = {NAME: 10.0}
    for eg in examples:
        started.update([eg], sgd=False, losses=losses)
    assert losses[NAME] == pytest.approx(10 + sum(each), rel=1e-4)
    n_words = [len(eg.predicted) for eg in examples]
    # Every word of these texts is one piece.
    together = started.update(examples, sgd=False)[NAME]
    expected = numpy.average(each, weights=n_words)
    assert together == pytest.approx(expected, rel=1e-4)


def test_first_loss_is_that_of_one_softmax(started):
    """Without entities: the plain cross-entropy of each piece against itself."""
    network = started.get_pipe(NAME).network
    text = "The cat sleeps ."
    doc = started.make_doc(text)
    reference = started.make_doc(text)
    reference.set_ents([])
    ids = network.tokenizer(text)["input_ids"]
    inputs = torch.tensor([ids])
    with torch.no_grad():
        features = network.masked_lm(inputs, torch.ones_like(inputs))[0, 1:-1]
        labels = network.label_rows.scores(features)
        logits = torch.cat([network.vocabulary.scores(features), labels], 1)
        expected = torch.nn.functional.cross_entropy(logits, torch.tensor(ids[1:-1]))
    assert loss_of(started, Example(doc, reference)) == pytest.approx(
        float(expected), rel=1e-4
    )


def test_missing_annotation_carries_no_loss(started):
    before = weights_of(started)
    text = "Anna Smith lives in Berlin ."
    example = Example(started.make_doc(text), started.make_doc(text))
    assert not example.reference.has_annotation("ENT_IOB")
    optimizer = SGD(1.0, L2=0.0, grad_clip=0.0)
    assert started.update([example], sgd=optimizer)[NAME] == 0.0
    assert same_weights(weights_of(started), before)


def test_words_marked_missing_carry_no_loss(started):
    """Half a sentence annotated: the loss is that half's."""
    text = "Anna Smith lives in Berlin ."
    index = {label: i for i, label in enumerate(started.get_pipe(NAME).labels)}
    reference = started.make_doc(text)
    reference.set_ents(
        [Span(reference, 0, 2, "PER")],
        missing=[reference[4:6]],
        default="outside",
    )
    pipe = started.get_pipe(NAME)
    pieces, _ = pipe.model.begin_update([started.make_doc(text)])
    partial = [index["PER"], index["PER"], -1, -1, -2, -2]
    expected, _ = label_cross_entropy(pieces, numpy.array(partial))
    loss = loss_of(started, Example(started.make_doc(text), reference))
    assert loss == pytest.approx(expected, rel=1e-4)


def test_misaligned_annotation_carries_no_loss(started):
    predicted = Doc(started.vocab, words=["Anna Smith", "lives", "."])
    words = ["Anna", "Smith lives", "."]
    reference = Doc(started.vocab, words=words)
    reference.set_ents([Span(reference, 0, 1, "PER")])
    example = Example(predicted, reference)
    assert example.get_aligned_ner()[0] is None
    pipe = started.get_pipe(NAME)
    pieces, _ = pipe.model.begin_update([predicted])
    tags = [-2 if tag is None else -1 for tag in example.get_aligned_ner()]
    expected, _ = label_cross_entropy(pieces, numpy.array(tags))
    assert loss_of(started, example) == pytest.approx(expected, rel=1e-4)


def test_entities_are_learned_across_another_tokenisation(started):
    """Gold words that are joined or split otherwise still give their class."""
    predicted = Doc(started.vocab, words=["Anna", "Smith", "lives", "."])
    reference = Doc(started.vocab, words=["Anna Smith", "lives", "."])
    reference.set_ents([Span(reference, 0, 1, "PER")])
    words = ["Anna", "Smith", "lives", "."]
    plain = Doc(started.vocab, words=words)
    plain.set_ents([Span(plain, 0, 2, "PER")])
    other = Example(Doc(started.vocab, words=words), plain)
    loss = loss_of(started, Example(predicted, reference))
    assert loss == pytest.approx(loss_of(started, other), rel=1e-6)


def test_unknown_label_is_named(started):
    doc = started.make_doc("Anna lives")
    example = Example.from_dict(doc, {"entities": [(0, 4, "GHOST")]})
    with pytest.raises(ValueError, match=r"'GHOST'.*'PER'.*add_label\('GHOST'"):
        started.update([example])


@pytest.mark.parametrize("text", ["", "   ", "\n\n\n"])
def test_texts_without_words_teach_nothing(backbone, start_nlp, text):
    nlp = start_nlp(backbone)
    before = weights_of(nlp)
    reference = nlp.make_doc(text)
    example = Example(nlp.make_doc(text), reference)
    losses = nlp.update([example], sgd=SGD(1.0, L2=0.0, grad_clip=0.0))
    assert losses[NAME] == 0.0
    assert same_weights(weights_of(nlp), before)


def test_texts_without_words_do_not_disturb_a_batch(started, make_examples):
    examples = make_examples(started)[:3]
    expected = started.update(examples, sgd=False)[NAME]
    blank = Example(started.make_doc(""), started.make_doc(""))
    spaces = Example.from_dict(started.make_doc(" \n "), {"entities": []})
    loss = started.update([blank, *examples, spaces], sgd=False)[NAME]
    assert loss == pytest.approx(expected, rel=1e-5)


def test_no_examples_are_no_update(started):
    assert started.update([]) == {}
    assert started.get_pipe(NAME).update([]) == {NAME: 0.0}


def test_resumed_training_goes_on_from_the_saved_weights(
    trained_folder, entities, annotated
):
    nlp = spacy.load(trained_folder)
    optimizer = nlp.resume_training(sgd=Adam(1e-3, L2=0.0))
    examples = [Example.from_dict(nlp.make_doc(t), a) for t, a in annotated]
    losses = [nlp.update(examples, sgd=optimizer)[NAME] for _ in range(3)]
    assert losses[0] < 1.0  # an untrained one begins above 5
    text, annotation = annotated[0]
    assert entities(nlp(text)) == annotation["entities"]


def drift(nlp, *, rehearse, n_steps=20):
    """Learn something that contradicts what is known, rehearsing or not."""
    optimizer = nlp.resume_training(sgd=Adam(5e-3, L2=0.0))
    doc = nlp.make_doc("The cat sleeps .")
    wrong = Example.from_dict(doc, {"entities": [(0, 14, "ORG")]})
    fix_random_seed(0)
    for _ in range(n_steps):
        nlp.update([wrong], sgd=optimizer)
        if rehearse:
            nlp.rehearse(rehearse, sgd=optimizer)
    return nlp


def wrong_words(nlp, annotated):
    """Words that are given another class than in the annotation."""
    wrong = 0
    for text, annotation in annotated:
        example = Example.from_dict(nlp.make_doc(text), annotation)
        gold = [token.ent_type_ for token in example.reference]
        found = [token.ent_type_ for token in nlp(text)]
        wrong += sum(left != right for left, right in zip(gold, found))
    return wrong


def test_rehearsal_keeps_what_was_known(trained_folder, annotated):
    texts = [text for text, _ in annotated[:-2]]
    without = drift(spacy.load(trained_folder), rehearse=[])
    nlp = spacy.load(trained_folder)
    raw = [Example(nlp.make_doc(text), nlp.make_doc(text)) for text in texts]
    kept = drift(nlp, rehearse=raw)
    assert wrong_words(without, annotated[:-2]) > 5
    assert wrong_words(kept, annotated[:-2]) < wrong_words(without, annotated[:-2]) / 2


def test_rehearsal_alone_brings_predictions_back(trained_folder, texts):
    settings = ["hidden_dropout_prob", "attention_probs_dropout_prob"]
    model = {"transformer_config": dict.fromkeys(settings, 0.0)}
    nlp = spacy.load(trained_folder, config={"components": {NAME: {"model": model}}})
    pipe = nlp.get_pipe(NAME)
    nlp.resume_training()
    raw = [Example(nlp.make_doc(text), nlp.make_doc(text)) for text in texts]
    floor = pipe.rehearse(raw)[NAME]
    shim_of(pipe.layer).drop_gradients()
    torch.manual_seed(0)
    for parameter in pipe.network.parameters():
        parameter.data += 0.05 * torch.randn_like(parameter)
    optimizer = Adam(2e-3, L2=0.0)
    losses = [nlp.rehearse(raw, sgd=optimizer)[NAME] for _ in range(25)]
    assert losses[0] > floor + 0.01
    assert losses[-1] - floor < (losses[0] - floor) / 4


def test_rehearsal_without_a_resumed_training_changes_nothing(trained, make_examples):
    before = weights_of(trained)
    trained.rehearse(make_examples(trained), sgd=SGD(1.0))
    assert same_weights(weights_of(trained), before)


@pytest.mark.parametrize("text", ["", " "])
def test_rehearsal_of_texts_without_words_changes_nothing(backbone, start_nlp, text):
    nlp = start_nlp(backbone)
    nlp.resume_training()
    before = weights_of(nlp)
    blank = Example(nlp.make_doc(text), nlp.make_doc(text))
    nlp.rehearse([blank], sgd=SGD(1.0))
    assert same_weights(weights_of(nlp), before)
