"""GPU policies: one rule a file, a pure predicate over plain resources; front ends only carry them."""

from importlib import import_module
from pkgutil import walk_packages

from gpuyard.rules.rule import Rule

PREFIX = "gpu_"
"""Modules of that name each hold one rule, as RULE."""


def _all() -> tuple[Rule, ...]:
    names = (result.name for result in walk_packages(__path__, f"{__name__}."))
    ours = {name.rpartition(".")[2]: name for name in names}
    return tuple(import_module(ours[file]).RULE for file in sorted(ours) if file.startswith(PREFIX))


RULES: tuple[Rule, ...] = _all()
"""Every rule there is, by id."""
