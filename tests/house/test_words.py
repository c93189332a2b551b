"""Names, messages and documentation use the words of the field (docs/contributing/style.md)."""

import re
from pathlib import Path

import pytest
import yaml

import sizes

LIST = yaml.safe_load(Path(__file__).with_name("retired_words.yaml").read_text(encoding="utf-8"))
PATTERNS = [
    (re.compile(rf"(?<![A-Za-z])(?:{each['pattern']})(?![A-Za-z])", re.IGNORECASE), each)
    for each in LIST["words"]
]
SEARCHED = ("components/", "docs/", "policies/", "scripts/", "stacks/", "testbed/", "Makefile")
TEXT = {".md", ".py", ".sh", ".yaml", ".toml", ""}
QUOTES = {"docs/contributing/style.md"}
"""Pages that name retired words."""


def findings(path: str, text: str) -> list[str]:
    """Lines with a retired word outside its exceptions."""
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        for pattern, word in PATTERNS:
            if (hit := pattern.search(line)) and not any(
                each in line for each in word.get("except", ())
            ):
                found.append(f"{path}:{number}: {hit[0]!r}: write {word['write']}")
    return found


def test_no_text_uses_a_retired_word():
    found = []
    for file in sizes.tracked():
        path = file.relative_to(sizes.ROOT).as_posix()
        searched = path.startswith(SEARCHED) or "/" not in path
        if searched and file.suffix in TEXT and path not in QUOTES:
            found += findings(path, file.read_text(encoding="utf-8", errors="replace"))
    assert found == []


@pytest.mark.parametrize(
    ("text", "hits"),
    [
        ("def json_of_nobody(): ...", 1),
        ("Kueue evicts the workload.", 0),
        ("see `cohort.nobody`", 0),
        ("somebody must mend it", 2),
    ],
)
def test_words_are_found_in_names_and_sentences(text, hits):
    assert len(findings("a.py", text)) == hits
