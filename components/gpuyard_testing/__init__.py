"""Test any Pulumi program without an engine, strictly: a pytest plugin.

    def test_every_team_has_a_quota(pulumi_mocks):
        graph = pulumi_mocks.run(Path("stacks/research"), config={"platform": {...}})
        for team in graph.of_type("gpuyard:index:Team"):
            quotas = [each.type.endswith(":ResourceQuota") for each in graph.children(team)]
            assert any(quotas)

A run fails, naming every resource at fault, on what Pulumi's own mocks accept: two resources of one
URN, a field that the installed SDK or a CRD does not know or that has another type, a component
that never registered outputs, a resource without a component as parent, a call of a provider
function without a defined result. `assert_same_when_unknown` runs a program again with every output
unknown, as in a first preview.

Not covered: there are no providers, so no diffs, replacements or deletes; remote components (Helm
charts of helm.v4, yaml.v2) have no children; hooks, invoke transforms and state migrations are
recorded, not run (resource transforms are run); aliases are recorded, not resolved.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gpuyard_testing.crds import CrdFolder
    from gpuyard_testing.graph import Graph, Log, Registered, StackViolation, StackViolations
    from gpuyard_testing.openapi import violations
    from gpuyard_testing.runner import StackRunner
    from gpuyard_testing.values import UNKNOWN, ResourceRef

_HOMES = {
    "UNKNOWN": "values",
    "CrdFolder": "crds",
    "Graph": "graph",
    "Log": "graph",
    "Registered": "graph",
    "ResourceRef": "values",
    "StackRunner": "runner",
    "StackViolation": "graph",
    "StackViolations": "graph",
    "violations": "openapi",
}

__all__ = [
    "UNKNOWN",
    "CrdFolder",
    "Graph",
    "Log",
    "Registered",
    "ResourceRef",
    "StackRunner",
    "StackViolation",
    "StackViolations",
    "violations",
]


def __getattr__(name: str) -> object:
    """Load a name on first use: pytest imports this package at every start."""
    import importlib

    if name not in _HOMES:
        message = f"module {__name__!r} has no attribute {name!r}; it has {', '.join(__all__)}"
        raise AttributeError(message)
    return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
