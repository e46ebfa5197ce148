"""Added words: which they are, what they start from, and that the model stays whole."""

import pytest
import torch
import transformers

from spacy_entlm.backbones.loading import load_masked_lm
from spacy_entlm.pretraining.added_words import add_words

# The tiny backbones know the letters of these words, and none as a whole.
LINES = ["Peterson in Corporation .", "Corporation , corporation 2024"] * 2


def rows(masked_lm, ids):
    """Of input embeddings, decoder and its bias: the mean of some pieces."""
    inputs = masked_lm.body.get_input_embeddings().weight
    parts = [inputs, masked_lm.decoder.weight]
    if masked_lm.decoder.bias is not None:
        parts.append(masked_lm.decoder.bias[:, None])
    return torch.cat([part[ids].mean(0) for part in parts])


def encode(masked_lm, text):
    backend = masked_lm.tokenizer.backend_tokenizer
    return backend.encode(text, add_special_tokens=False)


@pytest.fixture
def biased(backbone, tmp_path):
    """A backbone of each family, whose decoder biases tell its pieces apart."""
    lm = transformers.AutoModelForMaskedLM.from_pretrained(backbone)
    torch.manual_seed(5)
    lm.get_output_embeddings().bias.data.normal_()
    lm.save_pretrained(tmp_path / "biased")
    tokenizer = transformers.AutoTokenizer.from_pretrained(backbone)
    tokenizer.save_pretrained(tmp_path / "biased")
    return tmp_path / "biased"


def test_a_word_becomes_a_piece_with_the_mean_of_its_pieces(biased, tmp_path):
    """In every family, and so it is read again from the folder."""
    before, changed = load_masked_lm(biased), load_masked_lm(biased)
    report = add_words(changed, LINES, 100, [])
    assert report["pieces"] == report["pieces_before"] + report["words_added"]
    changed.save(tmp_path / "new")
    again = load_masked_lm(tmp_path / "new", strict=True)
    n_rows = again.body.get_input_embeddings().num_embeddings
    assert n_rows == again.decoder.out_features == again.body.config.vocab_size
    assert "corporation" in report["first_words_added"]
    for word in report["first_words_added"]:
        piece = again.tokenizer.convert_tokens_to_ids(word)
        assert encode(again, f"in {word}").ids[-1] == piece
        n_before = len(encode(before, "in").ids)
        pieces = encode(before, f"in {word}").ids[n_before:]
        assert len(pieces) >= 3
        torch.testing.assert_close(rows(again, [piece]), rows(before, pieces))
    for piece in range(report["pieces_before"]):
        assert torch.equal(rows(again, [piece]), rows(before, [piece]))


def test_offsets_stay_those_of_the_text(backbone):
    masked_lm = load_masked_lm(backbone)
    (word, *_) = add_words(masked_lm, LINES, 1, [])["first_words_added"]
    text = f"in {word} , {word}s"
    found = encode(masked_lm, text)
    new = masked_lm.tokenizer.convert_tokens_to_ids(word)
    parts = [text[a:b] for i, (a, b) in zip(found.ids, found.offsets) if i == new]
    # Only as a word of its own.
    assert [part.strip() for part in parts] == [word]


def test_the_most_frequent_come_first_and_names_before_them(bert, tmp_path):
    lines = ["peterson peterson global global global john zanzibar"] * 2
    names = tmp_path / "names.txt"
    names.write_text("Peterson Parisian\n")
    (found,) = add_words(load_masked_lm(bert), lines, 1, [])["first_words_added"]
    assert found == "global"
    # One piece already, unknown letters, a name that the text lacks: none of these.
    report = add_words(load_masked_lm(bert), lines, 9, [names])
    assert report["first_words_added"] == ["peterson", "global"]


def test_shared_rows_stay_shared(bert):
    masked_lm = load_masked_lm(bert)
    add_words(masked_lm, LINES, 2, [])
    inputs = masked_lm.body.get_input_embeddings().weight
    assert inputs is masked_lm.decoder.weight


def test_nothing_to_add_is_no_error(bert):
    masked_lm = load_masked_lm(bert)
    n_rows = masked_lm.decoder.out_features
    report = add_words(masked_lm, ["john met john"] * 3, 5, [])
    assert (report["words_added"], masked_lm.decoder.out_features) == (0, n_rows)
