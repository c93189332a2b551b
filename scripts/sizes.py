"""Print the sizes of modules, functions and folders.

tests/house/test_sizes.py enforces the limits, which are those of well-maintained libraries.
"""

import ast
import subprocess
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ("__main__.py", "components/", "policies/", "testbed/")
TESTS = ("tests/",)

MODULE_LINES_SOFT = 400
MODULE_LINES_HARD = 600
FUNCTION_LINES_P90 = 40
MODULES_HINT = 25
"""A folder with more modules is named in the report, without a failure."""


@dataclass(frozen=True)
class Function:
    """One function and its place."""

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
    """The Python files under a prefix."""
    return [
        path
        for path in files
        if path.suffix == ".py" and path.relative_to(root).as_posix().startswith(prefixes)
    ]


def lines(path: Path) -> int:
    """Physical lines."""
    return len(path.read_bytes().splitlines())


def statements(tree: ast.AST) -> Iterator[ast.AST]:
    """Every statement, without its expressions."""
    for name in ("body", "orelse", "handlers", "finalbody", "cases"):
        for each in getattr(tree, name, ()):
            yield each
            yield from statements(each)


def functions(path: Path) -> Iterator[Function]:
    """Every function of a module, methods and inner ones too, decorators and docstring counted."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in statements(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            first = min([node.lineno, *(each.lineno for each in node.decorator_list)])
            length = (node.end_lineno or node.lineno) - first + 1
            yield Function(path, node.name, node.lineno, length)


def percentile(values: Iterable[int], share: float) -> int:
    """The smallest value that at least this share of the values do not exceed; 0 without values."""
    ordered = sorted(values)
    if not ordered:
        return 0
    rank = -(-len(ordered) * share // 1)
    return ordered[max(int(rank) - 1, 0)]


def report(root: Path = ROOT) -> str:
    """The sizes as text, largest first."""
    source = below(tracked(root), *SOURCE, root=root)
    lengths = [function.lines for path in source for function in functions(path)]
    large = sorted(((lines(path), path) for path in source), reverse=True)
    soft = [f"{path.relative_to(root)} {n}" for n, path in large if n > MODULE_LINES_SOFT]
    folders = Counter(path.parent for path in source if path.name != "__init__.py")
    wide = [f"{at.relative_to(root)} {n}" for at, n in folders.most_common() if n > MODULES_HINT]
    return (
        f"{len(source)} modules, {sum(n for n, _ in large)} lines\n"
        f"functions: 90th percentile {percentile(lengths, 0.9)} lines (at most {FUNCTION_LINES_P90})\n"
        f"modules over {MODULE_LINES_SOFT} lines (at most {MODULE_LINES_HARD}): "
        f"{', '.join(soft) or 'none'}\n"
        f"folders over {MODULES_HINT} modules (a hint): {', '.join(wide) or 'none'}"
    )


if __name__ == "__main__":
    print(report())
