"""Files that are written and read again."""

import pytest
import spacy

from spacy_entlm.corpus.readers import DataError, read_docs


@pytest.fixture(scope="session")
def nlp():
    return spacy.blank("en")


@pytest.fixture
def read(tmp_path, nlp):
    """Write content under a file name and read it."""

    def read(name, content, **kwargs):
        path = tmp_path / name
        data = content if isinstance(content, bytes) else content.encode("utf-8")
        path.write_bytes(data)
        return read_docs(path, nlp, **kwargs)

    return read


@pytest.fixture
def error_of(read):
    """Read bad content and return the message of the error, which names the file, or
    the place that is given."""

    def error_of(name, content, place=None, **kwargs):
        with pytest.raises(DataError) as caught:
            read(name, content, **kwargs)
        assert (place or name) in str(caught.value)
        return str(caught.value)

    return error_of
