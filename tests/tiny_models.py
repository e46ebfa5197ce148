"""Tiny random masked LMs with their tokenizers, made here: nothing is pretrained."""

import json

import torch
import transformers
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, trainers
from tokenizers import decoders as token_decoders
from tokenizers import processors as token_processors

# One sentence per entity mention pattern; the label words below all occur.
ANNOTATED = [
    ("Anna Smith lives in Berlin .", [(0, 10, "PER"), (20, 26, "LOC")]),
    (
        "John works for Acme Corp in Paris .",
        [(0, 4, "PER"), (15, 24, "ORG"), (28, 33, "LOC")],
    ),
    (
        "The Commission met Mary in London .",
        [(4, 14, "ORG"), (19, 23, "PER"), (27, 33, "LOC")],
    ),
    ("Peter left Rome for Berlin .", [(0, 5, "PER"), (11, 15, "LOC"), (20, 26, "LOC")]),
    ("It rains a lot in Paris .", [(18, 23, "LOC")]),
    ("Globex Corp hired Anna .", [(0, 11, "ORG"), (18, 22, "PER")]),
    ("Mary and John met Peter .", [(0, 4, "PER"), (9, 13, "PER"), (18, 23, "PER")]),
    ("Acme Bank is in London .", [(0, 9, "ORG"), (16, 22, "LOC")]),
    ("The cat sleeps .", []),
    ("We met the Commission in Rome .", [(11, 21, "ORG"), (25, 29, "LOC")]),
]
# What the tokenizers learn their pieces from, next to the sentences above.
MORE_TEXT = [
    "a lot of words : he she they see go red green blue house river street",
    "Café naïve zero-width emoji \U0001f600 \u4e1c\u4eac \u200b tab \t 12345 !?",
    "MASK SEP CLS mask sep cls unk pad I-PER [ ] < > / s",
    " ".join(chr(i) for i in range(33, 127)),
]
FAMILIES = ["bert", "roberta", "distilbert", "xlm-roberta", "modernbert", "albert"]
N_PIECES = 320
MAX_PIECES = 64
SIZES = {
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 64,
    "initializer_range": 0.1,
}


def train_text():
    return [text for text, _ in ANNOTATED] * 3 + MORE_TEXT


def learn_wordpieces(size, first):
    """Pieces of the text above in the order of their ids, those in `first` before."""
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    trainer = trainers.WordPieceTrainer(
        vocab_size=size, special_tokens=first, show_progress=False
    )
    tokenizer.train_from_iterator(train_text(), trainer)
    ids = tokenizer.get_vocab()
    return sorted(ids, key=ids.__getitem__)


def make_wordpiece():
    specials = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    # The trainer numbers characters inside words as they come out of a hash table, and
    # decides ties between pieces by these numbers: so they are given.
    characters = sorted(learn_wordpieces(1, []), key=lambda p: (len(p) > 1, p))
    learned = learn_wordpieces(N_PIECES, characters)
    ids = {piece: i for i, piece in enumerate([*specials, *learned])}
    tokenizer = Tokenizer(models.WordPiece(ids, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = token_decoders.WordPiece()
    tokenizer.post_processor = token_processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B [SEP]",
        special_tokens=[(piece, ids[piece]) for piece in ("[CLS]", "[SEP]")],
    )
    return tokenizer


def make_byte_bpe(specials):
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = token_decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=N_PIECES + 80,
        special_tokens=specials,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(train_text(), trainer)
    begin, end = (
        (piece, tokenizer.token_to_id(piece)) for piece in (specials[0], specials[1])
    )
    tokenizer.post_processor = token_processors.RobertaProcessing(
        end, begin, trim_offsets=True, add_prefix_space=False
    )
    return tokenizer


def make_unigram():
    specials = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.normalizer = normalizers.NFKC()
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()]
    )
    tokenizer.decoder = token_decoders.Metaspace()
    trainer = trainers.UnigramTrainer(
        vocab_size=N_PIECES,
        special_tokens=specials,
        unk_token="<unk>",
        show_progress=False,
    )
    tokenizer.train_from_iterator(train_text(), trainer)
    # The trainer numbers pieces of like score as they come out of a hash table.
    pieces = json.loads(tokenizer.to_str())["model"]["vocab"]
    known, found = pieces[: len(specials)], pieces[len(specials) :]
    rounded = [(piece, round(score, 1)) for piece, score in found]
    found = sorted(rounded, key=lambda item: (-item[1], item[0]))
    known = [(piece, score) for piece, score in known]
    tokenizer.model = models.Unigram([*known, *found], specials.index("<unk>"))
    tokenizer.post_processor = token_processors.TemplateProcessing(
        single="<s> $A </s>",
        special_tokens=[(p, tokenizer.token_to_id(p)) for p in ("<s>", "</s>")],
    )
    return tokenizer


def build_tokenizer(family):
    if family == "bert":
        return transformers.BertTokenizerFast(tokenizer_object=make_wordpiece())
    if family == "distilbert":
        return transformers.DistilBertTokenizerFast(tokenizer_object=make_wordpiece())
    if family == "roberta":
        specials = ["<s>", "</s>", "<pad>", "<unk>", "<mask>"]
        return transformers.RobertaTokenizerFast(
            tokenizer_object=make_byte_bpe(specials)
        )
    if family == "xlm-roberta":
        return transformers.XLMRobertaTokenizerFast(tokenizer_object=make_unigram())
    names = ["cls_token", "sep_token", "pad_token", "unk_token", "mask_token"]
    specials = ["[CLS]", "[SEP]", "[PAD]", "[UNK]", "[MASK]"]
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=make_byte_bpe(specials), **dict(zip(names, specials))
    )


def build_lm(family, vocab):
    """A random masked LM of a family. vocab: its size, and the padding id."""
    torch.manual_seed(1)
    if family == "bert":
        config = transformers.BertConfig(
            **SIZES, **vocab, max_position_embeddings=MAX_PIECES
        )
        return transformers.BertForMaskedLM(config)
    if family == "distilbert":
        config = transformers.DistilBertConfig(
            dim=SIZES["hidden_size"],
            n_layers=SIZES["num_hidden_layers"],
            n_heads=SIZES["num_attention_heads"],
            hidden_dim=SIZES["intermediate_size"],
            initializer_range=SIZES["initializer_range"],
            max_position_embeddings=MAX_PIECES,
            **vocab,
        )
        return transformers.DistilBertForMaskedLM(config)
    # RoBERTa numbers positions from the padding id + 1.
    first = vocab["pad_token_id"] + 1
    if family == "roberta":
        config = transformers.RobertaConfig(
            **SIZES, **vocab, max_position_embeddings=MAX_PIECES + first
        )
        return transformers.RobertaForMaskedLM(config)
    if family == "xlm-roberta":
        config = transformers.XLMRobertaConfig(
            **SIZES, **vocab, max_position_embeddings=MAX_PIECES + first
        )
        return transformers.XLMRobertaForMaskedLM(config)
    if family == "albert":  # its layers share their weights
        config = transformers.AlbertConfig(
            **SIZES, **vocab, embedding_size=16, max_position_embeddings=MAX_PIECES
        )
        return transformers.AlbertForMaskedLM(config)
    config = transformers.ModernBertConfig(
        **SIZES,
        **vocab,
        max_position_embeddings=MAX_PIECES,
        local_attention=16,
        **dict.fromkeys(["bos_token_id", "cls_token_id"], 0),
        **dict.fromkeys(["eos_token_id", "sep_token_id"], 1),
    )
    return transformers.ModernBertForMaskedLM(config)
