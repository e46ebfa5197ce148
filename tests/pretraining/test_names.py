"""A backbone that learned the names of a lexicon in plain text."""

import json
import random
import shutil
from collections import Counter

import pytest
import spacy
import torch
import transformers
from spacy.training import Example

from spacy_entlm.backbones.recommended import LABEL_ROWS_FILE, read_recommended
from spacy_entlm.files.errors import DataError
from spacy_entlm.label_words.rows import Rows
from spacy_entlm.model.network import read_learned_rows, save_rows
from spacy_entlm.training import names as names_module
from spacy_entlm.training.names import learn_names

NAMES = [{"name": "Anna", "label": "PER"}, {"name": "Berlin", "label": "LOC"}]


@pytest.fixture
def learn(bert, tmp_path):
    """Learns names with a tiny BERT: (**options) -> report."""
    lexicon = tmp_path / "lexicon.jsonl"
    lexicon.write_text("\n".join(map(json.dumps, NAMES)))
    text = tmp_path / "text.txt"
    text.write_text("Anna lives in Berlin .\nMary met Anna .\nIt rains .\n" * 10)
    shown = []

    def run(**options):
        given = {"lexicon": lexicon, "text": [text], "out": tmp_path / "out"}
        given |= {"backbone": str(bert), "sentences": 10}
        return learn_names(**{**given, **options}, echo=shown.append)

    run.shown = shown
    return run


def test_names_of_the_lexicon_are_learned(learn, tmp_path, bert, names, weights):
    """The backbone says a label word at a name, and brings that word along."""
    report = learn()
    assert names() == ["lexicon.jsonl", "out", "text.txt"]
    out = str(tmp_path / "out")
    words = {"PER": ["anna"], "LOC": ["berlin"]}
    assert read_recommended(out).label_words == report["label_words"] == words
    assert len(read_learned_rows(read_recommended(out), 32)) == 2
    # Ten of thirty sentences have no name.
    assert report["names"]["sentences"] == 10
    assert report == json.loads((tmp_path / "out" / "pretrain.json").read_text())
    assert str(tmp_path) not in json.dumps(report)
    _, info = transformers.AutoModelForMaskedLM.from_pretrained(
        out, output_loading_info=True
    )
    assert not any(info.values())
    before, after = (
        (folder / "model.safetensors").read_bytes()
        for folder in (bert, tmp_path / "out")
    )
    assert before != after
    assert learn.shown[0].endswith("names in 10 sentences")


def test_words_and_rate_that_the_backbone_has_are_kept(learn, bert, tmp_path):
    learn()
    own = tmp_path / "out" / "pretrain.json"
    words = {"PER": ["john"], "LOC": ["berlin"], "ORG": ["bank"]}
    own.write_text(json.dumps({"learn_rate": 0.0002, "label_words": words}))
    rows = torch.arange(3.0)[:, None].expand(3, 32)
    save_rows(tmp_path / "out" / LABEL_ROWS_FILE, Rows(rows, torch.zeros(3)))
    report = learn(backbone=str(tmp_path / "out"), out=tmp_path / "again")
    assert report["label_words"] == words
    assert report["learn_rate"] == 0.0002
    again = read_learned_rows(read_recommended(str(tmp_path / "again")), 32)
    # One was learned again, and went on from where it was.
    in_order = [again.weight[list(report["label_words"]).index(x)] for x in words]
    assert torch.equal(in_order[2], rows[2])
    assert not torch.equal(in_order[1], rows[1])
    assert torch.allclose(in_order[1], rows[1], atol=0.1)


def test_a_class_by_another_name_is_learned_on(learn, bert, tmp_path):
    """A person is a PER: its row is the one that was learned last, by both names."""
    own = tmp_path / "own"
    shutil.copytree(bert, own)
    (own / "pretrain.json").write_text('{"label_words": {"PER": ["john"]}}')
    save_rows(own / LABEL_ROWS_FILE, Rows(torch.ones(1, 32), torch.zeros(1)))
    (tmp_path / "lexicon.jsonl").write_text('{"name": "Anna", "label": "person"}')
    learn(backbone=str(own))
    nlp = spacy.blank("en")
    pipe = nlp.add_pipe("entlm_ner", config={"model": {"name": str(tmp_path / "out")}})
    example = Example.from_dict(nlp.make_doc("Anna"), {"entities": ["U-PER"]})
    pipe.initialize(lambda: [example], nlp=nlp)
    row = pipe.label_model.network.label_rows.weight[0]
    learned = read_learned_rows(read_recommended(str(tmp_path / "out")), 32)
    assert torch.equal(row, learned.weight[0])
    assert not torch.equal(row, torch.ones(32))


def test_other_words_that_may_be_names_carry_no_loss(learn, monkeypatch):
    found = []

    def train(nlp, docs, **settings):
        found.extend(docs)
        raise KeyboardInterrupt

    monkeypatch.setattr(names_module, "train", train)
    with pytest.raises(KeyboardInterrupt):
        learn()
    doc = next(doc for doc in found if doc[0].text == "Mary")
    assert [token.ent_iob_ for token in doc] == ["", "O", "B", "O"]


def test_same_seed_gives_the_same_weights(learn, tmp_path, weights):
    learn(out=tmp_path / "one")
    learn(out=tmp_path / "two")
    assert weights("one") == weights("two")


def test_text_may_be_a_data_folder(learn, tmp_path):
    (tmp_path / "data").mkdir()
    (tmp_path / "text.txt").rename(tmp_path / "data" / "unlabeled.txt")
    report = learn(text=[tmp_path / "data"])
    assert report["text"][0]["name"] == "unlabeled.txt"


def test_model_is_replaced_only_if_asked_for(learn):
    learn()
    with pytest.raises(DataError, match=r"is not empty: choose another .*--overwrite"):
        learn()
    learn(overwrite=True)


@pytest.mark.parametrize(
    "options, message",
    [
        ({"sentences": 0}, "--sentences is 1 or more"),
        ({"lang": "zz"}, "--lang zz"),
        ({"backbone": "/none/at/all"}, "Cannot find the masked LM"),
    ],
)
def test_wrong_options_are_told_and_leave_nothing(learn, names, options, message):
    with pytest.raises(ValueError, match=message):
        learn(**options)
    assert names() == ["lexicon.jsonl", "text.txt"]


def test_text_without_a_name_is_refused(learn, tmp_path):
    (tmp_path / "text.txt").write_text("It rains .\nIt is Anna .\n")
    with pytest.raises(DataError, match="fewer than two sentences with a name"):
        learn()


def test_sentences_are_drawn_with_the_same_chance():
    counts = Counter()
    for seed in range(2000):
        counts.update(names_module._draw(range(10), 3, random.Random(seed)))
    assert all(
        count / 2000 == pytest.approx(0.3, abs=0.05) for count in counts.values()
    )
