"""Checks of a strict run: each for one resource, or for the whole graph at the end."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from gpuyard.sdk_classes import PROVIDER
from gpuyard_testing import sdk_types
from gpuyard_testing.crds import CrdFolder
from gpuyard_testing.graph import Graph, Registered, StackViolation


@dataclass(frozen=True, kw_only=True)
class ResourceChecks:
    """The rules of a run, and the exceptions that the test allows."""

    crds: CrdFolder | None = None
    allow_top_level: bool | frozenset[str] = False
    """Custom resources directly under the stack: all (True), none, or those of these types."""
    reject_unchecked: bool = False
    """Report a custom resource whose fields cannot be checked as a violation, instead of listing
    it.
    """

    def on_registration(
        self, resource: Registered, earlier: Mapping[str, Registered], graph: Graph
    ) -> None:
        """Check one resource against those registered before it."""
        results = [("duplicate", message) for message in _duplicate(resource, earlier)]
        results += [("parent", message) for message in self._parent(resource)]
        if resource.custom and not resource.read:
            results += self._fields(resource, graph)
        graph.violations.extend(
            StackViolation(rule, resource.label, message) for rule, message in results
        )

    def on_finish(self, graph: Graph) -> None:
        """Check at the end that every component registered its outputs."""
        for one in graph:
            if not one.custom and not one.remote and one.registered_outputs is None:
                text = "never registered its outputs; call self.register_outputs({...}) last"
                graph.violations.append(StackViolation("outputs", one.label, text))

    def fields_of(self, resource: Registered) -> frozenset[str]:
        """Names of the inputs that the installed SDK knows for this resource; empty if no SDK knows it."""
        return sdk_types.field_names(resource.type)

    def _parent(self, resource: Registered) -> list[str]:
        exempt = resource.read or resource.type.startswith(PROVIDER) or self.allow_top_level is True
        if exempt or not resource.custom or resource.parent is not None:
            return []
        if isinstance(self.allow_top_level, frozenset) and resource.type in self.allow_top_level:
            return []
        text = (
            "is directly under the stack, no component is its ancestor; pass "
            "opts=ResourceOptions(parent=self) in the component, or allow_top_level= in the test"
        )
        return [text]

    def _fields(self, resource: Registered, graph: Graph) -> list[tuple[str, str]]:
        rule, result = "sdk", sdk_types.input_violations(resource.type, resource.inputs)
        if result is None and self.crds is not None and resource.type.startswith("kubernetes:"):
            rule, result = "crd", self.crds.violations(resource.inputs)
        if result is None:
            graph.unchecked.append(resource)
            if not self.reject_unchecked:
                return []
            where = f"a CRD of {self.crds.folder}" if self.crds else "a CRD (no crds= given)"
            text = f"neither an installed SDK nor {where} knows its fields; install or add one"
            return [("unchecked", text)]
        return [(rule, f"{path}: {problem}" if path else problem) for path, problem in result]


def _duplicate(resource: Registered, earlier: Mapping[str, Registered]) -> list[str]:
    first = earlier.get(resource.urn)
    if first is None:
        return []
    if first.parent == resource.parent:
        return [f"is registered twice under one parent ({resource.urn}); give it another name"]
    text = (
        f"has the URN of a resource under another parent ({resource.urn}); a URN holds the types "
        "of the parents, not their names, so name children after their own parent"
    )
    return [text]
