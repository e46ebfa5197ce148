from collections import Counter
from functools import partial
from pathlib import Path

import pytest

from ..commands import entlm, error_of, read_docbin, read_jsonl

SHARED = Path(__file__).parents[2].parent / "shared" / "data"


@pytest.fixture
def sample(tmp_path, monkeypatch):
    """Run the command in a folder of its own, that holds a small corpus."""
    monkeypatch.chdir(tmp_path)
    blocks = []
    for i in range(30):
        tag = ("B-PER", "B-LOC", "O")[i % 3]
        blocks.append(f"word{i} {tag}\n" + "and O\n" * (i % 5))
    Path("train.conll").write_text("\n".join(blocks))
    return partial(entlm, "sample")


def count_tags(path):
    return Counter(tag for entry in read_jsonl(path) for tag in entry["label"])


def test_sample_writes_exactly_k_and_prints_the_counts(sample):
    result = sample("train.conll", "out.jsonl", "--shots", 3)
    assert result.exit_code == 0
    assert result.stdout.splitlines() == [
        "columns 1 word, 2 tag; 30 sentences of 90 words; LOC 10, PER 10",
        "6 sentences, 6 entities",
        "  LOC 3",
        "  PER 3",
        "Wrote out.jsonl",
    ]
    tags = count_tags("out.jsonl")
    assert (tags["B-PER"], tags["B-LOC"]) == (3, 3)


def test_sample_writes_a_docbin(sample):
    sample("train.conll", "out.spacy", "--shots", 2)
    assert len(read_docbin("out.spacy")) == 4


def test_same_seed_gives_the_same_file_and_another_seed_another(sample):
    for name, seed in [("a", 1), ("b", 1), ("c", 2)]:
        sample("train.conll", f"{name}.jsonl", "--shots", 3, "--seed", seed)
    assert read_jsonl("a.jsonl") == read_jsonl("b.jsonl")
    assert read_jsonl("a.jsonl") != read_jsonl("c.jsonl")


def test_sample_takes_negatives_and_a_least_number_of_words(sample):
    options = ["--shots", 3, "--keep-negatives", "--min-words", 2]
    assert sample("train.conll", "out.jsonl", *options).exit_code == 0
    entries = read_jsonl("out.jsonl")
    assert all(len(entry["text"]) >= 2 for entry in entries)
    assert len(entries) > 6


def test_short_sentences_are_left_out_of_all_and_of_at_least(sample):
    options = ["--min-words", 3, "--keep-negatives"]
    assert sample("train.conll", "all.jsonl", "--shots", "all", *options).exit_code == 0
    assert len(read_jsonl("all.jsonl")) == 18
    Path("corpus").mkdir()
    Path("pairs.txt").write_text("[a](PER) x [b](PER)\n" * 3 + "[c](PER)\n")
    sample("pairs.txt", "corpus/train.spacy", "--shots", "all")
    result = sample("corpus", "out", "--shots", 3, *options)
    assert result.exit_code == 0, result.stderr
    assert "no sentence without entities" in result.stdout
    assert list(map(len, read_docbin("out/train.spacy"))) == [3, 3]
    result = sample("train.conll", "x.jsonl", "--shots", "all", "--min-words", 9)
    assert "no sentence has 9 words" in result.stderr


def test_sample_reports_what_it_could_not_use(sample):
    Path("in.txt").write_text("[Lima](LOC)\n[Lim](LOC)a\n")
    result = sample("in.txt", "out.jsonl", "--shots", 1)
    assert result.exit_code == 0
    assert "1 span does not begin and end where words do" in result.stdout


def test_unreachable_k_is_one_line_with_the_counts(sample):
    told = error_of(sample("train.conll", "out.spacy", "--shots", 11))
    assert "LOC: 10 of 11, PER: 10 of 11" in told
    assert not Path("out.spacy").exists()


@pytest.mark.parametrize(
    "args, text",
    [
        (["none.conll", "out.spacy"], "no such file"),
        (["train.conll", "out.conll"], "end its name in .spacy or .jsonl"),
        (["train.conll", "out.spacy", "--shots", "0"], "shots must be at least 1"),
        (["train.conll", "out.spacy", "--shots", "x"], "--shots is a number or all"),
        ([".", "train.conll"], "is a file: name a folder"),
        ([".", "out.spacy"], "has neither a train part nor 5shot/1.*"),
        (["train.conll", "out.spacy", "--at-least", "--min-words", "2"], "goes with"),
        (["train.conll", "out.spacy", "--min-words", "-1"], "min_words must be 0"),
    ],
)
def test_bad_arguments_are_one_line(sample, args, text):
    assert text in error_of(sample(*args))
    assert not Path("out.spacy").exists()


def test_a_file_that_is_there_stays_unless_it_is_told(sample):
    Path("out.jsonl").write_text("old")
    result = sample("train.conll", "out.jsonl")
    assert result.exit_code == 1 and "--overwrite" in result.stderr
    assert Path("out.jsonl").read_text() == "old"
    assert sample("train.conll", "out.jsonl", "--overwrite").exit_code == 0


def test_all_takes_every_example(sample):
    assert sample("train.conll", "out.jsonl", "--shots", "all").exit_code == 0
    assert len(read_jsonl("out.jsonl")) == 30


@pytest.fixture
def corpus(sample):
    """A folder as `convert` writes it."""
    Path("corpus").mkdir()
    sample("train.conll", "corpus/train.spacy", "--shots", "all")
    return Path("corpus")


def texts(path):
    return [doc.text for doc in read_docbin(path)]


def test_a_folder_gives_a_folder(sample, corpus):
    result = sample("corpus", "out", "--shots", 3)
    assert result.exit_code == 0, result.stderr
    assert "6 sentences, 6 entities" in result.stdout
    # Without a dev part the training is watched on its own examples.
    assert texts("out/train.spacy") == texts("out/dev.spacy")
    sample("train.conll", "corpus/dev.spacy", "--shots", 1)
    assert sample("corpus", "out").exit_code == 1
    assert sample("corpus", "out", "--shots", 3, "--overwrite").exit_code == 0
    assert texts("out/dev.spacy") == texts("corpus/dev.spacy")
    assert len(texts("out/train.spacy")) == 6


def test_given_shots_are_taken_as_they_are(sample, corpus):
    sample("train.conll", "corpus/5shot/2.spacy", "--shots", 1)
    (corpus / "train.spacy").unlink()
    assert sample("corpus", "out", "--seed", 2).exit_code == 0
    assert texts("out/train.spacy") == texts("corpus/5shot/2.spacy")
    result = sample("corpus", "none", "--seed", 1)
    assert "has neither a train part nor 5shot/1.*: add one" in result.stderr


@pytest.fixture
def dense(monkeypatch):
    """Sentences of which no exact sample can be made: 3 of one class each."""
    Path("dense.conll").write_text("a B-X\nb B-X\nc B-X\n\n" * 4)

    def at_least(docs, shots, *, seed):
        return docs[: -(-shots // 3)]

    name = "spacy_entlm.corpus.sampling.sample_at_least"
    monkeypatch.setattr(name, at_least, raising=False)
    return "dense.conll"


def test_dense_sentences_give_a_few_more_where_that_is_asked_for(sample, dense):
    assert sample(dense, "out.jsonl", "--shots", 5).exit_code == 1
    result = sample(dense, "out.jsonl", "--shots", 5, "--at-least")
    assert "2 sentences, 6 entities" in result.stdout


def test_a_folder_of_dense_sentences_goes_on_with_a_few_more(sample, dense):
    sample(dense, "corpus/train.spacy", "--shots", "all")
    result = sample("corpus", "out", "--shots", 5)
    assert result.exit_code == 0, result.stderr
    assert "So at least 5 of every class are taken" in result.stdout
    assert "  X 6" in result.stdout
    assert len(texts("out/train.spacy")) == 2


def test_what_is_not_done_is_not_told(sample):
    Path("few.conll").write_text("Ann B-PER\n\nBo B-PER\nLima B-LOC\n")
    sample("few.conll", "corpus/train.spacy", "--shots", "all")
    result = sample("corpus", "out", "--shots", 2)
    assert result.exit_code == 1 and "LOC: 1 of 2" in result.stderr
    assert "are taken" not in result.stdout


@pytest.mark.skipif(not SHARED.is_dir(), reason="no shared data")
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_real_corpus_is_sampled_exactly(sample, seed):
    train = SHARED / "wikigold" / "train.jsonl"
    assert sample(train, "out.jsonl", "--seed", seed).exit_code == 0
    tags = count_tags("out.jsonl")
    assert {label: tags[f"B-{label}"] for label in ("LOC", "MISC", "ORG", "PER")} == {
        "LOC": 5,
        "MISC": 5,
        "ORG": 5,
        "PER": 5,
    }


@pytest.mark.parametrize("shots", [1, "all"])
def test_a_class_that_only_short_sentences_have_is_named(sample, shots):
    Path("few.txt").write_text("[a](PER) x y [b](LOC)\n" * 3 + "[Acme](ORG)\n")
    Path("few").mkdir()
    sample("few.txt", "few/train.spacy", "--shots", "all")
    result = sample("few", "out", "--shots", shots, "--min-words", 3)
    assert result.exit_code == 1
    assert "no sentence of 3 words has ORG: lower --min-words" in result.stderr
    assert not Path("out").exists()
