"""Processes that are killed at any moment, and before each change of the disk: what was
there before is there, or all of what was to come, and the next run ends as an
undisturbed one, with nothing left behind.

More of both: --hypothesis-profile=thorough, as ../conftest.py tells.
"""

import os
import random
import shutil

import pytest
import spacy
import torch
from typer.testing import CliRunner

import spacy_entlm
from spacy_entlm.cli import entlm_cli
from spacy_entlm.files.file import write_file
from spacy_entlm.pretraining.run import Pretraining
from spacy_entlm.pretraining.settings import Settings
from spacy_entlm.teaching.run import Teaching
from spacy_entlm.teaching.settings import Settings as TeachSettings
from spacy_entlm.workbench import runs as workbench_runs
from spacy_entlm.workbench.adding import NewText
from spacy_entlm.workbench.changes import ACCEPT
from spacy_entlm.workbench.store import Store
from spacy_entlm.workbench.worker import main

from .conftest import names_in, read_files, read_model, steady

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork"),
    pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning"),
]
NAME = "entlm_ner"
TRAINING = "[Anna](PER) left [Rome](LOC) .\n[Mary](PER) met [John](PER) .\n"
# Kills at random moments, and crash points at most: in the thorough profile, and in the
# suite.
KILLS = {
    "save": ((50, 200), (2, 3)),
    "annotate": ((45, 100), (1, 2)),
    "search": ((50, 100), (1, 0)),
    "convert": ((30, 30), (1, 0)),
    "predict": ((40, 30), (1, 0)),
    "export": ((20, 20), (0, 0)),
    "train": ((15, 10), (0, 0)),
    "pretrain": ((30, 60), (1, 1)),
    "teach": ((30, 60), (1, 1)),
    "workbench": ((10, 15), (0, 0)),
}
SKIPPED = "one of the thorough profile: it takes long"
# A run of it takes half a minute.
N_COMPARE_KILLS = 7


def command(*arguments):
    def work():
        result = CliRunner().invoke(entlm_cli, [*map(str, arguments)])
        assert result.exit_code == 0, result.output

    return work


def old_files(*names):
    def prepare(folder):
        for name in names:
            (folder / name).write_text("old")

    return prepare


@pytest.fixture
def jobs(make_job, inputs, trained, annotated, tmp_path):
    """Makes a job by its name."""
    out = tmp_path / "outputs"

    def of_command(files, *arguments, read=read_files):
        return make_job(command(*arguments), old_files(*files), read)

    def save():
        pipe = trained.get_pipe(NAME)
        pipe.to_disk(tmp_path / "old")
        with torch.no_grad():
            for parameter in pipe.network.parameters():
                parameter.mul_(0.5)
        # Not the whole pipeline: spaCy writes its vocabulary in place.
        return make_job(
            lambda: pipe.to_disk(out / "out"),
            lambda folder: shutil.copytree(tmp_path / "old", folder / "out"),
            read_model,
        )

    def annotate():
        texts = inputs / "lexicon.tsv", inputs / "text.txt"
        path = out / "a.jsonl"
        return of_command(["a.jsonl"], "annotate", *texts, path, "--overwrite")

    def search():
        given = inputs / "marked.jsonl", out / "words.json"
        backbone = "--backbone", inputs / "bert"
        files = ["words.json", "words.report.json"]
        return of_command(files, "search", *given, *backbone, "--overwrite")

    def convert():
        (tmp_path / "data").mkdir()
        for name in ("train", "dev", "test"):
            shutil.copy(inputs / "marked.jsonl", tmp_path / "data" / f"{name}.jsonl")
        line = "convert", tmp_path / "data", out / "out", "--overwrite"
        return of_command([], *line, read=read_model)

    def predict():
        nlp = spacy.load(inputs / "pipeline")
        spacy_entlm.export(nlp, tmp_path / "engine")
        line = "predict", tmp_path / "engine", inputs / "plain.txt", out / "a.jsonl"
        return of_command(
            ["a.jsonl"], *line, "--batch-size", 8, "--resume", "--overwrite"
        )

    def export():
        line = "export", inputs / "pipeline", out / "out", "--overwrite"
        line = *line, "--format", "int8"
        return of_command([], *line, read=read_model)

    def train():
        (tmp_path / "train.txt").write_text(TRAINING)
        command("convert", tmp_path / "train.txt", tmp_path / "train.spacy")()
        line = "adapt", inputs / "pipeline", inputs / "text.txt", out / "out"
        more = "--examples", tmp_path / "train.spacy", "--recipe", "mean"
        return of_command([], *line, *more, "--overwrite", read=read_model)

    def pretrain():
        settings = Settings(
            **{"steps": 3, "batch_size": 4, "length": 16, "held_out": 0.2},
            **{"precision": "float32", "device": "cpu", "checkpoint_minutes": 0.0},
        )
        text, backbone = [inputs / "plain.txt"], str(inputs / "bert")

        def work():
            run = Pretraining(text, out / "out", backbone, settings, lambda line: None)
            run.run(resume=True, overwrite=True)

        return make_job(work, read=read_model)

    def teach():
        settings = TeachSettings(
            **{"steps": 3, "lines": 4, "texts": 2, "length": 16, "held_out": 0.2},
            **{"device": "cpu", "checkpoint_minutes": 0.0},
        )
        lines, text = [inputs / "kinds.jsonl"], [inputs / "plain.txt"]

        def work():
            given = lines, out / "out", str(inputs / "bert"), text, settings
            Teaching(*given, lambda line: None).run(resume=True, overwrite=True)

        return make_job(work, read=read_model)

    def workbench():
        return workbench_job(make_job, inputs, annotated, out)

    return lambda name: {
        **{"save": save, "annotate": annotate, "search": search, "convert": convert},
        **{"predict": predict, "export": export, "train": train},
        **{"pretrain": pretrain, "teach": teach, "workbench": workbench},
    }[name]()


def workbench_job(make_job, inputs, annotated, folder):
    """A training of a workbench; marks of a person are there before and after."""
    nlp = spacy.blank("xx")

    def prepare(folder):
        store = Store(folder / workbench_runs.FILE)
        for label in ("PER", "LOC", "ORG"):
            store.add_class(label, given=True)
        store.setting("lang", "xx")
        store.setting("backbone", str(inputs / "bert"))
        numbers = {"PER": 1, "LOC": 2, "ORG": 3}
        docs = [nlp.make_doc(text) for text, _ in annotated]
        words = [[(t.text, bool(t.whitespace_)) for t in doc] for doc in docs]
        store.add_texts([NewText(one, is_test=False) for one in words])
        for i, (doc, (_, gold)) in enumerate(zip(docs[:8], annotated), 1):
            spans = [doc.char_span(*place) for place in gold["entities"]]
            marks = [[s.start, s.end, numbers[s.label_]] for s in spans]
            store.answer(i, ACCEPT, marks, store.text(i)["version"])

    def work():
        runs = workbench_runs.Runs(folder)
        with pytest.MonkeyPatch.context() as patch:
            # This process does the work.
            patch.setattr(workbench_runs.subprocess, "Popen", lambda *_, **__: None)
            number = runs.begin(workbench_runs.TRAIN)
        main(folder, number)

    def read(folder):
        answers = Store(folder / workbench_runs.FILE).answered()
        keys = ("id", "answer", "marks")
        found = {"answers": [{key: x[key] for key in keys} for x in answers]}
        if not (folder / workbench_runs.MODEL).is_dir():
            return found
        (folder / "out").symlink_to(folder / workbench_runs.MODEL)
        try:
            return {**found, **read_model(folder)}
        finally:
            (folder / "out").unlink()

    return make_job(work, prepare, read)


@pytest.mark.parametrize("name", KILLS)
def test_killed_at_any_moment(jobs, name, tried, record_property):
    wanted = tried(KILLS[name][1][0], KILLS[name][0][0])
    if not wanted:
        pytest.skip(SKIPPED)
    job = jobs(name)
    moments, seconds = random.Random(0), job.seconds
    for _ in range(3 * wanted):
        job.reset()
        # The first run may have had more to load than others have.
        at = moments.uniform(0, seconds)
        if job.run(at):
            job.check()
        else:
            seconds = min(seconds, at)
        if job.n_kills == wanted:
            break
    assert job.n_kills
    record_property("kills", job.n_kills)


@pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed")
@pytest.mark.parametrize("name", KILLS)
def test_killed_before_any_change_of_the_disk(jobs, name, tried, record_property):
    most = tried(KILLS[name][1][1], KILLS[name][0][1])
    if not most:
        pytest.skip(SKIPPED)
    job = jobs(name)
    points = job.crash_points()
    assert points
    step = max(1, -(-len(points) // most))
    for call, number in points[random.Random(1).randrange(step) :: step]:
        job.reset()
        kill = f"inject={call}:signal=SIGKILL:when={number}"
        _, was_killed, _ = job.traced("-e", f"trace={call}", "-e", kill)
        if was_killed:
            job.check()
    assert job.n_kills
    record_property("crash points", job.n_kills)
    record_property("places of crash points", len(points))


def test_killed_comparison_goes_on(
    make_job, inputs, tmp_path, bert, tried, record_property
):
    """Trainings run in processes that the killed one started. Nothing is reset: each
    run goes on where the one before was killed, until all is there."""
    wanted = tried(0, N_COMPARE_KILLS)
    if not wanted:
        pytest.skip(SKIPPED)
    folder = tmp_path / "data"
    (folder / "5shot").mkdir(parents=True)
    for name in ("test", "5shot/1", "5shot/2", "5shot/3"):
        shutil.copy(inputs / "marked.jsonl", folder / f"{name}.jsonl")
    config = tmp_path / "c.yml"
    config.write_text(
        f"title: Tiny\ndatasets: {{tiny: {{data: '{folder}', lang: xx}}}}\n"
        f"backbones: {{bert: {{path: '{bert}', learn_rate: 0.01}}}}\n"
        "splits: [1, 2, 3]\nmethods: [entlm]\nsettings: {epochs: 1}\n"
    )

    def read(folder):
        """Whole records, by their keys."""
        path = folder / "out" / "records.jsonl"
        data = path.read_bytes() if path.is_file() else b""
        records = [steady(line) for line in data.split(b"\n")[:-1]]
        return {record["key"]: record for record in records}

    work = command("compare", config, tmp_path / "outputs" / "out")
    job = make_job(work, read=read)
    moments, n_kills, seen = random.Random(0), 0, 0
    while n_kills < wanted:
        if seen in (0, len(job.new)):
            job.reset()
        n_kills += job.run(moments.uniform(0, job.seconds))
        found = read(job.folder)
        assert len(found) >= seen or seen == len(job.new)
        assert all(job.new[key] == record for key, record in found.items())
        seen = len(found)
    job.check()
    record_property("kills", n_kills)


def test_marks_that_were_confirmed_outlive_a_kill(
    make_job, inputs, annotated, tmp_path, tried, record_property
):
    """A workbench that is killed between, and amid, clicks."""
    n_kills = tried(2, 20)
    job = workbench_job(make_job, inputs, annotated, tmp_path / "outputs")
    path, confirmed = job.folder / workbench_runs.FILE, tmp_path / "confirmed.txt"

    def click():
        store = Store(path)
        with confirmed.open("a") as file_:
            for i in range(10**6):
                version = store.text(9)["version"]
                store.answer(9, ACCEPT, [[0, 1, 1 + i % 3]], version)
                file_.write(f"{1 + i % 3}\n")
                file_.flush()

    job.work = click
    moments = random.Random(0)
    for _ in range(n_kills):
        job.reset()
        confirmed.write_text("")
        assert job.run(moments.uniform(0.1, 0.5))
        store = Store(path)
        *_, last = confirmed.read_text().split() or ["0"]
        (answer,) = [x for x in store.answered() if x["id"] == 9] or [{"marks": []}]
        label = answer["marks"][0][2] if answer["marks"] else 0
        assert label in (int(last), 1 + int(last) % 3)  # or the one that was on its way
        assert len(store.answered()) in (8, 9)
    record_property("kills", n_kills)


def test_file_that_another_process_writes_is_left_alone(tmp_path):
    path = tmp_path / "a.txt"
    (tmp_path / ".a.0123abcd.txt").write_text("of a killed one")
    (tmp_path / ".a.mine.txt").write_text("of somebody")
    with write_file(path) as first:
        first.write_text("first")
        with write_file(path) as second:
            second.write_text("second")
        assert path.read_text() == "second"
    assert path.read_text() == "first"
    assert names_in(tmp_path) == [".a.mine.txt", "a.txt"]
