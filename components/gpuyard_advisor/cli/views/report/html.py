"""HTML as elements: every text and attribute is escaped when the page is written."""

from collections.abc import Iterable, Mapping, Sequence
from xml.etree import ElementTree as ET

from gpuyard_core.terminal.text import clean

Element = ET.Element
Child = Element | str | None
Attributes = Mapping[str, str | float]

FOLD_FROM = 24
"""From this many rows or cards, the rest of a list is folded."""


def el(tag: str, attributes: Attributes | None = None, *children: Child) -> Element:
    """An element; a child is an element, a text, or None for nothing."""
    result = Element(tag, {k: clean(number(v)) for k, v in (attributes or {}).items()})
    for child in children:
        add(result, child)
    return result


def add(parent: Element, child: Child) -> None:
    """Append a child."""
    if isinstance(child, Element):
        parent.append(child)
    elif child:
        text = clean(child)
        if len(parent):
            parent[-1].tail = (parent[-1].tail or "") + text
        else:
            parent.text = (parent.text or "") + text


def number(value: str | float) -> str:
    """A coordinate with at most two decimals."""
    return value if isinstance(value, str) else f"{value:.2f}".rstrip("0").rstrip(".")


def to_html(root: Element) -> str:
    """The page as text."""
    return "<!DOCTYPE html>\n" + ET.tostring(root, encoding="unicode", method="html") + "\n"


def svg(name: str, description: str, size: tuple[float, float], *children: Child) -> Element:
    """A drawing with a title and a description, as wide as its place."""
    width, height = size
    return el(
        "svg",
        {"viewBox": f"0 0 {number(width)} {number(height)}", "role": "img", "aria-label": name},
        el("title", None, name),
        el("desc", None, description),
        *children,
    )


def section(key: str, title: str, note: str, *children: Child) -> Element:
    """A landmark with a heading."""
    heading = el("h2", {"id": f"{key}-h"}, title)
    return el(
        "section",
        {"id": key, "aria-labelledby": f"{key}-h"},
        heading,
        el("p", {"class": "note"}, note) if note else None,
        *children,
    )


Cell = Child | Sequence[Child]


def table(
    caption: str, heads: Sequence[str], rows: Iterable[Sequence[Cell]], numeric: Iterable[int] = ()
) -> Element:
    """A table with a caption; the first cell of a row is its header. Many rows are folded."""
    made = list(rows)
    right = frozenset(numeric)
    if len(made) <= FOLD_FROM:
        return _table(caption, heads, made, right)
    first = _table(caption, heads, made[:FOLD_FROM], right)
    rest = _table(f"{caption}, continued", heads, made[FOLD_FROM:], right)
    return el("div", None, first, fold(f"{len(made) - FOLD_FROM:,} more rows", rest))


def fold(summary: str, *children: Child) -> Element:
    """Content that a reader opens."""
    return el("details", None, el("summary", None, summary), *children)


def _table(
    caption: str, heads: Sequence[str], rows: Sequence[Sequence[Cell]], right: frozenset[int]
) -> Element:
    head = el(
        "tr",
        None,
        *(
            el("th", {"scope": "col", **({"class": "n"} if n in right else {})}, text)
            for n, text in enumerate(heads)
        ),
    )
    body = el("tbody", None, *(_row(row, right) for row in rows))
    inner = el("table", None, el("caption", None, caption), el("thead", None, head), body)
    return el(
        "div", {"class": "scroll", "tabindex": "0", "role": "group", "aria-label": caption}, inner
    )


def _row(cells: Sequence[Cell], right: frozenset[int]) -> Element:
    row = el("tr")
    for n, cell in enumerate(cells):
        children = [cell] if cell is None or isinstance(cell, (str, Element)) else list(cell)
        attributes = {"class": "n"} if n in right else {}
        if n == 0:
            row.append(el("th", {"scope": "row", **attributes}, *children))
        else:
            row.append(el("td", attributes, *children))
    return row


def bar(parts: Iterable[tuple[str, float]], scale: float, width: float = 240) -> Element:
    """A bar of consecutive parts, each with its style; the text next to it has the same figures."""
    result = el(
        "svg",
        {"class": "bar", "viewBox": f"0 0 {number(width)} 12", "aria-hidden": "true"},
        el("rect", {"class": "track", "width": width, "height": 12}),
    )
    x = 0.0
    for style, value in parts:
        length = width * value / scale if scale else 0.0
        if length > 0:
            shown = min(length, width - x)
            result.append(el("rect", {"class": style, "x": x, "width": shown, "height": 12}))
            x += length
    return result


def legend(*marks: tuple[str, str]) -> Element:
    """The key of a drawing: each style with its meaning; a style "" is a remark."""
    return el("p", {"class": "legend"}, *(_mark(style, text) for style, text in marks))


def _mark(style: str, text: str) -> Element:
    if not style:
        return el("span", None, text)
    drawn = el("rect", {"class": style, "x": 0.5, "y": 0.5, "width": 17, "height": 9})
    return el("span", None, el("svg", {"viewBox": "0 0 18 10", "aria-hidden": "true"}, drawn), text)
