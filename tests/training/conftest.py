"""What tests of trainings share."""

import pytest


@pytest.fixture(scope="session")
def weights_of():
    """Gives copies of the weights of a pipeline's component, by their names."""

    def weights(nlp, name="entlm_ner"):
        state = nlp.get_pipe(name).network.state_dict()
        return {key: tensor.clone() for key, tensor in state.items()}

    return weights
