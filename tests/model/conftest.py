import pytest
from thinc.api import fix_random_seed

from spacy_entlm.model.network import EntLMNetwork

# Settings that switch dropout off, where it is not off by default.
BERT_LIKE = ["hidden_dropout_prob", "attention_probs_dropout_prob"]
DISTILBERT_LIKE = ["dropout", "attention_dropout"]


@pytest.fixture(scope="session")
def load_network():
    """Loads a backbone's folder, without classes; decoder biases that are not 0."""

    def load(folder):
        network = EntLMNetwork.of_backbone(str(folder))
        fix_random_seed(7)
        bias = network.vocabulary.bias
        bias.data = bias.data + bias.new_empty(len(bias)).normal_()
        return network

    return load


@pytest.fixture
def network(backbone, load_network):
    return load_network(backbone)


@pytest.fixture(scope="session")
def without_dropout():
    """Model settings for `blank_nlp` that switch dropout off."""
    return {"transformer_config": dict.fromkeys(BERT_LIKE + DISTILBERT_LIKE, 0.0)}


@pytest.fixture(scope="session")
def network_of():
    """The network of a pipeline's component."""

    def network_of_nlp(nlp, name="entlm_ner"):
        return nlp.get_pipe(name).network

    return network_of_nlp
