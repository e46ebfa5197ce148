"""Pictures of the page after two trainings on the project's own corpus, for a person to
look at; `WORKBENCH_PICTURES=DIR` keeps them, and the one of the docs, reduced."""

import os
import re
import shutil
from pathlib import Path

import pytest
import spacy

from spacy_entlm.corpus.readers import read_docs

pytest.importorskip(
    "playwright.sync_api", reason="no Playwright: pip install '.[browser]'"
)
from .test_browser import (  # noqa: F401
    CHROMIUM,
    Server,
    accept,
    browser,
    call,
    wait_until,
)

pytestmark = pytest.mark.slow
NEWS = Path(__file__).parents[2] / "project" / "assets" / "news"
N_FIRST, N_MORE, N_TEST = 20, 20, 50
SIZES = {"light": (1280, 720), "dark": (1280, 720), "phone": (390, 844)}


@pytest.fixture(scope="module")
def gold():
    """Marks by text, of the corpus's train part."""
    docs, _ = read_docs(NEWS / "train.txt", spacy.blank("en"))
    return {d.text: [(e.start, e.end, e.label_) for e in d.ents] for d in docs}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("pictures")


@pytest.fixture(scope="module")
def address(folder, gold):
    data = folder / "texts.txt"
    data.mkdir()
    for part, n in (("train", N_FIRST), ("test", N_TEST)):
        lines = (NEWS / f"{part}.txt").read_text("utf8").splitlines()[:n]
        (data / f"{part}.txt").write_text("\n".join(lines), "utf8")
    plain = list(gold)[N_FIRST : N_FIRST + 300]
    (data / "unlabeled.txt").write_text("\n".join(plain), "utf8")
    server = Server(folder)
    yield server.start()
    server.kill()
    if kept := os.environ.get("WORKBENCH_PICTURES"):
        for picture in folder.glob("*.png"):
            shutil.copy(picture, kept)


def train(page):
    page.get_by_role("button", name="Train").click()
    page.locator("#progress").wait_for(state="visible")
    page.locator("#progress").wait_for(state="hidden", timeout=900_000)
    # Between the training and what follows there may be a moment without either.
    wait_until(lambda: call(page, "GET", "state")["run"]["kind"] == "after")
    wait_until(lambda: call(page, "GET", "state")["run"]["state"] == "done")


def contrasts(page):
    """Of the letters of pre-marked words with what is behind them (WCAG 2)."""
    code = """words => words.map(word => [getComputedStyle(word).color,
        getComputedStyle(word).backgroundColor])"""

    def light(colour):
        whole = 255 if colour.startswith("rgb") else 1
        parts = [float(x) / whole for x in re.findall(r"[\d.]+", colour)[:3]]
        linear = (
            x / 12.92 if x < 0.04 else ((x + 0.055) / 1.055) ** 2.4 for x in parts
        )
        return sum(share * x for share, x in zip((0.2126, 0.7152, 0.0722), linear))

    for pair in page.locator(".word.guess").evaluate_all(code):
        low, high = sorted(map(light, pair))
        yield (high + 0.05) / (low + 0.05)


def test_pictures(browser, address, gold, folder):  # noqa: F811
    page = browser.new_page()
    page.goto(address)
    page.wait_for_selector(".word")
    train(page)
    numbers = {x["name"]: x["id"] for x in call(page, "GET", "state")["classes"]}
    for _ in range(N_MORE):
        text = call(page, "GET", "next")
        words = "".join(word + " " * blank for word, blank in text["words"])
        if words in gold:
            marks = [[*place, numbers[label]] for *place, label in gold[words]]
            accept(page, text["id"], marks)
    train(page)
    for name, (width, height) in SIZES.items():
        scheme = "dark" if name == "dark" else "light"
        page = browser.new_page(
            viewport={"width": width, "height": height}, color_scheme=scheme
        )
        page.goto(address)
        page.wait_for_selector(".guess")
        page.wait_for_selector("polyline")
        assert min(contrasts(page)) >= 3
        page.screenshot(path=folder / f"{name}.png", full_page=name == "phone")
        assert page.evaluate("document.documentElement.scrollWidth") <= width
    image = pytest.importorskip("PIL.Image")
    with image.open(folder / "light.png") as picture:
        reduced = picture.convert("RGB").quantize(64)
        reduced.save(folder / "workbench.png", optimize=True)
    assert (folder / "workbench.png").stat().st_size < 60_000
