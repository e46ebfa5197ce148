"""Records: appended whole, read back, refused when they are something else."""

import json

import pytest

from spacy_entlm.evaluation.compare.errors import BenchmarkError
from spacy_entlm.evaluation.compare.records import RunFolder, cell_name, read_records

RECORD = {
    **{"dataset": "d", "shots": 5, "split": 1, "seed": 1, "backbone": "b"},
    **{"method": "entlm", "variant": "", "key": "k"},
}


def test_records_come_back_as_they_were_written(tmp_path):
    with RunFolder(tmp_path / "run") as run:
        run.append([RECORD, {**RECORD, "seed": 2, "words": ["für"]}])
        run.append([{**RECORD, "seed": 3}])
    records = read_records(tmp_path / "run")
    assert [cell_name(record).seed for record in records] == [1, 2, 3]
    assert records[1]["words"] == ["für"]


def test_a_line_that_a_killed_run_left_unfinished_is_taken_away(tmp_path):
    with RunFolder(tmp_path) as run:
        run.append([RECORD])
    with (tmp_path / "records.jsonl").open("a") as file_:
        file_.write('{"format": 1, "datas')
    with pytest.raises(BenchmarkError, match="line 2: no JSON"):
        read_records(tmp_path)
    with RunFolder(tmp_path) as run:
        assert len(run.read()) == 1
        run.append([{**RECORD, "seed": 2}])
    assert len(read_records(tmp_path)) == 2


def test_a_second_run_is_refused_until_the_first_has_ended(tmp_path):
    second = RunFolder(tmp_path)
    with RunFolder(tmp_path), pytest.raises(BenchmarkError, match="another run writes"):
        second.__enter__()
    with RunFolder(tmp_path) as run:
        assert run.read() == []


def test_a_folder_that_is_a_file_is_refused(tmp_path):
    (tmp_path / "a").write_text("")
    for path in (tmp_path / "a", tmp_path / "a" / "b"):
        with pytest.raises(BenchmarkError, match="is no folder"):
            RunFolder(path)


@pytest.mark.parametrize(
    "line, message",
    [
        (json.dumps({**RECORD, "format": 2}), "format 2, where this version has 1"),
        (json.dumps(RECORD), "this is no record"),
        ("[1]", "this is no record"),
        ('{"format": 1, "dataset": "d"}', "a record without shots"),
    ],
)
def test_other_files_are_refused_with_the_line(tmp_path, line, message):
    path = tmp_path / "records.jsonl"
    path.write_text(json.dumps({**RECORD, "format": 1}) + f"\n{line}\n")
    with pytest.raises(BenchmarkError, match=f"line 2: .*{message}"):
        read_records(path)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(BenchmarkError, match="cannot read"):
        read_records(tmp_path / "none")
