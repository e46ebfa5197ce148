"""What a training shows when it is over."""

import pytest
import spacy
from spacy.training import Example

import spacy_entlm
from spacy_entlm.training.logger import measures_itself, scored_on, summary_lines

NAME = "entlm_ner"


def example(nlp, text, *entities):
    return Example.from_dict(nlp.make_doc(text), {"entities": list(entities)})


@pytest.fixture
def examples(trained):
    one = example(trained, "Ann lives in Rome", (0, 3, "PER"), (13, 17, "LOC"))
    return [one] * 5 + [example(trained, "Bo sleeps", (0, 2, "PER"))]


def with_corpora(train, dev):
    nlp = spacy.blank("en")
    reader = {"@readers": "spacy.Corpus.v1"}
    nlp.config["corpora"] = {
        "train": {**reader, "path": str(train)},
        "dev": {**reader, "path": str(dev)},
    }
    return nlp


def test_it_says_on_what_the_scores_are(tmp_path):
    train, copy, dev = (tmp_path / name for name in ("train", "copy", "dev"))
    for path in (train, copy):
        path.write_bytes(b"the same")
    dev.write_bytes(b"others")
    for path in (train, copy):
        assert measures_itself(with_corpora(train, path))
        assert "the training examples themselves" in scored_on(
            with_corpora(train, path)
        )
    assert not measures_itself(with_corpora(train, dev))
    assert scored_on(with_corpora(train, dev)) == f"Scores are of {dev}"


def test_label_words_and_entities_of_each_class_are_shown(trained, examples):
    lines = summary_lines(trained, NAME, examples)
    words = trained.get_pipe(NAME).label_data
    assert any("PER" in line and " 6 " in line for line in lines)
    for label in ("PER", "LOC"):
        (line,) = [line for line in lines if line.split()[0] == label]
        assert line.endswith(", ".join(words[label]))


def test_class_with_fewest_examples_would_help_most(trained, examples):
    labels = trained.get_pipe(NAME).labels
    lines = summary_lines(trained, NAME, examples[-2:])
    missing = next((label for label in labels if label not in ("PER", "LOC")), "LOC")
    assert f"more examples of {missing}, which has" in lines[-1]


def test_class_with_the_lowest_f1_would_help_most(trained):
    labels = trained.get_pipe(NAME).labels
    text = " ".join("x" for _ in range(2 * len(labels)))
    one = example(
        trained, text, *((4 * i, 4 * i + 1, label) for i, label in enumerate(labels))
    )
    scores = {label: {"f": 0.5} for label in labels}
    scores[labels[-1]] = {"f": 0.25}
    lines = summary_lines(trained, NAME, [one] * 5, scores)
    assert f"more examples or names of {labels[-1]}" in lines[-1]
    assert lines[-1].endswith("its F1 is 25.0")


def test_where_nothing_is_missed_no_class_is_said_to_need_more(trained):
    labels = trained.get_pipe(NAME).labels
    text = " ".join("x" for _ in range(2 * len(labels)))
    marks = ((4 * i, 4 * i + 1, label) for i, label in enumerate(labels))
    examples = [example(trained, text, *marks)] * 5
    lines = summary_lines(trained, NAME, examples, {x: {"f": 1.0} for x in labels})
    assert lines[-1].startswith("Next: nothing was missed here")


def test_without_scores_it_is_told_how_to_get_some(trained):
    labels = trained.get_pipe(NAME).labels
    text = " ".join("x" for _ in range(2 * len(labels)))
    marks = ((4 * i, 4 * i + 1, label) for i, label in enumerate(labels))
    lines = summary_lines(trained, NAME, [example(trained, text, *marks)] * 5)
    assert lines[-1].startswith("Next: measure each class, with `evaluate`")


def test_names_that_are_known_are_counted_and_those_of_no_class_are_none(trained):
    assert not any("nown" in line for line in summary_lines(trained, NAME, []))
    ruler = spacy_entlm.add_lexicon(trained, {"PERSON": ["Ann"], "CITY": ["Lima"]})
    lines = summary_lines(trained, NAME, [])
    assert "Names that are known: none of these classes" in lines
    spacy_entlm.add_lexicon(trained, {"PER": ["Ann", "Bo"], "LOC": ["Lima"]})
    lines = summary_lines(trained, NAME, [])
    assert any(line.startswith("Names that are known: ") for line in lines)
    assert any("PER 2" in line and "LOC 1" in line for line in lines)
    assert len(ruler.patterns) == 5
