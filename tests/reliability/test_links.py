"""Links and pipes in the folder of a saved component: reading may follow links, and
writing leaves the folder never."""

import json
import os
import shutil

import pytest
import spacy

from spacy_entlm.files.folder import LIST_FILE

NAME = "entlm_ner"
ROWS, COMPACT = "label_rows.safetensors", "compact.safetensors"
CONFIG = "config.json"


@pytest.mark.parametrize(
    "file", ["decoder", *(f"model/{x}" for x in (ROWS, COMPACT, CONFIG))]
)
def test_pipe_in_place_of_a_file_is_not_waited_for(folder, refused, file):
    (folder / file).unlink()
    os.mkfifo(folder / file)
    refused("no regular file|Cannot load|no model folder")


@pytest.mark.parametrize("file", ["decoder", f"model/{COMPACT}", f"model/{CONFIG}"])
def test_links_out_of_the_folder_are_read(folder, tmp_path, file):
    """As in the snapshot of a hub's cache, or of a tool that keeps data apart."""
    target = shutil.move(folder / file, tmp_path / "outside")
    (folder / file).symlink_to(target)
    assert spacy.load(folder.parent)("Anna left Rome .").ents


def test_link_that_leads_to_itself_is_refused(model, refused):
    (model / "tokenizer.json").unlink()
    (model / "vocab.txt").unlink(missing_ok=True)
    (model / "tokenizer.json").symlink_to("tokenizer.json")
    refused("tokenizer|link")


def test_links_within_the_folder_and_to_it_are_followed(model, folder, tmp_path):
    (model / COMPACT).rename(folder / "weights")
    (model / COMPACT).symlink_to("../weights")
    (tmp_path / "link").symlink_to(folder.parent)
    assert spacy.load(tmp_path / "link")("Anna left Rome .").ents


def test_loading_moves_no_file_out_of_the_folder(folder, refused, tmp_path):
    """What looks like the rest of a save is not brought to where a link leads."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (folder / ".complete" / "link").mkdir(parents=True)
    (folder / ".complete" / "link" / "planted").write_text("evil")
    (folder / "link").symlink_to(outside)
    refused("is a link out of the folder")
    assert not list(outside.iterdir())


def test_loading_moves_no_file_into_the_folder(folder, refused, tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "thesis").write_text("mine")
    (folder / ".complete").symlink_to(outside)
    refused("is a link out of the folder")
    assert (outside / "thesis").read_text() == "mine"


def test_saving_touches_nothing_outside_of_the_folder(trained, folder, tmp_path):
    outside = tmp_path / "outside"
    shutil.move(folder / "model", outside)
    (outside / "thesis").write_text("mine")
    (folder / "model").symlink_to(outside)
    names = json.loads((folder / LIST_FILE).read_text())
    (folder / LIST_FILE).write_text(json.dumps([*names, "model/thesis"]))
    before = {path: path.read_bytes() for path in outside.iterdir()}
    with pytest.raises(ValueError, match="is a link out of the folder"):
        trained.get_pipe(NAME).to_disk(folder)
    assert {path: path.read_bytes() for path in outside.iterdir()} == before
