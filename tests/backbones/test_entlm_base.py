"""The backbone that comes with the package."""

import pytest
import spacy
import torch
from safetensors.numpy import load_file
from spacy.training import Example

from spacy_entlm.backbones.compact import COMPACT_FILE
from spacy_entlm.backbones.loading import load_masked_lm
from spacy_entlm.backbones.names import ASSETS, ENTLM_BASE, OTHER_SCRIPTS
from spacy_entlm.backbones.recommended import reads_names
from spacy_entlm.backbones.suitable import suitable_learn_rate, suitable_start_pull
from spacy_entlm.label_words.words import word_pieces

NAME = "entlm_ner"
FOLDER = ASSETS / ENTLM_BASE
MAX_BYTES = 48_000_000
EMBEDDINGS = "bert.embeddings.word_embeddings.weight"
LABELS = ["person", "location", "organization", "date", "disease"]


@pytest.fixture(scope="module")
def nlp():
    """A pipeline that knows nothing but names of classes."""
    nlp = spacy.blank("xx")
    nlp.add_pipe(NAME, config={"labels": LABELS})
    return nlp


def test_it_is_small_and_may_be_read_by_all():
    files = list(FOLDER.iterdir())
    assert sum(path.stat().st_size for path in files) <= MAX_BYTES
    assert all(path.stat().st_mode & 0o044 == 0o044 for path in files)


def test_its_word_embeddings_have_4_bits_and_the_rest_8_or_16():
    stored = load_file(FOLDER / COMPACT_FILE)
    dtypes = {name: str(array.dtype) for name, array in stored.items()}
    assert dtypes.pop(EMBEDDINGS + ".q4") == "uint8"
    assert {*dtypes.values()} == {"int8", "float16"}


@pytest.mark.parametrize("factory", [NAME, "bert_tagger", "nnshot"])
def test_it_is_what_a_component_uses_if_none_is_named(factory):
    nlp = spacy.blank("en")
    pipe = nlp.add_pipe(factory)
    entities = {"entities": [(0, 3, "PER"), (9, 15, "LOC")]}
    example = Example.from_dict(nlp.make_doc("Ann left London."), entities)
    nlp.initialize(lambda: [example])
    assert pipe.network.masked_lm.width == 384
    assert len(pipe.network.tokenizer) == 107_000


def test_it_says_what_suits_it():
    assert 1e-5 < suitable_learn_rate(ENTLM_BASE) < 1e-3
    assert reads_names(ENTLM_BASE)
    assert suitable_start_pull(ENTLM_BASE) > 0


@pytest.mark.parametrize(
    "text, expected",
    [
        (
            "Angela Merkel left London .",
            {("Angela Merkel", "person"), ("London", "location")},
        ),
        (
            "Emmanuel Macron a rencontré Olaf Scholz .",
            {("Emmanuel Macron", "person"), ("Olaf Scholz", "person")},
        ),
        ("Sie hat Diabetes und Asthma .", {("Diabetes", "disease")}),
        ("Пётр живёт в Москве .", {("Москве", "location")}),
        ("王 芳 在 上海 工作 。", {("王 芳", "person"), ("上海", "location")}),
        ("김민수 는 서울 에 산다 .", {("김민수", "person"), ("서울", "location")}),
        ("محمد صلاح يعيش في لندن .", {("محمد صلاح", "person"), ("لندن", "location")}),
        (
            "राहुल गांधी दिल्ली में रहते हैं ।",
            {("राहुल गांधी", "person"), ("दिल्ली", "location")},
        ),
        ("Joko Widodo tinggal di Jakarta .", {("Joko Widodo", "person")}),
        ("Anna works at Siemens .", {("Anna", "person")}),
    ],
)
def test_it_finds_entities_by_the_names_of_classes_alone(nlp, text, expected):
    doc = nlp(text)
    assert expected <= {(ent.text, ent.label_) for ent in doc.ents}


def test_it_reads_texts_without_blanks_between_words():
    """And names of classes in their language."""
    nlp = spacy.blank("zh")
    nlp.add_pipe(NAME, config={"labels": ["人名", "城市"]})
    doc = nlp("王芳在上海工作，李明住在北京。")
    expected = [("王芳", "人名"), ("上海", "城市"), ("李明", "人名"), ("北京", "城市")]
    assert [(ent.text, ent.label_) for ent in doc.ents] == expected


def test_classes_are_near_to_words_of_their_meaning(nlp):
    """In several languages."""
    list(nlp.pipe(["It rains ."]))  # rows are made when they are first wanted
    network = nlp.get_pipe(NAME).network
    tokenizer = network.tokenizer
    rows = torch.stack(list(network.rows)).detach()
    words = ["▁Maria", "▁Italien", "▁University", "▁Freitag", "▁cancer"]
    ids = tokenizer.convert_tokens_to_ids(words)
    assert tokenizer.unk_token_id not in ids
    vectors = network.vocabulary.weight[ids].detach()
    cosines = (
        torch.nn.functional.normalize(rows) @ torch.nn.functional.normalize(vectors).T
    )
    assert cosines.argmax(0).tolist() == list(range(len(LABELS)))


def test_what_has_not_learned_takes_as_little_as_before(nlp, tmp_path):
    """And gives the same scores bit for bit; of what has, no bit is lost."""
    texts = ["Angela Merkel left London .", "Пётр живёт в Москве ."]
    docs = [nlp.make_doc(text) for text in texts]
    expected = nlp.get_pipe(NAME).model.predict(docs)
    nlp.to_disk(tmp_path / "new")
    model = tmp_path / "new" / NAME / "model"
    sizes = [(folder / COMPACT_FILE).stat().st_size for folder in (model, FOLDER)]
    assert sizes[0] == sizes[1]
    loaded = spacy.load(tmp_path / "new")
    found = loaded.get_pipe(NAME).model.predict(docs)
    assert found.probs.tobytes() == expected.probs.tobytes()
    assert found.outside.tobytes() == expected.outside.tobytes()

    entities = {"entities": [(0, 13, "person"), (19, 25, "location")]}
    optimizer = loaded.resume_training()
    loaded.update([Example.from_dict(docs[0].copy(), entities)], sgd=optimizer)
    learned = loaded.get_pipe(NAME).model.predict(docs)
    assert (learned.probs != expected.probs).any()
    loaded.to_disk(tmp_path / "trained")
    stored = load_file(tmp_path / "trained" / NAME / "model" / COMPACT_FILE)
    assert stored[EMBEDDINGS + ".q4"].dtype == "uint8"
    again = spacy.load(tmp_path / "trained").get_pipe(NAME).model.predict(docs)
    assert again.probs.tobytes() == learned.probs.tobytes()


def test_half_of_its_layers_find_entities_too():
    nlp = spacy.blank("en")
    config = {"labels": LABELS, "model": {"layers": 6}}
    pipe = nlp.add_pipe(NAME, config=config)
    doc = nlp("Angela Merkel left London .")
    assert ("London", "location") in {(ent.text, ent.label_) for ent in doc.ents}
    assert len(pipe.network.masked_lm.body.bert.encoder.layer) == 6


WORDS = {
    **{"en": "river", "de": "Fluß", "fr": "rivière", "ru": "река", "el": "ποτάμι"},
    **{"pl": "źródło", "tr": "ırmağı", "cs": "řeka", "uk": "річка", "vi": "sông"},
    **{
        "zh": "北京",
        "ar": "نهر",
        "hi": "नदी",
        "th": "แม่น้ำ",
        "ka": "მდინარე",
        "am": "ወንዝ",
    },
    **{
        "ko": "서울",
        "ja": "東京",
        "fa": "رودخانه",
        "ur": "دریا",
        "he": "נהר",
        "bo": "ཆུ་བོ",
        "ta": "ஆறு",
        "hy": "գետ",
    },
}


def test_the_scripts_that_it_cannot_read_are_known():
    """Words in them are unknown, or fall into letters."""
    tokenizer = load_masked_lm(ENTLM_BASE).tokenizer
    lost = set()
    for lang, word in WORDS.items():
        pieces = tokenizer.convert_ids_to_tokens(word_pieces(word, tokenizer))
        if len([piece for piece in pieces if piece != "▁"]) in (0, len(word)):
            lost.add(lang)
    assert lost == OTHER_SCRIPTS & {*WORDS}
