"""Meanings of a model's fields, from the text that stands below each in the source.

pydantic reads these itself when asked to (`use_attribute_docstrings`), but then at every start, for every
model: a tenth of a second before the first word of a `gpuyard check`. Only the schema and the reference
page need them, so they are read when one of those is made.
"""

import ast
import inspect
from functools import lru_cache
from types import ModuleType

from pydantic import BaseModel


def field_meanings(model: type[BaseModel]) -> dict[str, str]:
    """The meaning of each documented field, those of base classes included."""
    meanings: dict[str, str] = {}
    for base in reversed(model.__mro__):
        module = inspect.getmodule(base)
        if module is not None and issubclass(base, BaseModel) and base is not BaseModel:
            meanings |= _in_module(module).get(base.__name__, {})
    return {name: meanings[name] for name in model.model_fields if name in meanings}


@lru_cache(maxsize=64)
def _in_module(module: ModuleType) -> dict[str, dict[str, str]]:
    """By class, the text that follows each annotated name."""
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
