"""Trained pipelines that are exported once."""

import pytest
import spacy

import spacy_entlm


@pytest.fixture(scope="session")
def exported_folder_of(trained_folder_of, tmp_path_factory):
    """Gives the folder of an exported pipeline that knows the annotated sentences by
    heart, by the family of its backbone and its format."""
    made = {}

    def folder(family, format="float32"):
        if (family, format) not in made:
            made[family, format] = tmp_path_factory.mktemp("exported") / format
            nlp = spacy.load(trained_folder_of(family))
            spacy_entlm.export(nlp, made[family, format], format=format)
        return made[family, format]

    return folder


@pytest.fixture(scope="session")
def exported_folder(exported_folder_of):
    """The folder of one with an uncased WordPiece BERT."""
    return exported_folder_of("bert")


@pytest.fixture
def exported(exported_folder):
    """That pipeline, loaded: a test may change it."""
    return spacy.load(exported_folder)
