"""Programs that run elsewhere, in images with Python and nothing else: they need no further packages."""

import ast
import sys

import pytest

import sizes

PROGRAMS = ("gpuyard_agents", "gpuyard_validator")
"""The validator imports nvidia-ml-py by name on a GPU node, and works without it elsewhere."""


def imports(path):
    """Top-level names of the modules that a file imports."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield (node.module or "").partition(".")[0]


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_program_imports_the_standard_library_itself_and_what_is_carried_with_it(program):
    files = sizes.below(sizes.tracked(), f"components/{program}/")
    assert files
    foreign = {
        f"{path.name}: {name}"
        for path in files
        for name in imports(path)
        if name not in sys.stdlib_module_names and name != program
    }
    assert foreign == set()
