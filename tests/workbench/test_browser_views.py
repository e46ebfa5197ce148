"""The page in a real browser: overview, help, and what goes wrong where people begin.
Nothing is trained here; what a model found is put into the file."""

import pytest

pytest.importorskip(
    "playwright.sync_api", reason="no Playwright: pip install '.[browser]'"
)
pytest.importorskip("fastapi", reason="needs the extra `workbench`")
from spacy_entlm.workbench.changes import ACCEPT
from spacy_entlm.workbench.classes import COLORS
from spacy_entlm.workbench.runs import Proposal, Runs

from .conftest import new_texts
from .test_browser import browser, call, marked, wait_until  # noqa: F401

pytestmark = pytest.mark.slow
PER, LOC, ORG = 1, 2, 3
SIZES = {"laptop": (1280, 800), "small": (1024, 768), "phone": (390, 844)}


@pytest.fixture
def page(browser, serving, store):  # noqa: F811
    store.set_setting("order", "coming")
    store.set_setting("suits", "0.2")
    yield from open_page(browser, serving, SIZES["laptop"])


def open_page(browser, serving, size, **settings):  # noqa: F811
    width, height = size
    context = browser.new_context(
        viewport={"width": width, "height": height}, **settings
    )
    page, problems = context.new_page(), []
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("console", lambda m: m.type == "error" and problems.append(m.text))
    page.goto("{}/#{}".format(*serving))
    page.wait_for_selector(".word, #over button")
    yield page
    context.close()
    assert [x for x in problems if "ERR_" not in x] == []


def again(page):
    page.reload()
    page.wait_for_selector(".word, #over button")


def press(page, *keys):
    for key in keys:
        page.keyboard.press(key)


def is_in_view(page, selector):
    code = """x => { const { top, bottom } = x.getBoundingClientRect();
        return top >= 0 && bottom <= innerHeight; }"""
    return page.locator(selector).first.evaluate(code)


def focus_is_in_text(page):
    return page.evaluate("document.activeElement.closest('#text') !== null")


def status(page):
    return page.locator("#status").inner_text()


def test_a_fresh_page_is_marked_by_keyboard_alone(page, store):
    press(page, "ArrowRight", "1", "Enter")
    wait_until(lambda: store.text(1)["answer"] == ACCEPT)
    assert store.text(1)["marks"] == [[1, 2, PER]]
    wait_until(lambda: page.locator("#facts").inner_text() == "Text 2")
    press(page, "2", "Enter")
    wait_until(lambda: store.text(2)["answer"] == ACCEPT)
    assert store.text(2)["marks"] == [[0, 1, LOC]]
    page.get_by_role("heading", name="Workbench").click()
    press(page, "ArrowRight", "3")
    wait_until(lambda: store.text(3)["marks"] == [[1, 2, ORG]])


def test_after_a_button_enter_accepts_and_does_not_press_it_again(page, store):
    for name in ("Write the data", "No marks"):
        page.get_by_role("button", name=name).click()
        wait_until(lambda: focus_is_in_text(page))
    page.get_by_text("There is nothing to write yet.").or_(
        page.get_by_text("unlabeled.jsonl in")
    ).wait_for()
    press(page, "Enter")
    wait_until(lambda: store.text(1)["answer"] == ACCEPT)


def test_look_again_shows_both_sides_also_of_the_test_part(page, store, folder):
    store.move(1, True)
    store.answer(1, ACCEPT, [(0, 1, PER)], store.text(1)["version"])
    found = [[0, 1, LOC, 0.9], [2, 3, ORG, 0.6]]
    Runs(folder).propose([Proposal(1, None, found, {}, store.text(1)["version"])])
    page.get_by_role("button", name="Look again at disagreements (1)").click()
    page.get_by_role("heading", name="The model found").wait_for()
    assert is_in_view(page, "#text .word") and is_in_view(page, "#others .word")
    differences = page.locator(".differences li").all_inner_texts()
    assert [x.split(":")[0] for x in differences] == [
        *("Only you", "Not yours", "Not yours")
    ]
    assert "ORG 60 %" in differences[2]
    page.get_by_role("button", name="Mark it, too").last.click()
    wait_until(lambda: store.text(1)["marks"] == [[0, 1, PER], [2, 3, ORG]])
    page.get_by_role("button", name="Take these marks").click()
    wait_until(lambda: store.text(1)["marks"] == [[0, 1, LOC], [2, 3, ORG]])
    page.get_by_text("There is no difference.").wait_for()


def test_a_file_with_other_marks_is_shown_beside(page, store, texts):
    (new,) = new_texts(texts[:1], marks=[(0, 1, "PER")], is_test=False)
    store.add_texts([new])
    (other,) = new_texts(texts[:1], marks=[(0, 1, "ORG")], is_test=False)
    assert store.add_texts([other]).differing == 1
    again(page)
    page.get_by_role("button", name="Look again at disagreements (1)").click()
    page.get_by_role("heading", name="Other marks of it").wait_for()


def test_no_reason_for_a_choice_in_the_order_as_they_come(page, store, folder):
    reasons = {"doubt": 0.9, "rare": 0.1, "density": 0.1}
    Runs(folder).propose([Proposal(1, 0, [], reasons)])
    again(page)
    assert page.locator("#kind").inner_text() == ""
    page.select_option("#order", "chosen")
    page.get_by_text("Chosen since the model is unsure.").wait_for()


def test_what_was_wrong_is_not_said_any_more_when_it_is_right(page):
    page.get_by_role("heading", name="Workbench").click()
    press(page, "1")
    assert status(page) == "Choose words first"
    page.locator(".word").first.click()
    press(page, "1")
    wait_until(lambda: status(page) == "")
    page.route("**/api/**", lambda route: route.abort())
    press(page, "2")
    wait_until(lambda: "does not answer" in status(page))
    page.unroute("**/api/**")
    wait_until(lambda: status(page) == "")


def test_when_all_is_answered_no_dead_button_is_left(page, store):
    for number in range(1, store.counts()["texts"] + 1):
        store.answer(number, ACCEPT, [], 0)
    again(page)
    page.get_by_text("All 10 texts are answered.").wait_for()
    for name in ("Accept", "Skip", "Reject", "No marks", "PER"):
        assert page.get_by_role("button", name=name).count() == 0
    page.locator("#over").get_by_role("button", name="All texts").click()
    page.locator("#list li").nth(9).wait_for()


def test_suggestions_say_how_sure_they_are_and_a_slider_hides_the_less_sure(
    page, store, folder
):
    found = [[0, 1, PER, 0.9], [2, 3, LOC, 0.3], [3, 4, ORG, 0.1]]
    Runs(folder).propose([Proposal(1, 0, found, {})])
    again(page)
    words = page.locator("#text .word")
    # What is hardly sure is not shown at first.
    assert len(marked(page)) == 2
    assert words.nth(0).get_attribute("title") == "PER, 90 % sure"
    assert words.nth(2).get_attribute("data-label") == "LOC 30 %"
    shades = words.evaluate_all(
        "words => words.map(x => getComputedStyle(x).getPropertyValue('--strength'))"
    )
    assert int(shades[0][:-1]) - int(shades[2][:-1]) >= 40
    page.locator("#least").fill("50")
    assert len(marked(page)) == 1
    wait_until(lambda: store.setting("least", "") == "0.5")
    again(page)
    assert len(marked(page)) == 1
    press(page, "Enter")
    wait_until(lambda: store.text(1)["answer"] == ACCEPT)
    assert store.text(1)["marks"] == [[0, 1, PER]]


def test_a_tenth_class_has_a_key_and_a_colour_of_its_own(page, store):
    for i in range(4, 13):
        store.add_class(f"class {i}")
    again(page)
    buttons = page.locator("#classes .class")
    keys = buttons.locator("kbd").all_inner_texts()
    assert keys == [*"1234567890QW"]
    colors = buttons.evaluate_all(
        "all => all.map(x => getComputedStyle(x).backgroundColor)"
    )
    assert len(set(colors)) == 12
    page.locator("#text .word").first.click()
    press(page, "w")
    wait_until(lambda: store.text(1)["marks"] == [[0, 1, 12]])


def test_a_class_is_coloured_described_ordered_and_merged(page, store):
    store.answer(1, ACCEPT, [(0, 1, ORG)], 0)
    page.get_by_role("button", name="ORG").dblclick()
    page.get_by_label("What it means").fill("a company")
    page.get_by_label("Colour").fill("#123456")
    page.get_by_role("button", name="Save").click()
    wait_until(lambda: store.classes()[2]["words"] == "a company")
    assert store.classes()[2]["color"] == "#123456" not in COLORS
    page.get_by_role("button", name="Edit", exact=True).click()
    page.locator("#edit-which").select_option(label="ORG")
    page.get_by_role("button", name="Move left").click()
    wait_until(lambda: [x["id"] for x in store.classes()] == [PER, ORG, LOC])
    page.get_by_role("button", name="ORG").dblclick()
    page.locator("#edit-into").select_option(label="become LOC")
    page.get_by_role("button", name="Remove the class").click()
    wait_until(lambda: store.text(1)["marks"] == [[0, 1, LOC]])
    assert [x["name"] for x in store.classes()] == ["PER", "LOC"]
    wait_until(lambda: "Undo takes it back" in status(page))
    press(page, "u")
    wait_until(lambda: store.text(1)["marks"] == [[0, 1, ORG]])
    press(page, "y")
    wait_until(lambda: store.text(1)["marks"] == [[0, 1, LOC]])


def test_all_texts_are_searched_and_each_is_a_click_away(page, store, folder):
    store.answer(2, ACCEPT, [(0, 1, PER)], 0)
    store.move(3, True)
    Runs(folder).propose([Proposal(4, 0, [[0, 1, LOC, 0.4]], {})])
    again(page)
    page.get_by_role("button", name="All texts").click()
    rows = page.locator("#list li")
    wait_until(lambda: rows.count() == 10)
    assert "PER" in rows.nth(1).inner_text() and "accepted" in rows.nth(1).inner_text()
    assert "LOC 40 %" in rows.nth(3).inner_text()
    page.locator("#list-kind").select_option("test")
    wait_until(lambda: rows.count() == 1)
    page.locator("#list-kind").select_option("all")
    page.locator("#list-class").select_option(label="LOC")
    wait_until(lambda: page.locator("#list-total").inner_text() == "1 to 1 of 1 text")
    page.locator("#list-class").select_option(label="any class")
    word = store.text(2)["words"][0][0]
    page.locator("#search").fill(word)
    wait_until(lambda: 0 < rows.count() < 10)
    page.locator("#search").fill("")
    wait_until(lambda: rows.count() == 10)
    rows.nth(1).get_by_role("button").click()
    wait_until(lambda: page.locator("#facts").inner_text() == "Text 2, accepted")
    assert marked(page) == [f"{word}, PER"] and focus_is_in_text(page)
    page.get_by_role("button", name="Use it as a test").click()
    wait_until(lambda: store.text(2)["is_test"])
    page.get_by_role("button", name="Take the answer back").click()
    wait_until(lambda: store.text(2)["answer"] == "open")
    press(page, "u", "u")
    wait_until(lambda: not store.text(2)["is_test"])
    assert store.text(2)["answer"] == ACCEPT


def test_back_and_forward_go_through_what_was_answered(page, store):
    press(page, "Enter")
    wait_until(lambda: page.locator("#facts").inner_text() == "Text 2")
    press(page, "Enter")
    wait_until(lambda: page.locator("#facts").inner_text() == "Text 3")
    press(page, ",")
    wait_until(lambda: page.locator("#facts").inner_text() == "Text 2, accepted")
    press(page, "PageUp")
    wait_until(lambda: page.locator("#facts").inner_text() == "Text 1, accepted")
    press(page, ".", ".")
    wait_until(lambda: page.locator("#facts").inner_text() == "Text 3")


def test_an_entity_is_mended_everywhere_in_one_go(page, store):
    texts = ["Apple grows", "Apple falls", "Ann eats Apple"]
    store.add_texts(new_texts(texts, is_test=False))
    numbers = range(11, 14)
    for number, marks in zip(numbers, ([(0, 1, ORG)], [(0, 1, PER)], [])):
        store.answer(number, ACCEPT, marks, 0)
    again(page)
    page.get_by_role("button", name="Entities").click()
    page.locator("#entity-class").select_option(label="ORG")
    row = page.locator("#entity-table tbody tr")
    # Before that it is the row of another class.
    cells = row.locator("td")
    wait_until(lambda: cells.all_inner_texts() == ["1", "0", "PER 1", "1"])
    row.get_by_role("button", name="Apple").click()
    wait_until(lambda: page.locator("#contexts li").count() == 3)
    page.get_by_role("button", name="Mark all").click()
    wait_until(lambda: all(len(store.text(x)["marks"]) for x in numbers))
    marks = [store.text(number)["marks"][0][2] for number in numbers]
    assert marks == [ORG] * 3
    wait_until(lambda: "2 texts changed" in status(page))
    press(page, "u")
    wait_until(lambda: store.text(13)["marks"] == [])
    page.locator("#contexts li").first.get_by_role("button").click()
    wait_until(lambda: page.locator("#facts").inner_text() == "Text 11, accepted")


def test_help_shows_all_keys_and_what_the_answers_do(page):
    press(page, "?")
    said = page.locator("#help").inner_text()
    for words in ("Skip", "Reject", "No marks", "Redo", "left out of the training"):
        assert words in said
    press(page, "Escape", "1")
    wait_until(lambda: marked(page))  # the keyboard is back in the text


def test_progress_says_what_is_new_and_what_would_help_most(page, store):
    for number in (1, 2):
        store.answer(number, ACCEPT, [(0, 1, PER)], 0)
    again(page)
    train = page.get_by_role("button", name="Train")
    wait_until(lambda: train.inner_text().startswith("Train: 2 new answers"))
    page.get_by_role("button", name="Progress").click()
    assert "LOC" in page.locator("#next-step").inner_text()
    assert "2" in page.locator("#numbers").inner_text()
    cells = page.locator("#per-class tbody tr").first.locator("td").all_inner_texts()
    assert cells == ["2", "–", "–"]


def test_mistakes_show_their_sentence_and_lead_to_it(page, store, folder):
    store.answer(1, ACCEPT, [(0, 1, PER)], 0)
    runs = Runs(folder)
    number = runs.begin("train")
    mistake = {
        "text": 1,
        "marked": [["Anna", "PER", "missed"], [" sleeps", "", ""]],
        "found": [["Anna", "LOC", "wrong"], [" sleeps", "", ""]],
    }
    f1 = {"value": 50.0, "low": 20.0, "high": 80.0}
    scores = {"how": "crossval", "n_texts": 12, "f1": f1, "mistakes": [mistake]}
    runs.note(number, scores=scores)
    with runs.working(number):
        pass
    again(page)
    wait_until(lambda: "of 12 accepted texts" in page.locator("#score").inner_text())
    page.get_by_role("button", name="Progress").click()
    said = page.locator("#mistakes li").inner_text()
    assert "PER, not found" in said and "LOC, wrong" in said and "sleeps" in said
    page.locator("#mistakes").get_by_role("button", name="Text 1").click()
    wait_until(lambda: page.locator("#facts").inner_text() == "Text 1, accepted")
    assert is_in_view(page, "#text .word")


def test_the_report_opens_in_a_window_of_its_own(page, folder):
    page.get_by_role("button", name="Progress").click()
    report = page.get_by_role("button", name="Open the whole report")
    assert report.count() == 0
    (folder / "crossval.html").write_text("<style>p { color: red; }</style><p>Figures")
    again(page)
    page.get_by_role("button", name="Progress").click()
    with page.context.expect_page() as opened:
        report.click()
    figures = opened.value.get_by_text("Figures")
    figures.wait_for()
    assert figures.evaluate("x => getComputedStyle(x).color") == "rgb(255, 0, 0)"


@pytest.mark.parametrize("size", SIZES)
def test_nothing_is_wider_than_the_page(browser, serving, store, size):  # noqa: F811
    for i in range(4, 15):
        store.add_class(f"a rather long name {i}")
    store.answer(1, ACCEPT, [(0, 1, PER)], 0)
    for page in open_page(browser, serving, SIZES[size]):
        for view in ("mark", "texts", "entities", "work"):
            page.locator(f"#to-{view}").click()
            page.wait_for_timeout(200)
            width = page.evaluate("document.documentElement.scrollWidth")
            assert width <= SIZES[size][0], view
