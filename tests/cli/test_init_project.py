from functools import partial
from pathlib import Path

import srsly

from spacy_entlm.cli.init_project import project_files

from ..commands import entlm

ROOT = Path(__file__).resolve().parents[2]


init_project = partial(entlm, "init-project")


def test_writes_the_whole_project(tmp_path):
    folder = tmp_path / "new" / "project"
    result = init_project(folder)
    assert result.exit_code == 0, result.output
    written = {
        path.relative_to(folder).as_posix()
        for path in folder.rglob("*")
        if path.is_file()
    }
    assert written == set(project_files())
    assert not [name for name in written if name.endswith(".py")]
    for name in ("project.yml", "configs/entlm.cfg", "configs/compare.yml"):
        assert (folder / name).read_bytes() == (ROOT / name).read_bytes()


def test_every_file_that_a_command_names_is_written(tmp_path):
    init_project(tmp_path / "p")
    commands = srsly.read_yaml(tmp_path / "p" / "project.yml")["commands"]
    for command in commands:
        for dep in command.get("deps", []):
            if "$" not in dep and not dep.startswith("build/"):
                assert (tmp_path / "p" / dep).exists(), dep


def test_writes_into_the_folder_that_is_there_and_replaces_nothing(tmp_path):
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "thesis.txt").write_text("mine")
    before = folder.stat().st_ino
    assert init_project(folder).exit_code == 0
    assert folder.stat().st_ino == before
    assert (folder / "thesis.txt").read_text() == "mine"
    (folder / "project.yml").write_text("my own")
    result = init_project(folder)
    assert result.exit_code == 1
    assert "exists: name another folder" in result.output
    assert (folder / "project.yml").read_text() == "my own"


def test_refuses_a_file(tmp_path):
    path = tmp_path / "file"
    path.write_text("x")
    result = init_project(path)
    assert result.exit_code == 1
    assert path.read_text() == "x"


def test_a_checkout_gives_the_files_that_a_wheel_gives():
    lines = (ROOT / "pyproject.toml").read_text(encoding="utf8").splitlines()
    shipped = [line.split('["')[1] for line in lines if line.startswith('"share/')]
    patterns = [pattern.removesuffix('"]') for pattern in shipped]
    found = {path for pattern in patterns for path in ROOT.glob(pattern)}
    assert {ROOT / name for name in project_files()} == found
