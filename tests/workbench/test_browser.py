"""The page in a real browser: marked, undone, trained, corrected, and killed."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from spacy_entlm.workbench.runs import FILE

from .conftest import history

sync_api = pytest.importorskip(
    "playwright.sync_api", reason="no Playwright: pip install '.[browser]'"
)
pytest.importorskip("fastapi", reason="needs the extra `workbench`")
CHROMIUM = shutil.which("chromium")
if CHROMIUM is None:
    pytest.skip("no chromium on this machine", allow_module_level=True)

pytestmark = pytest.mark.slow
TEXTS = [
    "Anna Smith lives in Berlin .",
    "John works for Acme Corp in Paris .",
    "Peter left Rome for London .",
    "<b>Mary</b> met <script>alert(1)</script> John .",
    "انا اسكن في برلين .",
    # So that there is always something to show.
    *(f"Maria Lopez moved to Madrid in {year} ." for year in range(2000, 2008)),
]
SECONDS = 240


class Server:
    """The command in a process of its own."""

    def __init__(self, folder):
        self.folder, self.process = folder, None

    def start(self, port=0):
        """RETURNS (str): The address that it prints."""
        line = [sys.executable, "-m", "spacy", "entlm", "workbench", "texts.txt", "wb"]
        line += ["--labels", "PER,LOC", "--port", str(port)]
        self.process = subprocess.Popen(
            line, cwd=self.folder, stdout=subprocess.PIPE, text=True
        )
        for said in self.process.stdout:
            if found := re.search(r"http://\S+", said):
                return found[0]
        raise AssertionError("The command ended")

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        self.process.stdout.close()


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    folder = tmp_path_factory.mktemp("browser")
    (folder / "texts.txt").write_text("\n".join(TEXTS), encoding="utf8")
    server = Server(folder)
    yield server
    server.kill()


@pytest.fixture(scope="module")
def address(server):
    return server.start()


@pytest.fixture(scope="module")
def browser():
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox"]
        )
        yield browser
        browser.close()


@pytest.fixture
def page(browser, address):
    context = browser.new_context(viewport={"width": 1280, "height": 800})
    page = context.new_page()
    problems = []
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("console", lambda m: m.type == "error" and problems.append(m.text))
    page.on("dialog", lambda dialog: problems.append("a script in a text ran"))
    page.goto(address)
    page.wait_for_selector(".word")
    page.select_option("#order", "coming")
    yield page
    context.close()
    # The answer to a change in another tab is the one that is meant.
    assert [x for x in problems if "409" not in x and "ERR_" not in x] == []


def wait_until(check):
    end = time.monotonic() + SECONDS
    while not check():
        assert time.monotonic() < end, "This did not come"
        time.sleep(0.1)


def marked(page):
    """Words and classes of the marks that are shown."""
    words = page.locator(".word[aria-label*=', ']")
    return words.evaluate_all("words => words.map(word => word.ariaLabel)")


def call(page, method, path, body=None):
    """Ask the server as the page does."""
    code = """async ([method, path, body]) => (await fetch("/api/" + path, {
        method, body: body && JSON.stringify(body), headers: {
        "x-workbench-token": location.hash.slice(1),
        "content-type": "application/json"}})).json()"""
    return page.evaluate(code, [method, path, body])


def show(page, number):
    """Leave one text unanswered, so that it comes next, without marks."""
    for other in range(1, 6):
        text = call(page, "GET", f"texts/{other}")
        if other == number or (text["answer"] == "open" and text["version"]):
            answer = "open" if other == number else "ignore"
            body = {"answer": answer, "marks": [], "version": text["version"]}
            call(page, "PUT", f"texts/{other}", body)
    page.reload()
    page.wait_for_selector(".word")


def accept(page, number, marks):
    """Answer a text, as the page does."""
    version = call(page, "GET", f"texts/{number}")["version"]
    body = {"answer": "accept", "marks": marks, "version": version}
    call(page, "PUT", f"texts/{number}", body)


def saved(page, number, marks):
    wait_until(lambda: call(page, "GET", f"texts/{number}")["marks"] == marks)


def first_look_is_over(page):
    wait_until(lambda: not call(page, "GET", "state")["running"])


def test_proposals_of_the_first_look_appear(page):
    first_look_is_over(page)
    found = [call(page, "GET", f"texts/{i}")["proposed"] for i in range(1, 6)]
    assert any(found)


def test_mark_by_mouse(page):
    first_look_is_over(page)
    show(page, 1)
    words = page.locator(".word")
    assert words.first.inner_text() == "Anna"
    one, two = (words.nth(i).bounding_box() for i in (0, 1))
    page.mouse.move(one["x"] + 4, one["y"] + 10)
    page.mouse.down()
    page.mouse.move(two["x"] + 8, two["y"] + 10, steps=5)
    page.mouse.up()
    page.get_by_role("button", name="PER").click()
    words.nth(4).click()
    page.keyboard.press("2")
    assert marked(page) == ["Anna, PER", "Smith, PER", "Berlin, LOC"]
    saved(page, 1, [[0, 2, 1], [4, 5, 2]])
    page.get_by_role("button", name="Accept").click()
    wait_until(lambda: call(page, "GET", "texts/1")["answer"] == "accept")


def test_mark_by_keyboard_and_undo(page):
    show(page, 2)
    page.locator(".word").first.focus()
    page.keyboard.press("1")
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    page.keyboard.press("Shift+ArrowRight")
    page.keyboard.press("2")
    saved(page, 2, [[0, 1, 1], [3, 5, 2]])
    page.keyboard.press("u")
    saved(page, 2, [[0, 1, 1]])
    wait_until(lambda: marked(page) == ["John, PER"])
    page.locator(".word").first.focus()
    page.keyboard.press("Delete")
    saved(page, 2, [])
    page.keyboard.press("1")
    page.keyboard.press("Enter")
    wait_until(lambda: call(page, "GET", "texts/2")["answer"] == "accept")
    assert call(page, "GET", "texts/2")["marks"] == [[0, 1, 1]]


def test_keyboard_stays_where_it_was_after_an_undo(page):
    show(page, 2)
    page.locator(".word").first.focus()
    for key in (*["ArrowRight"] * 3, "1"):
        page.keyboard.press(key)
    saved(page, 2, [[3, 4, 1]])
    page.keyboard.press("u")
    wait_until(lambda: marked(page) == [])
    page.keyboard.press("ArrowRight")
    page.keyboard.press("2")
    saved(page, 2, [[4, 5, 2]])


def test_keys_between_an_answer_and_the_next_text_change_nothing(page, server):
    show(page, 2)
    path = server.folder / "wb" / FILE
    before = len(history(path))
    held = []
    page.route("**/api/next*", lambda route: held.append(route))
    page.keyboard.down("Enter")
    page.keyboard.down("Enter")  # it is held
    wait_until(lambda: page.evaluate("1") and held)
    for key in ("1", "Enter", "s"):
        page.keyboard.press(key)
    page.unroute("**/api/next*")  # which lets it go on
    page.get_by_text("Accepted", exact=True).wait_for()
    text = call(page, "GET", "texts/2")
    assert (text["answer"], text["marks"]) == ("accept", [])
    assert len(history(path)) == before + 1


def test_text_is_never_html(page):
    show(page, 4)
    assert "<script>alert(1)</script>" in page.locator("#text").inner_text()
    assert page.locator("#text b, #text script").count() == 0


def test_right_to_left_text_goes_that_way(page):
    show(page, 5)
    words = page.locator(".word")
    assert words.nth(0).bounding_box()["x"] > words.nth(2).bounding_box()["x"]
    words.first.focus()
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("1")
    saved(page, 5, [[1, 2, 1]])


def test_two_tabs_at_once(page, browser, address):
    show(page, 3)
    other = page.context.new_page()
    other.goto(address)
    other.wait_for_selector(".word")
    for tab, key in ((page, "1"), (other, "2")):
        tab.locator(".word").first.click()
        tab.keyboard.press(key)
        saved(page, 3, [[0, 1, 1]])
    wait_until(lambda: marked(other) == ["Peter, PER"])
    assert "elsewhere" in other.locator("#status").inner_text()
    other.close()


def test_classes_are_added_and_renamed(page):
    page.get_by_role("button", name="New class").click()
    page.keyboard.type("DRUG")
    page.keyboard.press("Enter")
    page.get_by_role("button", name="DRUG").wait_for()
    page.get_by_role("button", name="DRUG").dblclick()
    page.keyboard.press("Control+a")
    page.keyboard.type("ORG")
    page.keyboard.press("Enter")
    page.get_by_role("button", name="ORG").wait_for()
    assert [x["name"] for x in call(page, "GET", "state")["classes"]] == [
        *("PER", "LOC", "ORG")
    ]


def test_touch_taps_extend(browser, address):
    context = browser.new_context(
        viewport={"width": 390, "height": 844}, has_touch=True
    )
    page = context.new_page()
    page.goto(address)
    page.wait_for_selector(".word")
    page.select_option("#order", "coming")
    show(page, 1)
    page.locator(".word").nth(3).tap()
    page.locator(".word").nth(3).tap()  # not this one
    page.locator(".word").nth(0).tap()
    page.locator(".word").nth(2).tap()
    page.locator(".word").nth(1).tap()  # shorter
    page.get_by_role("button", name="PER").tap()
    saved(page, 1, [[0, 2, 1]])
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.keyboard.press("Enter")
    wait_until(lambda: call(page, "GET", "texts/1")["answer"] == "accept")
    context.close()


def test_train_then_kill_and_come_back(page, server, address):
    first_look_is_over(page)
    accept(page, 1, [[0, 2, 1], [4, 5, 2]])
    page.keyboard.press("t")
    page.locator("#progress").wait_for(state="visible")
    wait_until(lambda: call(page, "GET", "state")["run"]["done"] > 0)
    show(page, 3)  # the page goes on meanwhile
    page.locator(".word").first.click()
    page.keyboard.press("1")
    saved(page, 3, [[0, 1, 1]])
    server.kill()
    port = int(re.search(r":(\d+)/", address)[1])
    assert server.start(port) == address
    page.reload()
    page.wait_for_selector(".word")
    assert marked(page) == ["Peter, PER"]
    # The training went on without the server.
    wait_until(lambda: call(page, "GET", "state")["run"]["state"] == "done")
    trained = call(page, "GET", "state")
    assert trained["model"] and len(trained["trained"]) == 1
    page.get_by_role("button", name="Write the data").click()
    page.get_by_text("train.jsonl").wait_for()
    lines = Path(server.folder, "wb", "data", "train.jsonl").read_text("utf8")
    rows = [json.loads(line) for line in lines.splitlines()]
    spans = [
        (r["text"][s["start"] : s["end"]], s["label"]) for r in rows for s in r["spans"]
    ]
    assert ("Anna Smith", "PER") in spans


def test_a_killed_training_is_seen_and_started_again(page, server):
    first_look_is_over(page)
    accept(page, 1, [[0, 2, 1], [4, 5, 2]])
    page.keyboard.press("t")
    page.locator("#progress").wait_for(state="visible")
    found = subprocess.run(
        ["ps", "-eww", "-o", "pid,args"], capture_output=True, text=True, check=True
    )
    own = str((server.folder / "wb").resolve())
    pids = [x.split()[0] for x in found.stdout.splitlines() if f"worker {own} " in x]
    for pid in pids:
        os.kill(int(pid), signal.SIGKILL)
    page.get_by_text("start it again").wait_for()
    page.get_by_role("button", name="Train").click()
    page.locator("#progress").wait_for(state="visible")
    wait_until(lambda: call(page, "GET", "state")["run"]["state"] == "done")


def test_every_control_has_a_name(page):
    for control in page.locator("button, select, input, [role]").all():
        if control.is_visible():
            code = (
                "x => x.ariaLabel || x.textContent.trim() || x.labels?.length || x.id"
            )
            assert control.evaluate(code)


def test_nothing_comes_from_elsewhere(page):
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    page.reload()
    page.wait_for_selector(".word")
    own = page.evaluate("location.origin")
    assert asked and all(url.startswith((own, "data:")) for url in asked)
