"""The project's Markdown, read with a parser: links, headings and fenced blocks with lines."""

import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from markdown_it import MarkdownIt
from markdown_it.token import Token

import sizes

PARSER = MarkdownIt("commonmark").enable("table")


@dataclass(frozen=True)
class Block:
    """A fenced block of a page: its info string, its text, and its first line."""

    path: Path
    line: int
    info: str
    text: str

    @property
    def where(self) -> str:
        """The place, in the form that editors open."""
        name = self.path
        if name.is_relative_to(sizes.ROOT):
            name = name.relative_to(sizes.ROOT)
        return f"{name}:{self.line}"


@dataclass(frozen=True)
class Link:
    """A link or image of a page."""

    path: Path
    line: int
    target: str


def pages() -> list[Path]:
    """Every Markdown file of the project."""
    return [path for path in sizes.tracked() if path.suffix == ".md"]


def tokens(path: Path) -> list[Token]:
    """The block tokens of a page."""
    return PARSER.parse(path.read_text(encoding="utf-8"))


def blocks(path: Path) -> Iterator[Block]:
    """The fenced blocks of a page, in order."""
    for token in tokens(path):
        if token.type == "fence":
            yield Block(path, (token.map or [0])[0] + 1, token.info.strip(), token.content)


def links(path: Path) -> Iterator[Link]:
    """The links and images of a page, in order."""
    for token in tokens(path):
        for child in token.children or ():
            target = child.attrGet("href") or child.attrGet("src")
            if isinstance(target, str):
                yield Link(path, (token.map or [0])[0] + 1, target)


def anchors(path: Path) -> set[str]:
    """Anchors of the page: its headings, as code hosts spell them."""
    results: set[str] = set()
    seen: dict[str, int] = {}
    stream = tokens(path)
    for token, following in itertools.pairwise(stream):
        if token.type != "heading_open":
            continue
        text = "".join(
            child.content
            for child in following.children or ()
            if child.type in {"text", "code_inline"}
        )
        slug = re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-")
        count = seen.get(slug, 0)
        seen[slug] = count + 1
        results.add(f"{slug}-{count}" if count else slug)
    return results
