"""A folder's files as one message."""

import pytest
import srsly

from spacy_entlm.files.folder import pack_folder, unpack_folder


def write(folder):
    (folder / "inner").mkdir()
    (folder / "a.json").write_text("{}")
    (folder / "inner" / "b.bin").write_bytes(bytes(range(256)))
    (folder / "empty").mkdir()


def read(folder):
    files = [path for path in folder.rglob("*") if path.is_file()]
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in files}


def test_files_come_back():
    data = pack_folder(write)
    expected = {"a.json": b"{}", "inner/b.bin": bytes(range(256))}
    assert unpack_folder(data, read) == expected
    assert pack_folder(write) == data


def test_no_files_are_no_bytes():
    assert pack_folder(lambda folder: None) == b""
    assert unpack_folder(b"", read) == {}


def test_the_folder_is_gone_afterwards():
    folders = []
    data = pack_folder(lambda folder: folders.append(folder) or write(folder))
    unpack_folder(data, folders.append)
    assert len(folders) == 2
    assert not any(folder.exists() for folder in folders)


@pytest.mark.parametrize(
    "name", ["../a.json", "inner/../../a.json", "/a.json", "..\\a.json", "inner\\a"]
)
def test_a_file_that_would_leave_the_folder_is_refused(name):
    data = srsly.msgpack_dumps({name: b"evil"})
    with pytest.raises(ValueError, match="cannot be called"):
        unpack_folder(data, read)


@pytest.mark.parametrize("content", [[1, 2], "text", 3])
def test_bytes_of_something_else_are_refused(content):
    with pytest.raises(ValueError, match="no files of a component"):
        unpack_folder(srsly.msgpack_dumps(content), read)
