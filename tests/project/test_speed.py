"""The benchmark of speed, its methods in threads of this process."""

import json
import multiprocessing
import os
import threading
from multiprocessing.connection import Connection

import pytest
import spacy
import typer.testing


@pytest.fixture(scope="module")
def scripts(import_script):
    """The modules of the benchmark."""
    names = ("speed", "speed_methods", "speed_table", "speed_texts")
    return {name: import_script(name) for name in names}


class Threads:
    """Stands for a context of multiprocessing: tiny models need no processes."""

    Pipe = staticmethod(multiprocessing.Pipe)

    @staticmethod
    def Process(target, args, daemon):
        # The caller closes its end, which in a process would be a copy.
        end = Connection(os.dup(args[0].fileno()))
        thread = threading.Thread(target=target, args=(end, *args[1:]), daemon=daemon)
        thread.exitcode = 0
        return thread


@pytest.fixture
def run(scripts, monkeypatch, tmp_path, trained_folder, texts):
    """Runs the command on a text file; gives its JSON and what it printed."""
    speed = scripts["speed"]
    monkeypatch.setattr(speed, "_context", lambda: Threads)
    monkeypatch.setattr(speed, "_random_backbone", lambda like, _: like)
    lines = [json.dumps({"text": text.split()}) for text in texts]
    (tmp_path / "test.jsonl").write_text("\n".join(lines), encoding="utf8")
    app = typer.Typer()
    app.command()(speed.main)
    out = tmp_path / "out" / "speed.json"

    def invoke(*options, data="test.jsonl"):
        line = [str(out), "--model", str(trained_folder), "--threads", "1"]
        line += ["--texts", f"short={tmp_path / data}", *options]
        result = typer.testing.CliRunner().invoke(app, line, catch_exceptions=False)
        written = json.loads(out.read_text()) if out.is_file() else None
        return result, written

    return invoke


def test_all_methods_are_measured_and_shown(run, scripts):
    result, written = run("--rounds", "2", "--peer-words", "20", "--no-random")
    assert result.exit_code == 0
    part = written["parts"]["short, trained weights"]
    assert list(part["methods"]) == scripts["speed"].METHODS
    for method, figures in part["methods"].items():
        assert "error" not in figures, (method, figures.get("error"))
        assert len(figures["seconds"]) == 2
        assert figures["words_per_second"] > 0
        assert figures["peak_mib"] > 0
    assert part["methods"]["hf"]["words"] < part["methods"]["entlm"]["words"]
    assert "EntLM / HF pipeline (at least 1.45)" in result.stdout


@pytest.mark.parametrize("method", ["entlm", "entlm_bfloat16", "tagger"])
def test_random_weights_find_about_as_much_as_news_has(scripts, bert, texts, method):
    methods = scripts["speed_methods"]
    found = []

    class Pipeline:
        """Notes what is found."""

        def __init__(self, nlp):
            self.nlp = nlp

        def pipe(self, texts, **settings):
            for doc in self.nlp.pipe(texts, **settings):
                found.append(doc)
                yield doc

    made = methods._pipe_all
    job = methods.Job(method, texts, str(bert), "", threads=1, gpu=False)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(methods, "_pipe_all", lambda nlp: made(Pipeline(nlp)))
        methods.BUILDERS[method.split("_")[0]](job)(texts)()
    shares = [token.ent_type != 0 for doc in found for token in doc]
    assert 0.05 < sum(shares) / len(shares) < 0.3


def test_labels_outscore_what_the_name_of_the_method_says(scripts, trained_folder):
    methods = scripts["speed_methods"]
    kinds = {"entlm": "own", "entlm_bfloat16": "own", "entlm_vocabulary": "vocabulary"}
    for method, kind in kinds.items():
        job = methods.Job(method, [], "", str(trained_folder), threads=1, gpu=False)
        assert methods._load_entlm(job)[1].network.rival_kind == kind


def test_the_encoder_reads_the_windows_of_the_pipeline(scripts, trained_folder, texts):
    nlp = spacy.load(trained_folder)
    pipe = nlp.get_pipe("entlm_ner")
    found = scripts["speed_methods"]._window_ids(nlp, pipe, texts)
    prefix, suffix = pipe.network.masked_lm.special_pieces()
    assert len(found) >= len(texts)
    for ids in found:
        assert ids.tolist()[: len(prefix)] == prefix
        assert ids.tolist()[-len(suffix) :] == suffix


def test_what_was_measured_is_not_measured_again(run):
    options = ("--rounds", "1", "--methods", "encoder", "--no-random")
    _, first = run(*options)
    result, second = run(*options)
    assert second == first
    assert "short, trained weights: measured before" in result.stdout
    _, other = run(*options, "--words", "10")
    assert other["parts"]["short, trained weights"]["words"] < 20
    _, fresh = run(*options, "--fresh")
    assert fresh != first


def test_a_method_that_fails_is_said_and_the_others_go_on(run, scripts, monkeypatch):
    def fail(job):
        raise RuntimeError("no such thing")

    monkeypatch.setitem(scripts["speed_methods"].BUILDERS, "hf", fail)
    options = ("--rounds", "1", "--methods", "entlm,hf", "--no-random")
    result, written = run(*options)
    methods = written["parts"]["short, trained weights"]["methods"]
    assert "no such thing" in methods["hf"]["error"]
    assert "error" not in methods["entlm"], methods["entlm"]["error"]
    assert "| failed |" in result.stdout


@pytest.mark.parametrize(
    "options, message",
    [
        (("--methods", "entlm,magic"), "There is no method ['magic']"),
        (("--model", "nowhere"), "nowhere is no trained pipeline"),
        (("--texts", "nameless"), "A text is NAME=FILE"),
    ],
)
def test_wrong_settings_are_one_clear_line(run, options, message):
    result, written = run(*options)
    assert result.exit_code == 1
    assert message in result.output
    assert written is None


def test_parts_of_texts(scripts, tmp_path):
    module = scripts["speed_texts"]
    texts = [f"a{i} b{i}" for i in range(10)]
    assert module.some_of(texts, 0) == texts
    assert module.some_of(texts, 8) == ["a0 b0", "a2 b2", "a5 b5", "a7 b7"]
    assert module.some_of(["a b c d"], 3) == ["a b c"]
    path = tmp_path / "test.jsonl"
    lines = [json.dumps({"text": text.split()}) for text in texts]
    path.write_text("\n".join(lines), encoding="utf8")
    assert module.Source.parse(f"x={path}:2").read() == texts[:2]
    assert module.Source.parse(f"x={path}:5w").read() == ["a0 b0 a1 b1 a2"]


def test_ratio_below_what_is_wanted_is_marked(scripts):
    speeds = {"entlm": 140, "hf": 100, "encoder": 150}
    methods = {
        name: {"words": 9, "words_per_second": speed, "peak_mib": 1.0}
        for name, speed in speeds.items()
    }
    part = {"methods": methods, "backbone": "bert", "rounds": 5}
    part |= dict.fromkeys(("documents", "words", "all_documents", "all_words"), 9)
    machine = {"processor": "P", "flags": [], "threads": 2, "gpu": "", "versions": {}}
    table = scripts["speed_table"].markdown({"machine": machine, "parts": {"t": part}})
    assert "| t | **1.40** | 0.93 |" in table
    assert "| bare encoder, no padding | 9 | 150 | 1.50 | 1 |" in table
