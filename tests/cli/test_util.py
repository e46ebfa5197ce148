"""What the commands share."""

import pytest

from spacy_entlm.cli._util import one_line_errors


def test_one_line_errors_folds_long_messages_and_lets_other_errors_pass(capsys):
    with pytest.raises(Exception) as caught, one_line_errors():
        raise ValueError("first\n\n   second")
    assert getattr(caught.value, "exit_code", None) == 1
    assert "first second\n" in capsys.readouterr().err
    with pytest.raises(KeyError), one_line_errors():
        raise KeyError("a bug")
