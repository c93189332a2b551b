"""Descriptions of a model's fields, from the docstring below each field in the source.

pydantic can read them itself (`use_attribute_docstrings`), but then for every model at every start, which
costs 0.1 s per `gpuyard check`. Only the JSON Schema and the reference page need them, so they are read
only for those.
"""

import ast
import inspect
from functools import lru_cache
from types import ModuleType

from pydantic import BaseModel


def field_meanings(model: type[BaseModel]) -> dict[str, str]:
    """The description of each documented field, including those of base classes."""
    meanings: dict[str, str] = {}
    for base in reversed(model.__mro__):
        module = inspect.getmodule(base)
        if module is not None and issubclass(base, BaseModel) and base is not BaseModel:
            meanings |= _in_module(module).get(base.__name__, {})
    return {name: meanings[name] for name in model.model_fields if name in meanings}


@lru_cache(maxsize=64)
def _in_module(module: ModuleType) -> dict[str, dict[str, str]]:
    """By class, the docstring that follows each annotated name."""
    tree = ast.parse(inspect.getsource(module))
    return {c.name: _in_class(c) for c in tree.body if isinstance(c, ast.ClassDef)}


def _in_class(body: ast.ClassDef) -> dict[str, str]:
    results: dict[str, str] = {}
    for field, text in zip(body.body, body.body[1:], strict=False):
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name):
            match text:
                case ast.Expr(value=ast.Constant(value=str(words))):
                    results[field.target.id] = inspect.cleandoc(words)
                case _:
                    pass
    return results
