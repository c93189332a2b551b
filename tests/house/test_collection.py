"""No test is missed: a file under tests/ is collected, or a collected file imports it."""

import ast
from pathlib import Path

import pytest

import sizes

TESTS = sizes.ROOT / "tests"


def imported_names(path: Path) -> set[str]:
    names: set[str] = set()
    for node in sizes.statements(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            names.add(node.module or "")
            names.update(f"{node.module}.{alias.name}" for alias in node.names)
    return names


def has_tests(path: Path) -> bool:
    return any(
        isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_")
        for node in sizes.statements(ast.parse(path.read_text(encoding="utf-8")))
    )


def strays(files: list[Path], root: Path) -> list[str]:
    """Files that pytest does not collect and nothing imports, and test files without a test."""
    imports = set().union(*(imported_names(path) for path in files))
    found = []
    for path in files:
        if path.name == "conftest.py":
            continue
        if path.name.startswith("test_"):
            if not has_tests(path):
                found.append(f"{path.relative_to(root)}: no test in it")
            continue
        dotted = ".".join(path.relative_to(root).with_suffix("").parts)
        package = dotted.removesuffix(".__init__")
        if not imports & {dotted, package, path.stem}:
            found.append(f"{path.relative_to(root)}: not named test_*.py and imported by none")
    return found


def test_every_file_under_tests_is_collected_or_a_helper():
    files = sizes.below(sizes.tracked(), "tests/")
    # Programs that tests run by path, and data that happens to be Python.
    ours = [path for path in files if not {"programs", "golden", "fixtures"} & set(path.parts)]
    assert strays(ours, TESTS) == []


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("test_a.py", "def test_x():\n    pass\n", []),
        ("test_a.py", "x = 1\n", ["test_a.py: no test in it"]),
        ("pools.py", "x = 1\n", ["pools.py: not named test_*.py and imported by none"]),
        ("conftest.py", "x = 1\n", []),
    ],
)
def test_a_stray_file_is_found(tmp_path, name, text, expected):
    (tmp_path / name).write_text(text, encoding="utf-8")
    assert strays([tmp_path / name], tmp_path) == expected


def test_an_imported_helper_is_no_stray(tmp_path):
    (tmp_path / "builders.py").write_text("x = 1\n", encoding="utf-8")
    (tmp_path / "test_a.py").write_text(
        "from builders import x\n\n\ndef test_x():\n    assert x\n", encoding="utf-8"
    )
    assert strays([tmp_path / "builders.py", tmp_path / "test_a.py"], tmp_path) == []
