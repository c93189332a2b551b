"""The guide to other languages shows the examples, which tests of the engine deploy."""

import pytest

import sizes

EXAMPLES = sizes.ROOT / "examples" / "languages"
GUIDE = sizes.ROOT / "docs" / "guides" / "other-languages.md"


@pytest.mark.parametrize(
    "name", ["yaml/Pulumi.yaml", "typescript/Pulumi.yaml", "typescript/index.ts", "go/main.go"]
)
def test_the_guide_shows_the_example(name):
    assert (EXAMPLES / name).read_text(encoding="utf-8") in GUIDE.read_text(encoding="utf-8")
