"""Running a comparison: what is run, what is not run again, what fails."""

import json
import multiprocessing
import subprocess
import sys
import threading
import time

import pytest

import spacy_entlm
from spacy_entlm.corpus.tags import doc_to_tags
from spacy_entlm.decoding.io import IODecoder
from spacy_entlm.evaluation.compare.cells import make_jobs, plan_cells
from spacy_entlm.evaluation.compare.data import DatasetReader
from spacy_entlm.evaluation.compare.report import JSON, write_report
from spacy_entlm.evaluation.compare.run import read_result, run_comparison
from spacy_entlm.evaluation.compare.workers import Outcome, check_gpus, run_jobs
from spacy_entlm.files.errors import DataError

FIELDS = (
    *("dataset", "shots", "split", "seed", "backbone", "method", "variant", "key"),
    *("settings", "component", "entities", "seconds_train", "seconds_test"),
    *("label_words", "io", "bio", "n_test", "versions", "machine", "threads"),
    "finished",
)


def figures(result):
    return [(r["method"], r["seed"], r["io"]) for r in result.records]


def test_records_say_what_was_run(make, inline, tmp_path, label_words):
    result = run_comparison(make(methods=["entlm", "nnshot"]), tmp_path / "run")
    entlm, nnshot = result.records
    assert set(entlm) == set(nnshot) == set(FIELDS)
    assert entlm["label_words"] == label_words
    assert nnshot["label_words"] is None
    assert entlm["entities"] == {"LOC": 8, "ORG": 5, "PER": 8}
    assert entlm["settings"]["learn_rate"] == 0.01
    assert entlm["versions"]["spacy-entlm"]
    assert not result.errors


def test_examples_are_passed_as_often_as_by_default(
    make, inline, tmp_path, monkeypatch
):
    """So that a few of them make enough updates; unless the config says how often."""
    given, train = [], spacy_entlm.train

    def train_once(nlp, examples, *, epochs, **settings):
        given.append(epochs)
        return train(nlp, examples, epochs=1, **settings)

    monkeypatch.setattr(spacy_entlm, "train", train_once)
    run_comparison(make(settings={}), tmp_path / "out")
    run_comparison(make(settings={"epochs": 7}), tmp_path / "out")
    assert given == [None, 7]


def test_the_same_seeds_give_the_same_report(make, inline, tmp_path):
    """Trainings, scores and the bootstrap: nothing but times may differ."""
    found = []
    methods = ["entlm", "entlm_struct", "bert_tagger", "nnshot", "structshot"]
    for folder in (tmp_path / "one", tmp_path / "two"):
        result = run_comparison(make(methods=methods, seeds=[1, 2]), folder)
        write_report(result, folder, title="x", baselines=["method=entlm"])
        report = json.loads((folder / JSON).read_text())
        for row in report["scores"]:
            del row["seconds_train"], row["seconds_test"]
        found.append(report)
    assert found[0] == found[1]
    assert len(inline) == 8


def test_what_has_a_record_is_not_run_again(make, inline, tmp_path):
    first = run_comparison(make(), tmp_path)
    again = run_comparison(make(), tmp_path)
    assert len(inline) == 1
    assert again.records == first.records
    more = run_comparison(make(seeds=[1, 2]), tmp_path)
    assert [job[0].name.seed for job in inline] == [1, 2]
    assert more.records[0] == first.records[0]


def test_equal_cells_have_one_record(make, inline, tmp_path):
    first = run_comparison(make(variants={"a": {}, "b": {}}), tmp_path)
    assert len(inline) == 1
    assert [r["variant"] for r in first.records] == ["a", "b"]
    assert first.records[0]["io"] == first.records[1]["io"]
    assert (tmp_path / "records.jsonl").read_text().count("\n") == 1


def test_records_of_changed_data_stay_and_are_not_used(
    make, raw_config, inline, tmp_path
):
    """The run just goes on, and the report says how many there are."""
    run_comparison(make(seeds=[1, 2]), tmp_path)
    before = (tmp_path / "records.jsonl").read_bytes()
    dataset = {**raw_config["datasets"]["tiny"], "limit": 5}
    result = run_comparison(make(datasets={"tiny": dataset}), tmp_path)
    assert (tmp_path / "records.jsonl").read_bytes().startswith(before)
    assert [r["n_test"] for r in result.records] == [5]
    assert (len(inline), result.n_unused) == (3, 2)
    lines = write_report(result, tmp_path, title="x")
    assert lines[-1].startswith("2 results of other data or settings in records.jsonl")
    assert lines[-1] in (tmp_path / "report.html").read_text()
    # With the old config the old records count again.
    assert run_comparison(make(seeds=[1, 2]), tmp_path).n_unused == 1
    assert len(inline) == 3


def test_a_file_that_holds_no_records_stays_as_it_is(make, inline, tmp_path):
    path = tmp_path / "records.jsonl"
    path.write_text("my notes")
    with pytest.raises(DataError, match=r"records\.jsonl"):
        run_comparison(make(), tmp_path)
    assert path.read_text() == "my notes"
    path.write_text('{"format": "comparison 1", "key": "a"}\n')
    with pytest.raises(DataError, match="line 1: a record without dataset, shots"):
        run_comparison(make(), tmp_path)
    assert not inline


def test_a_line_that_a_killed_run_left_unfinished_is_run_again(make, inline, tmp_path):
    run_comparison(make(seeds=[1, 2]), tmp_path)
    path = tmp_path / "records.jsonl"
    path.write_bytes(path.read_bytes()[:-20])
    assert len(read_result(make(seeds=[1, 2]), tmp_path).records) == 1
    assert len(run_comparison(make(seeds=[1, 2]), tmp_path).records) == 2
    assert len(inline) == 3


def test_two_runs_give_the_same_figures(make, inline, tmp_path):
    """Also where another training came before: a cell leaves nothing behind."""
    config = make(methods=["entlm", "nnshot"], seeds=[1, 2])
    both = run_comparison(config, tmp_path / "a")
    alone = run_comparison(make(seeds=[2]), tmp_path / "b")
    assert figures(both)[2:3] == figures(alone)


@pytest.mark.parametrize(
    "first, second", [("entlm", "entlm_struct"), ("bert_tagger", "nnshot")]
)
def test_a_shared_training_gives_what_an_own_one_gives(
    make, inline, tmp_path, first, second
):
    settings = {"epochs": 12}
    shared = run_comparison(
        make(methods=[first, second], settings=settings), tmp_path / "a"
    )
    alone = run_comparison(make(methods=[second], settings=settings), tmp_path / "b")
    assert figures(shared)[1:] == figures(alone)
    assert shared.records[1]["io"]["f"] > 0.3
    assert shared.records[0]["key"] != shared.records[1]["key"]
    assert shared.records[1]["key"] == alone.records[0]["key"]


def test_confidences_are_calibrated_for_the_own_decoder(
    make, inline, tmp_path, monkeypatch
):
    """Where a training is shared: with the other's, no entity would be left."""
    monkeypatch.setattr(IODecoder, "few_shot_calibration", (1.0, -99.0))
    sure = {"component": {"threshold": 0.1}}
    config = {"variants": {"sure": sure}, "settings": {"epochs": 12}}
    shared = run_comparison(make(methods=["entlm", "entlm_struct"], **config), tmp_path)
    entlm, struct = (record["io"]["f"] for record in shared.records)
    assert entlm == 0 and struct > 0.3


def test_a_sentence_longer_than_a_window_is_no_trouble(
    make, raw_config, inline, tmp_path
):
    """All test sentences as one, read in windows of a few pieces: in the training, too,
    and no word is lost."""
    reader = DatasetReader(make().datasets["tiny"])
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
    result = run_comparison(config, tmp_path / "out")
    assert not result.errors
    assert [r["method"] for r in result.records] == methods
    assert {r["n_test"] for r in result.records} == {1}
    assert result.records[0]["io"]["f"] > 0.5


def test_failed_trainings_are_told_and_tried_again(make, monkeypatch, tmp_path):
    def fail(jobs, *_, **__):
        for job in jobs:
            yield Outcome(job, [], "RuntimeError: no memory", "Traceback ...")

    monkeypatch.setattr("spacy_entlm.evaluation.compare.run.run_jobs", fail)
    for n_told in (1, 2):
        result = run_comparison(make(), tmp_path)
        assert result.errors == ["tiny 5 1 1 bert entlm: RuntimeError: no memory"]
        assert result.records == []
        assert (tmp_path / "errors.txt").read_text().count("Traceback") == n_told


def test_gpus_are_checked_before_anything_runs(make, monkeypatch, tmp_path):
    monkeypatch.setattr("thinc.compat.has_cupy", False)
    with pytest.raises(DataError, match=r"GPUs need cupy: pip install"):
        run_comparison(make(), tmp_path / "out", gpus=[7])
    assert not (tmp_path / "out").exists()
    monkeypatch.setattr("thinc.compat.has_cupy", True)
    monkeypatch.setattr("torch.cuda.device_count", lambda: 2)
    with pytest.raises(DataError, match=r"no GPU 7 \(there: 0, 1\)"):
        check_gpus([0, 7])
    check_gpus([0, 1])


@pytest.mark.slow
def test_a_process_that_dies_spoils_its_job_only(make, tmp_path):
    short, endless, last = (
        make_jobs(plan_cells(make(settings={"epochs": epochs}, seeds=[seed])))[0]
        for seed, epochs in ((1, 1), (2, 100_000), (3, 1))
    )
    found = []
    outcomes = run_jobs([short, endless, last], make().datasets, tmp_path)
    thread = threading.Thread(target=lambda: found.extend(outcomes))
    thread.start()
    try:
        log = tmp_path / "log-1.txt"
        wait_for(lambda: log.exists() and "tiny 5 1 2 bert" in log.read_text())
    finally:
        for process in multiprocessing.active_children():
            process.kill()
        thread.join()
    assert [outcome.job for outcome in found] == [short, endless, last]
    assert [len(outcome.records) for outcome in found] == [1, 0, 1]
    # And what it printed last.
    assert found[1].error.startswith("its process ended with status -9: ")
    assert not multiprocessing.active_children()


@pytest.mark.slow
def test_the_reason_of_a_failure_is_in_its_message(make, tmp_path):
    """Here a GPU that is not there."""
    jobs = make_jobs(plan_cells(make()))
    (outcome,) = run_jobs(jobs, make().datasets, tmp_path, gpus=[7])
    assert outcome.records == []
    assert "ValueError: Cannot use GPU" in outcome.error
    assert "require_gpu" in outcome.details


def wait_for(value, seconds=120):
    end = time.monotonic() + seconds
    while not value():
        assert time.monotonic() < end, f"not so after {seconds} seconds"
        time.sleep(0.1)
    return value()


def grows(path, seconds=1.0):
    """Whether a training writes its progress to a file."""
    size = path.stat().st_size
    time.sleep(seconds)
    return path.stat().st_size > size


@pytest.mark.slow
def test_a_killed_run_goes_on_at_the_next_cell(make, inline, raw_config, tmp_path):
    """While it ran no other run could write there; when it is killed, so are the
    trainings that it started."""
    endless = {"settings": {"epochs": 100_000}}
    raw_config["variants"] = {"short": {}, "endless": endless}
    (tmp_path / "c.yml").write_text(json.dumps(raw_config))
    process = subprocess.Popen(
        [sys.executable, "-m", "spacy", "entlm", "compare", "c.yml", "out"],
        cwd=tmp_path,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    records, log = tmp_path / "out" / "records.jsonl", tmp_path / "out" / "log-1.txt"
    try:
        wait_for(lambda: records.exists() and records.stat().st_size > 0)
        wait_for(lambda: grows(log))
        with pytest.raises(DataError, match="another run writes to"):
            run_comparison(make(), tmp_path / "out")
    finally:
        process.kill()
        process.wait()
    wait_for(lambda: not grows(log), seconds=20)
    before = records.read_text()
    raw_config["variants"]["endless"] = {"settings": {"epochs": 3}}
    result = run_comparison(make(), tmp_path / "out")
    assert len(inline) == 1
    assert records.read_text().startswith(before)
    assert [r["variant"] for r in result.records] == ["short", "endless"]
