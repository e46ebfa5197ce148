"""The backbone that comes with the package."""

import json

import pytest
import spacy
import torch
from safetensors.torch import load_file
from spacy.training import Example

from spacy_entlm.backbones.learn_rate import suitable_learn_rate
from spacy_entlm.backbones.names import ASSETS, ENTLM_MINI
from spacy_entlm.backbones.recommended import read_recommended
from spacy_entlm.label_words.choice import match_class_names
from spacy_entlm.model.network import read_learned_rows

FOLDER = ASSETS / ENTLM_MINI
MAX_BYTES = 48_000_000


def test_it_is_small_and_says_where_it_comes_from():
    weights = FOLDER / "model.safetensors"
    assert weights.stat().st_size <= MAX_BYTES
    dtypes = {tensor.dtype for tensor in load_file(weights).values()}
    assert dtypes == {torch.float16}
    card = (FOLDER / "MODEL_CARD.md").read_text(encoding="utf8")
    for word in ("Apache", "Wikipedia", "Wikinews", "CC BY", "seed", "held-out"):
        assert word in card
    assert "Apache License" in (FOLDER / "LICENSE").read_text(encoding="utf8")
    assert "learn_rate" in json.loads((FOLDER / "pretrain.json").read_text())


def test_transformers_loads_it_as_any_masked_lm():
    from transformers import AutoModelForMaskedLM, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(FOLDER, local_files_only=True)
    lm = AutoModelForMaskedLM.from_pretrained(FOLDER, local_files_only=True)
    encoded = tokenizer("Berlin is the capital of [MASK].", return_tensors="pt")
    (position,) = torch.where(encoded.input_ids[0] == tokenizer.mask_token_id)
    with torch.no_grad():
        best = lm(**encoded).logits[0, position].topk(20).indices[0]
    words = tokenizer.convert_ids_to_tokens(best)
    assert {"china", "australia"} <= set(words)  # countries, if not the one


@pytest.mark.parametrize("factory", ["entlm_ner", "bert_tagger"])
def test_it_is_what_a_component_uses_if_none_is_named(factory):
    nlp = spacy.blank("en")
    nlp.add_pipe(factory)
    entities = {"entities": [(0, 3, "PER"), (9, 15, "LOC")]}
    example = Example.from_dict(nlp.make_doc("Ann left London."), entities)
    nlp.initialize(lambda: [example])
    assert nlp.get_pipe(factory).model.shims[0].network.masked_lm.width == 384
    assert suitable_learn_rate(ENTLM_MINI) > 0


def test_it_knows_names_of_more_classes_than_four():
    """By their names and by names that end with them; with the rows it learned."""
    nlp = spacy.blank("en")
    pipe = nlp.add_pipe("entlm_ner")
    entities = {"entities": [(0, 7, "Disease"), (14, 20, "MusicalInstrument")]}
    example = Example.from_dict(nlp.make_doc("Cholera hit a violin player."), entities)
    pipe.initialize(lambda: [example], nlp=nlp)
    assert pipe.label_data["Disease"] == ["disease"]
    assert pipe.label_data["MusicalInstrument"] == ["instrument"]
    brought = read_recommended(ENTLM_MINI)
    rows = read_learned_rows(brought, 384).weight
    index = [list(brought.label_words).index(x) for x in ("disease", "instrument")]
    now = pipe.label_model.network.label_rows.weight
    assert torch.equal(now[:2], rows[index])


@pytest.mark.parametrize(
    "label",
    [
        *("PERSON", "NORP", "FAC", "ORG", "GPE", "LOC", "PRODUCT", "EVENT", "LAW"),
        *("LANGUAGE", "DATE", "TIME", "PERCENT", "MONEY", "QUANTITY", "ORDINAL"),
        "CARDINAL",
    ],
)
def test_it_knows_classes_as_spacys_own_pipelines_name_them(label):
    brought = read_recommended(ENTLM_MINI)
    words = match_class_names([label], brought.label_words)[label]
    assert words in brought.label_words.values()
    assert len(read_learned_rows(brought, 384).weight) == len(brought.label_words)


def test_it_recognises_dates_and_amounts_under_other_names():
    nlp = spacy.blank("en")
    pipe = nlp.add_pipe("entlm_ner")
    texts = [
        ("It opened on 4 May 1998 and cost $5 million.", ["4 May 1998", "$5 million"]),
        ("Prices rose by 12 percent last Tuesday.", ["last Tuesday", "12 percent"]),
        ("Only 40% came in June 2011, for 3 euros.", ["June 2011", "3 euros", "40%"]),
    ]
    names = {"4 May 1998": "when", "last Tuesday": "when", "June 2011": "when"}
    names |= {"$5 million": "worth", "3 euros": "worth"}
    names |= {"12 percent": "share", "40%": "share"}
    examples = []
    for text, spans in texts:
        at = [(text.index(x), text.index(x) + len(x), names[x]) for x in spans]
        doc = nlp.make_doc(text)
        examples.append(Example.from_dict(doc, {"entities": at}))
    pipe.initialize(lambda: examples, nlp=nlp)
    learned = read_recommended(ENTLM_MINI).label_words
    for name, label in (("when", "DATE"), ("worth", "MONEY"), ("share", "PERCENT")):
        assert pipe.label_data[name] == learned[label]
