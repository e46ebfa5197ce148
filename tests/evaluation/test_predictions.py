"""The page of `predict`: how sure each entity is, and what is shown of many texts."""

import re
import time

import pytest

from spacy_entlm.evaluation.pages import predictions_page


def entry(text, *spans):
    keys = ("start", "end", "label", "score")
    return {"text": text, "spans": [dict(zip(keys, span)) for span in spans]}


ANN = entry("Ann is in Rome.", (0, 3, "PER", 0.2), (10, 14, "LOC", 0.9))


def test_what_is_less_sure_is_paler():
    strengths = re.findall(r"--sure:(\d+)%", predictions_page([ANN], "t"))
    assert [int(x) for x in strengths] == [19, 92]
    assert "PER, 20 % sure" in predictions_page([ANN], "t")


def test_the_most_frequent_entities_come_first():
    rome = entry("Rome", (0, 4, "LOC"))
    page = predictions_page([ANN, rome, rome], "t")
    rows = re.findall(r'<tr><td dir="auto">(.+?)</td>.*?(\d+)</td></tr>', page)
    assert rows == [("Rome", "3"), ("Ann", "1")]


def test_nothing_comes_from_elsewhere_and_texts_stay_texts():
    page = predictions_page([entry("</script><b>Ann", (12, 15, "<i>"))], "<u>")
    assert page.count("<script") == 1 and "<b>Ann" not in page and "<i>" not in page
    assert "http" not in page and "&lt;u&gt;" in page


def opened(browser, path, texts, **settings):
    path.write_text(predictions_page(texts, "texts"), encoding="utf8")
    page = browser.new_page(**settings)
    page.goto(path.as_uri())
    return page


def shown(page):
    return page.locator("mark:not(.off)").evaluate_all("all => all.map(x => x.title)")


@pytest.mark.slow
def test_entities_are_chosen_by_class_confidence_and_words(browser, tmp_path):
    page = opened(browser, tmp_path / "page.html", [ANN, entry("Nothing here.")])
    assert len(shown(page)) == 2 and page.locator(".text").count() == 2
    page.locator("#least").fill("50")
    assert shown(page) == ["LOC, 90 % sure"]
    page.get_by_label("LOC").uncheck()
    assert shown(page) == []
    page.get_by_label("only texts with entities").check()
    assert page.get_by_text("No text is like this.").is_visible()
    page.get_by_label("LOC").check()
    assert page.locator(".text").count() == 1
    page.get_by_label("only texts with entities").uncheck()
    page.locator("#words").fill("NOTHING")
    assert page.locator(".text").all_inner_texts() == ["Nothing here."]


@pytest.mark.slow
def test_ten_thousand_texts_open_in_pages(browser, tmp_path):
    before = time.monotonic()
    texts = [entry(f"Ann{i} left.", (0, 3, "PER", 0.5)) for i in range(10_000)]
    page = opened(browser, tmp_path / "page.html", texts)
    assert page.locator(".text").count() == 200
    page.get_by_role("button", name="Next page").click()
    assert page.locator(".text").first.inner_text().startswith("Ann")
    assert page.locator("#total").inner_text() == "201 to 400 of 10,000 texts"
    page.locator("#words").fill("ann9999")
    assert page.locator(".text").count() == 1
    seconds = page.evaluate(
        "performance.getEntriesByType('navigation')[0].domComplete / 1000"
    )
    assert seconds < 10  # one on a machine that does nothing else
    assert time.monotonic() - before < 120


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_fits_a_phone(browser, tmp_path, scheme):
    size = {"width": 390, "height": 844}
    settings = {"viewport": size, "color_scheme": scheme}
    long = entry("x" * 500, (0, 500, "A_CLASS_WITH_A_LONG_NAME", 0.5))
    page = opened(browser, tmp_path / "page.html", [ANN, long], **settings)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
