"""`spacy train` with the peers: one config, another factory."""

import pytest
import spacy
from spacy.cli.train import train as spacy_train
from spacy.tokens import DocBin

CONFIG = """
[paths]
train = null
backbone = null

[nlp]
lang = "xx"
pipeline = ["ner"]

[components]

[components.ner]
factory = "{factory}"

[components.ner.model]
@architectures = "spacy-entlm.Tagger.v1"
name = ${{paths.backbone}}

[components.ner.model.get_spans]
@misc = "spacy-entlm.doc_spans.v1"

[corpora]

[corpora.train]
@readers = "spacy.Corpus.v1"
path = ${{paths.train}}

[corpora.dev]
@readers = "spacy.Corpus.v1"
path = ${{paths.train}}

[training]
max_epochs = 25
max_steps = 0
eval_frequency = 30
patience = 0
seed = 1
dropout = 0.0
gpu_allocator = null
accumulate_gradient = 1
annotating_components = []
train_corpus = "corpora.train"
dev_corpus = "corpora.dev"

[training.batcher]
@batchers = "spacy.batch_by_sequence.v1"
size = 4

[training.optimizer]
@optimizers = "Adam.v1"
L2 = 0.0
grad_clip = 0.0
use_averages = false
learn_rate = 0.01

[initialize]
"""


@pytest.mark.parametrize("factory", ["bert_tagger", "nnshot", "structshot"])
def test_trained_pipeline_finds_what_it_has_seen(
    factory, bert, make_examples, tmp_path, annotated, entities
):
    config, data = tmp_path / "train.cfg", tmp_path / "train.spacy"
    config.write_text(CONFIG.format(factory=factory))
    examples = make_examples(spacy.blank("xx"))
    DocBin(docs=[eg.reference for eg in examples]).to_disk(data)
    paths = {"paths.train": str(data), "paths.backbone": str(bert)}
    spacy_train(config, tmp_path / "model", overrides=paths)
    nlp = spacy.load(tmp_path / "model" / "model-last")
    assert nlp.meta["performance"]["ents_f"] == 1.0
    for text, annotation in annotated:
        assert entities(nlp(text)) == annotation["entities"]
