"""The order of texts: what is chosen, why, and that it repeats."""

import numpy
import pytest
import spacy
from spacy.language import Language

import spacy_entlm
from spacy_entlm.active import rank
from spacy_entlm.active.signals import class_weights, density, directions, read_signals

MORE = [
    "The cat sleeps in Rome .",
    "He left Acme Bank .",
    "It rains .",
    "They see the green river",
    "Mary met Zyxwv Qrst in Globex",
]


@pytest.fixture
def pool(texts):
    return [*texts, *MORE]


def places(chosen):
    return [one.index for one in chosen]


def test_order_repeats_with_a_seed_and_holds_each_text_once(trained, pool):
    first = rank(trained, pool, n=None, seed=3)
    assert rank(trained, pool, n=None, seed=3) == first
    assert sorted(places(first)) == list(range(len(pool)))
    assert places(rank(trained, pool, n=4, seed=3)) == places(first)[:4]


def test_an_exported_pipeline_ranks_as_the_one_that_it_was(trained, pool, tmp_path):
    exported = spacy_entlm.export(trained, tmp_path / "exported")
    assert places(rank(exported, pool, n=None)) == places(rank(trained, pool, n=None))


def test_seed_decides_only_between_equals(trained, pool):
    assert places(rank(trained, pool, n=5, seed=1)) == places(
        rank(trained, pool, n=5, seed=2)
    )


def test_reasons_are_shares_and_name_a_class(trained, pool):
    for one in rank(trained, pool, n=None):
        assert set(one.reasons) == {"doubt", "rare", "density", "likeness"}
        assert all(-1.0 <= value <= 1.0 for value in one.reasons.values())
        assert one.rarest in (None, "PER", "LOC", "ORG")


def test_of_texts_that_are_alike_one_is_chosen_first(trained, pool):
    doubled = [*pool, *pool]
    chosen = places(rank(trained, doubled, n=len(pool)))
    assert len({doubled[i] for i in chosen}) == len(pool)


class Splitter:
    """Each text is a sentence. It says that it can be trained."""

    def __call__(self, doc):
        for token in doc:
            token.is_sent_start = token.i == 0
        return doc

    def update(self, examples, **settings):
        """Learn nothing."""


@Language.factory("splitter")
def make_splitter(nlp, name):
    return Splitter()


def test_components_before_it_run_as_in_prediction(
    trained, trained_folder, texts, annotated
):
    """Those that can be trained, too."""
    spans = {"@span_getters": "spacy-transformers.sent_spans.v1"}
    config = {"components.entlm_ner.model.get_spans": spans}
    nlp = spacy.load(trained_folder, config=config)
    nlp.add_pipe("splitter", first=True)
    assert places(rank(nlp, texts)) == places(rank(trained, texts))
    assert spacy_entlm.calibrate(nlp, annotated) == spacy_entlm.calibrate(
        trained, annotated
    )


def test_what_is_annotated_already_comes_last(trained, pool):
    (best,) = rank(trained, pool, n=1)
    again = rank(trained, pool, n=None, annotated=[trained(pool[best.index])])
    assert places(again)[-1] == best.index
    assert again[-1].reasons["likeness"] == pytest.approx(1.0, abs=1e-3)


def test_an_untrained_pipeline_ranks_too(start_nlp, bert, pool):
    assert len(rank(start_nlp(bert), pool, n=3)) == 3


def test_docs_keep_their_words_and_their_annotation(trained, pool):
    docs = list(trained.pipe(pool))
    before = [doc.to_bytes() for doc in docs]
    assert places(rank(trained, docs, n=5)) == places(rank(trained, pool, n=5))
    assert [doc.to_bytes() for doc in docs] == before


def test_of_more_texts_some_are_drawn(trained, pool):
    chosen = rank(trained, pool, n=None, max_texts=5, seed=1)
    assert len(set(places(chosen))) == 5
    other = rank(trained, pool, n=None, max_texts=5, seed=2)
    assert set(places(chosen)) != set(places(other))


def test_texts_without_words_and_no_texts(trained):
    assert rank(trained, []) == []
    assert len(rank(trained, ["", "Anna Smith", ""], n=None)) == 3
    assert len(rank(trained, ["  "])) == 1


@pytest.mark.parametrize(
    "settings",
    [{"n": 0}, {"max_texts": 0}, {"likeness": -1.0}, {"weights": {"doubt": 1.0}}],
)
def test_settings_without_meaning_are_refused(trained, settings):
    with pytest.raises(ValueError, match=next(iter(settings))):
        rank(trained, ["Anna"], **settings)


def test_a_pipeline_without_weights_is_refused(blank_nlp, bert):
    with pytest.raises(ValueError, match="has no weights"):
        rank(blank_nlp(bert), ["Anna"])
    with pytest.raises(ValueError, match="entlm_ner"):
        rank(spacy.blank("xx"), ["Anna"])


def test_doubt_is_that_of_the_probabilities(trained, pool):
    """Sums over words of what the margin leaves, by hand."""
    pipe = trained.get_pipe("entlm_ner")
    docs = [trained.make_doc(text) for text in pool]
    found = read_signals(trained, docs)
    for doc, doubt, expected in zip(docs, found.doubt, found.expected):
        scores = pipe.score_docs([doc])
        both = numpy.column_stack([scores.outside, scores.probs])
        best = numpy.sort(both, axis=1)[:, -2:]
        unsure = 1 - (best[:, 1] - best[:, 0]) / best.sum(axis=1)
        by_hand = unsure.sum() / numpy.sqrt(len(doc))
        # They may be read in bfloat16.
        assert doubt == pytest.approx(by_hand, abs=0.1)
        assert expected == pytest.approx(scores.probs.sum(axis=0), abs=0.1)


def test_density_is_the_mean_cosine_with_the_nearest():
    rng = numpy.random.default_rng(0)
    directed = directions(rng.normal(size=(600, 8)).astype("f"))
    cosines = directed @ directed.T
    numpy.fill_diagonal(cosines, -numpy.inf)
    by_hand = numpy.sort(cosines, axis=1)[:, -20:].mean(axis=1)
    assert density(directed) == pytest.approx(by_hand, abs=1e-5)


def test_directions_of_texts_that_are_all_alike_are_none():
    assert not directions(numpy.ones((3, 4), dtype="f")).any()


def test_a_class_with_few_examples_weighs_most():
    weights = class_weights(["PER", "LOC", "ORG"], {"PER": 9, "LOC": 1})
    assert weights == pytest.approx([0.1, 0.5, 1.0])
