"""The page in a real browser by keyboard alone, by a finger, and what it takes away."""

import json
import re

import pytest
import spacy

pytest.importorskip(
    "playwright.sync_api", reason="no Playwright: pip install '.[browser]'"
)
pytest.importorskip("fastapi", reason="needs the extra `workbench`")
from spacy_entlm.corpus.forms.out import WRITERS
from spacy_entlm.corpus.readers import read_docs
from spacy_entlm.workbench.changes import ACCEPT
from spacy_entlm.workbench.database import connect
from spacy_entlm.workbench.runs import Runs

from .conftest import new_texts
from .test_browser import browser, wait_until  # noqa: F401
from .test_browser_views import (
    LOC,
    ORG,
    PER,
    SIZES,
    again,
    focus_is_in_text,
    open_page,
    press,
)

pytestmark = pytest.mark.slow


@pytest.fixture
def page(browser, serving, store):  # noqa: F811
    store.set_setting("order", "coming")
    yield from open_page(browser, serving, SIZES["laptop"])


def test_arrows_go_by_words_lines_and_marks(page, store):
    store.add_texts(new_texts(["one two three four five six " * 12], is_test=False))
    for number in range(1, 11):
        store.answer(number, ACCEPT, [], 0)
    store.answer(11, "open", [(20, 22, PER), (40, 41, LOC)], 0)
    again(page)
    code = "Number(document.activeElement.dataset.word)"

    def at_word(*keys):
        press(page, *keys)
        return page.evaluate(code)

    assert at_word("End") == len(store.text(11)["words"]) - 1
    assert at_word("Home") == 0
    tops = "words => words.map(x => x.getBoundingClientRect().top)"
    lines = page.locator("#text .word").evaluate_all(tops)
    below = at_word("ArrowDown")
    assert lines[below] > lines[0] and lines[below - 1] == lines[0]
    assert at_word("ArrowUp") == 0 and at_word("ArrowUp") == 0
    assert at_word("Control+ArrowRight") == 20
    assert at_word("Control+ArrowRight") == 40 == at_word("Control+ArrowRight")
    assert at_word("Control+ArrowLeft") == 20
    press(page, "Home", "Shift+ArrowDown", "2")
    wait_until(lambda: store.text(11)["marks"][0] == [0, below + 1, LOC])


def test_a_key_goes_through_the_views(page):
    shown = page.locator("nav [aria-current='page']")
    for name in ("All texts", "Entities", "Progress", "Mark"):
        press(page, "m")
        wait_until(lambda name=name: shown.inner_text() == name)
    assert focus_is_in_text(page)


def test_pages_are_turned_only_where_there_are_several(page, store):
    page.get_by_role("button", name="All texts").click()
    wait_until(lambda: page.locator("#list li").count() == 10)
    assert page.locator("#list-pager").is_hidden()
    store.add_texts(new_texts([f"Text {i}" for i in range(50)], is_test=False))
    page.locator("#search").fill("Text")
    page.locator("#search").fill("")
    wait_until(lambda: page.locator("#list-pager").is_visible())


def test_a_long_label_stays_in_one_line_within_the_page(browser, serving, store):  # noqa: F811
    store.set_setting("order", "coming")
    store.add_class("a class of several words " * 3)
    store.answer(1, "open", [(0, 1, 4)], 0)
    for page in open_page(browser, serving, SIZES["phone"]):
        word = page.locator("#text .marked.last").first
        word.wait_for()
        code = "x => getComputedStyle(x, '::after').height"
        assert float(word.evaluate(code).removesuffix("px")) < 20
        width = page.evaluate("document.documentElement.scrollWidth")
        assert width <= SIZES["phone"][0]


def test_data_are_written_in_each_form_that_convert_knows(page, store, folder):
    store.answer(1, ACCEPT, [(0, 1, PER)], 0)
    form = page.locator("#form")
    wait_until(lambda: form.locator("option").count() == len(WRITERS))
    assert form.input_value() == "prodigy"
    for writer in WRITERS:
        form.select_option(writer.name)
        page.get_by_role("button", name="Write the data").click()
        name = "data" if writer.name == "prodigy" else f"data-{writer.name}"
        written = folder / name / f"train{writer.extensions[0]}"
        page.get_by_text(re.compile(f"train.* in .*/{name}$")).wait_for()
        assert written.name in page.locator("#written").inner_text()
        (doc,), _ = read_docs(written, spacy.blank("xx"))
        assert [ent.label_ for ent in doc.ents] == ["PER"]
    assert focus_is_in_text(page)


def test_classes_without_an_example_are_named_beside_the_figure(page, folder):
    runs = Runs(folder)
    number = runs.begin("train")
    runs.note(number, scores={"unseen": [LOC], "left_out": [ORG]})
    with runs.working(number):
        pass
    again(page)
    said = page.locator("#unseen")
    wait_until(lambda: "found by what the name says: LOC." in said.inner_text())
    assert "name that says nothing: ORG." in said.inner_text()


def test_a_long_text_is_marked_by_touch_with_all_buttons_in_view(
    browser,  # noqa: F811
    serving,
    store,
):
    store.set_setting("order", "coming")
    store.add_texts(new_texts(["word " * 1200 + "end"], is_test=False))
    for number in range(1, 11):
        store.answer(number, ACCEPT, [], 0)
    for page in open_page(browser, serving, SIZES["phone"], has_touch=True):
        last = page.locator("#text .word").last
        last.scroll_into_view_if_needed()
        last.tap()
        per = page.get_by_role("button", name="PER")
        accept = page.get_by_role("button", name="Accept")
        for button in (per, accept):
            box = button.bounding_box()
            assert box["y"] >= 0 and box["y"] + box["height"] <= 844
            assert box["height"] >= 40
        per.tap()
        wait_until(lambda: store.text(11)["marks"] == [[1200, 1201, PER]])
        assert "press" not in page.locator("#how").inner_text()
        accept.tap()
        wait_until(lambda: store.text(11)["answer"] == ACCEPT)


def test_a_finger_takes_one_mark_away_and_finds_what_buttons_do(
    browser,  # noqa: F811
    serving,
    store,
):
    store.set_setting("order", "coming")
    store.answer(1, "open", [(0, 1, PER), (1, 3, LOC)], 0)
    touch = {"has_touch": True, "is_mobile": True}
    for page in open_page(browser, serving, SIZES["phone"], **touch):
        away = page.get_by_role("button", name="Take the mark away")
        assert away.is_disabled()
        words = page.locator("#text .word")
        before = words.last.bounding_box()
        words.nth(2).tap()
        away.tap()
        wait_until(lambda: store.text(1)["marks"] == [[0, 1, PER]])
        wait_until(away.is_disabled)
        words.nth(4).tap()
        assert away.is_disabled()
        page.get_by_role("button", name="LOC").tap()
        wait_until(lambda: len(store.text(1)["marks"]) == 2)
        # Nothing moves under the finger.
        assert words.last.bounding_box()["y"] == before["y"]
        page.get_by_role("button", name="Help and keys").tap()
        said = page.locator("#help")
        assert "Skip: the text" in said.inner_text()
        assert "Arrows" not in said.inner_text() and "Ctrl" not in said.inner_text()
        assert said.evaluate("x => x.scrollTop") == 0


def test_what_was_written_is_told_beside_its_button(page):
    page.get_by_role("button", name="Write the data").click()
    said = page.locator("#written")
    wait_until(lambda: "unlabeled.jsonl in" in said.inner_text())
    wheel = page.get_by_role("button", name="Build a wheel")
    assert said.bounding_box()["y"] < wheel.bounding_box()["y"]


def test_a_narrow_window_shows_classes_above_the_answers(
    browser,  # noqa: F811
    serving,
    store,
):
    store.set_setting("order", "coming")
    store.add_texts(new_texts(["word " * 600 + "end"], is_test=False))
    for number in range(1, 11):
        store.answer(number, ACCEPT, [], 0)
    for page in open_page(browser, serving, SIZES["phone"]):
        classes, answers = (
            page.locator(name).bounding_box() for name in ("#classes", ".answers")
        )
        assert classes["y"] + classes["height"] <= answers["y"] + 1
        assert answers["y"] + answers["height"] <= SIZES["phone"][1]


def test_versions_of_a_text_are_shown_and_one_is_taken(page, store):
    with connect(store.path) as db:
        for spans in ([[0, 1, PER]], []):
            row = (1, json.dumps(spans))
            db.execute("INSERT INTO others VALUES (?, ?)", row)
    again(page)
    page.get_by_role("button", name="Look again at disagreements (1)").click()
    page.get_by_role("heading", name="Version 2").wait_for()
    page.get_by_role("button", name="Take it without marks").wait_for()
    assert page.locator(".differences li").count() == 0  # nothing to differ from
    page.get_by_role("button", name="Take these marks").click()
    wait_until(lambda: store.text(1)["marks"] == [[0, 1, PER]])
    assert page.get_by_text("There is no difference.").count() == 1
    press(page, "Enter")
    wait_until(lambda: store.text(1)["others"] == [])
    assert store.text(1)["answer"] == ACCEPT
