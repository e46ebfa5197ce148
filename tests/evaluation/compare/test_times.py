"""Decoding times as the paper's Table 4 and over the length of sentences."""

import pytest

from spacy_entlm.evaluation.compare.errors import BenchmarkError
from spacy_entlm.evaluation.compare.times import decoding_table, read_times


def measured(seconds, batch=8):
    return {"batch_size": batch, "seconds": seconds}


@pytest.fixture
def times():
    methods = {
        "bert_tagger": {
            "paper_batch": measured([4.0, 2.0, 3.0]),
            "best": measured([1.0], 64),
        },
        "entlm": {"paper_batch": measured([4.5]), "best": measured([0.5], 512)},
        "template_ner": {"paper_batch": measured([3000.0], 45)},
    }
    lengths = [
        {"mean_words": n, "milliseconds": {"entlm": n / 2, "bert_tagger": n}}
        for n in (5.0, 20.0)
    ]
    return {
        **{"dataset": "conll03", "sentences": 3453, "words": 46435},
        **{"methods": methods, "lengths": lengths, "machine": "A chip, 2 threads"},
        "notes": ["Random weights."],
    }


def test_ratios_are_those_of_medians(times):
    table = decoding_table(times)
    assert table.rows == [
        ["entlm", "8", "4.50", "1.50", "512", "0.50", "0.50"],
        ["bert_tagger", "8", "3.00", "1.00", "64", "1.00", "1.00"],
        ["template_ner", "45", "3,000.00", "1000.00", "–", "–", "–"],
    ]
    assert "3,453 sentences (46,435 words)" in table.notes[0]
    assert "A chip, 2 threads" in table.notes[0]
    assert table.notes[1] == "Random weights."


def test_the_papers_times_stand_beside_ours(times):
    table = decoding_table(times, {"bert_tagger": 8.57, "template_ner": 6491.0})
    assert table.head[-2:] == ["paper, seconds", "paper, ratio"]
    assert [row[-2:] for row in table.rows] == [
        ["–", "–"],
        ["8.57", "1.00"],
        ["6,491.00", "757.41"],
    ]
    table = decoding_table(times, baseline="entlm")
    assert table.rows[1][3] == "0.67"
    with pytest.raises(BenchmarkError, match="no time of 'magic': there is bert_tag"):
        decoding_table(times, baseline="magic")


@pytest.mark.parametrize(
    "text, message",
    [
        ("{", "cannot read decoding times"),
        ("[1]", "holds no decoding times"),
        ('{"dataset": "a"}', "sentences, words, methods, lengths"),
    ],
)
def test_other_files_are_told(tmp_path, text, message):
    (tmp_path / "a.json").write_text(text)
    with pytest.raises(BenchmarkError, match=message):
        read_times(tmp_path / "a.json")
    with pytest.raises(BenchmarkError, match="cannot read"):
        read_times(tmp_path / "none.json")


def test_plot_has_a_line_for_each_method(times):
    pytest.importorskip("matplotlib")
    from spacy_entlm.evaluation.compare.plots import plot_lengths

    title, figure = plot_lengths(times)
    assert title == "Decoding time over length, conll03"
    (axes,) = figure.axes
    lines = {line.get_label(): line for line in axes.get_lines()}
    assert set(lines) == {"bert_tagger", "entlm"}
    assert lines["entlm"].get_xydata().tolist() == [[5.0, 2.5], [20.0, 10.0]]
