"""GPU policies: pure predicates over plain resources, a module an area. Input formats only carry resources.

`rules.yaml` has the title, severity, reason, fix, sources and parameters of each rule.
"""

from importlib import import_module
from pkgutil import iter_modules

from gpuyard_lint.rules.rule import Rule

_AREAS = (import_module(f"{__name__}.{module.name}") for module in iter_modules(__path__))
RULES: tuple[Rule, ...] = tuple(
    sorted(
        (rule for area in _AREAS for rule in getattr(area, "RULES", ())), key=lambda rule: rule.id
    )
)
"""All rules by id."""
