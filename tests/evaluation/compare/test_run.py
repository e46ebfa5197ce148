"""Running a benchmark: what is run, what is not run again, what fails."""

import json
import multiprocessing
import subprocess
import sys
import time

import pytest

from spacy_entlm.corpus.tags import doc_to_tags
from spacy_entlm.evaluation.compare.cells import Planner, make_jobs
from spacy_entlm.evaluation.compare.data import DatasetReader
from spacy_entlm.evaluation.compare.errors import BenchmarkError
from spacy_entlm.evaluation.compare.records import read_records
from spacy_entlm.evaluation.compare.run import run_benchmark
from spacy_entlm.evaluation.compare.scores import group_records, read_all
from spacy_entlm.evaluation.compare.tables import (
    calibration_table,
    choose_layout,
    class_table,
    difference_table,
    f1_table,
)
from spacy_entlm.evaluation.compare.workers import Outcome, run_jobs

FIELDS = (
    *("dataset", "shots", "split", "seed", "backbone", "method", "variant", "key"),
    *("training", "settings", "component", "split_hash", "test_hash", "copied"),
    *("entities", "seconds_train", "seconds_test", "label_words", "io", "bio"),
    *("n_test", "calibration", "versions", "machine", "threads", "finished", "format"),
)


def figures(records):
    return [(r["method"], r["seed"], r["io"], r["calibration"]) for r in records]


def test_records_say_what_was_run(make, inline, tmp_path, label_words):
    result = run_benchmark(make(methods=["entlm", "lexicon"]), tmp_path / "run")
    entlm, lexicon = result.records
    assert set(entlm) == set(lexicon) == set(FIELDS)
    assert entlm["label_words"] == label_words
    assert entlm["entities"] == {"LOC": 8, "ORG": 5, "PER": 8}
    assert entlm["settings"]["learn_rate"] == 0.01
    assert entlm["versions"]["spacy-entlm"]
    # Ann Smith and twice Berlin, but not the whole of Acme Corp and Acme Bank.
    assert lexicon["io"]["p"] == 3 / 5
    assert lexicon["io"]["r"] == 3 / 21
    assert lexicon["calibration"] is None
    assert not result.errors


def test_the_same_seeds_give_the_same_tables(make, inline, tmp_path):
    """Trainings, scores and the bootstrap: nothing but times may differ."""
    texts = []
    for folder in (tmp_path / "one", tmp_path / "two"):
        methods = ["entlm", "entlm_struct", "bert_tagger", "nnshot", "structshot"]
        run_benchmark(make(methods=methods, seeds=[1, 2]), folder)
        groups = group_records(read_all([folder / "records.jsonl"]))
        layout = choose_layout("auto", list(groups))
        made = [f1_table(groups, layout), class_table(groups, layout)]
        made += [calibration_table(groups, layout)]
        made += [difference_table(groups, ["method=entlm"])]
        texts.append([(table.head, table.rows, table.notes) for table in made])
    assert texts[0] == texts[1]
    assert len(inline) == 8


def test_what_has_a_record_is_not_run_again(make, inline, tmp_path):
    first = run_benchmark(make(), tmp_path)
    again = run_benchmark(make(), tmp_path)
    assert len(inline) == 1
    assert again.records == first.records
    more = run_benchmark(make(seeds=[1, 2]), tmp_path)
    assert [job.cells[0].name.seed for job in inline] == [1, 2]
    assert more.records[0] == first.records[0]


def test_equal_cells_get_the_figures_of_the_first(make, inline, tmp_path):
    first = run_benchmark(make(variants={"a": {}, "b": {}}), tmp_path)
    assert len(inline) == 1
    assert [r["copied"] for r in first.records] == [False, True]
    assert first.records[0]["io"] == first.records[1]["io"]
    assert first.records[1]["seconds_train"] == 0
    # Also those of an earlier run.
    later = run_benchmark(make(variants={"a": {}, "b": {}, "c": {}}), tmp_path)
    assert len(inline) == 1
    assert later.records[2]["variant"] == "c"
    assert later.records[2]["copied"]


def test_two_runs_give_the_same_figures(make, inline, tmp_path):
    """Also where another training came before: a cell leaves nothing behind."""
    config = make(methods=["entlm", "nnshot"], seeds=[1, 2])
    both = run_benchmark(config, tmp_path / "a").records
    alone = run_benchmark(make(seeds=[2]), tmp_path / "b").records
    assert figures(both)[2:3] == figures(alone)
    again = run_benchmark(config, tmp_path / "c").records
    assert figures(both) == figures(again)


@pytest.mark.parametrize(
    "first, second", [("entlm", "entlm_struct"), ("bert_tagger", "nnshot")]
)
def test_a_shared_training_gives_what_an_own_one_gives(
    make, inline, tmp_path, first, second
):
    settings = {"epochs": 12}
    shared = run_benchmark(
        make(methods=[first, second], settings=settings), tmp_path / "a"
    )
    alone = run_benchmark(make(methods=[second], settings=settings), tmp_path / "b")
    assert figures(shared.records)[1:] == figures(alone.records)
    assert shared.records[1]["io"]["f"] > 0.3
    assert shared.records[0]["key"] != shared.records[1]["key"]
    assert shared.records[1]["key"] == alone.records[0]["key"]


def test_scores_may_be_shared(make, inline, tmp_path):
    """What differs in its decoder only reads the test part together, with the same
    result."""
    methods = ["entlm", "entlm_struct", "bert_tagger", "nnshot", "structshot"]
    settings = {"epochs": 12}
    alone = run_benchmark(make(methods=methods, settings=settings), tmp_path / "a")
    shared = run_benchmark(
        make(methods=methods, settings=settings, share_scores=True), tmp_path / "b"
    )
    for one, other in zip(alone.records, shared.records):
        assert one["method"] == other["method"]
        assert one["key"] == other["key"]
        assert one["io"] == other["io"]
        assert one["bio"] == other["bio"]
        assert one["label_words"] == other["label_words"]
        found = [[b["count"] for b in r["calibration"]] for r in (one, other)]
        assert found[0] == found[1]
    own = [r["method"] for r in shared.records if r["seconds_test"] is not None]
    assert own == ["bert_tagger"]


def test_a_sentence_longer_than_a_window_is_no_trouble(
    make, raw_config, inline, tmp_path
):
    """All test sentences as one, read in windows of a few pieces: in the training, too,
    and no word is lost."""
    reader = DatasetReader("tiny", make().datasets["tiny"])
    docs = reader.test_docs()
    line = {
        "text": [token.text for doc in docs for token in doc],
        "label": [tag for doc in docs for tag in doc_to_tags(doc)],
    }
    raw_config["datasets"]["tiny"]["data"] = str(tmp_path / "data")
    (tmp_path / "data" / "5shot").mkdir(parents=True)
    for name in ("test.jsonl", "5shot/1.jsonl"):
        (tmp_path / "data" / name).write_text(json.dumps(line) + "\n")
    short = {"component": {"model": {"window": 16, "stride": 8}}}
    methods = ["entlm", "entlm_struct", "nnshot", "structshot"]
    config = make(methods=methods, variants={"short": short}, settings={"epochs": 25})
    result = run_benchmark(config, tmp_path / "out")
    assert not result.errors
    assert [r["method"] for r in result.records] == methods
    assert {r["n_test"] for r in result.records} == {1}
    assert result.records[0]["io"]["f"] > 0.5


def test_a_folder_with_other_records_of_a_cell_is_refused(make, inline, tmp_path):
    run_benchmark(make(methods=["lexicon"]), tmp_path)
    changed = make(methods={"lexicon": {"factory": "entlm_ner"}})
    with pytest.raises(BenchmarkError, match="the cell tiny 5 1 1 bert lexicon"):
        run_benchmark(changed, tmp_path)


def test_failed_trainings_are_told_and_tried_again(make, monkeypatch, tmp_path):
    def fail(jobs, datasets, **_):
        for job in jobs:
            yield Outcome(job, [], "RuntimeError: no memory", "Traceback ...")

    monkeypatch.setattr("spacy_entlm.evaluation.compare.run.run_jobs", fail)
    for n_told in (1, 2):
        result = run_benchmark(make(), tmp_path)
        assert result.errors == ["tiny 5 1 1 bert entlm: RuntimeError: no memory"]
        assert result.records == []
        assert (tmp_path / "errors.txt").read_text().count("Traceback") == n_told


@pytest.mark.slow
def test_a_process_that_dies_spoils_its_job_only(make, tmp_path):
    config = make(
        methods=["lexicon", "entlm", "bert_tagger"], settings={"epochs": 100_000}
    )
    jobs = make_jobs(Planner(config).cells())
    lexicon, endless, _ = jobs
    outcomes = run_jobs([lexicon, endless, lexicon], config.datasets)
    assert next(outcomes).records[0]["method"] == "lexicon"
    (process,) = multiprocessing.active_children()
    process.kill()
    died = next(outcomes)
    assert died.job is endless
    assert died.error == "its process ended with status -9"
    assert next(outcomes).records[0]["method"] == "lexicon"
    assert list(outcomes) == []
    assert not multiprocessing.active_children()


def wait_until(is_so, seconds=120):
    end = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < end, f"not so after {seconds} seconds"
        time.sleep(0.1)


def grows(path, seconds=1.0):
    """Whether a training writes its progress to a file."""
    size = path.stat().st_size
    time.sleep(seconds)
    return path.stat().st_size > size


@pytest.mark.slow
def test_a_killed_run_goes_on_at_the_next_cell(make, inline, raw_config, tmp_path):
    """While it ran no other run could write there; when it is killed, so are the
    trainings that it started."""

    raw_config["methods"] = ["lexicon", "entlm"]
    raw_config["settings"] = {"epochs": 100_000}
    (tmp_path / "c.yml").write_text(json.dumps(raw_config))
    arguments = ["entlm", "benchmark", "c.yml", "out"]
    process = subprocess.Popen(
        [sys.executable, "-m", "spacy", *arguments],
        cwd=tmp_path,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    records, log = tmp_path / "out" / "records.jsonl", tmp_path / "out" / "log.txt"
    try:
        wait_until(lambda: records.exists() and records.stat().st_size > 0)
        wait_until(lambda: grows(log))
        with pytest.raises(BenchmarkError, match="another run writes to"):
            run_benchmark(make(), tmp_path / "out")
    finally:
        process.kill()
        process.wait()
    wait_until(lambda: not grows(log), seconds=20)
    before = records.read_text()
    result = run_benchmark(
        make(methods=["lexicon", "entlm"], settings={"epochs": 2}), tmp_path / "out"
    )
    assert result.n_old == 1
    assert records.read_text().startswith(before)
    assert [r["method"] for r in read_records(records)] == ["lexicon", "entlm"]
