"""Every link of the documentation has a target. Only links inside the tree: none is downloaded."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import sizes
from kit.every import every
from kit.pages import anchors, links, pages

DOCS = sizes.ROOT / "docs"


def broken(path: Path) -> list[str]:
    found = []
    for link in links(path):
        if "://" in link.target or link.target.startswith("mailto:"):
            continue
        name, _, anchor = link.target.partition("#")
        target = (path.parent / name).resolve() if name else path
        if not target.exists():
            found.append(f"{path}:{link.line} {link.target}: no such file")
        elif anchor and target.suffix == ".md" and anchor not in anchors(target):
            found.append(f"{path}:{link.line} {link.target}: no such heading")
    return found


@pytest.mark.timeout(120)
@every("page", pages(), ids=lambda path: str(path.relative_to(sizes.ROOT)))
def test_every_link_inside_the_tree_leads_somewhere(page):
    assert broken(page) == []


def test_every_page_of_the_documentation_is_in_the_navigation_or_linked_from_a_page_in_it():
    waiting = list(navigation())
    assert all(page.is_file() for page in waiting)
    reached = set()
    while waiting:
        page = waiting.pop()
        if page in reached:
            continue
        reached.add(page)
        for link in links(page):
            target = (page.parent / link.target.partition("#")[0]).resolve()
            if target.suffix == ".md" and target.is_relative_to(DOCS) and target.exists():
                waiting.append(target)
    lost = [
        str(page.relative_to(sizes.ROOT))
        for page in pages()
        if page.is_relative_to(DOCS) and page not in reached
    ]
    assert lost == [], "add it to nav in mkdocs.yml"


def navigation():
    """Return the pages that mkdocs.yml lists, independent of the file's other settings."""
    text = (sizes.ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:\n")[2]
    return [DOCS / name for name in re.findall(r"(\S+\.md)$", text, re.MULTILINE)]


def test_every_decision_is_linked_from_their_index():
    folder = DOCS / "decisions"
    linked = {(folder / link.target).resolve() for link in links(folder / "index.md")}
    decisions = set(folder.glob("[0-9]*.md"))
    assert decisions
    assert sorted(str(path.name) for path in decisions - linked) == []


def test_the_site_builds_without_a_warning(tmp_path):
    shutil.copytree(DOCS, tmp_path / "docs")
    shutil.copy(sizes.ROOT / "mkdocs.yml", tmp_path)
    built = subprocess.run(
        [Path(sys.executable).with_name("zensical"), "build", "--strict"],
        cwd=tmp_path,
        check=False,
        capture_output=True,
        text=True,
    )
    assert built.returncode == 0, built.stdout + built.stderr
    assert (tmp_path / "build/site/guides/lint/index.html").is_file()
    assert (tmp_path / "build/site/search.json").is_file()


def test_each_decision_has_a_number_of_its_own():
    numbers = [path.name[:4] for path in (DOCS / "decisions").glob("[0-9]*.md")]
    assert len(numbers) == len(set(numbers))


@pytest.mark.parametrize(
    "page", sorted((DOCS / "decisions").glob("[0-9]*.md")), ids=lambda path: path.stem
)
def test_a_decision_fits_on_a_page_and_has_its_four_parts(page):
    text = page.read_text(encoding="utf-8")
    for heading in ("## Context", "## Options", "## Decision", "## Consequences"):
        assert f"\n{heading}\n" in text
    assert len(text.splitlines()) <= 60


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[a](other.md)", []),
        ("[a](other.md#a-heading-with-code)", []),
        ("[a](other.md#a-heading-1)", []),
        ("[a](#here)\n\n# Here", []),
        ("[a](missing.md)", ["missing.md: no such file"]),
        ("[a](other.md#nowhere)", ["other.md#nowhere: no such heading"]),
        ("![a](missing.png)", ["missing.png: no such file"]),
        ("`[a](missing.md)`", []),
        ("[a](https://example.com/x)", []),
    ],
)
def test_a_broken_link_is_found_and_a_good_one_is_not(tmp_path, text, expected):
    other = "# A heading, with `code`\n\n# A heading\n\n# A heading\n"
    (tmp_path / "other.md").write_text(other, encoding="utf-8")
    page = tmp_path / "page.md"
    page.write_text(text, encoding="utf-8")
    assert [each.split(" ", 1)[1] for each in broken(page)] == expected
