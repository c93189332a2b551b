"""GPU policies: one rule a file, a pure predicate over plain resources; front ends only carry them."""

from importlib import import_module
from pkgutil import iter_modules

from gpuyard.rules.rule import Rule

PREFIX = "gpu_"
"""Modules of that name each hold one rule, as RULE."""


def _all() -> tuple[Rule, ...]:
    names = sorted(found.name for found in iter_modules(__path__) if found.name.startswith(PREFIX))
    return tuple(import_module(f"{__name__}.{name}").RULE for name in names)


RULES: tuple[Rule, ...] = _all()
"""Every rule there is, by id."""
