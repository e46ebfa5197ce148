"""Label words for the points of an ablation."""

import json

import pytest
import spacy
from typer.testing import CliRunner

from spacy_entlm.cli import entlm_cli
from spacy_entlm.evaluation.compare.ablation import AblationPlan, stored_points
from spacy_entlm.evaluation.compare.config import Lexicon
from spacy_entlm.evaluation.compare.errors import BenchmarkError
from spacy_entlm.evaluation.compare.points import Ablation
from spacy_entlm.evaluation.compare.texts import (
    annotated_names,
    read_names,
    read_text,
    sample_text,
)
from spacy_entlm.evaluation.compare.words import WordFinder
from spacy_entlm.files.errors import DataError
from spacy_entlm.label_words.search import LabelWordError, SearchSettings


@pytest.fixture(scope="module")
def finder(bert):
    return WordFinder(str(bert))


@pytest.fixture
def ablation(finder, data):
    """On the annotated sentences, words ranked by data."""
    nlp = spacy.blank("xx")
    docs = read_text(data / "test.jsonl", nlp)
    settings = SearchSettings("data", top_k=3, threshold=0.6)
    return Ablation(finder, nlp, docs, annotated_names(docs), settings)


def words_of(points):
    return {point.name: point.label_words for point in points}


def test_threshold_and_top_k_change_the_search_only(ablation):
    points = words_of(ablation.points("threshold", [0.0, 0.9]))
    assert points["0.0"]["ORG"] == ["acme", "corp", "commission"]
    assert points["0.9"] == points["0.0"]
    points = words_of(ablation.points("top-k", [1, 2]))
    assert points["1"]["PER"] == points["2"]["PER"][:1]
    assert len(points["2"]["PER"]) == 2


def test_points_are_what_the_command_search_gives(finder, bert, data, tmp_path):
    arguments = [str(data / "test.jsonl"), str(tmp_path / "w.json"), "--lang", "xx"]
    arguments += ["--backbone", str(bert), "--method", "data-lm", "--smoothing"]
    result = CliRunner().invoke(entlm_cli, ["search", *arguments, "--top-k", "4"])
    assert result.exit_code == 0, result.output
    nlp = spacy.blank("xx")
    docs = read_text(data / "test.jsonl", nlp)
    settings = SearchSettings("data-lm", top_k=4, smoothing=True)
    ablation = Ablation(finder, nlp, docs, annotated_names(docs), settings)
    (point,) = ablation.points("threshold", [0.6])
    assert point.label_words == json.loads((tmp_path / "w.json").read_text())
    # All of the text, counted in parts: the sums are the same.
    whole = ablation.points("unlabeled-size", [0.3, 1.0])[-1]
    assert whole.size == point.size


def test_lexicon_points_keep_the_most_frequent_names(ablation):
    small, whole = ablation.points("lexicon-size", [0.2, 1.0])
    assert whole.size["names"] == 13
    assert small.size["names"] == 3
    assert small.size["sentences"] == whole.size["sentences"] == 10
    assert small.size["entity_words"] < whole.size["entity_words"]
    assert small.label_words["LOC"] in (["berlin"], ["paris"], ["london"], ["rome"])
    assert set(whole.label_words["LOC"]) < {"berlin", "paris", "london", "rome"}


def test_text_points_take_more_and_more_sentences(ablation):
    points = ablation.points("unlabeled-size", [0.4, 1.0, 0.1])
    assert [point.name for point in points] == ["10%", "40%", "100%"]
    assert [point.size["sentences"] for point in points] == [1, 4, 10]
    (alone,) = ablation.points("unlabeled-size", [1.0])
    assert alone.size == points[-1].size


def test_domains_are_annotated_with_one_lexicon(ablation, tmp_path):
    path = tmp_path / "general.txt"
    path.write_text("Mary Paris Mary Paris\n" * 30)
    ablation.general = path
    in_domain, general = ablation.points("domain")
    assert in_domain.size["sentences"] == 10
    assert general.label_words["PER"] == ["mary"]
    assert general.label_words["LOC"] == ["paris"]
    words = sum(len(doc) for doc in ablation.docs)
    assert words <= general.size["words"] < words + 4


def test_given_lm_counts_are_taken(ablation, tmp_path):
    path = tmp_path / "counts.json"
    path.write_text(json.dumps({"I-PER": {"Peter": 9}, "I-LOC": {"Rome": 2}}))
    ablation.settings = SearchSettings("lm", threshold=0.5)
    ablation.lm_counts = [path]
    (point,) = ablation.points("top-k", [6])
    assert point.label_words == {"PER": ["peter"], "LOC": ["rome"], "ORG": []}
    with pytest.raises(BenchmarkError, match="lexicon-size counts on several texts"):
        ablation.points("lexicon-size")
    with pytest.raises(BenchmarkError, match="unknown ablation 'colour'"):
        ablation.points("colour")
    with pytest.raises(LabelWordError, match="threshold is a share"):
        ablation.points("threshold", [1.5])


def test_names_of_an_annotated_text_are_its_lexicon():
    nlp = spacy.blank("xx")
    words = ["Paris", "Paris", "Paris"]
    docs = [
        spacy.tokens.Doc(nlp.vocab, words=words, ents=["B-LOC", "O", "B-LOC"]),
        spacy.tokens.Doc(nlp.vocab, words=words, ents=["B-PER", "O", "O"]),
    ]
    names = annotated_names(docs)
    assert [(e.name, e.label, e.weight) for e in names.entries] == [
        ("Paris", "LOC", 2.0),
        ("Paris", "PER", 1.0),
    ]
    annotated = names.annotate(docs, nlp)
    assert {ent.label_ for doc in annotated for ent in doc.ents} == {"LOC"}


def test_names_of_a_lexicon_are_counted_in_the_text(data):
    nlp = spacy.blank("xx")
    docs = read_text(data / "test.jsonl", nlp)
    names = read_names(Lexicon(path=data / "lexicon.jsonl"), docs)
    assert names.counts == {"Anna Smith": 1, "Berlin": 2, "Acme": 2}


def test_text_is_plain_or_annotated(tmp_path, data):
    nlp = spacy.blank("xx")
    (tmp_path / "a.txt").write_text("One line .\n\nAnother .\n")
    assert [len(doc) for doc in read_text(tmp_path / "a.txt", nlp)] == [3, 2]
    assert read_text(data / "test.jsonl", nlp)[0].ents
    (tmp_path / "b.txt").write_text("\n")
    with pytest.raises(DataError, match="the file is empty"):
        read_text(tmp_path / "b.txt", nlp)
    with pytest.raises(DataError, match="has 5 words, where 9 are wanted"):
        sample_text(tmp_path / "a.txt", nlp, 9, seed=1)
    drawn = {sample_text(tmp_path / "a.txt", nlp, 1, seed=i)[0].text for i in range(9)}
    assert drawn == {"One line .", "Another ."}


def test_points_are_made_once_and_not_mixed(tmp_path, data, bert):
    plan = AblationPlan(
        "top-k",
        [1, 2],
        data / "test.jsonl",
        str(bert),
        search=SearchSettings("data"),
        lang="xx",
    )
    lines = []
    first = stored_points(tmp_path, plan, notify=lines.append)
    assert "Lexicon: the names annotated in" in lines[0]
    lines.clear()
    assert stored_points(tmp_path, plan, notify=lines.append) == first
    assert lines == []
    other = AblationPlan("top-k", [1], data / "test.jsonl", str(bert))
    with pytest.raises(BenchmarkError, match="made with other data or settings"):
        stored_points(tmp_path, other, notify=lines.append)
    (tmp_path / "points.json").write_text("[]")
    with pytest.raises(BenchmarkError, match="holds no points: delete it"):
        stored_points(tmp_path, plan, notify=lines.append)
