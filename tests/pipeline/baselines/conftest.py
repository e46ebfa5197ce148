"""Pipelines of the paper's peers on a tiny backbone."""

import random

import pytest
import spacy
from spacy.util import minibatch
from thinc.api import Adam, fix_random_seed


@pytest.fixture(scope="session")
def blank_peer():
    """Makes an empty pipeline with a peer that is not initialised yet."""

    def blank(factory, folder, *, model=None, **config):
        nlp = spacy.blank("xx")
        model = {"name": str(folder), **(model or {})}
        nlp.add_pipe(factory, config={"model": model, **config})
        return nlp

    return blank


@pytest.fixture(scope="session")
def train_peer(make_examples):
    """Initialises a pipeline and trains it on the annotated sentences."""

    def train(nlp, *, epochs=30, seed=0, initialize=True):
        fix_random_seed(seed)
        examples = make_examples(nlp)
        if initialize:
            nlp.initialize(lambda: examples)
        optimizer = Adam(1e-2, L2=0.0, grad_clip=0.0, use_averages=False)
        order = random.Random(seed)
        losses = {}
        for _ in range(epochs):
            losses = {}
            order.shuffle(examples)
            for batch in minibatch(examples, 4):
                nlp.update(batch, sgd=optimizer, losses=losses)
        return losses

    return train
