"""Plots, where matplotlib is there."""

import pytest

from spacy_entlm.evaluation.compare.scores import Group, Results

pytest.importorskip("matplotlib")

from spacy_entlm.evaluation.compare import plots

BINS = [
    {"count": 4, "correct": 1, "confidence": 1.0},
    {"count": 0, "correct": 0, "confidence": 0.0},
]


def group(shots, method="entlm", dataset="d"):
    return Group(dataset, shots, "b", method, "")


@pytest.fixture
def groups():
    scores = {(1, 1): 40.0, (2, 1): 50.0}
    results = Results(scores, [{"calibration": BINS}])
    found = {group(k, m): results for k in (5, 10) for m in ("entlm", "nnshot")}
    found[group(5, dataset="other")] = Results(scores, [{"calibration": None}])
    return found


def lines(figure):
    (axes,) = figure.axes
    return {line.get_label(): line for line in axes.get_lines()}


def test_f1_over_shots_has_a_line_for_each_method(groups):
    # A single K makes no line.
    ((title, figure),) = plots.plot_shots(groups)
    assert title == "F1 over K, d"
    assert set(lines(figure)) == {"entlm", "nnshot"}
    assert lines(figure)["entlm"].get_xydata().tolist() == [[5, 45], [10, 45]]
    assert len(figure.axes[0].collections) == 2


def test_reliability_shows_shares_over_confidence(groups):
    ((title, figure),) = plots.plot_reliability(groups)
    assert title == "Reliability, d"
    shown = lines(figure)
    assert shown["entlm, ECE 0.0%"].get_xydata().tolist() == [[0.25, 0.25]]


@pytest.mark.parametrize("values", [(0.5, 0.6), ("in-domain", "general")])
def test_an_ablation_is_drawn_over_its_values(tmp_path, values):
    points = [
        {
            **{"name": str(value), "value": value},
            "results": [{"method": "entlm", "shots": 5, "mean": 40.0 + i, "sd": 2.0}],
        }
        for i, value in enumerate(values)
    ]
    points.append({"name": "lost", "value": values[0], "results": []})
    summary = {"ablation": "threshold", "points": points}
    for name in ("a.svg", "b.svg", "a.png"):
        title, figure = plots.plot_ablation(summary)
        assert title == "Ablation: threshold"
        plots.save(figure, tmp_path / name)
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")


def test_a_figure_can_stand_in_a_page(groups):
    ((_, figure), *_) = plots.plot_shots(groups)
    text = plots.as_svg(figure)
    assert text.startswith("<svg")
    assert text.rstrip().endswith("</svg>")
