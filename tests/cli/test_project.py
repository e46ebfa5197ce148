"""What is checked before `spacy project run` runs a project of ours."""

import sys

import pytest

from spacy_entlm.cli._project import check_project_run, project_arguments
from spacy_entlm.files.errors import DataError

PROJECT = """
vars: {dataset: news, data: assets/news, shots: 5}
commands:
  - {name: fit, script: ["python -m spacy entlm convert ${vars.data} out"]}
"""


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Gives what is added to `spacy project run` in the folder of a project."""
    (tmp_path / "project.yml").write_text(PROJECT)
    monkeypatch.chdir(tmp_path)

    def run(*arguments):
        return project_arguments(["spacy", "project", "run", *arguments])

    return run


@pytest.mark.parametrize(
    "arguments, name",
    [
        (["--vars.data", "my_data"], "my_data"),
        (["--vars.data=../my data/"], "my data"),
        (["--vars.shots", "2", "--vars.data", "/somewhere/new", "--force"], "new"),
        (["-F", "--vars.data", "a/b/."], "b"),
    ],
)
def test_the_name_of_the_folder_is_that_of_the_dataset(run, arguments, name):
    assert run("fit", ".", *arguments) == ["--vars.dataset", name]


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["--vars.shots", "7"],
        ["--vars.data", "my_data", "--vars.dataset", "mine"],
        ["--vars.data", "my_data", "--vars.dataset=mine"],
        # What the project says itself.
        ["--vars.data", "./assets/news/"],
        ["--vars.data", "/"],
        ["--help"],
    ],
)
def test_else_nothing_is_added(run, arguments):
    assert run("fit", ".", *arguments) == []


def test_the_folder_of_the_project_may_be_another(run, tmp_path, monkeypatch):
    (tmp_path / "else").mkdir()
    monkeypatch.chdir(tmp_path / "else")
    assert run("fit", "..", "--vars.data", "assets/news") == []
    assert run("fit", "..", "--vars.data", "assets") == ["--vars.dataset", "assets"]
    assert run("fit", ".", "--vars.dta", "assets") == []  # there is no project


@pytest.mark.parametrize(
    "option, told",
    [
        (
            ["--vars.dta", "my_data"],
            "'dta', as in --vars.dta (do you mean --vars.data?)",
        ),
        (["--vars.dta=my_data"], "'dta', as in --vars.dta (do you"),
        (["--vars.qqq"], "'qqq', as in --vars.qqq; it has dataset, data, shots"),
        (["--vars.shots", "3", "--vars.Data", "x"], "'Data'"),
        (["--data", "my_data"], "there is no --data: write --vars.data"),
        (["--shots=3"], "there is no --shots: write --vars.shots"),
        (["-vars.data", "x"], "there is no -vars.data: write --vars.data"),
        (["--var.data", "x"], "there is no --var.data: write --vars.data"),
    ],
)
def test_a_variable_that_there_is_not_is_refused(run, option, told, capsys):
    with pytest.raises(DataError) as caught:
        run("fit", ".", *option)
    assert told in str(caught.value)
    with pytest.raises(SystemExit) as ended:
        check_project_run(["spacy", "project", "run", "fit", ".", *option])
    assert ended.value.code == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert told in line


def test_the_folder_of_the_project_comes_before_variables(run):
    """spaCy takes the first variable for it."""
    with pytest.raises(DataError, match=r"run fit \. --vars\.data \.\.\."):
        run("fit", "--vars.data", "my_data")


def test_a_file_in_place_of_the_folder_of_data_is_told(run, tmp_path):
    (tmp_path / "marked.jsonl").write_text("{}")
    told = r"marked\.jsonl is a file: put it into a folder of its own, as train\.jsonl"
    with pytest.raises(DataError, match=told):
        run("fit", ".", "--vars.data", "marked.jsonl")


def test_other_commands_and_projects_are_left_alone(run, tmp_path):
    before = list(sys.argv)
    for words in (["entlm", "convert"], ["project", "assets"], ["train"], []):
        assert project_arguments(["spacy", *words, "--vars.dta", "x"]) == []
    (tmp_path / "project.yml").write_text(PROJECT.replace("entlm", "train"))
    assert run("fit", "--vars.dta", "x") == []
    (tmp_path / "project.yml").write_text("commands: 7")
    assert run("fit", "--vars.dta", "x") == []
    assert sys.argv == before
