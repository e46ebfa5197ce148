"""One trained pipeline of each component, which all contract tests share."""

import pytest
import spacy

FACTORIES = ["entlm_ner", "bert_tagger", "nnshot", "structshot"]
# Any other language than the trained pipelines': their vocabularies differ.
OTHER_LANGUAGE = "de"


@pytest.fixture(scope="session", params=FACTORIES)
def factory(request):
    """Each component in turn."""
    return request.param


@pytest.fixture(scope="session")
def blank(bert, spans):
    """Makes a pipeline with a component that is not initialised."""

    def make(factory, *, name=None, model=None, **config):
        nlp = spacy.blank("xx")
        settings = {"name": str(bert), **spans, **(model or {})}
        nlp.add_pipe(factory, name=name, config={"model": settings, **config})
        return nlp

    return make


@pytest.fixture(scope="session")
def saved_folder(blank, fit, label_words, tmp_path_factory):
    """Gives the folder of a pipeline that knows the annotated sentences by heart, by
    its component; each is trained once."""
    made = {}

    def folder(factory):
        if factory not in made:
            nlp = blank(factory)
            fit(nlp, label_words=label_words if factory == "entlm_ner" else None)
            made[factory] = tmp_path_factory.mktemp(factory)
            nlp.to_disk(made[factory])
        return made[factory]

    return folder


@pytest.fixture(scope="session")
def saved(factory, saved_folder):
    """The folder of such a pipeline, of each component in turn."""
    return saved_folder(factory)


@pytest.fixture
def nlp(saved):
    """That pipeline, loaded: a test may change it."""
    return spacy.load(saved)


@pytest.fixture
def pipe(nlp, factory):
    """Its component."""
    return nlp.get_pipe(factory)


@pytest.fixture(scope="session")
def found():
    """What a Doc holds of a component: entities, and confidences to four digits."""

    def found_in(doc, name):
        group = doc.spans[name]
        scores = [round(float(score), 4) for score in group.attrs["scores"]]
        spans = [(span.start, span.end, span.label_) for span in group]
        assert spans == [(ent.start, ent.end, ent.label_) for ent in doc.ents]
        return list(zip(spans, scores))

    return found_in
