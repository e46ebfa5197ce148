"""HTML as tests look at it."""

import re
from html.parser import HTMLParser

VOID = {"meta"}


class Page(HTMLParser):
    """Checks that elements nest, and keeps them and the cells of tables."""

    def __init__(self, html):
        super().__init__()
        self.open, self.tags, self.tables, self.texts = [], [], [], []
        self.feed(html)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)
        if tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append([])

    def handle_endtag(self, tag):
        if tag not in VOID:
            assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] in ("td", "th"):
            self.tables[-1][-1].append(data)
        elif data.strip():
            self.texts.append(data)

    def count(self, tag):
        return sum(name == tag for name, _ in self.tags)

    @property
    def n_marks(self):
        return sum("PathCollection" in attrs.get("id", "") for _, attrs in self.tags)


def assert_needs_nothing_beside_it(html):
    """The browser fetches nothing for a page, and runs no script in it."""
    assert not re.search(r"url\((?!#)|@import", html)
    tags = Page(html).tags
    assert not {"script", "link", "img", "iframe"} & {name for name, _ in tags}
    for _, attrs in tags:
        assert not {"src", "onload"} & set(attrs)
        for name, value in attrs.items():
            assert "href" not in name or value.startswith("#")
