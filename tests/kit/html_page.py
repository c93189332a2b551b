"""An HTML page of gpuyard: its elements, what it would fetch, and whether it is accessible."""

import re
from html.parser import HTMLParser

VOID = {"meta"}
ACTIVE = {"script", "iframe", "object", "embed", "link", "img", "form"}
POLICY = "default-src 'none'; style-src 'unsafe-inline'"


class Page(HTMLParser):
    """The elements of a page, and the text of each kind."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.open, self.text, self.ids = [], [], [], []
        self.feed(text)
        assert self.open == [], "an element is not closed"

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if "style" not in self.open:
            self.text.append(data)

    def each(self, tag):
        return [attributes for name, attributes in self.tags if name == tag]

    @property
    def words(self):
        return " ".join(" ".join(self.text).split())


def loads(text):
    """What would be fetched: addresses in attributes and in the style sheet, other than parts of the page."""
    page = Page(text)
    named = [
        v
        for _, a in page.tags
        for k, v in a.items()
        if k in {"src", "href", "xlink:href", "srcset"}
    ]
    styled = re.findall(r"url\(([^)]*)\)|@import\s*([^;]*)", text)
    every = [*named, *(part for each in styled for part in each if part)]
    return [each for each in every if not each.startswith("#")]


def check_self_contained(text):
    """The page loads nothing and runs nothing."""
    page = Page(text)
    assert loads(text) == []
    assert not {tag for tag, _ in page.tags} & ACTIVE
    assert not [k for _, a in page.tags for k in a if k.startswith("on") or k == "style"]
    assert [m["content"] for m in page.each("meta") if m.get("http-equiv")] == [POLICY]


def check_accessible(page):
    """The page has landmarks, headings, captions and descriptions."""
    assert page.each("html") == [{"lang": "en"}]
    for tag in ("header", "nav", "main", "footer", "h1", "title"):
        assert page.each(tag), tag
    ids = [a["id"] for _, a in page.tags if "id" in a]
    assert len(ids) == len(set(ids))
    for each in page.each("section"):
        assert each["aria-labelledby"] in ids
    for each in page.each("a"):
        assert each["href"].removeprefix("#") in ids
    assert len(page.each("table")) == len(page.each("caption"))
    for each in page.each("th"):
        assert each["scope"] in {"col", "row"}
    drawn = [a for a in page.each("svg") if a.get("aria-hidden") != "true"]
    assert drawn
    assert all(a["role"] == "img" and a["aria-label"] for a in drawn)
    assert len(page.each("desc")) == len(drawn)
