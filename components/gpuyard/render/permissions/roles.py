"""Permissions that the deployer of a GCP graph needs, as custom roles and their bindings."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gpuyard.render.cloud.graph import CloudGraph
from gpuyard_core.catalogue.permissions.gcp import GCP_CALLS, IN_CLUSTER, gcp_kinds

_MEMBER = "gcp:projects/iAMMember:IAMMember"
_ACTS_AS = "iam.serviceAccounts.actAs"


@dataclass(frozen=True, slots=True)
class CustomRole:
    """A role of the project, in the format of `gcloud iam roles create`."""

    role_id: str
    title: str
    permissions: tuple[str, ...]

    @property
    def tree(self) -> dict[str, Any]:
        """The role in the form of a file."""
        return {
            "title": self.title,
            "description": "Written by gpuyard permissions",
            "stage": "GA",
            "includedPermissions": list(self.permissions),
        }


@dataclass(frozen=True, slots=True)
class Binding:
    """A role of the deployer in the project, and its condition."""

    role: str
    condition: str = ""
    why: str = ""


@dataclass(frozen=True, slots=True)
class GcpPermissions:
    """All roles of the deployer in the project, and the APIs that must be enabled."""

    roles: tuple[CustomRole, ...]
    bindings: tuple[Binding, ...]
    apis: tuple[str, ...]

    @property
    def permissions(self) -> tuple[str, ...]:
        """The permissions of all custom roles."""
        return tuple(sorted({p for role in self.roles for p in role.permissions}))


def permissions_of(graph: CloudGraph, platform: str) -> GcpPermissions:
    """The minimum to create, change and delete the resources of the graph.

    A principal that may grant roles may grant itself all of them, so this permission is a separate
    role: its binding has a condition that names the roles which the graph grants.
    """
    result, granted = _permissions(graph), _granted(graph)
    rows = [gcp_kinds()[each.kind] for each in graph.resources]
    giving = set(gcp_kinds()[_MEMBER].permissions) if granted else set[str]()
    word = re.sub(r"[^A-Za-z0-9_.]", "_", platform)
    deployer = CustomRole(
        f"gpuyard_{word}", f"gpuyard {platform}: deploy", tuple(sorted(result - giving))
    )
    roles, bindings = (
        [deployer],
        [Binding(deployer.role_id, why="resources that the stack creates, changes and deletes")],
    )
    if granted:
        grants = CustomRole(
            f"gpuyard_{word}_grants", f"gpuyard {platform}: grant roles", tuple(sorted(giving))
        )
        roles.append(grants)
        names = ", ".join(f"'{each}'" for each in granted)
        only = f"api.getAttribute('iam.googleapis.com/modifiedGrantsByRole', []).hasOnly([{names}])"
        bindings.append(Binding(grants.role_id, only, "the roles of nodes and administrators only"))
    bindings.append(Binding(IN_CLUSTER, why="namespaces, roles and policies inside the cluster"))
    return GcpPermissions(tuple(roles), tuple(bindings), tuple(sorted({row.api for row in rows})))


def _permissions(graph: CloudGraph) -> set[str]:
    results: set[str] = set()
    for each in graph.resources:
        row = gcp_kinds()[each.kind]
        results.update(row.permissions)
        if row.acts_as and _at(each.inputs, row.acts_as.split(".")) is not None:
            results.add(_ACTS_AS)
    for call in (*graph.calls, *graph.prerequisites):
        results.update(GCP_CALLS[call.kind])
    return results


def _granted(graph: CloudGraph) -> tuple[str, ...]:
    """The roles that the graph grants in the project."""
    return tuple(sorted({str(each.inputs["role"]) for each in graph.resources_of_kind(_MEMBER)}))


def _at(tree: Any, path: list[str]) -> Any:
    for step in path:
        tree = tree.get(step) if isinstance(tree, Mapping) else None
    return tree
