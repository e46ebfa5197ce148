"""The command `teach`."""

import json
import lzma
from pathlib import Path

import pytest

from spacy_entlm.backbones.names import resolve_backbone
from spacy_entlm.teaching import run
from spacy_entlm.teaching.loop import Loop

from ..commands import entlm, error_of

SMALL = ["--steps", 2, "--lines-per-step", 2, "--texts-per-step", 2, "--device", "cpu"]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch, annotated):
    """A folder that holds marked lines and texts."""
    monkeypatch.chdir(tmp_path)
    kinds = {"PER": ["writer", "person"], "LOC": ["city"], "ORG": ["company"]}
    lines = [
        json.dumps(
            {
                "text": text,
                "lang": "en",
                "spans": [
                    {"start": start, "end": end, "kinds": kinds[label]}
                    for start, end, label in annotation["entities"]
                ],
            }
        )
        for text, annotation in annotated
    ]
    Path("marked.jsonl").write_text("\n".join(lines))
    with lzma.open("more.jsonl.xz", "wt") as file:
        file.write("\n".join(lines))
    Path("text.txt").write_text("\n".join(text for text, _ in annotated))
    Path("sets.json").write_text('[{"labels": {"who": ["@PER"], "where": ["city"]}}]')
    Path("types.tsv").write_text("person\tPER\n")
    Path("words.tsv").write_text("city\ten\ttown\n")


@pytest.fixture
def teach(bert):
    """Runs the command with a tiny backbone: (*arguments) -> result."""

    def teach(*args, backbone=bert):
        options = [] if backbone is None else ["--backbone", backbone]
        return entlm("teach", *args, *options)

    return teach


def report(folder="out"):
    return json.loads((Path(folder) / "pretrain.json").read_text(encoding="utf8"))


@pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")
def test_two_files_and_every_option(teach):
    result = teach(
        *["marked.jsonl", "more.jsonl.xz", "out", *SMALL, "--minutes", 60],
        *["--text", "text.txt", "--text", "text.txt", "--label-sets", "sets.json"],
        *["--types", "types.tsv", "--wordings", "words.tsv", "--learn-rate", 0.001],
        *["--dropout", 0.2, "--held-out", 0.3, "--no-half", "--seed", 3],
        *["--precision", "bfloat16", "--workers", 1, "--start-share", 0.5],
    )
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert lines[0].startswith("Step 2: loss ")
    assert lines[-1] == "Wrote out"
    found = report()
    assert [file["name"] for file in found["line_files"]] == [
        *("marked.jsonl", "more.jsonl.xz")
    ]
    assert len(found["text"]) == 2
    assert found["settings"] == {
        **{"steps": 2, "minutes": 60.0, "lines": 2, "texts": 2, "length": 128},
        **{
            "learn_rate": 0.001,
            "dropout": 0.2,
            "start_share": 0.5,
            "mask_share": 0.2,
            "text_weight": 0.5,
        },
        **{"half": False, "held_out": 0.3, "seed": 3, "precision": "bfloat16"},
        **{"device": "cpu", "workers": 1, "checkpoint_minutes": 5.0},
    }


def test_classes_start_from_names_with_what_was_taught(teach, blank_nlp):
    assert teach("marked.jsonl", "out", *SMALL).exit_code == 0
    nlp = blank_nlp("out", labels=["city"])
    assert nlp("Anna left Rome .").has_annotation("ENT_IOB")
    assert nlp.get_pipe("entlm_ner").label_data == {"city": ["city"]}


def test_measuring_prints_the_figures(teach):
    result = teach("marked.jsonl", "out", "--steps", 0, "--held-out", 0.4)
    assert result.exit_code == 0, result.output
    head, f1, loss, wrote = result.stdout.splitlines()
    assert head == "On held-out lines, asked for their own kinds and others, at words:"
    assert f1.split()[0] == "F1" and loss.split()[0] == "loss"
    assert wrote == "Wrote out"


def test_second_run_is_refused_replaced_or_has_nothing_to_do(teach):
    assert teach("marked.jsonl", "out", *SMALL).exit_code == 0
    refused = teach("marked.jsonl", "out", *SMALL)
    assert refused.exit_code == 1
    assert "is not empty: choose another folder" in refused.stderr
    again = teach("marked.jsonl", "out", *SMALL, "--resume")
    assert "out is finished" in again.stdout
    more = teach("marked.jsonl", "out", *SMALL, "--steps", 3, "--resume")
    assert (more.exit_code, "steps 2 -> 3" in more.stderr) == (1, True)
    assert teach("marked.jsonl", "out", *SMALL, "--overwrite").exit_code == 0


def test_shipped_backbone_is_the_default_and_goes_on_from_its_map(
    teach, naming, monkeypatch
):
    """A small one stands in for it here."""
    asked, begun = [], run._begun
    shipped = resolve_backbone("entlm-base")

    def begin(source, settings):
        asked.append(source)
        return begun(str(naming) if source == shipped else source, settings)

    monkeypatch.setattr(run, "_begun", begin)
    result = teach("marked.jsonl", "out", *SMALL, backbone=None)
    assert result.exit_code == 0, result.output
    assert asked == [shipped]
    assert report()["backbone"] == "entlm-base"


@pytest.mark.parametrize(
    "args, message",
    [
        (["none.jsonl", "out"], "none.jsonl: no such file"),
        (["bad.jsonl", "out"], "bad.jsonl, line 2: no marked line (KeyError: 'label'"),
        (["broken.jsonl", "out"], "broken.jsonl, line 1: broken JSON"),
        (["plain.jsonl", "out"], "The lines have no marks: there is nothing to learn"),
        (["long.jsonl", "out"], "No line is short enough"),
        (["marked.jsonl", "marked.jsonl"], "is a file: name a folder"),
        (["marked.jsonl", "out", "--text", "none.txt"], "none.txt: no such file"),
        (["marked.jsonl", "out", "--label-sets", "no.json"], "no.json: no such file"),
        (["marked.jsonl", "out", "--label-sets", "bad.json"], "holds no sets of label"),
        (
            ["marked.jsonl", "out", "--wordings", "types.tsv"],
            "types.tsv, line 1: write",
        ),
        (["marked.jsonl", "out", "--types", "types.tsv"], "--types types.tsv: give "),
        (
            ["marked.jsonl", "out", "--label-sets", "sets.json"],
            "no kind has the type '@PER': give --types",
        ),
        (["marked.jsonl", "out", "--precision", "half"], "--precision half: "),
        (["marked.jsonl", "out", "--lines-per-step", "0"], "--lines-per-step 0: "),
        (["marked.jsonl", "out", "--texts-per-step", "-1"], "--texts-per-step -1: "),
        (["marked.jsonl", "out", "--learn-rate", "2"], "--learn-rate 2.0: "),
        (["marked.jsonl", "out", "--held-out", "1"], "lines are held out: give more"),
        (["marked.jsonl", "out", "--device", "abacus"], "--device 'abacus' cannot be"),
    ],
)
def test_bad_input_is_one_line(teach, args, message):
    entries = {"text": "Anna"}, {"text": "Bo", "spans": [{"start": 0, "end": 9}]}
    Path("bad.jsonl").write_text("\n".join(map(json.dumps, entries)))
    Path("broken.jsonl").write_text("{")
    Path("plain.jsonl").write_text('{"text": "It rains"}')
    long = {"text": "red " * 99, "labels": ["city"]}
    Path("long.jsonl").write_text(json.dumps(long))
    Path("bad.json").write_text('[{"labels": {"who": ["@NONE"]}}]')
    before = sorted(Path().iterdir())
    assert message in error_of(teach(*args))
    assert sorted(Path().iterdir()) == before


@pytest.mark.parametrize(
    "backbone, message",
    [
        ("nobody/has-this-model", "nobody/has-this-model"),
        ("empty", "is no model folder"),
        ("entlm-mini", "'entlm-base' has taken its place"),
    ],
)
def test_backbone_that_cannot_be_used_is_one_line(teach, backbone, message):
    Path("empty").mkdir()
    assert message in error_of(teach("marked.jsonl", "out", *SMALL, backbone=backbone))
    assert not list(Path().glob("out*"))


@pytest.mark.parametrize(
    "step, told",
    [
        (1, "with --resume goes on at the last checkpoint"),
        (0, "nothing was learned yet"),
    ],
)
def test_a_stopped_run_tells_how_to_go_on(teach, monkeypatch, step, told):
    """Stopped as it learns, and as it measures before."""

    def stop(*args):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Loop, "_update" if step else "measure", stop)
        result = teach("marked.jsonl", "out", *SMALL)
    assert (result.exit_code, told in result.stderr) == (130, True)
    again = teach("marked.jsonl", "out", *SMALL, *["--resume"] * step)
    assert again.exit_code == 0, again.output
