"""Records that a killed run goes on with."""

import pytest

from spacy_entlm.files.errors import DataError
from spacy_entlm.files.records import Records

FORM = "entlm-test/1"


def test_records_are_read_as_they_were_appended(tmp_path):
    path = tmp_path / "sub" / "a.jsonl"
    with Records(path, FORM) as records:
        assert records.read() == []
        records.append([{"key": "a", "n": 1}])
        records.append([{"key": "é", "n": [2]}])
    with Records(path, FORM) as records:
        assert records.read() == [{"key": "a", "n": 1}, {"key": "é", "n": [2]}]


@pytest.mark.parametrize("cut", [1, 5, 20, 30])
def test_line_that_a_killed_run_left_is_taken_away(tmp_path, cut):
    path = tmp_path / "a.jsonl"
    with Records(path, FORM) as records:
        records.append([{"key": "a"}, {"key": "b"}])
    path.write_bytes(path.read_bytes()[:-cut])
    with Records(path, FORM) as records:
        assert records.read() == [{"key": "a"}]
        records.append([{"key": "c"}])
        assert records.read() == [{"key": "a"}, {"key": "c"}]


@pytest.mark.parametrize(
    "content",
    [
        b"my thesis, without an end of line",
        b'{"key": "of another"}',
        b'{"key": "of another"}\n',
        b'{"format": "entlm-test/2", "key": "a"}\n',
        b"[1]\n",
        b"\xff\n",
        b'{"format": "entlm-test/1", "key": "a"}\nmine',
    ],
)
def test_file_of_another_is_an_error_and_stays(tmp_path, content):
    path = tmp_path / "a.jsonl"
    path.write_bytes(content)
    with Records(path, FORM) as records, pytest.raises(DataError, match=r"a\.jsonl"):
        records.read()
    assert path.read_bytes() == content


def test_second_run_is_refused_while_the_first_goes_on(tmp_path):
    path = tmp_path / "a.jsonl"
    with (
        Records(path, FORM),
        pytest.raises(DataError, match="another run writes to it"),
        Records(path, FORM),
    ):
        pass
    with Records(path, FORM):
        pass


def test_file_in_place_of_the_folder_is_told(tmp_path):
    (tmp_path / "file").write_text("x")
    with (
        pytest.raises(DataError, match="is no folder"),
        Records(tmp_path / "file" / "a.jsonl", FORM),
    ):
        pass
