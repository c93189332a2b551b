"""Sizes of the house: modules, functions, and tests against source; run it and it prints them.

The limits are norms read off well-kept libraries; tests/house/test_sizes.py holds the tree to them.
"""

import ast
import re
import subprocess
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ("__main__.py", "components/", "policies/", "testbed/")
TESTS = ("tests/",)

MODULE_LINES_SOFT = 400
MODULE_LINES_HARD = 600
FUNCTION_LINES_P90 = 40
TESTS_PER_SOURCE = 1.3
"""Lines of code of tests for each of the product; docstrings, comments and blanks count on neither side."""

EQUIPMENT = ("testbed/", "tests/testbed/", "tests/engine/")
"""The test bed is equipment of the tests, with tests of its own: it counts on neither side."""
CASES = ("tests/plan/proofs/", "tests/plan/jobs/", "tests/readiness/cases/", "tests/rules/cases/")
"""Tests written as data: each entry is a case that a test runs. The words of a case file are not counted."""
_CASE_KEYS = ("bad:", "good:", "near_miss:")
TABLES = "components/gpuyard/catalogue/"
"""Facts are kept there as tables in text: rows of data, which their sources and invariants test."""
MADE = ("components/gpuyard/resources/arguments.py", "components/gpuyard/typed.py")
"""Written by a program of ours, from the models of the spec and under their names."""


@dataclass(frozen=True)
class Function:
    """One function and where it stands."""

    path: Path
    name: str
    line: int
    lines: int


def tracked(root: Path = ROOT) -> list[Path]:
    """Every file of the project: known to git, or new and not ignored; without those deleted."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=root,
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    return sorted(
        root / name for name in set(listed.split("\0")) if name and (root / name).is_file()
    )


def below(files: Iterable[Path], *prefixes: str, root: Path = ROOT) -> list[Path]:
    """Those Python files that lie under a prefix."""
    return [
        path
        for path in files
        if path.suffix == ".py" and path.relative_to(root).as_posix().startswith(prefixes)
    ]


def lines(path: Path) -> int:
    """Physical lines."""
    return len(path.read_bytes().splitlines())


def code_lines(path: Path) -> int:
    """Lines with code on them; of a string over several lines each."""
    text = path.read_text(encoding="utf-8")
    words = {
        line
        for node in statements(ast.parse(text))
        if isinstance(node, ast.Expr) and _is_text(node.value)
        for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)
    }
    rows = enumerate(text.split("\n"), 1)
    code = {number for number, row in rows if row.strip() and not row.lstrip().startswith("#")}
    for found in _STRING_OR_COMMENT.finditer(text):
        if "\n" in found[0]:
            first = text.count("\n", 0, found.start()) + 1
            last = first + found[0].count("\n")
            code.update(range(first, last + 1))
            if TABLES in path.as_posix():
                words.update(range(first + 1, last))
    return len(code - words)


_STRING_OR_COMMENT = re.compile(
    r"""#[^\n]*|\"{3}(?:\\.|[^\\])*?\"{3}|'{3}(?:\\.|[^\\])*?'{3}|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'""",
    re.DOTALL,
)
"""Python's own tokenizer says the same; it is written in Python, and takes 17 s for this tree, not 5."""


def statements(tree: ast.AST) -> Iterator[ast.AST]:
    """Every statement, without going through what each is made of."""
    for name in ("body", "orelse", "handlers", "finalbody", "cases"):
        for each in getattr(tree, name, ()):
            yield each
            yield from statements(each)


def _is_text(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant) and isinstance(value.value, str)


def case_lines(path: Path) -> int:
    """Lines of cases: a list of them, or those under the keys that hold cases; words and blanks left out."""
    counted, inside = 0, True
    for line in path.read_text(encoding="utf-8").splitlines():
        if line and not line[0].isspace() and not line.startswith(("-", "#")):
            inside = line.startswith(_CASE_KEYS)
        counted += inside and bool(line.strip()) and not line.lstrip().startswith("#")
    return counted


def measured_lines(root: Path = ROOT) -> tuple[int, int]:
    """Lines of code of the tests, and of the product they test."""
    files = tracked(root)
    apart = set(below(files, *EQUIPMENT, *MADE, root=root))
    tests, source = (
        sum(code_lines(path) for path in below(files, *where, root=root) if path not in apart)
        for where in (TESTS, SOURCE)
    )
    cases = [p for p in files if p.suffix == ".yaml" and p.is_relative_to(root / "tests")]
    cases = [p for p in cases if p.relative_to(root).as_posix().startswith(CASES)]
    return tests + sum(case_lines(path) for path in cases), source


def functions(path: Path) -> Iterator[Function]:
    """Every function of a module, methods and inner ones too, decorators and docstring counted."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in statements(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            first = min([node.lineno, *(each.lineno for each in node.decorator_list)])
            length = (node.end_lineno or node.lineno) - first + 1
            yield Function(path, node.name, node.lineno, length)


def percentile(values: Iterable[int], share: float) -> int:
    """The smallest value that at least this share of the values do not exceed; 0 of none."""
    ordered = sorted(values)
    if not ordered:
        return 0
    rank = -(-len(ordered) * share // 1)
    return ordered[max(int(rank) - 1, 0)]


def report(root: Path = ROOT) -> str:
    """The figures as text, largest first."""
    files = tracked(root)
    source = below(files, *SOURCE, root=root)
    test_lines, source_lines = measured_lines(root)
    lengths = [function.lines for path in source for function in functions(path)]
    large = sorted(((lines(path), path) for path in source), reverse=True)
    ratio = test_lines / max(source_lines, 1)
    p90 = percentile(lengths, 0.9)
    soft = [f"{path.relative_to(root)} {n}" for n, path in large if n > MODULE_LINES_SOFT]
    return (
        f"{len(source)} modules; lines of code of the product {source_lines}, of its tests {test_lines}: "
        f"{ratio:.2f} a line (at least {TESTS_PER_SOURCE})\n"
        f"functions: 90th percentile {p90} lines (at most {FUNCTION_LINES_P90})\n"
        f"modules over {MODULE_LINES_SOFT} lines (at most {MODULE_LINES_HARD}): "
        f"{', '.join(soft) or 'none'}"
    )


if __name__ == "__main__":
    print(report())
