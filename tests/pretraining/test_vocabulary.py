"""Vocabularies: no text becomes unknown, rows and biases follow their pieces."""

import json
from collections import Counter

import pytest
import torch
import transformers
from hypothesis import assume, given
from hypothesis import strategies as st

from spacy_entlm.backbones.loading import load_masked_lm
from spacy_entlm.pretraining.models import change_vocabulary
from spacy_entlm.pretraining.settings import PretrainError, Settings
from spacy_entlm.pretraining.vocabulary import (
    Vocabulary,
    add_words,
    cut_vocabulary,
    new_vocabulary,
)
from spacy_entlm.pretraining.wordpiece import (
    WordPiece,
    learn_pieces,
    start_tokenizer,
)
from spacy_entlm.pretraining.words import count_words, forget_rare

SPECIALS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
LETTERS = "abcé"
words = st.text(alphabet=LETTERS, min_size=1, max_size=6)
pieces = st.builds(
    lambda word, prefix: prefix + word, words, st.sampled_from(["", "##"])
)
some_pieces = st.lists(pieces, max_size=25).map(lambda found: ["a", "##b", *found])
counted = st.dictionaries(words, st.integers(0, 9), max_size=20).map(Counter)


def make_wordpiece(vocabulary):
    everything = dict.fromkeys([*SPECIALS, *vocabulary])
    ids = {piece: i for i, piece in enumerate(everything)}
    return WordPiece(ids, SPECIALS, "[UNK]", "##", 100, str.lower)


def draw_word(data, old):
    """A word that a vocabulary can split."""
    letters = [old.letters(p) for p in old.ids if old.continues(p)]
    begin = data.draw(st.sampled_from([p for p in list(old.ids)[5:] if p[0] != "#"]))
    word = begin + "".join(data.draw(st.lists(st.sampled_from(letters), max_size=4)))
    assume(old.split(word) is not None)
    return word


def split_with(vocabulary, word):
    return make_wordpiece(vocabulary.pieces).split(word)


def test_vocabulary_learned_from_a_text_is_always_the_same():
    # Most pairs of letters are as frequent as others: ties decide.
    letters = "abcdefghij"
    text = [" ".join(a + b + c for b in letters) for a in letters for c in letters]
    tokenizer = start_tokenizer(lowercase=True)
    learned = [learn_pieces(lambda: text, 100, tokenizer) for _ in range(5)]
    assert len(learned[0]) == 100
    assert all(pieces == learned[0] for pieces in learned)
    assert {"a", "j", "##a", "##j"} < set(learned[0])


@given(some_pieces, words)
def test_split_is_that_of_the_tokenizer(vocabulary, word):
    from tokenizers import models

    ours = make_wordpiece(vocabulary)
    model = models.WordPiece(ours.ids, unk_token="[UNK]")
    theirs = [token.id for token in model.tokenize(word)]
    assert (ours.split(word) or [ours.ids["[UNK]"]]) == theirs


@given(some_pieces, counted, st.data())
def test_cut_vocabulary_splits_what_could_be_split(vocabulary, counts, data):
    """Also where the old vocabulary has letters only inside longer pieces."""
    old = make_wordpiece(vocabulary)
    word = draw_word(data, old)
    needed = {*old.fixed, *old.alphabet()}
    assume(len(needed) <= len(old.ids))
    size = data.draw(st.integers(len(needed), len(old.ids)))
    cut = cut_vocabulary(old, counts, size)
    assert len(cut.pieces) == len(set(cut.pieces)) == size
    assert split_with(cut, word) is not None
    assert cut.pieces[:5] == SPECIALS
    for piece, sources in zip(cut.pieces, cut.sources):
        if piece in old.ids:
            assert sources == [old.ids[piece]]


@given(some_pieces, counted, st.data())
def test_added_words_leave_no_text_unknown(vocabulary, counts, data):
    old = make_wordpiece(vocabulary)
    word = draw_word(data, old)
    grown = Vocabulary.of(old)
    added = add_words(grown, old, counts, 5)
    missing = [piece for piece in old.alphabet() if piece not in old.ids]
    assert grown.pieces == [*old.ids, *missing, *added]
    assert split_with(grown, word) is not None
    for new in added:
        assert counts[new] >= 2
        assert len(old.split(new)) > 1
        assert len(split_with(grown, new)) == 1


@given(some_pieces, st.lists(pieces, max_size=20), st.data())
def test_new_vocabulary_splits_what_could_be_split(vocabulary, learned, data):
    old = make_wordpiece(vocabulary)
    word = draw_word(data, old)
    new = new_vocabulary(old, learned, 100)
    assert new.pieces[:5] == SPECIALS
    assert split_with(new, word) is not None
    assert set(learned) <= set(new.pieces)
    assert all(new.sources)


def test_added_word_does_not_lead_into_a_dead_end():
    """abba was a ##b ##ba; with abb added it would be abb and a lone letter."""
    old = make_wordpiece(["a", "##b", "b", "##ba"])
    grown = Vocabulary.of(old)
    assert add_words(grown, old, Counter({"abb": 2}), 1) == ["abb"]
    found = [grown.pieces[i] for i in split_with(grown, "abba")]
    assert found == ["abb", "##a"]
    assert grown.sources[grown.pieces.index("##a")] == [old.ids["a"]]


def test_cut_keeps_what_the_text_uses_most():
    old = make_wordpiece(["a", "b", "##a", "##b", "ab", "ba", "aa", "bb"])
    counts = Counter({"ab": 1, "bb": 5, "ba": 3})
    assert cut_vocabulary(old, counts, 11).pieces[-2:] == ["ba", "bb"]
    # What is not used at all comes in the order in which it was there.
    assert cut_vocabulary(old, Counter(), 10).pieces[-1] == "ab"


def test_most_frequent_words_of_several_pieces_are_added():
    old = make_wordpiece(["a", "b", "##a", "##b", "1", "##1", "ab"])
    counts = Counter({"ab": 99, "aa": 2, "ba": 7, "bb": 7, "aab": 1, "11": 9, "xy": 9})
    grown = Vocabulary.of(old)
    # One piece already, a number, unknown letters, seen once: none of these.
    assert add_words(grown, old, counts, 10) == ["ba", "bb", "aa"]
    assert grown.sources[-3:] == [
        [old.ids["b"], old.ids["##a"]],
        [old.ids["b"], old.ids["##b"]],
        [old.ids["a"], old.ids["##a"]],
    ]
    assert add_words(Vocabulary.of(old), old, counts, 1) == ["ba"]


def test_pieces_of_another_case_take_their_letters_rows():
    old = make_wordpiece(["ab", "a", "b", "##a", "##b", "##c"])
    assert old.sources("Ab") == [old.ids["ab"]]
    assert old.sources("##AB") == [old.ids["##a"], old.ids["##b"]]
    assert old.sources("c") == [old.ids["##c"]]
    assert old.sources("x") == [old.ids["[UNK]"]]


def test_words_of_text_and_names_are_counted_as_the_tokenizer_reads_them(bert):
    backend = transformers.AutoTokenizer.from_pretrained(bert).backend_tokenizer
    lines = ["Anna met ANNA, too.", "anna"]
    counts = count_words(lines, ["Anna Café-Smith", "Café"], 10, backend)
    assert counts["anna"] == 13
    assert counts["cafe"] == 20
    assert (counts[","], counts["-"], counts["smith"]) == (1, 10, 10)


def test_the_rarer_half_of_too_many_words_is_forgotten():
    counts = Counter({"a": 1, "b": 1, "c": 1, "d": 5, "e": 7})
    assert forget_rare(counts) == {"d": 5, "e": 7}


def change(folder, lines, **settings):
    masked_lm = load_masked_lm(folder)
    report = change_vocabulary(masked_lm, Settings(**settings), lambda: iter(lines))
    return masked_lm, report


def rows_by_piece(masked_lm):
    """Of input embeddings, decoder and its bias."""
    ids = masked_lm.tokenizer.get_vocab()
    inputs = masked_lm.body.get_input_embeddings().weight
    decoder = masked_lm.decoder
    return {
        piece: torch.cat([inputs[i], decoder.weight[i], decoder.bias[i, None]])
        for piece, i in ids.items()
    }


@pytest.fixture
def random_bias(bert, tmp_path):
    """A BERT whose decoder biases tell its pieces apart, and whose special pieces are
    not the first ones."""
    lm = transformers.AutoModelForMaskedLM.from_pretrained(bert)
    torch.manual_seed(5)
    lm.cls.predictions.bias.data.normal_()
    lm.save_pretrained(tmp_path / "biased")
    transformers.AutoTokenizer.from_pretrained(bert).save_pretrained(
        tmp_path / "biased"
    )
    return tmp_path / "biased"


@pytest.mark.parametrize(
    "settings", [{"keep_vocab": 200}, {"add_vocab": 3}, {"new_vocab": 230}]
)
def test_rows_and_biases_follow_their_pieces(random_bias, lines, settings):
    before = rows_by_piece(load_masked_lm(random_bias))
    masked_lm, report = change(random_bias, lines, **settings)
    after = rows_by_piece(masked_lm)
    kept = before.keys() & after.keys()
    assert len(kept) == report["kept"] > 100
    assert all(torch.equal(after[piece], before[piece]) for piece in kept)
    assert len(after) == report["pieces"]


def test_a_new_row_is_the_mean_of_its_pieces_rows(random_bias, lines):
    before = rows_by_piece(load_masked_lm(random_bias))
    old = transformers.AutoTokenizer.from_pretrained(random_bias)
    masked_lm, report = change(random_bias, lines, add_vocab=2)
    after = rows_by_piece(masked_lm)
    assert report["words_added"] == 2
    for word in report["first_words_added"]:
        rows = torch.stack([before[piece] for piece in old.tokenize(word)])
        assert len(rows) > 1
        torch.testing.assert_close(after[word], rows.mean(0))


@pytest.mark.parametrize("family", ["bert", "distilbert"])
@pytest.mark.parametrize(
    "settings",
    [
        {"keep_vocab": 200},
        {"keep_vocab": 200, "add_vocab": 3},
        {"new_vocab": 230, "cased": True},
    ],
)
def test_changed_model_is_whole_for_transformers(
    backbone_folder, tmp_path, lines, family, settings
):
    masked_lm, report = change(backbone_folder(family), lines, **settings)
    masked_lm.save(tmp_path / "new")
    lm, info = transformers.AutoModelForMaskedLM.from_pretrained(
        tmp_path / "new", output_loading_info=True
    )
    assert not any(info.values())
    tokenizer = transformers.AutoTokenizer.from_pretrained(tmp_path / "new")
    size = report["pieces"]
    assert len(tokenizer) == lm.config.vocab_size == size
    assert lm.get_input_embeddings().weight.shape[0] == size
    assert lm.get_input_embeddings().weight is lm.get_output_embeddings().weight
    assert lm.config.pad_token_id == tokenizer.pad_token_id
    assert lm.get_input_embeddings().padding_idx == tokenizer.pad_token_id
    ids = tokenizer("anna met john").input_ids
    assert ids[0] == tokenizer.cls_token_id and ids[-1] == tokenizer.sep_token_id
    assert tokenizer.decode(ids[1:-1]) == "anna met john"
    load_masked_lm(tmp_path / "new", strict=True)


def test_padding_may_be_any_piece(bert, tmp_path, lines):
    """BERT's is number 0; here it moves, and settings follow."""
    folder = tmp_path / "moved"
    masked_lm = load_masked_lm(bert)
    masked_lm.save(folder)
    tokenizer = json.loads((folder / "tokenizer.json").read_text())
    ids = tokenizer["model"]["vocab"]
    other = next(piece for piece, i in ids.items() if i == 240)
    ids["[PAD]"], ids[other] = 240, 0
    tokenizer["added_tokens"][0]["id"] = 240
    tokenizer["added_tokens"].sort(key=lambda token: token["id"])
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer))
    settings = json.loads((folder / "tokenizer_config.json").read_text())
    added = settings["added_tokens_decoder"]
    added["240"] = added.pop("0")
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "pad_token_id": 240}))
    (folder / "vocab.txt").unlink()
    masked_lm, _ = change(folder, lines, keep_vocab=200)
    pad = masked_lm.tokenizer.pad_token_id
    assert masked_lm.tokenizer.get_vocab()["[PAD]"] == pad != 0
    assert masked_lm.body.config.pad_token_id == pad
    embeddings = masked_lm.body.get_input_embeddings()
    assert (embeddings.padding_idx, embeddings.num_embeddings) == (pad, 200)


def test_keeping_all_changes_nothing(bert, lines):
    before = load_masked_lm(bert).eval()
    after, _ = change(bert, lines, keep_vocab=len(before.tokenizer))
    after.eval()
    text = "Anna Smith lives in Berlin ."
    ids = torch.tensor([before.tokenizer(text).input_ids])
    assert after.tokenizer(text).input_ids == ids[0].tolist()
    mask = torch.ones_like(ids)
    with torch.no_grad():
        assert torch.equal(
            after.decoder(after(ids, mask)), before.decoder(before(ids, mask))
        )


def test_new_vocabulary_may_tell_capitals(bert, tmp_path):
    lines = ["Anna met John in Berlin ."] * 5 + ["anna ."]
    cased, _ = change(bert, lines, new_vocab=240, cased=True)
    cased.save(tmp_path / "cased")
    again = transformers.AutoTokenizer.from_pretrained(tmp_path / "cased")
    assert again.tokenize("Anna met JOHN")[:2] == ["Anna", "met"]
    uncased, _ = change(bert, lines, new_vocab=240)
    assert uncased.tokenizer.tokenize("Anna met")[:2] == ["anna", "met"]
    # Back again, from the cased one.
    folded, _ = change(tmp_path / "cased", lines, new_vocab=240, cased=False)
    assert folded.tokenizer.tokenize("ANNA met")[:2] == ["anna", "met"]


@pytest.mark.parametrize("option", ["keep_vocab", "add_vocab", "new_vocab"])
def test_names_of_a_lexicon_count_as_words(bert, lines, tmp_path, option):
    lexicon = tmp_path / "names.txt"
    lexicon.write_text("Smith\n")
    (tmp_path / "rare.tsv").write_text("Petropolis\tPER\nPetropolis\tORG\n")
    size = {"keep_vocab": 170, "add_vocab": 1, "new_vocab": 250}[option]
    word = "smith" if option == "keep_vocab" else "petropolis"
    names = [str(lexicon), str(tmp_path / "rare.tsv")]
    lines = ["anna met ."] if option == "keep_vocab" else lines
    known, report = change(
        bert, lines, **{option: size}, lexicon=names, lexicon_weight=100
    )
    unknown, _ = change(bert, lines, **{option: size})
    assert known.tokenizer.tokenize(word) == [word]
    assert unknown.tokenizer.tokenize(word) != [word]
    if option != "keep_vocab":
        assert report["pieces_per_name"] < report["pieces_per_name_before"]


@pytest.mark.parametrize(
    "settings, message",
    [
        ({"keep_vocab": 20}, "--keep-vocab 20 is too small: .* alone are"),
        ({"keep_vocab": 9999}, "--keep-vocab 9,999 is more than the vocabulary has"),
        ({"new_vocab": 20}, "--new-vocab 20 is too small"),
    ],
)
def test_sizes_that_do_not_fit_are_refused(bert, lines, settings, message):
    with pytest.raises(PretrainError, match=message):
        change(bert, lines, **settings)


@pytest.mark.parametrize("option", ["keep_vocab", "add_vocab", "new_vocab"])
def test_text_without_words_is_refused(bert, option):
    with pytest.raises(PretrainError, match="holds no words"):
        change(bert, [], **{option: 200})


@pytest.mark.parametrize("family", ["roberta", "xlm-roberta", "modernbert"])
def test_other_tokenizers_are_refused(backbone_folder, lines, family):
    with pytest.raises(PretrainError, match="needs a WordPiece tokenizer"):
        change(backbone_folder(family), lines, keep_vocab=200)
