"""No finding is untested: every id that the plan or the spec can give stands in a test."""

import ast
import re

import sizes

IDS = re.compile(r"[a-z]+\.[a-z_]+")
PURE = ("components/gpuyard/plan/", "components/gpuyard/spec/")


def texts(*prefixes):
    for path in sizes.below(sizes.tracked(), *prefixes):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield node.value


def ids_given():
    """The first argument of refuse, note and warn, `id=` of Finding, and the kinds of `wrong`."""
    found = set()
    for path in sizes.below(sizes.tracked(), *PURE):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
                continue
            name, args = (
                node.func.id,
                [*node.args, *(k.value for k in node.keywords if k.arg == "id")],
            )
            words = [c.value for a in args[:1] for c in ast.walk(a) if isinstance(c, ast.Constant)]
            words = [w for w in words if isinstance(w, str)]
            if name in {"refuse", "note", "warn", "Finding"}:
                found |= {w for w in words if IDS.fullmatch(w)}
            elif name in {"wrong", "PydanticCustomError"}:
                found |= {f"spec.{w}" for w in words}
    return found


def test_every_id_of_a_finding_stands_in_a_test_of_its_floor():
    tested = set(texts("tests/plan/", "tests/spec/"))
    given = ids_given()
    assert len(given) > 40
    assert given - tested == set()
