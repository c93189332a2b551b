"""GPU policies: one rule per file, a pure predicate over plain resources. Input formats only carry resources."""

from importlib import import_module
from pkgutil import walk_packages

from gpuyard_lint.rules.rule import Rule

PREFIX = "gpu_"
"""Each module with such a name contains one rule, as RULE."""


def _all() -> tuple[Rule, ...]:
    names = (result.name for result in walk_packages(__path__, f"{__name__}."))
    ours = {name.rpartition(".")[2]: name for name in names}
    return tuple(import_module(ours[file]).RULE for file in sorted(ours) if file.startswith(PREFIX))


RULES: tuple[Rule, ...] = _all()
"""All rules by id."""
