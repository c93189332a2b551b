"""No finding is unproved: every id that a command can give of a stack file has its proofs and its page."""

import ast
import re
from functools import cache, partial

import pytest

import finding_pages
import proofs
import sizes
from kit.every import judge

IDS = re.compile(r"[a-z]+\.[a-z_]+")
SPEC_IDS = re.compile(r"spec\.[a-z_]+")
FOLDERS = (
    *(
        f"components/gpuyard/{layer}"
        for layer in (
            "plan/",
            "spec/",
            "changes/",
            "cli/",
            "preflight/",
            "provider",
            "render/observability/",
        )
    ),
    "components/gpuyard_core/models/",
    "components/gpuyard_core/yaml_tree",
    "components/gpuyard_lint/settings",
)
"""The floors that judge a stack file. What a component says of its own arguments has no pages."""
MAKERS = {"error", "warning", "info", "Diagnostic", "make", "partial", "unknown_zone"}

HOW = """has no proofs. Create tests/plan/proofs/{id}.yaml with title, severity, why, do, bad (2 at least),
good (2) and near_miss (1), as a neighbour there has them; `make golden` then writes docs/findings/{id}.md.
docs/contributing/testing.md explains each part."""


def words_of(node):
    return [
        c.value for c in ast.walk(node) if isinstance(c, ast.Constant) and isinstance(c.value, str)
    ]


def ids_in(tree):
    """Ids given to error, warning, info, Diagnostic and helpers that make findings, and the kinds of `value_error`."""
    found = set()
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name | ast.Attribute):
            continue
        name = node.func.id if isinstance(node.func, ast.Name) else node.func.attr
        args = [*node.args, *(k.value for k in node.keywords if k.arg == "id")]
        named = args[1:2] if name == "partial" else args[:1]
        words = [word for each in named for word in words_of(each)]
        if name in MAKERS:
            found |= {w for w in words if IDS.fullmatch(w)}
        elif name.startswith("_"):  # a helper that makes findings of several ids
            plain = [a.value for a in args if isinstance(a, ast.Constant)]
            found |= {w for w in plain if isinstance(w, str) and IDS.fullmatch(w)}
        elif name in {"value_error", "PydanticCustomError"}:
            found |= {f"spec.{w}" for w in words}
    return found


@cache
def ids_given():
    found = set()
    for path in sizes.below(sizes.tracked(), *FOLDERS):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        found |= ids_in(tree)
        if path.parent.name in {"spec", "models"}:
            found |= {word for word in words_of(tree) if SPEC_IDS.fullmatch(word)}
    return sorted(found)


@pytest.mark.repeats("none: it runs no line that is measured")
def test_every_finding_has_proofs_and_a_page():
    def proved(kind):
        assert kind in proofs.ids(), HOW.format(id=kind)
        assert (finding_pages.FOLDER / f"{kind}.md").exists(), "`make golden` writes it"

    judge([(kind, partial(proved, kind)) for kind in ids_given()])


@pytest.mark.repeats("none: it runs no line that is measured")
def test_no_proofs_and_no_page_are_left_over():
    given = ids_given()
    assert len(given) > 40
    assert [kind for kind in proofs.ids() if kind not in given] == []
    written = {path.stem for path in finding_pages.FOLDER.glob("*.md")} - {"index"}
    assert sorted(written - set(given)) == [], "remove the page of a finding that is no more"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('error("a.b", path, "c.d")', {"a.b"}),
        ('warning("a.b" if x else "a.c", path, "")', {"a.b", "a.c"}),
        ('Diagnostic(id="a.b", severity=x)', {"a.b"}),
        ('value_error("kind", "no", allowed="")', {"spec.kind"}),
        ('_taken(spec, "a.b", "why")', {"a.b"}),
        ('refuse = partial(error, "a.b")', {"a.b"}),
        ('log("a.b")', set()),
        ("error(kind, path)", set()),
    ],
)
def test_an_id_is_seen_wherever_a_finding_is_made(text, found):
    assert ids_in(ast.parse(text)) == found
