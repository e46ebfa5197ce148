"""The commands `report ...`: pages that a browser opens from disk."""

import json
import re
import sys
from pathlib import Path

import numpy
import pytest
from typer.testing import CliRunner

from spacy_entlm.cli import entlm_cli
from spacy_entlm.evaluation.label_words.page import (
    ClassView,
    Point,
    draw_points,
    project,
    render_label_words,
)
from spacy_entlm.evaluation.pages import HOW_TO_GET

from ..html_page import Page, assert_needs_nothing_beside_it


@pytest.fixture
def report(tmp_path, monkeypatch, bert, label_words):
    """Run the command in a folder of its own, that holds label words."""
    monkeypatch.chdir(tmp_path)
    Path("words.json").write_text(json.dumps(label_words))

    def report(*args, backbone=bert):
        arguments = ["report", "label-words", "out.html", "--words", "words.json"]
        if backbone:
            arguments += ["--backbone", str(backbone)]
        arguments += map(str, args)
        return CliRunner().invoke(entlm_cli, arguments)

    return report


def read_page():
    return Page(Path("out.html").read_text(encoding="utf8"))


def search_report(**classes):
    word = {"data": 1200, "lm": 7, "score": 8400, "ratio": 0.875, "pieces": ["john"]}
    left_out = {"word": "May", "data": 5, "lm": 3, "ratio": 0.2, "why": "because"}
    entry = {
        "words": [{"word": "John", **word}],
        "conflicts": [left_out],
        "n_conflicts": 70,
        "multi_piece": [{"word": "Annas", "pieces": ["anna", "##s"]}],
        "unseen": [],
        "advice": "annotate more text",
    }
    settings = {"method": "data-lm", "smoothing": True, "lm_top_k": 3}
    return {"settings": settings, "classes": {"PER": {**entry, **classes}}}


def test_page_shows_words_rows_and_nearest_vocabulary_words(report):
    result = report()
    assert result.exit_code == 0, result.stderr
    assert result.stdout.splitlines() == ["Wrote out.html"]
    page = read_page()
    # Three classes of two words each: a circle a word, a diamond a row.
    assert (page.count("svg"), page.n_marks) == (1, 9)
    assert {"John", "Mary", "PER"} <= set(page.texts)
    settings, people, nearest, *_ = page.tables
    assert settings[1][0] == "backbone of this page"
    # What only `search` counts has no column here, and needs no explanation.
    assert people[:2] == [["label word", "pieces"], ["John", "john"]]
    assert not any("Conflict ratio: " in text for text in page.texts)
    # Both words lie at the same angle or less from their mean than any other.
    assert {line[0] for line in nearest[1:3]} == {"john", "mary"}
    assert [line[2] for line in nearest[1:3]] == ["PER", "PER"]
    cosines = [float(line[1]) for line in nearest[1:]]
    assert cosines == sorted(cosines, reverse=True)
    assert len(cosines) == 10


def test_page_needs_nothing_from_a_network(report):
    report()
    assert_needs_nothing_beside_it(Path("out.html").read_text(encoding="utf8"))


def test_the_package_brings_a_backbone(report):
    assert report(backbone=None).exit_code == 0
    assert ["backbone of this page", "entlm-base"] in read_page().tables[0]


def test_a_page_is_replaced_only_where_that_is_asked_for(report):
    Path("out.html").write_text("mine")
    result = report()
    assert result.exit_code == 1
    assert "--overwrite" in result.stderr
    assert Path("out.html").read_text() == "mine"
    assert report("--overwrite").exit_code == 0


def test_picture_is_not_silently_left_out(report, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert report().stdout.splitlines() == [HOW_TO_GET, "Wrote out.html"]
    page = read_page()
    assert page.count("svg") == 0
    assert HOW_TO_GET in page.texts


@pytest.mark.parametrize("option", [False, True])
def test_page_shows_the_counts_of_a_search(report, option):
    # Beside the words it is found without being named.
    path = Path("told.json" if option else "words.report.json")
    path.write_text(json.dumps(search_report()))
    result = report(*(["--report", path] if option else []))
    assert result.exit_code == 0, result.stderr
    page = read_page()
    settings, people, _, conflicts, several = page.tables[:5]
    assert ["smoothing", "yes"] in settings
    assert ["lm top k", "3"] in settings
    assert people[1] == ["John", "john", "1,200", "7", "0.88", "8,400"]
    assert any("Conflict ratio: " in text for text in page.texts)
    assert people[2] == ["Mary", "mary", "–", "–", "–", "–"]
    assert conflicts[1] == ["May", "5", "3", "0.20", "because"]
    assert several[1][-1] == "anna ##s"
    assert any("elsewhere: 70" in text for text in page.texts)
    assert "2 words; annotate more text" in page.texts


def test_class_without_words_is_shown_without_a_row(report):
    Path("words.json").write_text('{"PER": ["John"], "ORG": [], "LOC": ["\\u4e2d"]}')
    assert report().exit_code == 0
    page = read_page()
    assert page.n_marks == 2
    assert page.texts.count("No label word.") == 1
    assert any(line[:2] == ["\u4e2d", "–"] for table in page.tables for line in table)


def test_no_word_at_all_gives_a_page_without_a_picture(report):
    Path("words.json").write_text('{"PER": []}')
    assert report().exit_code == 0
    assert read_page().count("svg") == 0


def test_a_pipeline_is_shown_with_its_rows(report, trained, knowing, blank_nlp):
    """Also one that begins with names of classes, for which no word was searched."""
    trained.to_disk("trained")
    blank_nlp(knowing, labels=["PER", "city"]).to_disk("named")
    for name, words in {"trained": "John", "named": "person"}.items():
        result = report("--words", name, "--overwrite", backbone=None)
        assert result.exit_code == 0, result.stderr
        page = read_page()
        assert any(line[:1] == [words] for table in page.tables for line in table)
        assert ["pipeline", name] in page.tables[0]
        assert page.n_marks > 0 and "No label word." not in page.texts


def test_an_empty_map_is_no_empty_page(report):
    """It is what a search leaves where there was no annotated text."""
    Path("words.json").write_text("{}")
    result = report()
    assert result.exit_code == 1
    (line,) = result.stderr.splitlines()
    assert "words.json: holds no class" in line and "--words model-last" in line
    assert not Path("out.html").exists()


def test_text_is_escaped():
    evil = '<script>alert("1")</script>&\x00\ud800'
    entry = search_report(
        words=[{"word": evil, "data": evil, "why": evil}],
        conflicts=[{"word": evil, "why": evil, "pieces": [evil]}],
        n_conflicts=evil,
        advice=evil,
    )["classes"]["PER"]
    views = [ClassView(evil, {evil: [evil]}, entry, [(evil, 0.5, evil)])]
    rows = numpy.array([[0.0, 0.0], [1.0, 2.0]])
    points = [Point(evil, evil, i == 0, row) for i, row in enumerate(rows)]
    html = render_label_words(views, points, {evil: [evil]})
    page = Page(html)
    assert page.count("script") == 0
    assert "\x00" not in html
    html.encode("utf8")
    shown = '<script>alert("1")</script>&\N{REPLACEMENT CHARACTER}'
    assert shown + "\N{REPLACEMENT CHARACTER}" in page.texts


@pytest.mark.parametrize(
    "name, content, text",
    [
        ("words.json", None, "words.json: no such file"),
        ("words.json", '{"PER": "John"}', "expected a list of words"),
        ("words.report.json", "{", "words.report.json: broken JSON"),
        ("words.report.json", '{"PER": ["John"]}', "is no report of `search`"),
        ("words.report.json", '{"classes": {"PER": []}}', "is no report of `search`"),
        (
            "words.report.json",
            '{"classes": {}, "settings": 3}',
            "is no report of `search`",
        ),
    ],
)
def test_bad_files_are_one_line(report, name, content, text):
    Path("words.json" if content is None else name).unlink(missing_ok=True)
    if content is not None:
        Path(name).write_text(content)
    result = report()
    assert result.exit_code == 1
    (line,) = result.stderr.splitlines()
    assert text in line
    assert not Path("out.html").exists()


def test_bad_arguments_are_one_line(report):
    for result, text in [
        (report("--report", "none.json"), "none.json: no such file"),
        (report(backbone="no/such"), "Cannot find the masked LM 'no/such'"),
    ]:
        assert result.exit_code == 1
        (line,) = result.stderr.splitlines()
        assert text in line


def test_calibration_is_drawn_from_what_evaluate_wrote(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    part = {"low": 0.5, "high": 0.6, "n": 3, "confidence": 0.55, "right": 1.0}
    told = {"confidence": {"bins": [part], "error": 0.45}, "sentences": 3}
    Path("figures.json").write_text(json.dumps(told))
    command = ["report", "calibration", "figures.json", "out.html"]
    assert CliRunner().invoke(entlm_cli, command).exit_code == 0
    assert read_page().tables[0][1] == ["0.50 to 0.60", "3", "0.55", "1.00"]
    Path("figures.json").write_text('{"confidence": 3}')
    result = CliRunner().invoke(entlm_cli, [*command, "--overwrite"])
    assert "figures.json: holds no confidences" in result.stderr


def test_help_shows_an_example(report):
    assert "report label-words label_words.html" in report("--help").stdout


def test_projection_keeps_distances_in_a_plane():
    plane = numpy.array([[0.0, 0.0], [4.0, 0.0], [0.0, 1.0]])
    points = numpy.hstack([plane, numpy.zeros((3, 5))]) + 7
    projected, share = project(points)
    assert share == pytest.approx(1)

    def distances(points):
        return numpy.linalg.norm(points[:, None] - points[None], axis=-1)

    assert distances(projected) == pytest.approx(distances(points))


@pytest.mark.parametrize("n", [1, 2])
def test_projection_of_few_or_equal_points(n):
    projected, share = project(numpy.ones((n, 8)))
    assert projected.tolist() == [[0.0, 0.0]] * n
    assert share == 1
    points = [Point("a", "A", False, row) for row in projected]
    assert "<svg" in draw_points(points, projected, {"A": "#77aadd"})


def test_texts_beside_points_do_not_cover_each_other():
    generator = numpy.random.default_rng(0)
    plane = generator.normal(size=(24, 2))
    points = [Point(f"word{i}", "A", i % 7 == 0, row) for i, row in enumerate(plane)]
    svg = draw_points(points, plane, {"A": "#77aadd"})
    place = r'text-anchor: (\w+)" x="([\d.]+)" y="([\d.]+)"[^>]*>(word\d+)<'
    boxes = []
    for anchor, x, y, text in re.findall(place, svg):
        width = 5.0 * len(text)
        left = float(x) - {"start": 0, "middle": width / 2, "end": width}[anchor]
        boxes.append((left, float(y) - 7, left + width, float(y)))
    assert len(boxes) == 24
    for i, a in enumerate(boxes):
        for b in boxes[:i]:
            assert a[2] <= b[0] or b[2] <= a[0] or a[3] <= b[1] or b[3] <= a[1]
