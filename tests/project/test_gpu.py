"""The script that measures on a GPU, without one."""

import json
import re

import pytest
import spacy
import typer.testing


@pytest.fixture(scope="module")
def script(import_script):
    return import_script("gpu")


@pytest.fixture
def data(make_examples, tmp_path):
    """The annotated sentences as a file."""
    lines = []
    for example in make_examples(spacy.blank("xx")):
        doc = example.reference
        tags = [f"{t.ent_iob_}-{t.ent_type_}" if t.ent_type_ else "O" for t in doc]
        lines.append(json.dumps({"text": [t.text for t in doc], "label": tags}))
    path = tmp_path / "gold.jsonl"
    path.write_text("\n".join(lines), encoding="utf8")
    return path


def invoke(script, *options):
    app = typer.Typer()
    app.command()(script.main)
    return typer.testing.CliRunner().invoke(app, [str(option) for option in options])


@pytest.mark.slow
def test_it_measures_everything_on_a_cpu(script, data, bert, tmp_path):
    out = tmp_path / "gpu.json"
    line = [out, "--test", data, "--train", data, "--backbone", bert]
    result = invoke(script, *line, "--device", "cpu", "--quick")
    assert result.exit_code == 0, result.output
    found = json.loads(out.read_text())
    assert found["machine"]["gpu"] == "" and found["quick"]
    for figures in found["training"].values():
        assert figures["seconds"] > 0 and figures["peak_mib"] > 0
    assert next(iter(found["labels"])) == "CPU float32"
    assert found["labels"]["device float32"]["other"] == 0
    assert set(found["speed"]) == {"float32", "bfloat16", "float16"}
    for figures in found["speed"].values():
        ratio = figures["component"] / figures["encoder"]
        assert figures["ratio"] == pytest.approx(ratio)
    for rows in found["profile"].values():
        times = [row[0] for row in rows]
        assert len(rows) > 5 and times == sorted(times, reverse=True)
    for _, _, name in found["profile"]["functions"]:
        assert re.fullmatch(r".+:\d+ .+", name)


def test_the_encoder_reads_the_batches_of_the_component(
    script, trained_folder, texts, monkeypatch
):
    nlp = spacy.load(trained_folder)
    network, shapes = nlp.get_pipe("entlm_ner").network, []
    hidden = network.masked_lm.hidden
    monkeypatch.setattr(
        network.masked_lm,
        "hidden",
        lambda ids, mask: shapes.append(tuple(ids.shape)) or hidden(ids, mask),
    )
    read = network.read
    monkeypatch.setattr(
        network,
        "read",
        lambda ids, *rest: shapes.append(tuple(ids.shape)) or read(ids, *rest),
    )
    docs = list(map(nlp.make_doc, texts))
    script._component(nlp, docs)()
    of_component = shapes[:]
    shapes.clear()
    script._encoder(nlp, docs, "float32")()
    assert shapes == of_component and shapes


@pytest.mark.parametrize(
    "options, message",
    [
        ([], "There is no GPU, or no cupy"),
        (["--device", "tpu"], "--device is cuda or cpu, not 'tpu'"),
    ],
)
def test_without_a_gpu_it_says_so(script, tmp_path, options, message):
    if script.torch.cuda.is_available():
        pytest.skip("there is one")
    line = [tmp_path / "gpu.json", "--test", "x.jsonl", "--train", "x.jsonl"]
    result = invoke(script, *line, *options)
    assert result.exit_code == 1 and message in result.output
    assert not (tmp_path / "gpu.json").exists()
