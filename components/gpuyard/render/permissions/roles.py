"""What the deployer of a GCP graph must be allowed, as custom roles and their bindings."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gpuyard.catalogue.permissions.gcp import GCP_CALLS, GCP_KINDS, IN_CLUSTER
from gpuyard.render.cloud.graph import CloudGraph

_MEMBER = "gcp:projects/iAMMember:IAMMember"
_ACTS_AS = "iam.serviceAccounts.actAs"


@dataclass(frozen=True, slots=True)
class CustomRole:
    """A role of the project, as `gcloud iam roles create` reads it."""

    role_id: str
    title: str
    permissions: tuple[str, ...]

    @property
    def tree(self) -> dict[str, Any]:
        """As it stands in a file."""
        return {
            "title": self.title,
            "description": "Written by gpuyard permissions",
            "stage": "GA",
            "includedPermissions": list(self.permissions),
        }


@dataclass(frozen=True, slots=True)
class Binding:
    """A role that the deployer has in the project, and the condition under which."""

    role: str
    condition: str = ""
    why: str = ""


@dataclass(frozen=True, slots=True)
class GcpPermissions:
    """All that the deployer has in the project, and the APIs that must be on."""

    roles: tuple[CustomRole, ...]
    bindings: tuple[Binding, ...]
    apis: tuple[str, ...]

    @property
    def permissions(self) -> tuple[str, ...]:
        """Of all custom roles."""
        return tuple(sorted({p for role in self.roles for p in role.permissions}))


def permissions_of(graph: CloudGraph, platform: str) -> GcpPermissions:
    """The least that makes, changes and deletes what the graph has.

    Who may grant roles may grant himself all of them, so that is a role of its own: it is bound under a
    condition that names the roles which the graph grants.
    """
    result, granted = _permissions(graph), _granted(graph)
    rows = [GCP_KINDS[each.kind] for each in graph.resources]
    giving = set(GCP_KINDS[_MEMBER].permissions) if granted else set[str]()
    word = re.sub(r"[^A-Za-z0-9_.]", "_", platform)
    deployer = CustomRole(
        f"gpuyard_{word}", f"gpuyard {platform}: deploy", tuple(sorted(result - giving))
    )
    roles, bindings = (
        [deployer],
        [Binding(deployer.role_id, why="what the stack makes, changes and deletes")],
    )
    if granted:
        grants = CustomRole(
            f"gpuyard_{word}_grants", f"gpuyard {platform}: grant roles", tuple(sorted(giving))
        )
        roles.append(grants)
        names = ", ".join(f"'{each}'" for each in granted)
        only = f"api.getAttribute('iam.googleapis.com/modifiedGrantsByRole', []).hasOnly([{names}])"
        bindings.append(
            Binding(grants.role_id, only, "the roles of nodes and administrators, and no other")
        )
    bindings.append(Binding(IN_CLUSTER, why="namespaces, roles and policies inside the cluster"))
    return GcpPermissions(tuple(roles), tuple(bindings), tuple(sorted({row.api for row in rows})))


def _permissions(graph: CloudGraph) -> set[str]:
    results: set[str] = set()
    for each in graph.resources:
        row = GCP_KINDS[each.kind]
        results.update(row.permissions)
        if row.acts_as and _at(each.inputs, row.acts_as.split(".")) is not None:
            results.add(_ACTS_AS)
    for call in (*graph.calls, *graph.prerequisites):
        results.update(GCP_CALLS[call.kind])
    return results


def _granted(graph: CloudGraph) -> tuple[str, ...]:
    """The roles that the graph gives to somebody in the project."""
    return tuple(sorted({str(each.inputs["role"]) for each in graph.of(_MEMBER)}))


def _at(tree: Any, path: list[str]) -> Any:
    for step in path:
        tree = tree.get(step) if isinstance(tree, Mapping) else None
    return tree
