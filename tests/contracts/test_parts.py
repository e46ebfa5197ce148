"""Parts of a component that are left out, and what goes with a sourced one."""

import spacy
from spacy.training import Example

import spacy_entlm

from .conftest import OTHER_LANGUAGE

LABEL_PARTS = ["label_words", "labels", "added_labels"]


def test_a_new_component_loaded_without_its_labels_predicts(
    pipe, blank, factory, annotated, entities, tmp_path
):
    """The classes come with the network that knows them."""
    text, gold = annotated[0]
    pipe.to_disk(tmp_path)
    for load in (
        lambda new: new.from_disk(tmp_path, exclude=LABEL_PARTS),
        lambda new: new.from_bytes(pipe.to_bytes(), exclude=LABEL_PARTS),
    ):
        nlp = blank(factory)
        assert load(nlp.get_pipe(factory)).labels == pipe.labels
        assert entities(nlp(text)) == gold["entities"]


def test_a_pipeline_that_trains_a_sourced_component_asks_for_ours(
    nlp, factory, annotated
):
    """The factory did not run in it, which notes what a package needs."""
    other = spacy.blank(OTHER_LANGUAGE)
    other.add_pipe(factory, source=nlp)
    examples = [Example.from_dict(other.make_doc(t), gold) for t, gold in annotated]
    other.initialize(lambda: examples)
    assert any(r.startswith("spacy-entlm>=") for r in other.meta["requirements"])
    other.meta["requirements"].clear()
    spacy_entlm.train(other, annotated, epochs=1)
    assert any(r.startswith("spacy-entlm>=") for r in other.meta["requirements"])
