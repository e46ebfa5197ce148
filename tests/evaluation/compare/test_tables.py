"""Tables from records: which figures stand where."""

import json

import pytest

from spacy_entlm.evaluation.compare.beside import PAPER, read_beside
from spacy_entlm.evaluation.compare.errors import BenchmarkError
from spacy_entlm.evaluation.compare.scores import group_records, read_all
from spacy_entlm.evaluation.compare.tables import (
    calibration_table,
    choose_layout,
    class_table,
    difference_table,
    f1_table,
    time_table,
)

BINS = [{"count": 2, "correct": 1, "confidence": 1.8}]


def record(f1, **fields):
    """A record with an F1 in percent."""
    prf = {"p": 0.5, "r": 0.5, "f": f1 / 100}
    per_type = {"PER": prf, "LOC": {**prf, "f": 0.25}}
    return {
        **{"format": 1, "dataset": "conll", "shots": 5, "split": 1, "seed": 1},
        **{"backbone": "b", "method": "entlm", "variant": "", "copied": False},
        **{"io": {**prf, "per_type": per_type}, "bio": {**prf, "per_type": {}}},
        **{"calibration": BINS, "seconds_test": 2.0},
        **fields,
        "key": json.dumps(fields, sort_keys=True),
    }


@pytest.fixture
def groups():
    records = [
        record(10 * split + seed + plus, split=split, seed=seed, method=method, **k)
        for split in (1, 2)
        for seed in (1, 2)
        for method, plus in (("structshot", 5), ("entlm", 1))
        for k in ({"shots": 5}, {"shots": 10})
    ]
    return group_records(records)


def rows(table):
    return {tuple(row[: table.n_names]): row[table.n_names :] for row in table.rows}


def test_f1_is_averaged_over_splits_and_seeds(groups):
    table = f1_table(groups, choose_layout("auto", list(groups)))
    assert table.head == ["method", "conll, K = 5", "conll, K = 10"]
    # 12, 13, 22 and 23 for entlm; methods stand in their usual order.
    assert table.rows == [
        ["entlm", "17.50 (5.80)", "17.50 (5.80)"],
        ["structshot", "21.50 (5.80)", "21.50 (5.80)"],
    ]
    assert table.notes == [
        "Mean (standard deviation) over 4 trainings, 2 splits.",
    ]


def test_layouts_are_those_of_the_paper(groups):
    table = f1_table(groups, choose_layout("table1", list(groups)))
    assert table.head == ["dataset", "method", "K = 5", "K = 10"]
    assert rows(table)["conll", "entlm"][0] == "17.50 (5.80)"
    table = f1_table(groups, choose_layout("table5", list(groups)))
    assert table.head[:2] == ["backbone", "method"]


def test_what_differs_is_never_averaged(groups):
    """Table 3 has variants for rows; two methods then are told apart, too."""
    table = f1_table(groups, choose_layout("table3", list(groups)))
    assert table.head[:2] == ["variant", "method"]
    assert len(table.rows) == 2
    with pytest.raises(BenchmarkError, match="unknown layout 'table9'"):
        choose_layout("table9", list(groups))


def test_unequal_numbers_of_cells_are_shown():
    groups = group_records([record(1), record(3, seed=2), record(5, shots=10)])
    table = f1_table(groups, choose_layout("auto", list(groups)))
    assert table.rows == [["entlm", "2.00 (1.41) n=2", "5.00 (0.00) n=1"]]


def test_gold_of_either_kind_can_be_shown():
    other = {"bio": {"f": 0.4, "per_type": {}}}
    groups = group_records([record(50, **other)], gold="bio")
    table = f1_table(groups, choose_layout("auto", list(groups)), gold="bio")
    assert table.title == "F1, BIO gold"
    assert table.rows == [["entlm", "40.00 (0.00)"]]


def test_differences_are_paired(groups):
    table = difference_table(groups, ["method=structshot"])
    assert len(table.rows) == 2
    assert table.rows[0] == [
        *("conll", "5", "entlm", "structshot"),
        *("-4.00", "-4.00 to -4.00", "-4.0, -4.0"),
    ]
    assert difference_table(groups, []) is None
    with pytest.raises(BenchmarkError, match="no method is 'x': there is entlm, str"):
        difference_table(groups, ["method=x"])
    with pytest.raises(BenchmarkError, match="--baseline is FIELD=VALUE"):
        difference_table(groups, ["entlm"])


def test_figures_of_others_stand_beside_ours(groups, tmp_path):
    cells = [
        {"method": "entlm", "K": 5, "split": split, "seed": 9, "f1": 10.0}
        for split in (1, 2)
    ]
    cells.append({"method": "entlm", "K": 10, "mean": 49.59, "sd": 8.3})
    cells.append({"method": "nobody", "K": 10, "mean": 1, "sd": 1})
    path = tmp_path / "theirs.json"
    path.write_text(json.dumps({"title": "theirs", "cells": cells}))
    others = read_beside(path, groups, "conll").groups
    both = {**groups, **others}
    table = f1_table(both, choose_layout("auto", list(both)))
    assert [row[0] for row in table.rows] == ["entlm", "entlm (theirs)", "structshot"]
    assert table.rows[1][1:] == ["10.00 (0.00) n=2", "49.59 (8.30)"]
    (row,) = difference_table(both, []).rows
    assert row[2:5] == ["entlm", "entlm (theirs)", "+7.50"]
    with pytest.raises(BenchmarkError, match="has no figures of these datasets"):
        read_beside(path, groups, None)


@pytest.mark.parametrize(
    "text, message",
    [
        ("{", "cannot read figures"),
        ('{"cells": 3}', 'needs a list "cells"'),
        ('{"cells": [{"method": "entlm"}]}', "no figures in"),
    ],
)
def test_files_without_figures_are_named(groups, tmp_path, text, message):
    (tmp_path / "a.json").write_text(text)
    with pytest.raises(BenchmarkError, match=message):
        read_beside(tmp_path / "a.json", groups, None)


def test_times_are_medians_with_ratios():
    times = {"entlm": 2.0, "structshot": 5.0}
    records = [
        record(1, method=method, seed=seed, seconds_test=seconds * factor)
        for method, seconds in times.items()
        for seed, factor in ((1, 0.9), (2, 1.0), (3, 9.0))
    ]
    records.append(record(1, method="nnshot", copied=True, seconds_test=0.0))
    groups = group_records(records)
    layout = choose_layout("auto", list(groups))
    table = time_table(groups, layout, None)
    assert table.rows == [["entlm", "2.0 s (1.00)"], ["structshot", "5.0 s (2.50)"]]
    table = time_table(groups, layout, "structshot")
    assert table.rows[0] == ["entlm", "2.0 s (0.40)"]


def test_calibration_and_classes(groups):
    layout = choose_layout("auto", list(groups))
    table = calibration_table(groups, layout)
    assert rows(table)["entlm",] == ["40.0", "40.0"]
    assert (
        calibration_table(group_records([record(1, calibration=None)]), layout) is None
    )
    table = class_table(groups, layout)
    assert table.head == ["method", "dataset", "K", "LOC", "PER"]
    assert rows(table)["entlm", "conll", "5"] == ["25.00", "17.50"]


def test_markdown_and_html_hold_the_same_cells(groups):
    groups = {g._replace(variant="a|<b>"): results for g, results in groups.items()}
    layout = choose_layout("table3", list(groups))
    table = f1_table(groups, layout)
    lines = table.to_markdown().splitlines()
    assert lines[2:4] == [
        "| variant | method | conll, K = 5 | conll, K = 10 |",
        "| --- | --- | ---: | ---: |",
    ]
    assert "| a\\|<b> | entlm | 17.50 (5.80) | 17.50 (5.80) |" in lines
    assert "<td>a|&lt;b&gt;</td>" in table.to_html()


def test_records_of_two_runs_are_put_together(tmp_path):
    for name, records in (
        ("a", [record(1), record(2, seed=2)]),
        ("b", [record(2, seed=2), record(3, seed=3)]),
        ("c", [{**record(9), "key": "other"}]),
    ):
        (tmp_path / name).mkdir()
        text = "".join(json.dumps(r) + "\n" for r in records)
        (tmp_path / name / "records.jsonl").write_text(text)
    found = read_all([tmp_path / "a", tmp_path / "b" / "records.jsonl"])
    assert [r["seed"] for r in found] == [1, 2, 3]
    with pytest.raises(BenchmarkError, match="the cell conll 5 1 1 b entlm has anoth"):
        read_all([tmp_path / "a", tmp_path / "c"])
    (tmp_path / "a" / "records.jsonl").write_text("")
    with pytest.raises(BenchmarkError, match="no records in"):
        read_all([tmp_path / "a"])


def test_figures_of_the_paper_stand_beside_ours():
    records = [
        record(40, dataset="conll03", method=method, shots=shots)
        for method in ("entlm", "bert_tagger")
        for shots in (5, 10)
    ]
    groups = group_records(records)
    beside = read_beside(PAPER, groups, None, "table1")
    both = {**groups, **beside.groups}
    found = rows(f1_table(both, choose_layout("table1", list(both))))
    paper = "bert-base-cased (paper)"
    assert found["conll03", "entlm", paper] == ["49.59 (8.30)", "64.79 (3.86)"]
    assert found["conll03", "bert_tagger", paper][0] == "41.87 (12.12)"
    assert len(found) == 4
    assert difference_table(both, []) is None
    assert any("NAACL 2022" in note for note in beside.notes)
    # Ratios of the paper's Table 4.
    seconds = beside.seconds["conll03"]
    ratios = {name: value / seconds["bert_tagger"] for name, value in seconds.items()}
    assert ratios["entlm"] == pytest.approx(1.08, abs=0.005)
    assert ratios["template_ner"] == pytest.approx(757, abs=0.5)


@pytest.mark.parametrize(
    "layout, variant, row, figure",
    [
        ("table5", "", ("bert-base-cased, further pre-trained",), "56.82"),
        ("table3", "lm, virtual", ("lm, virtual", "bert-base-cased (paper)"), "42.65"),
    ],
)
def test_tables_of_the_paper_are_shown_in_their_layouts(layout, variant, row, figure):
    groups = group_records([record(40, dataset="conll03", variant=variant)])
    beside = read_beside(PAPER, groups, None, layout).groups
    both = {**groups, **beside}
    found = rows(f1_table(both, choose_layout(layout, list(both))))
    (shown,) = [cells for names, cells in found.items() if set(row) <= set(names)]
    assert shown[0].startswith(figure)


def test_figures_of_the_paper_are_complete_and_plausible():
    """Every table of the paper has all of its cells, each once."""
    cells = json.loads(PAPER.read_text())["cells"]
    names = ("dataset", "method", "variant", "K", "backbone")
    assert len({tuple(cell.get(n) for n in names) for cell in cells}) == len(cells)
    assert len(cells) == 3 * 6 * 4 + 6 * 3 * 2 + 3 * 2
    assert all(30 < cell["mean"] < 80 and 0 < cell["sd"] < 13 for cell in cells)
    best = {(c["dataset"], c["K"], c["method"]): c["mean"] for c in cells[:72]}
    gains = [
        best[data, k, "entlm_struct"] - best[data, k, "entlm"]
        for data in ("conll03", "ontonotes", "mit_movie")
        for k in (5, 10, 20, 50)
    ]
    assert all(0.9 < gain < 2.6 for gain in gains)


def test_baselines_may_be_several(groups):
    table = difference_table(groups, ["method=structshot", "method=entlm"])
    assert [row[2:4] for row in table.rows] == [
        *([["entlm", "structshot"]] * 2),
        *([["structshot", "entlm"]] * 2),
    ]


def test_a_command_that_told_no_times_is_left_out():
    records = [record(1), record(1, method="mine", seconds_test=None)]
    groups = group_records(records)
    table = time_table(groups, choose_layout("auto", list(groups)), None)
    assert [row[0] for row in table.rows] == ["entlm"]
