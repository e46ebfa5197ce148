"""Tiny random masked LMs and pipelines, made here: no network, nothing pretrained."""

import os
import shutil
from importlib.util import find_spec
from pathlib import Path
from unittest import mock

# Before transformers is imported: a test that asks the hub is a bug.
os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["TRANSFORMERS_OFFLINE"] = "1"
os.environ["TOKENIZERS_PARALLELISM"] = "false"
# Of processes that tests start: two tests run at once.
os.environ["OMP_NUM_THREADS"] = "1"

import pytest
import spacy
import torch
from hypothesis import HealthCheck, settings
from spacy.training import Example
from thinc.api import fix_random_seed

import spacy_entlm
from spacy_entlm.backbones import compact
from spacy_entlm.backbones.loading import load_masked_lm
from spacy_entlm.backbones.name_map import NameMap
from spacy_entlm.label_words.names import read_name

from .tiny_models import (
    ANNOTATED,
    FAMILIES,
    MAX_PIECES,
    SIZES,
    build_lm,
    build_tokenizer,
)

# These models are too small to be shared among threads, which would only wait.
torch.set_num_threads(1)

# No deadline: two tests run at once, on machines that others use, too.
settings.register_profile("suite", deadline=None)
# For tests/reliability, whose conftest.py tells more.
settings.register_profile(
    "thorough",
    deadline=None,
    max_examples=1000,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile("suite")

LABEL_WORDS = {
    "PER": ["John", "Mary"],
    "LOC": ["Paris", "London"],
    "ORG": ["Corp", "Bank"],
}
# The same without spacy-transformers (project/benchmarks/gpu.py).
OUR_SPANS = {"get_spans": {"@misc": "spacy-entlm.doc_spans.v1"}}
SPANS = {} if find_spec("spacy_transformers") else OUR_SPANS


def pytest_collection_modifyitems(items):
    """Puts kills, full disks, hostile files and scripts of the project into the second
    part of the tests (CONTRIBUTING.md)."""
    tests = Path(__file__).parent
    for item in items:
        if {"reliability", "project"} & {*item.path.relative_to(tests).parts[:1]}:
            item.add_marker(pytest.mark.slow)


@pytest.fixture(scope="session")
def backbone_folder(tmp_path_factory):
    """Gives the folder of a tiny backbone by its family; each is made once."""
    made = {}

    def folder(family):
        if family not in made:
            made[family] = tmp_path_factory.mktemp(family)
            tokenizer = build_tokenizer(family)
            tokenizer.model_max_length = MAX_PIECES
            vocab = {
                "vocab_size": len(tokenizer),
                "pad_token_id": tokenizer.pad_token_id,
            }
            build_lm(family, vocab).save_pretrained(made[family])
            tokenizer.save_pretrained(made[family])
        return made[family]

    return folder


@pytest.fixture(scope="session", params=FAMILIES)
def family(request):
    """Each family of backbones in turn."""
    return request.param


@pytest.fixture(scope="session")
def backbone(family, backbone_folder):
    """The folder of a backbone, of each family in turn."""
    return backbone_folder(family)


@pytest.fixture(scope="session")
def bert(backbone_folder):
    """The folder of an uncased WordPiece BERT."""
    return backbone_folder("bert")


@pytest.fixture(scope="session")
def roberta(backbone_folder):
    """The folder of a byte-level BPE RoBERTa."""
    return backbone_folder("roberta")


@pytest.fixture(scope="session")
def naming(bert, tmp_path_factory):
    """The folder of that BERT with a map from names of classes to their rows."""
    folder = shutil.copytree(bert, tmp_path_factory.mktemp("naming") / "bert")
    torch.manual_seed(2)
    NameMap(SIZES["hidden_size"]).save(folder)
    return folder


def in_4_bits(weight):
    """The nearest values of 4 bits in blocks of 32 with a scale of float16."""
    blocks = weight.reshape(-1, 32)
    extreme = blocks.gather(1, blocks.abs().argmax(1, keepdim=True))
    scale = (extreme / -8).half().float()
    steps = (blocks / scale).nan_to_num(0.0).round().clamp(-8, 7)
    return (steps * scale).reshape(weight.shape)


@pytest.fixture(scope="session")
def packed_folder_of(backbone_folder, tmp_path_factory):
    """Gives the compact folder of a tiny backbone by its family, with word embeddings
    of 4 bits, if its rows are long enough, and a map from names; each is made once."""
    made = {}

    def folder(family):
        if family not in made:
            made[family] = tmp_path_factory.mktemp(f"packed-{family}")
            masked_lm = load_masked_lm(backbone_folder(family))
            weight = masked_lm.decoder.weight
            if not weight.shape[1] % 32:
                weight.data = in_4_bits(weight.data)
                masked_lm.body.get_input_embeddings().weight.data = weight.data
            if masked_lm.decoder.bias is not None:
                masked_lm.decoder.bias.data.normal_()
            with mock.patch.object(compact, "MIN_VALUES", 1):
                masked_lm.save(made[family], compact=True)
            torch.manual_seed(2)
            NameMap(masked_lm.width).save(made[family])
        return made[family]

    return folder


@pytest.fixture(scope="session")
def packed_bert(packed_folder_of):
    """That of an uncased WordPiece BERT."""
    return packed_folder_of("bert")


def blank_nlp(folder, *, lang="xx", name="entlm_ner", model=None, **config):
    """An empty pipeline with an `entlm_ner` that is not initialised yet. Its language
    is one whose tokenizer is made in no time."""
    nlp = spacy.blank(lang)
    model = {"name": str(folder), **SPANS, **(model or {})}
    nlp.add_pipe("entlm_ner", name=name, config={"model": model, **config})
    return nlp


@pytest.fixture(scope="session")
def spans():
    """What a model's config says beside its name: what is read together."""
    return SPANS


@pytest.fixture(scope="session", name="blank_nlp")
def blank_nlp_fixture():
    return blank_nlp


def annotated_examples(nlp):
    return [
        Example.from_dict(nlp.make_doc(text), {"entities": entities})
        for text, entities in ANNOTATED
    ]


@pytest.fixture(scope="session")
def annotated():
    """Pairs of a text and {"entities": ...}, which a tiny backbone can learn."""
    return [(text, {"entities": entities}) for text, entities in ANNOTATED]


@pytest.fixture(scope="session")
def texts():
    """The annotated texts."""
    return [text for text, _ in ANNOTATED]


@pytest.fixture(scope="session")
def label_words():
    """Label words of the classes of `annotated`."""
    return {label: list(words) for label, words in LABEL_WORDS.items()}


@pytest.fixture(scope="session")
def make_examples():
    """Makes Examples of `annotated` for a pipeline."""
    return annotated_examples


@pytest.fixture(scope="session")
def start_nlp():
    """Makes an initialised, untrained pipeline: (folder, **config) -> nlp."""

    def start(folder, **config):
        fix_random_seed(0)
        nlp = blank_nlp(folder, **config)
        name = nlp.pipe_names[-1]
        nlp.config["initialize"]["components"][name] = {"label_words": LABEL_WORDS}
        nlp.initialize(lambda: annotated_examples(nlp))
        return nlp

    return start


@pytest.fixture(scope="session")
def fit():
    """Trains a pipeline until it knows the annotated sentences by heart."""

    def learn(nlp, *, epochs=30, **settings):
        data = [(text, {"entities": entities}) for text, entities in ANNOTATED]
        settings = {"label_words": LABEL_WORDS, "learn_rate": 1e-2, **settings}
        return spacy_entlm.train(nlp, data, epochs=epochs, **settings)

    return learn


@pytest.fixture(scope="session")
def trained_folder_of(backbone_folder, fit, tmp_path_factory):
    """Gives the folder of a pipeline that knows the annotated sentences by heart, by
    the family of its backbone; each is trained once."""
    made = {}

    def folder(family):
        if family not in made:
            nlp = blank_nlp(backbone_folder(family))
            fit(nlp)
            made[family] = tmp_path_factory.mktemp(f"trained-{family}")
            nlp.to_disk(made[family])
        return made[family]

    return folder


@pytest.fixture(scope="session")
def trained_folder(trained_folder_of):
    """The folder of such a pipeline with an uncased WordPiece BERT."""
    return trained_folder_of("bert")


@pytest.fixture(scope="session")
def knowing(trained_folder, tmp_path_factory):
    """The folder of a backbone that knows the classes of the annotated sentences by
    their names: its map gives "person" the row that PER had learned, and so on."""
    folder = tmp_path_factory.mktemp("knowing") / "bert"
    network = spacy.load(trained_folder).get_pipe("entlm_ner").network.eval()
    network.masked_lm.save(folder)
    name_map = NameMap(SIZES["hidden_size"])
    torch.nn.init.zeros_(name_map.weight)
    torch.nn.init.zeros_(name_map.bias)
    network.name_map = name_map
    hidden, missing = [], []
    for label, row, bias in zip(network.labels, network.rows, network.biases):
        name = read_name(label).text
        ids = torch.tensor([network.tokenizer(name)["input_ids"]])
        with torch.no_grad():
            states = network.masked_lm.hidden(ids, torch.ones_like(ids))
        hidden.append(states[0, 1:-1].mean(0))
        near = torch.cat(network.row_of_name(name))
        missing.append(torch.cat([row, bias]).detach() - near)
    solution = torch.linalg.pinv(torch.stack(hidden)) @ torch.stack(missing)
    name_map.weight.data = solution.T.contiguous()
    name_map.save(folder)
    return folder


@pytest.fixture
def trained(trained_folder):
    """That pipeline, loaded: a test may change it."""
    return spacy.load(trained_folder)


def entities(doc):
    return [(ent.start_char, ent.end_char, ent.label_) for ent in doc.ents]


@pytest.fixture(scope="session", name="entities")
def entities_fixture():
    """Entities of a Doc as (start, end, label), in characters."""
    return entities
