"""Classes that start from their names: nothing is trained, and nothing initialised."""

import copy
import logging
import pickle
import shutil
from concurrent.futures import ThreadPoolExecutor

import pytest
import spacy
import torch
from confection import ConfigValidationError
from spacy.cli.package import package
from spacy.tokens import Doc
from spacy.training import Example
from spacy.util import load_model_from_config
from thinc.api import Adam, Config

import spacy_entlm
from spacy_entlm.active.ranking import rank
from spacy_entlm.backbones.errors import BackboneError
from spacy_entlm.label_words.starts import DESCRIPTION_SHARE
from spacy_entlm.label_words.words import LabelWordError
from spacy_entlm.model.layer import network_of

NAME = "entlm_ner"
LABELS = ["PER", "LOC", "ORG"]
VITERBI = {"@misc": "spacy-entlm.viterbi_decoder.v1"}


@pytest.fixture
def backbone(knowing, tmp_path):
    """A copy of the backbone, which can be removed."""
    return shutil.copytree(knowing, tmp_path / "backbone")


@pytest.fixture
def named(backbone, blank_nlp):
    """A pipeline that has the names of classes, and nothing else."""
    return blank_nlp(backbone, labels=LABELS)


@pytest.fixture
def expected(annotated):
    """What the annotated texts hold."""
    return [annotation["entities"] for _, annotation in annotated]


def found(nlp, texts, **settings):
    return [
        [(ent.start_char, ent.end_char, ent.label_) for ent in doc.ents]
        for doc in nlp.pipe(texts, **settings)
    ]


def scores(nlp, texts):
    return [doc.spans[NAME].attrs["scores"].tolist() for doc in nlp.pipe(texts)]


@pytest.mark.parametrize(
    "labels",
    [
        {"PER": [], "LOC": [], "ORG": []},
        {"person": [], "location": [], "organization": []},
        {"Person": [], "B-LOC": [], "orgs": []},
        {"C1": "person", "C2": ["location"], "PLACE": "organization"},
    ],
)
def test_classes_are_found_without_an_initialisation(
    knowing, blank_nlp, texts, expected, labels
):
    """By a name, or by a word or description that stands for it."""
    nlp = blank_nlp(knowing, labels=labels)
    pipe = nlp.get_pipe(NAME)
    assert pipe.labels == tuple(labels)
    assert not pipe.is_initialized
    called = dict(zip(LABELS, labels))
    assert found(nlp, texts) == [
        [(start, end, called[label]) for start, end, label in ents] for ents in expected
    ]
    assert pipe.is_initialized
    read = [["person"], ["location"], ["organization"]]
    assert pipe.label_data == dict(zip(labels, read))


def test_labels_may_be_a_list_and_stand_in_a_config_file(
    knowing, blank_nlp, texts, expected
):
    for labels in (LABELS, {x: [] for x in LABELS}, {"PER": "person"}):
        config = blank_nlp(knowing, labels=labels).config
        nlp = load_model_from_config(Config().from_str(config.to_str()))
        assert nlp.get_pipe(NAME).labels == tuple(labels)
        nlp.get_pipe(NAME).add_label("LOC")
        nlp.get_pipe(NAME).add_label("ORG")
        assert found(nlp, texts) == expected
        assert nlp.pipe_labels[NAME] == LABELS


def test_classes_may_be_added_one_by_one(knowing, blank_nlp, texts, expected):
    nlp = blank_nlp(knowing)
    pipe = nlp.get_pipe(NAME)
    assert [pipe.add_label(label) for label in ("PER", "LOC", "PER")] == [1, 1, 0]
    pipe.add_label("ORG", ["organization"])
    assert found(nlp, texts) == expected


def test_a_class_added_by_its_name_later_leaves_the_others(
    knowing, blank_nlp, texts, expected
):
    nlp = blank_nlp(knowing, labels=LABELS[:2])
    pipe, docs = nlp.get_pipe(NAME), [nlp.make_doc(text) for text in texts]
    before = pipe.score_docs(docs)
    assert (pipe.add_label("ORG"), pipe.add_label("ORG")) == (1, 0)
    assert pipe.labels == tuple(LABELS)
    assert pipe.label_data["ORG"] == ["organization"]
    assert pipe.new_labels == {"ORG"}
    after = pipe.score_docs(docs)
    ratio, other = after.probs[:, :2] / before.probs, after.outside / before.outside
    assert ratio == pytest.approx(other[:, None].repeat(2, 1), rel=1e-4)
    assert found(nlp, texts) == expected


def test_a_class_is_added_to_a_trained_pipeline_by_its_name(
    knowing, blank_nlp, annotated, expected, texts
):
    nlp = blank_nlp(knowing)
    some = [
        (text, {"entities": [e for e in known["entities"] if e[2] != "ORG"]})
        for text, known in annotated
        if not any(label == "ORG" for *_, label in known["entities"])
    ]
    spacy_entlm.train(nlp, some, epochs=2, learn_rate=1e-4)
    pipe = nlp.get_pipe(NAME)
    assert set(pipe.labels) == {"PER", "LOC"}
    pipe.add_label("ORG")
    assert found(nlp, texts) == expected


def test_a_description_is_read_as_it_is(naming, blank_nlp):
    """And several are the mean of what each gives."""
    texts = ["someone who lives in a house", "a river or street of a town"]
    nlp = blank_nlp(naming, labels={"A": texts[0], "B": texts})
    nlp("Anna")
    network = nlp.get_pipe(NAME).network
    rows = [network.row_of_name(text) for text in texts]
    torch.testing.assert_close(network.rows[0].detach(), rows[0][0])
    torch.testing.assert_close(network.biases[0].detach(), rows[0][1])
    torch.testing.assert_close(network.rows[1].detach(), (rows[0][0] + rows[1][0]) / 2)


def test_a_description_beside_a_name_counts_less(naming, blank_nlp):
    """And the row of a saved pipeline stays what it is."""
    text = "someone who lives in a house"
    labels = {"PER": text, "C1": ["city", text], "city": []}
    nlp = blank_nlp(naming, labels=labels)
    nlp("Anna")
    pipe = nlp.get_pipe(NAME)
    described = pipe.network.row_of_name(text)[0]
    names, shares = ("person", "city", "city"), (DESCRIPTION_SHARE,) * 2 + (0,)
    for row, name, share in zip(pipe.network.rows, names, shares):
        expected = (1 - share) * pipe.network.row_of_name(name)[0] + share * described
        torch.testing.assert_close(row.detach(), expected)
    texts = {"PER": ["person", text], "C1": ["city", text], "city": ["city"]}
    assert pipe.label_data == texts
    before = [row.detach().clone() for row in pipe.network.rows]
    pipe.begin_again()
    torch.testing.assert_close([row.detach() for row in pipe.network.rows], before)


def test_what_is_saved_needs_no_backbone(named, backbone, texts, expected, tmp_path):
    """Though nothing was predicted before."""
    named.to_disk(tmp_path / "saved")
    data = named.to_bytes()
    by_hand = scores(named, texts)
    shutil.rmtree(backbone)
    from_disk = spacy.load(tmp_path / "saved")
    from_bytes = load_model_from_config(named.config).from_bytes(data)
    for nlp in (from_disk, from_bytes):
        pipe = nlp.get_pipe(NAME)
        assert pipe.is_initialized
        assert pipe.threshold == named.get_pipe(NAME).threshold == 0.3
        assert found(nlp, texts) == expected
        assert scores(nlp, texts) == by_hand
        # The map is with it.
        pipe.add_label("CITY")
        assert pipe.label_data["CITY"] == ["city"]


def test_classes_without_their_backbone_are_saved_as_they_are(
    named, backbone, texts, expected, tmp_path
):
    backbone.rename(tmp_path / "moved")
    named.to_disk(tmp_path / "saved")
    data = named.to_bytes()
    loaded = spacy.load(tmp_path / "saved")
    for nlp in (named, loaded, load_model_from_config(named.config).from_bytes(data)):
        assert nlp.get_pipe(NAME).labels == tuple(LABELS)
        with pytest.raises(BackboneError, match="backbone"):
            nlp(texts[0])
        assert nlp.get_pipe(NAME).labels == tuple(LABELS)
    (tmp_path / "moved").rename(backbone)
    assert found(loaded, texts) == expected


def test_saving_all_but_the_model_loads_no_backbone(named, tmp_path):
    named.get_pipe(NAME).to_disk(tmp_path / "pipe", exclude=["model"])
    assert not named.get_pipe(NAME).is_initialized


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_package_needs_no_backbone(named, backbone, texts, expected, tmp_path):
    named.to_disk(tmp_path / "saved")
    shutil.rmtree(backbone)
    (tmp_path / "out").mkdir()
    package(tmp_path / "saved", tmp_path / "out", create_sdist=False)
    (folder,) = (path.parent for path in (tmp_path / "out").glob("*/*/*/config.cfg"))
    assert found(spacy.load(folder), texts) == expected


def test_an_export_needs_no_backbone(named, backbone, texts, expected, tmp_path):
    spacy_entlm.export(named, tmp_path / "exported")
    shutil.rmtree(backbone)
    assert found(spacy.load(tmp_path / "exported"), texts) == expected


@pytest.mark.parametrize("predicts_first", [False, True])
def test_copies_predict_the_same(named, texts, expected, predicts_first):
    if predicts_first:
        named(texts[0])
    pickled = pickle.loads(pickle.dumps(named))
    sourced = spacy.blank("de")
    sourced.add_pipe(NAME, source=named)
    for nlp in (pickled, copy.deepcopy(named), sourced):
        assert found(nlp, texts) == expected


def test_threads_that_predict_first_at_the_same_time(
    named, texts, expected, monkeypatch
):
    """One of them loads the backbone."""
    layer = named.get_pipe(NAME).layer
    new_network, calls = layer.attrs["new_network"], []

    def load():
        calls.append(1)
        return new_network()

    monkeypatch.setitem(layer.attrs, "new_network", load)
    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(lambda _: found(named, texts), range(8)))
    assert results == [expected] * 8
    assert len(calls) == 1


def test_other_processes_load_it_themselves(named, texts, expected):
    assert found(named, texts, n_process=2, batch_size=3) == expected


def test_transitions_that_nobody_counted_change_nothing(
    knowing, blank_nlp, texts, expected
):
    nlp = blank_nlp(knowing, labels=LABELS, decoder=VITERBI)
    assert found(nlp, texts) == expected


@pytest.mark.parametrize(
    "config, reason",
    [({"start": "words"}, "start is 'words'"), ({}, "makes no rows from names")],
)
def test_classes_that_want_examples_say_so(
    bert, knowing, blank_nlp, make_examples, tmp_path, config, reason
):
    nlp = blank_nlp(knowing if config else bert, labels=LABELS, **config)
    pipe = nlp.get_pipe(NAME)
    with pytest.raises(ValueError, match=rf"\[{NAME}\].*{reason}.*initialize\(\)"):
        nlp("Anna")
    assert pipe.labels == tuple(LABELS) and not pipe.is_initialized
    nlp.to_disk(tmp_path)
    loaded = spacy.load(tmp_path)
    assert loaded.get_pipe(NAME).labels == tuple(LABELS)
    loaded.initialize(lambda: make_examples(loaded))
    assert loaded.get_pipe(NAME).label_data["LOC"][0] == "berlin"


def test_without_classes_there_is_nothing_to_predict(knowing, blank_nlp, tmp_path):
    nlp = blank_nlp(knowing)
    with pytest.raises(ValueError, match="E109"):
        nlp("Anna")
    nlp.to_disk(tmp_path)
    assert not spacy.load(tmp_path).get_pipe(NAME).is_initialized


@pytest.mark.parametrize("predicts_first", [False, True])
def test_an_initialisation_keeps_the_classes_of_the_config(
    named, annotated, predicts_first
):
    if predicts_first:
        named("Anna")
    text, annotation = annotated[4]
    example = Example.from_dict(named.make_doc(text), annotation)
    named.initialize(lambda: [example])
    pipe = named.get_pipe(NAME)
    assert pipe.labels == tuple(LABELS)
    assert pipe.label_data == {
        "PER": ["person"],
        "LOC": ["location"],
        "ORG": ["organization"],
    }


@pytest.mark.parametrize("predicts_first", [False, True])
def test_it_can_be_trained_afterwards(
    named, annotated, texts, expected, predicts_first
):
    if predicts_first:
        named("Anna")
    spacy_entlm.train(named, annotated[:3], epochs=2, learn_rate=1e-4)
    assert named.get_pipe(NAME).labels == tuple(LABELS)
    assert found(named, texts) == expected


def test_an_update_goes_on_from_the_names(named, annotated, texts):
    named("Anna")
    before = named.get_pipe(NAME).network.rows[0].detach().clone()
    examples = [Example.from_dict(named.make_doc(t), a) for t, a in annotated]
    optimizer = named.resume_training(sgd=Adam(1e-3, L2=0.0))
    assert named.update(examples, sgd=optimizer)[NAME] < 1.0
    network = network_of(named.get_pipe(NAME).layer)
    assert not torch.equal(network.rows[0], before)
    assert named.rehearse(examples)[NAME] > 0


def test_calibration_and_ranking_begin_it(knowing, blank_nlp, annotated, texts):
    nlp = blank_nlp(knowing, labels=LABELS)
    assert spacy_entlm.calibrate(nlp, annotated)
    nlp = blank_nlp(knowing, labels=LABELS)
    assert len(rank(nlp, texts)) == len(texts)


def test_docs_of_another_vocabulary_get_labels_as_text(named, texts, expected):
    doc = named.get_pipe(NAME)(spacy.blank("de").make_doc(texts[0]))
    assert [ent.label_ for ent in doc.ents] == [label for *_, label in expected[0]]
    assert named.get_pipe(NAME)(Doc(named.vocab)).ents == ()


@pytest.mark.parametrize(
    "labels, told",
    [
        (["C1", "PER"], ["The name 'C1' says nothing of what is meant"]),
        (["entity"], ["The name 'entity' says nothing of what is meant"]),
        (["PER", "LOC", "person"], ["PER, person start alike (person)"]),
        ({"A": "cat", "B": "cat", "C": "red"}, ["A, B start alike (cat)"]),
        ({"A": ["cat", "red"], "B": ["red", "cat"]}, ["A, B start alike (cat, red)"]),
        ({"C1": "person", "PER": []}, ["C1, PER start alike (person)"]),
        ({"C1": "a red house"}, []),
        (LABELS, []),
    ],
)
def test_names_that_tell_nothing_are_told(knowing, blank_nlp, caplog, labels, told):
    nlp = blank_nlp(knowing, labels=labels)
    with caplog.at_level(logging.WARNING, "spacy.entlm"):
        nlp("Anna")
        nlp("Anna")
    assert len(caplog.messages) == len(told)
    assert all(part in line for part, line in zip(told, caplog.messages))


def test_how_names_were_read_is_told(named, caplog):
    with caplog.at_level(logging.INFO, "spacy.entlm"):
        named("Anna")
    names = "PER: person, LOC: location, ORG: organization"
    assert f"[{NAME}] Classes start from these names: {names}" in caplog.messages


def test_a_name_that_says_nothing_is_told_when_it_is_added(named, caplog):
    named("Anna")
    with caplog.at_level(logging.WARNING, "spacy.entlm"):
        named.get_pipe(NAME).add_label("C2", ["a red house"])
        assert not caplog.messages
        named.get_pipe(NAME).add_label("C1")
    (line,) = caplog.messages
    assert "The name 'C1' says nothing" in line


@pytest.mark.parametrize(
    "labels, error",
    [
        (3, ConfigValidationError),
        ("PER", ConfigValidationError),
        ({"PER": 3}, ConfigValidationError),
        ([["PER"]], ConfigValidationError),
        ([""], LabelWordError),
        (["PER", " "], LabelWordError),
    ],
)
def test_what_is_no_class_is_refused(bert, blank_nlp, labels, error):
    with pytest.raises(error):
        blank_nlp(bert, labels=labels)
