"""Names in the library: a class or an alias of a type is defined once, so that a word means one thing."""

import ast
import re
from collections import defaultdict
from functools import cache
from pathlib import Path

import sizes

LIBRARY = sizes.ROOT / "components" / "gpuyard"
MADE = {sizes.ROOT / name for name in sizes.MADE}
TWICE = {
    "Team": "the Pulumi component, whose type token says it, and the model, whose name is in the schema",
}
"""Names that may be defined twice, each with the reason. What is written from the models has their names."""
CAMEL = re.compile(r"[A-Z][A-Za-z0-9]*[a-z][A-Za-z0-9]*")


def defined_in(source: str) -> list[str]:
    """Public classes and aliases of a module, which begin with a capital and are no constants."""
    found = []
    for node in ast.parse(source).body:
        match node:
            case ast.ClassDef(name=name) | ast.AnnAssign(target=ast.Name(id=name)):
                found.append(name)
            case ast.Assign(targets=targets):
                found += [target.id for target in targets if isinstance(target, ast.Name)]
            case _:
                pass
    return [name for name in found if CAMEL.fullmatch(name)]


@cache
def defined_twice(folder: Path) -> dict[str, list[str]]:
    """The modules of each name that is defined more than once."""
    modules: dict[str, list[str]] = defaultdict(list)
    for path in sorted(folder.rglob("*.py")):
        for name in defined_in(path.read_text(encoding="utf-8")) if path not in MADE else ():
            modules[name].append(path.relative_to(folder).as_posix())
    return {name: where for name, where in sorted(modules.items()) if len(where) > 1}


def test_a_class_or_an_alias_is_defined_once() -> None:
    found = [
        f"{name}: {', '.join(where)}"
        for name, where in defined_twice(LIBRARY).items()
        if name not in TWICE
    ]
    assert found == [], "give each its own name, by its subject (docs/glossary.md)"


def test_no_name_is_allowed_twice_that_is_defined_once() -> None:
    assert [name for name in TWICE if name not in defined_twice(LIBRARY)] == []


def test_a_name_that_two_modules_define_is_found(tmp_path: Path) -> None:
    (tmp_path / "rooms").mkdir()
    (tmp_path / "doors.py").write_text("class Key:\n    pass\n\n\nLIMIT = 3\n_Own = int\n")
    (tmp_path / "rooms" / "walls.py").write_text("Key = tuple[str, str]\nLIMIT = 4\n_Own = str\n")
    assert defined_twice(tmp_path) == {"Key": ["doors.py", "rooms/walls.py"]}


def test_an_alias_with_an_annotation_is_one_too() -> None:
    assert defined_in("from typing import TypeAlias\n\nSize: TypeAlias = int\n") == ["Size"]
