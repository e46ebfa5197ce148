"""Names that are known speak for their class in prediction."""

import copy
import pickle

import numpy
import pytest
import spacy
from spacy.tokens import DocBin, Span, SpanGroup
from spacy.training import Example
from spacy.training.initialize import init_nlp
from spacy.util import load_config

import spacy_entlm
from spacy_entlm.active.signals import read_signals
from spacy_entlm.files.errors import DataError
from spacy_entlm.pipeline.decoders import build_viterbi_decoder
from spacy_entlm.pipeline.lexicon import build_lexicon_callback

NAME, KEY, FACTORY = "entlm_ner", "lexicon", "entlm_lexicon"
TEXT = "The cat sleeps ."
CAT = [("cat", "LOC")]
# So much that the model has no say.
DECIDES = 1000.0


def found(nlp, text=TEXT):
    return [(ent.text, ent.label_) for ent in nlp(text).ents]


@pytest.fixture
def pipe(trained):
    pipe = trained.get_pipe(NAME)
    pipe.cfg["lexicon_weight"] = DECIDES
    return pipe


@pytest.mark.parametrize("viterbi", [False, True])
def test_a_name_becomes_an_entity_and_other_words_stay(
    trained, pipe, annotated, viterbi
):
    if viterbi:
        pipe.decoder = build_viterbi_decoder()
        examples = [Example.from_dict(trained.make_doc(t), a) for t, a in annotated]
        pipe.decoder.initialize(lambda: examples, pipe.labels)
    before = found(trained), found(trained, "Anna Smith lives in Berlin .")
    assert before[0] == []
    spacy_entlm.add_lexicon(trained, {"LOC": ["Cat"]})
    assert found(trained) == CAT
    assert found(trained, "Anna Smith lives in Berlin .") == before[1]
    assert found(trained, "") == []


def test_a_name_adds_its_weight_for_each_of_its_words(trained, pipe):
    pipe.cfg.update(lexicon_weight=1.5, label_bias=0.25)
    spacy_entlm.add_lexicon(trained, {"LOC": ["cat sleeps", "sleeps"], "ORG": ["."]})
    docs = [trained.get_pipe(FACTORY)(trained.make_doc(t)) for t in ("It rains", TEXT)]
    pipe.score_docs(docs)
    bias = pipe.layer.attrs["bias"].of_words(docs, pipe.labels)
    expected = numpy.full((6, len(pipe.labels)), 0.25)
    expected[3:5, pipe.labels.index("LOC")] += 3.0
    expected[5, pipe.labels.index("ORG")] += 1.5
    assert bias.dtype == "float32"
    numpy.testing.assert_allclose(bias, expected)


def test_all_classes_at_all_words_are_the_same_as_a_label_bias(trained, pipe, texts):
    pipe.cfg.update(lexicon_weight=2.0)
    docs = [trained.make_doc(text) for text in texts]
    for doc in docs:
        doc.spans[KEY] = [
            Span(doc, token.i, token.i + 1, label)
            for token in doc
            for label in pipe.labels
        ]
    ours = pipe.score_docs(docs)
    pipe.cfg.update(lexicon_weight=0.0, label_bias=2.0)
    theirs = pipe.score_docs(docs)
    numpy.testing.assert_allclose(ours.probs, theirs.probs, rtol=1e-5)
    numpy.testing.assert_allclose(ours.outside, theirs.outside, rtol=1e-5)
    assert (ours.probs.max(1) > ours.outside).any()


@pytest.mark.parametrize(
    "settings", [{"lexicon_weight": 0.0}, {"lexicon_key": None}, {"lexicon_key": "x"}]
)
def test_names_can_be_left_out(trained, pipe, settings):
    spacy_entlm.add_lexicon(trained, {"LOC": ["cat"]})
    pipe.cfg.update(settings)
    assert found(trained) == []


def test_spans_of_any_component_speak_and_other_labels_do_not(trained, pipe):
    doc = trained.make_doc(TEXT)
    doc.spans[KEY] = [Span(doc, 1, 2, "LOC"), Span(doc, 2, 3, "ANIMAL")]
    other = Span(doc, 0, 1, "PER")
    doc.spans["others"] = SpanGroup(doc, spans=[other])
    assert [(ent.text, ent.label_) for ent in pipe(doc).ents] == CAT


def test_no_training_sees_names(trained, pipe, annotated):
    examples = [Example.from_dict(trained.make_doc(t), a) for t, a in annotated]
    pieces, _ = pipe.model.begin_update([eg.predicted for eg in examples])
    before, _ = pipe.get_loss(examples, pieces)
    for doc in (eg.predicted for eg in examples):
        doc.spans[KEY] = [Span(doc, i, i + 1, "ORG") for i in range(len(doc))]
    assert pipe.get_loss(examples, pieces)[0] == before > 0


def test_they_are_saved_copied_and_read_by_other_processes(trained, pipe, tmp_path):
    spacy_entlm.add_lexicon(trained, {"LOC": ["cat"]})
    texts = [TEXT, "It rains a lot in Paris .", "", "A CAT sleeps ."]
    expected = [found(trained, text) for text in texts]
    assert expected[0] == CAT and expected[3] == [("CAT", "LOC")]
    settings = {f"components.{NAME}.lexicon_weight": DECIDES}
    trained.to_disk(tmp_path / "saved")
    loaded = spacy.load(tmp_path / "saved", config=settings)
    blank = spacy.blank("xx").from_config(loaded.config)
    for nlp in (loaded, blank.from_bytes(trained.to_bytes()), copy.deepcopy(trained)):
        docs = nlp.pipe(texts, batch_size=2)
        assert [[(e.text, e.label_) for e in doc.ents] for doc in docs] == expected
    docs = loaded.pipe(texts, n_process=2, batch_size=2)
    assert [[(e.text, e.label_) for e in doc.ents] for doc in docs] == expected
    assert found(pickle.loads(pickle.dumps(trained))) == CAT


def test_more_names_go_to_the_same_component_and_none_comes_twice(trained):
    first = spacy_entlm.add_lexicon(trained, {"LOC": ["cat", "cat"], "PER": ["cat"]})
    assert spacy_entlm.add_lexicon(trained, {"LOC": ["cat", "dog"]}) is first
    assert trained.pipe_names == [FACTORY, NAME]
    assert [(p["label"], p["pattern"]) for p in first.patterns] == [
        ("LOC", "cat"),
        ("PER", "cat"),
        ("LOC", "dog"),
    ]


def test_files_are_read_and_stop_words_of_the_language_left_out(tmp_path):
    nlp = spacy.blank("en")
    names = "Port Vell\tLOC\nher\tTITLE\nWill\tPER\nNick\tPER\nUS\tLOC\n"
    (tmp_path / "names.tsv").write_text(names)
    ruler = spacy_entlm.add_lexicon(nlp, tmp_path / "names.tsv")
    us = [{"ORTH": "US"}]
    assert [p["pattern"] for p in ruler.patterns] == ["Port Vell", "Nick", us]
    assert spacy_entlm.add_lexicon(nlp, tmp_path / "names.tsv") is ruler
    assert len(ruler.patterns) == 3
    doc = nlp("NICK left port vell , and her , but told us of the US .")
    spans = [(span.text, span.label_) for span in doc.spans[KEY]]
    assert spans == [("NICK", "PER"), ("port vell", "LOC"), ("US", "LOC")]


@pytest.mark.parametrize("content", [None, "", "Vell\n"])
def test_a_file_that_says_nothing_changes_nothing(tmp_path, content):
    nlp = spacy.blank("en")
    if content is not None:
        (tmp_path / "names.tsv").write_text(content)
    with pytest.raises(DataError, match=r"names\.tsv"):
        spacy_entlm.add_lexicon(nlp, tmp_path / "names.tsv")
    assert nlp.pipe_names == []


def test_scores_of_a_training_weigh_as_before(trained):
    before = dict(trained.config["training"]["score_weights"])
    spacy_entlm.add_lexicon(trained, {"LOC": ["cat"]})
    assert trained.config["training"]["score_weights"] == before
    gold = trained.make_doc(TEXT)
    scores = trained.evaluate([Example(trained.make_doc(TEXT), gold)])
    assert not any("lexicon" in name or "ruler" in name for name in scores)


def test_a_folder_of_data_may_hold_a_lexicon(tmp_path):
    nlp = spacy.blank("en")
    for path in (None, str(tmp_path)):
        build_lexicon_callback(path)(nlp)
        assert nlp.pipe_names == []
    (tmp_path / "lexicon.csv").write_text("name,label\nPort Vell,LOC\n")
    build_lexicon_callback(str(tmp_path))(nlp)
    assert nlp.pipe_names == [FACTORY]
    gone = build_lexicon_callback(str(tmp_path / "nothing"))
    gone(nlp)  # a model goes on with the names that it has
    assert len(nlp.get_pipe(FACTORY).patterns) == 1
    with pytest.raises(DataError, match="nothing: no such file or folder"):
        gone(spacy.blank("en"))


def test_a_config_adds_it_when_the_pipeline_is_initialised(tmp_path, bert, annotated):
    blank, train = spacy.blank("xx"), tmp_path / "train.spacy"
    pairs = [Example.from_dict(blank.make_doc(t), a) for t, a in annotated]
    DocBin(docs=[eg.reference for eg in pairs]).to_disk(train)
    (tmp_path / "lexicon.tsv").write_text("Port Vell\tLOC\n")
    config = load_config("configs/entlm.cfg")
    config["nlp"]["lang"] = "xx"
    config["paths"].update(train=str(train), dev=str(train), backbone=str(bert))
    config["paths"]["lexicon"] = str(tmp_path)
    nlp = init_nlp(config)
    nlp.initialize(lambda: pairs)  # a second time
    assert nlp.pipe_names == [FACTORY, NAME]
    assert [p["pattern"] for p in nlp.get_pipe(FACTORY).patterns] == ["Port Vell"]
    weights = nlp.config["training"]["score_weights"]
    assert {name for name, weight in weights.items() if weight} == {"ents_f"}


def test_a_weight_is_a_number_from_0(trained_folder):
    settings = {f"components.{NAME}.lexicon_weight": -1.0}
    with pytest.raises(ValueError, match="lexicon_weight is 0 to 1,000,000, not"):
        spacy.load(trained_folder, config=settings)


def test_a_text_whose_names_are_known_is_less_in_doubt(trained, pipe):
    docs = [trained.make_doc(TEXT)]
    before = read_signals(trained, docs)
    classes = {"LOC": ["the", "cat", "sleeps", "."]}
    spacy_entlm.add_lexicon(trained, classes)
    after = read_signals(trained, docs)
    assert after.doubt[0] < before.doubt[0]
    assert after.expected[0, pipe.labels.index("LOC")] == pytest.approx(4.0)


def test_an_initialisation_keeps_names_unless_it_has_others(bert, annotated, blank_nlp):
    nlp = blank_nlp(bert)
    spacy_entlm.add_lexicon(nlp, {"LOC": ["Port  Vell", " "]})
    pairs = [Example.from_dict(nlp.make_doc(t), a) for t, a in annotated]
    nlp.initialize(lambda: pairs)
    ruler = nlp.get_pipe(FACTORY)
    assert ruler.patterns == [{"label": "LOC", "pattern": "Port Vell"}]
    given = [{"label": "PER", "pattern": [{"LOWER": "dr."}, {"IS_TITLE": True}]}]
    ruler.initialize(lambda: pairs, nlp=nlp, patterns=given)
    assert ruler.patterns == given


@pytest.mark.parametrize(
    ("names", "error", "says"),
    [
        ({"LOC": "Lima"}, TypeError, "list of strings, not 'Lima'"),
        ({"LOC": [1]}, TypeError, "list of strings"),
        ({"LOC": None}, TypeError, "list of strings"),
        ({1: ["Lima"]}, TypeError, "list of strings"),
        (["Lima"], TypeError, "the names of each class"),
        ({}, DataError, r"no name but stop words \(0\)"),
        ({"TITLE": ["it", "her"], "LOC": []}, DataError, r"stop words \(2\)"),
    ],
)
def test_what_is_no_list_of_names_is_refused(names, error, says):
    nlp = spacy.blank("en")
    with pytest.raises(error, match=says):
        spacy_entlm.add_lexicon(nlp, names)
    assert nlp.pipe_names == []


@pytest.mark.filterwarnings("error")
def test_without_names_it_says_nothing(trained):
    trained.add_pipe(FACTORY, first=True)
    assert found(trained) == []


def test_it_can_be_disabled_before_other_components(trained, pipe, tmp_path):
    trained.add_pipe("sentencizer")
    spacy_entlm.add_lexicon(trained, {"LOC": ["cat"]})
    trained.to_disk(tmp_path)
    settings = {f"components.{NAME}.lexicon_weight": DECIDES}
    nlp = spacy.load(tmp_path, disable=[FACTORY], config=settings)
    assert found(nlp) == []
    nlp.enable_pipe(FACTORY)
    assert found(nlp) == CAT


def test_names_of_other_classes_are_told(trained, caplog):
    spacy_entlm.add_lexicon(trained, {"LOC": ["cat"], "CITY": ["Lima"]})
    assert "of no class of the pipeline, and say nothing: CITY" in caplog.text
    caplog.clear()
    spacy_entlm.add_lexicon(spacy.blank("en"), {"CITY": ["Lima"]})
    assert not caplog.text
