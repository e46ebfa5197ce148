"""Reports from records: which figures stand where."""

import csv
import json

import pytest

from spacy_entlm.evaluation.compare.report import (
    class_frame,
    difference_frame,
    score_frame,
    to_frame,
    write_report,
)
from spacy_entlm.evaluation.compare.run import Result
from spacy_entlm.files.errors import DataError


def record(f1, **fields):
    """A record with an F1 in percent."""
    prf = {"p": 0.5, "r": 0.5, "f": f1 / 100}
    per_type = {"PER": prf, "LOC": {**prf, "f": 0.25}}
    return {
        **{"dataset": "conll", "shots": 5, "split": 1, "seed": 1, "backbone": "b"},
        **{"method": "entlm", "variant": "", "seconds_train": 9.0, "seconds_test": 2.0},
        **{"io": {**prf, "per_type": per_type}, "bio": {**prf, "f": 0.4}},
        **fields,
    }


@pytest.fixture
def records():
    return [
        record(10 * split + seed + plus, split=split, seed=seed, method=method, **k)
        for method, plus in (("structshot", 5), ("entlm", 1))
        for k in ({"shots": 5}, {"shots": 10})
        for split in (1, 2)
        for seed in (1, 2)
    ]


@pytest.fixture
def report(tmp_path):
    """Writes a report; gives the JSON and the lines for the screen."""

    def write(records, *, n_unused=0, n_missing=0, **settings):
        n_cells = len(records) + n_missing
        result = Result(records, n_cells, n_unused, [])
        lines = write_report(result, tmp_path, title="A title", **settings)
        return json.loads((tmp_path / "report.json").read_text()), lines

    return write


def test_f1_is_averaged_over_splits_and_seeds(records, report):
    data, lines = report(records)
    # 12, 13, 22 and 23 for entlm.
    assert lines == [
        "method | conll, K = 5 | conll, K = 10",
        "structshot | 21.50 (5.80) | 21.50 (5.80)",
        "entlm | 17.50 (5.80) | 17.50 (5.80)",
    ]
    entlm = next(row for row in data["scores"] if row["method"] == "entlm")
    assert (entlm["trainings"], entlm["splits"], entlm["f1"]) == (4, 2, 17.5)
    assert (entlm["precision"], entlm["f1_bio"], entlm["seconds_test"]) == (50, 40, 2)


def test_what_differs_is_never_averaged(records, report):
    more = [record(30, backbone="c"), record(50, backbone="c", variant="v")]
    _, lines = report([*records, *more])
    assert lines[0].startswith("method | variant | backbone | ")
    assert "entlm | v | c | 50.00 (0.00) n=1 | –" in lines
    assert len(lines) == 5


def test_differences_are_paired(records):
    frame = to_frame(records)
    rows = difference_frame(frame, ["method=structshot"]).to_dict("records")
    assert [row["shots"] for row in rows] == [5, 10]
    assert rows[0]["method"] == "entlm"
    assert [rows[0][name] for name in ("difference", "low", "high")] == [-4, -4, -4]
    assert rows[0]["by split"] == "-4.0, -4.0"
    both = difference_frame(frame, ["method=structshot", "method=entlm"])
    assert list(both["difference"]) == [-4, -4, 4, 4]


def test_the_baseline_is_the_tagger_if_there_is_one(records):
    assert len(difference_frame(to_frame(records))) == 0
    frame = to_frame([*records, record(20, method="bert_tagger")])
    assert set(difference_frame(frame)["against"]) == {"method=bert_tagger"}


def test_what_differs_from_the_baseline_is_named(report, tmp_path):
    report(
        [record(20, variant="mine"), record(15, variant="plain")],
        baselines=["variant=plain"],
    )
    assert "| conll | 5 | entlm | mine | variant=plain | +5.00 |" in (
        (tmp_path / "report.md").read_text()
    )


def test_one_split_has_no_interval(report, tmp_path):
    report([record(20), record(15, method="bert_tagger")])
    (row,) = csv.DictReader((tmp_path / "differences.csv").read_text().splitlines())
    assert (row["difference"], row["low"], row["high"]) == ("5.0", "", "")
    assert "| conll | 5 | entlm | method=bert_tagger | +5.00 | – | – | +5.0 |" in (
        (tmp_path / "report.md").read_text()
    )


def test_classes(records, report):
    (first, second) = class_frame(records[:2]).to_dict("records")
    assert (first["class"], first["f1"]) == ("PER", 16.5)
    assert (second["class"], second["f1"]) == ("LOC", 25)


def test_seconds_that_are_not_known_are_left_out():
    frame = to_frame(
        [record(1, seconds_test=None), record(1, seconds_test=4.0, seed=2)]
    )
    assert list(score_frame(frame)["seconds_test"]) == [4]
    frame = score_frame(to_frame([record(1, seconds_test=None)]))
    assert frame["seconds_test"].isna().all()


def test_all_files_hold_the_same_figures_and_names_are_escaped(report, tmp_path):
    data, _ = report([record(12.3456, variant="a|<b>"), record(20, variant="c")])
    page, markdown = (
        (tmp_path / f"report.{extension}").read_text() for extension in ("html", "md")
    )
    assert "| entlm | a\\|<b> | 12.35 (0.00) |" in markdown
    assert "| --- | --- | ---: |" in markdown
    assert "a|&lt;b&gt;" in page
    assert "a|<b>" not in page
    assert "<h1>A title</h1>" in page
    (row, _) = csv.DictReader((tmp_path / "scores.csv").read_text().splitlines())
    assert (float(row["f1"]), row["variant"]) == (12.3456, "a|<b>")
    assert data["scores"][0]["f1"] == 12.3456
    assert data["scores"][0]["seconds_train"] == 9


def test_what_is_missing_and_what_is_not_used_is_told(records, report, tmp_path):
    _, lines = report(records, n_missing=3, n_unused=2)
    assert lines[-2] == "3 of 19 results are not there yet."
    assert lines[-1].startswith("2 results of other data or settings")
    page = (tmp_path / "report.html").read_text()
    assert all(line in page for line in lines[-2:])
    with pytest.raises(DataError, match="no training has a record yet"):
        report([])


def test_figures_are_drawn_where_matplotlib_is(records, report, tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    names = {"dataset": "$o^$", "method": "$_$"}
    report([*records, record(3, **names)])
    page = (tmp_path / "report.html").read_text()
    assert page.count("<svg") == 2
    report([*records, record(3, **names)])
    assert (tmp_path / "report.html").read_text() == page
    monkeypatch.setattr(
        "spacy_entlm.evaluation.compare.report.has_matplotlib", lambda: False
    )
    report(records)
    page = (tmp_path / "report.html").read_text()
    assert "<svg" not in page
    assert "pip install" in page
