"""Two runs at once."""

import pytest

from spacy_entlm.backbones.masked_lm import MaskedLM
from spacy_entlm.files.errors import DataError


@pytest.mark.parametrize("flag", ["resume", "overwrite"])
def test_a_second_run_is_refused_as_long_as_the_first_one_runs(
    pretrain, weights, monkeypatch, flag
):
    pretrain("alone", steps=1)
    save, refused = MaskedLM.save, []

    def save_and_run_again(self, folder):
        if len(refused) < 2:  # the first checkpoint, and the one after a step
            refused.append(folder)
            with pytest.raises(DataError, match="another run writes to it"):
                pretrain("out", steps=1, run={flag: True})
        save(self, folder)

    monkeypatch.setattr(MaskedLM, "save", save_and_run_again)
    pretrain("out", steps=1)
    assert len(refused) == 2
    assert weights("out") == weights("alone")
