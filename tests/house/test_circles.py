"""The library has no import cycle, not even by an import inside a function.

An import within a function hides a cycle from the interpreter, not from a reader. So every import counts,
wherever it is; only imports for the type checker do not. A package that resolves its names lazily
(`__getattr__`) counts as importing the names that it lists for the type checker.
"""

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path

import sizes

COMPONENTS = sizes.ROOT / "components"
PACKAGES = sorted(path.name for path in COMPONENTS.glob("gpuyard*"))
ANYTHING = {
    "gpuyard.provider": "the module of one cloud, in a layer above",
    "gpuyard.sdk_classes": "SDKs of providers, by a resource's type: none is part of the library",
    "gpuyard_simulate.validation.forking": "programs of pods, which do not use the library",
}
"""Modules that import by a computed name, and the possible names."""

Graph = dict[str, set[str]]


def modules_below(root: Path, package: str) -> dict[str, Path]:
    """Every module of a package by its dotted name; a package itself is its `__init__`."""
    found = {}
    for path in sorted((root / package).rglob("*.py")):
        parts = path.relative_to(root).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def import_graph(root: Path, *packages: str) -> Graph:
    """Imports by module, wherever the import is."""
    modules = {name: path for each in packages for name, path in modules_below(root, each).items()}
    return {name: Imports(name, path, modules).found - {name} for name, path in modules.items()}


class Imports(ast.NodeVisitor):
    """Imports of one module from the packages."""

    def __init__(self, name: str, path: Path, modules: Mapping[str, Path]) -> None:
        self.name = name
        self.modules = modules
        self.found: set[str] = set()
        tree = ast.parse(path.read_text(encoding="utf-8"))
        lazy = any(isinstance(n, ast.FunctionDef) and n.name == "__getattr__" for n in tree.body)
        self.is_face = path.name == "__init__.py"
        self.counts_types = self.is_face and lazy
        self.visit(tree)

    def visit_If(self, node: ast.If) -> None:
        if "TYPE_CHECKING" in ast.unparse(node.test) and not self.counts_types:
            for each in node.orelse:
                self.visit(each)
        else:
            self.generic_visit(node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        if node.name != "__getattr__" or not self.counts_types:
            self.generic_visit(node)

    def visit_Import(self, node: ast.Import) -> None:
        self.found.update(each.name for each in node.names if each.name in self.modules)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        home = self._home(node)
        for each in node.names:
            # `from package import module` is an import of the module, not of the package's `__init__`
            whole = f"{home}.{each.name}"
            target = whole if whole in self.modules else home
            if target in self.modules:
                self.found.add(target)

    def _home(self, node: ast.ImportFrom) -> str:
        if not node.level:
            return node.module or ""
        parts = self.name.split(".")
        base = parts[: len(parts) - node.level + self.is_face]
        return ".".join([*base, *([node.module] if node.module else [])])

    def visit_Call(self, node: ast.Call) -> None:
        called = ast.unparse(node.func).rpartition(".")[2]
        if called in {"import_module", "__import__"} and self.name not in ANYTHING:
            prefix = self._prefix(node.args[0])
            assert prefix or self.is_face, f"{self.name}:{node.lineno} may import anything"
            prefix = prefix or f"{self.name}."
            self.found.update(m for m in self.modules if m == prefix or m.startswith(prefix))
        self.generic_visit(node)

    def _prefix(self, name: ast.expr) -> str:
        """The prefix of a module's name; for a lazy package that computes the whole name, its own name."""
        if isinstance(name, ast.Constant):
            return str(name.value)
        first = name.values[0] if isinstance(name, ast.JoinedStr) else None
        return str(first.value) if isinstance(first, ast.Constant) else ""


def circles(graph: Mapping[str, set[str]]) -> Iterator[list[str]]:
    """Modules that can reach each other: the strongly connected parts of more than one (Tarjan)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    path: list[str] = []
    for start in graph:
        todo = [] if start in index else [(start, iter(sorted(graph[start])))]
        while todo:
            node, rest = todo[-1]
            if node not in index:
                index[node] = low[node] = len(index)
                path.append(node)
            for other in rest:
                if other not in index:
                    todo.append((other, iter(sorted(graph[other]))))
                    break
                if other in path:
                    low[node] = min(low[node], low[other])
            else:
                todo.pop()
                if todo:
                    low[todo[-1][0]] = min(low[todo[-1][0]], low[node])
                if low[node] == index[node]:
                    part, path = path[path.index(node) :], path[: path.index(node)]
                    if len(part) > 1:
                        yield sorted(part)


def library(root: Path, files: Mapping[str, str]) -> Graph:
    """The graph of a synthetic library."""
    for name, text in {"lib/__init__.py": "", **files}.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return import_graph(root, "lib")


def test_no_module_of_the_library_stands_in_a_circle():
    graph = import_graph(COMPONENTS, *PACKAGES)
    assert list(circles(graph)) == [], "see docs/contributing/architecture.md"


def test_every_import_is_in_the_graph():
    graph = import_graph(COMPONENTS, *PACKAGES)
    assert len(graph) > 300
    assert "gpuyard.stack_validation" in graph["gpuyard.cli.stacks"], "at the top of a module"
    assert "gpuyard_lint.rules" in graph["gpuyard.stack_validation"], "inside a function"
    assert "gpuyard.cli.commands.check" in graph["gpuyard.cli.app"], "by a computed name"
    assert "gpuyard_lint.rules.rule" in graph["gpuyard_lint.rules"], (
        "by a package that scans its folder"
    )
    assert "gpuyard.plan.platform" in graph["gpuyard"], "by a lazy package"


def test_a_made_up_circle_is_found_through_a_function_and_a_face(tmp_path):
    graph = library(
        tmp_path,
        {
            "lib/a.py": "from lib.b import x\n",
            "lib/b.py": "def x():\n    from lib.rooms import y\n    return y\n",
            "lib/rooms/__init__.py": "from lib.rooms.c import y\n",
            "lib/rooms/c.py": "def y():\n    if True:\n        import lib.a\n",
            "lib/d.py": "from lib import a\n",
        },
    )
    assert list(circles(graph)) == [["lib.a", "lib.b", "lib.rooms", "lib.rooms.c"]]


def test_two_circles_that_do_not_meet_are_two(tmp_path):
    graph = library(
        tmp_path,
        {
            "lib/a.py": "import lib.b\n",
            "lib/b.py": "import lib.a\nimport lib.c\n",
            "lib/c.py": "from . import d\n",
            "lib/d.py": "from .c import x\n",
        },
    )
    assert sorted(circles(graph)) == [["lib.a", "lib.b"], ["lib.c", "lib.d"]]


def test_a_face_that_waits_closes_a_circle_and_types_alone_do_not(tmp_path):
    types = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from lib.a import A\n"
    getter = "\ndef __getattr__(name):\n    return name\n"
    files = {"lib/a.py": "from lib.rooms import B\n", "lib/rooms/__init__.py": types}
    assert list(circles(library(tmp_path, files))) == []
    files["lib/rooms/__init__.py"] += getter
    assert list(circles(library(tmp_path, files))) == [["lib.a", "lib.rooms"]]


def test_a_name_made_at_run_time_counts_as_all_it_can_be(tmp_path):
    files = {
        "lib/a.py": "from importlib import import_module\nimport_module(f'lib.rooms.{1}')\n",
        "lib/rooms/__init__.py": "",
        "lib/rooms/b.py": "import lib.a\n",
        "lib/c.py": "import importlib\nimportlib.import_module('lib.d')\n",
        "lib/d.py": "import lib.c\n",
    }
    graph = library(tmp_path, files)
    assert sorted(circles(graph)) == [["lib.a", "lib.rooms.b"], ["lib.c", "lib.d"]]


def test_the_parent_of_an_imported_module_is_not_imported_by_it(tmp_path):
    files = {
        "lib/__init__.py": "from lib.a import x\n",
        "lib/a.py": "import lib.b\n",
        "lib/b.py": "",
    }
    assert list(circles(library(tmp_path, files))) == []
