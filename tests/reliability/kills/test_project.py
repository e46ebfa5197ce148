"""The whole project, killed again and again in the midst of its steps."""

import os
import random
import shutil
import signal
import subprocess
import sys
from zipfile import BadZipFile, ZipFile

import pytest
import spacy

from spacy_entlm.cli.init_project import project_files

from .conftest import contents, names_in, steady

N_KILLS = 7
# Of a step, so that each kill hits it or the next one.
SECONDS = (3.0, 14.0)
DATA = [
    "[Anna Smith](PER) lives in [Berlin](LOC) .",
    "[John](PER) works for [Acme Corp](ORG) in [Paris](LOC) .",
    "[Mary](PER) left [Rome](LOC) for [Berlin](LOC) .",
]


@pytest.fixture
def run_project(tmp_path, bert):
    """Runs the project in a folder; seconds: then all of its processes are killed.
    RETURNS: Whether they were."""
    (tmp_path / "temporary").mkdir()

    def run(folder, seconds=None):
        line = [sys.executable, "-m", "spacy", "project", "run", "train", "."]
        values = {"data": "mine", "dataset": "mine", "shots": "all", "backbone": bert}
        line += [x for key, v in values.items() for x in (f"--vars.{key}", str(v))]
        environment = {
            **os.environ,
            "TMPDIR": str(tmp_path / "temporary"),
            # What a wheel says of the time.
            "SOURCE_DATE_EPOCH": "1700000000",
        }
        with (tmp_path / "log.txt").open("wb") as log:
            process = subprocess.Popen(
                line,
                cwd=folder,
                env=environment,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
            try:
                process.wait(seconds)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        assert process.returncode in (0, -signal.SIGKILL), log_of(tmp_path)
        return process.returncode != 0

    return run


def log_of(folder):
    return (folder / "log.txt").read_text()[-2000:]


def make_project(folder):
    for name, source in project_files().items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, folder / name)
    (folder / "mine").mkdir()
    for name in ("train", "test"):
        (folder / "mine" / f"{name}.txt").write_text("\n".join(DATA) + "\n")


def outputs(folder):
    """What the steps wrote, without what passes; of a wheel its files."""
    found = {}
    for name, content in contents(folder / "build").items():
        found[name] = steady(content)
        if name.endswith(".whl"):
            with ZipFile(folder / "build" / name) as wheel:
                files = {n: steady(wheel.read(n)) for n in wheel.namelist()}
            # Lists hashes of what passes.
            found[name] = {n: x for n, x in files.items() if not n.endswith("RECORD")}
    return found


def check_whole(folder):
    """Of our own commands, each file that has its name is whole: spaCy's are not."""
    for path in (folder / "build").rglob("*"):
        if path.name.startswith(".") or any(
            part.startswith(".") for part in path.relative_to(folder).parts
        ):
            continue
        if path.suffix == ".whl":
            try:
                assert ZipFile(path).testzip() is None
            except BadZipFile as error:
                raise AssertionError(f"{path} is not whole") from error
        elif path.name in ("label_words.json", "metrics.json", "data.json"):
            assert not isinstance(steady(path.read_bytes()), bytes), path


def test_killed_project_ends_as_an_undisturbed_one(
    run_project, tmp_path, tried, record_property
):
    if not (wanted := tried(0, N_KILLS)):
        pytest.skip("one of the thorough profile: it takes minutes")
    alone, killed = tmp_path / "alone" / "project", tmp_path / "killed" / "project"
    make_project(alone)
    assert not run_project(alone)
    expected = outputs(alone)
    make_project(killed)
    moments, n_kills = random.Random(0), 0
    while n_kills < wanted:
        if run_project(killed, moments.uniform(*SECONDS)):
            n_kills += 1
            check_whole(killed)
        else:  # all is done: once more, from the beginning
            assert names_in(killed / "build") == names_in(alone / "build")
            shutil.rmtree(killed / "build")
            (killed / "project.lock").unlink()
    assert not run_project(killed)
    now = outputs(killed)
    assert names_in(killed / "build") == names_in(alone / "build")
    assert [name for name in now if now[name] != expected[name]] == []
    assert os.listdir(tmp_path / "temporary") == []
    assert spacy.load(killed / "build/mine/allshot/1/examples/model-last").pipe_names
    record_property("kills", n_kills)
