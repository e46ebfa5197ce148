"""The command `classes`: how names are read, and which classes would be confused."""

import json
from pathlib import Path

import pytest
import spacy
import torch

import spacy_entlm

from ..commands import entlm


@pytest.fixture
def classes(knowing, tmp_path, monkeypatch):
    """Runs the command in a folder of its own, with a backbone that reads names."""
    monkeypatch.chdir(tmp_path)

    def classes(*args, options=("--backbone", str(knowing)), code=0):
        result = entlm("classes", *args, *options)
        assert result.exit_code == code, result.output
        return (result.stderr if code else result.output).splitlines()

    return classes


def test_it_is_told_how_names_were_read_and_what_they_are_near_to(classes, blank_nlp):
    lines = classes("PER,cities,person-artist", "--n", 3)
    told = lines[:6:2]
    assert told == [
        "PER: person (a short form)",
        "cities: city (a plural)",
        "person-artist: artist (its finest part)",
    ]
    for line in lines[1:6:2]:
        assert line.startswith("  near to: ")
        words = line.removeprefix("  near to: ").split(", ")
        assert len(words) == len({*words}) == 3
        assert not any(word.startswith("##") for word in words)


def test_the_packages_own_backbone_is_the_default(classes):
    lines = classes("politician,person,ship", options=())
    near = dict(zip(lines[0:6:2], lines[1:6:2]))
    assert "political" in near["politician: politician (as it is written)"]
    assert "ship" in near["ship: ship (as it is written)"]
    (pair,) = (line for line in lines if "are near to each other" in line)
    assert pair.startswith("politician and person are near to each other (cosine 0.")
    assert "what sets them apart, or examples" in lines[-1]


def test_classes_of_which_none_is_near_to_another_are_told_so(classes):
    lines = classes("person,river,disease", options=())
    assert lines[-1].startswith("No class is so near to another")


def test_names_that_begin_alike_or_say_nothing_are_told_in_one_line_each(classes):
    lines = classes("PER,person,type_7")
    assert sum("PER and person begin alike, by person" in line for line in lines) == 1
    (told,) = (line for line in lines if "says nothing" in line)
    assert told.startswith("The name 'type_7' says nothing of what is meant: give it")


def test_words_and_descriptions_of_a_file_are_shown(classes):
    text = "someone who is known by a name"
    Path("c.json").write_text(json.dumps({"C1": "VEHICLES", "PER": text, "C2": text}))
    lines = classes("c.json")
    assert lines[:6:2] == [
        "C1: vehicle (given)",
        f"PER: person | {text} (given)",
        f"C2: {text} (given)",
    ]
    assert not any("says nothing" in line for line in lines)


def test_classes_of_a_pipeline_are_those_that_it_has(
    classes, knowing, blank_nlp, trained, tmp_path
):
    """Also where it was trained, or learned nothing yet."""
    blank_nlp(knowing, labels=["PER", "LOC"]).to_disk(tmp_path / "new")
    lines = classes("new", options=())
    assert lines[0] == "PER: person (a short form)" and lines[2].startswith("LOC")
    trained.to_disk(tmp_path / "trained")
    lines = classes("trained", options=())
    words = trained.get_pipe("entlm_ner").label_data["PER"]
    assert lines[0] == f"PER: {' | '.join(words)} (given)"


def test_several_components_are_told_apart(classes, knowing, blank_nlp, tmp_path):
    nlp = blank_nlp(knowing, labels=["PER"])
    config = {**nlp.config["components"]["entlm_ner"], "labels": ["LOC"]}
    config.pop("factory")
    nlp.add_pipe("entlm_ner", name="places", config=config)
    nlp.to_disk(tmp_path / "two")
    lines = classes("two", options=())
    assert [line for line in lines if line.startswith("Component")] == [
        *("Component entlm_ner:", "Component places:")
    ]


def test_rows_that_are_near_are_listed_up_to_a_number(classes, monkeypatch, trained):
    pipe = trained.get_pipe("entlm_ner")
    kept = [row.detach().clone() for row in pipe.network.rows]
    with torch.no_grad():
        for row in pipe.network.rows:
            row.copy_(kept[0])
    trained.to_disk("same")
    for row, before in zip(pipe.network.rows, kept):
        row.data.copy_(before)
    lines = classes("same", options=())
    assert sum("are near to each other (cosine 1.00)" in line for line in lines) == 3
    monkeypatch.setattr("spacy_entlm.cli.classes.MAX_PAIRS", 1)
    lines = classes("same", options=())
    assert sum("(cosine 1.00)" in line for line in lines) == 1
    assert "and 2 more pairs" in lines


@pytest.mark.parametrize(
    "args, message",
    [
        ([","], "no name of a class"),
        # As a command line in another encoding than UTF-8 gives it.
        (["wood,B\udcf6den"], "is no class of entities"),
        (["none.json"], "none.json: no such file"),
        (["empty"], "has no entlm_ner"),
        (["empty", "--backbone", "x"], "--backbone goes with names"),
        (["exported"], "was exported"),
        (["a", "--backbone", "none"], "is no folder of a masked LM that reads names"),
    ],
)
def test_what_cannot_be_shown_is_one_line(classes, args, message, trained):
    spacy.blank("xx").to_disk("empty")
    if args == ["exported"]:
        spacy_entlm.export(trained, "exported")
    (line,) = classes(*args, options=(), code=1)
    assert message in line
