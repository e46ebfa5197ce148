"""Taggers that are trained on lexicon labels, with and without examples after it."""

import pytest

from spacy_entlm.evaluation.compare.cells import Planner, make_jobs
from spacy_entlm.evaluation.compare.errors import BenchmarkError
from spacy_entlm.evaluation.compare.methods import METHODS, Distant
from spacy_entlm.evaluation.compare.run import run_benchmark

ALONE, WITH_SHOTS = "distant_tagger", "distant_tagger_shots"


@pytest.fixture
def distant(make, raw_config, data, monkeypatch):
    """A config over text with lexicon labels that are all right, or all wrong."""
    right = (data / "test.jsonl").read_text()

    def config(tmp_path, labels=("PER", "ORG"), epochs=30, **values):
        text = tmp_path / "annotated.jsonl"
        wrong = right.replace(f'"{labels[0]}"', '"?"').replace(f'"{labels[1]}"', '"!"')
        first, second = labels[::-1] if values.pop("swapped", False) else labels
        text.write_text(
            wrong.replace('"?"', f'"{first}"').replace('"!"', f'"{second}"')
        )
        for name in (ALONE, WITH_SHOTS):
            stage = Distant(sentences=100, epochs=epochs, batch_size=4)
            changed = {**vars(METHODS[name]), "distant": stage}
            monkeypatch.setitem(METHODS, name, type(METHODS[name])(**changed))
        dataset = {**raw_config["datasets"]["tiny"], "annotated": str(text)}
        values = {"methods": [ALONE, WITH_SHOTS], **values}
        return make(datasets={"tiny": dataset}, **values)

    return config


def test_examples_correct_what_the_lexicon_got_wrong(distant, inline, tmp_path):
    config = distant(tmp_path, swapped=True, settings={"epochs": 30})
    alone, with_shots = run_benchmark(config, tmp_path / "run").records
    # It learned the lexicon's labels: persons and organisations are swapped.
    assert alone["io"]["per_type"]["LOC"]["f"] > 0.8
    assert alone["io"]["per_type"]["PER"]["f"] < 0.2
    assert alone["entities"] == {}
    assert with_shots["io"]["f"] > 0.9
    assert with_shots["entities"] == {"LOC": 8, "ORG": 5, "PER": 8}


def test_without_examples_all_splits_are_one_training(distant, tmp_path):
    jobs = make_jobs(Planner(distant(tmp_path, splits=[1, 2])).cells())
    named = [[cell.name.method for cell in job.all_cells] for job in jobs]
    assert named == [[ALONE, ALONE], [WITH_SHOTS], [WITH_SHOTS]]


@pytest.mark.parametrize("change", [{"swapped": True}, {"epochs": 3}])
def test_key_changes_with_the_text_and_its_training(distant, tmp_path, change):
    old = Planner(distant(tmp_path)).cells()
    new = Planner(distant(tmp_path, **change)).cells()
    assert not {cell.key for cell in old} & {cell.key for cell in new}


def test_a_dataset_without_annotated_text_is_told(make):
    with pytest.raises(BenchmarkError, match=r"distant_tagger needs datasets.tiny.ann"):
        Planner(make(methods=[ALONE])).cells()


def test_a_method_of_the_config_has_a_distant_training_of_its_own(
    distant, inline, tmp_path
):
    """EntLM, first on lexicon labels, then on the examples, or on the former alone."""
    stage = {"sentences": 100, "epochs": 30, "batch_size": 4}
    entlm = {"factory": "entlm_ner", "label_words": True, "distant": stage}
    methods = {"names": {**entlm, "examples": False}, "both": entlm}
    config = distant(tmp_path, methods=methods, settings={"epochs": 30})
    alone, both = run_benchmark(config, tmp_path / "run").records
    assert alone["io"]["f"] > 0.8
    assert alone["entities"] == {}
    assert both["io"]["f"] > 0.9
    assert both["entities"] == {"LOC": 8, "ORG": 5, "PER": 8}


@pytest.mark.parametrize(
    "wrong, message",
    [
        ({"factory": "entlm_ner", "examples": False}, "needs a `distant` training"),
        ({"factory": "entlm_ner", "distant": {"sentences": 0}}, "sentences"),
        ({"factory": "entlm_ner", "distant": {"pages": 3}}, "pages"),
    ],
)
def test_bad_distant_settings_are_named(make, wrong, message):
    with pytest.raises(BenchmarkError, match=message):
        make(methods={"mine": wrong})
