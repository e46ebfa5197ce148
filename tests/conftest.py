"""Tiny random masked LMs and pipelines, made here: no network, nothing pretrained."""

import json
import os
import shutil
from importlib.util import find_spec
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
import transformers
from hypothesis import HealthCheck, settings
from spacy.training import Example
from thinc.api import fix_random_seed
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, trainers
from tokenizers import decoders as token_decoders
from tokenizers import processors as token_processors

import spacy_entlm
from spacy_entlm.backbones import compact
from spacy_entlm.backbones.loading import load_masked_lm
from spacy_entlm.backbones.name_map import NameMap
from spacy_entlm.label_words.names import read_name

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
LABEL_WORDS = {
    "PER": ["John", "Mary"],
    "LOC": ["Paris", "London"],
    "ORG": ["Corp", "Bank"],
}
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
# The same without spacy-transformers (project/benchmarks/gpu.py).
OUR_SPANS = {"get_spans": {"@misc": "spacy-entlm.doc_spans.v1"}}
SPANS = {} if find_spec("spacy_transformers") else OUR_SPANS
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
