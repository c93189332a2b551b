"""GPU-GCP-02: pods have their own identities, not that of the node."""

from collections.abc import Iterator

from gpuyard_core.findings import Path, Severity
from gpuyard_lint.rules.rule import (
    AuditReference,
    Parameters,
    Resource,
    Rule,
    Violation,
    at,
    is_true,
    items,
    text,
)
from gpuyard_lint.rules.subjects.pools import NODE_POOL, gpu_pool

_CLUSTER = "gcp:container/Cluster"
_EVERYTHING = ("/cloud-platform", "/compute")
"""Suffixes of scopes that do not restrict a service account."""


def _check(resource: Resource, _: Parameters) -> Iterator[Violation]:
    if resource.group_kind == _CLUSTER:
        pool = text(at(resource.properties, "workloadIdentityConfig", "workloadPool"))
        if not pool and not is_true(resource.properties.get("enableAutopilot")):
            yield Violation(
                ("workloadIdentityConfig",),
                "without Workload Identity every pod uses the service account of its node",
                "set workloadPool: PROJECT.svc.id.goog",
            )
    elif gpu_pool(resource) is not None:
        yield from _node(resource, ("nodeConfig",))


def _node(resource: Resource, path: Path) -> Iterator[Violation]:
    mode = text(at(resource.properties, *path, "workloadMetadataConfig", "mode"))
    if mode != "GKE_METADATA":
        yield Violation(
            (*path, "workloadMetadataConfig"),
            "pods can fetch the node's token from the metadata server",
            "set workloadMetadataConfig: {mode: GKE_METADATA}",
        )
    if text(at(resource.properties, *path, "serviceAccount")) in {"", "default"}:
        # the default scopes of GKE are narrow: logs and metrics
        scopes = [text(each) for each in items(at(resource.properties, *path, "oauthScopes"))]
        bound = not any(each.endswith(_EVERYTHING) for each in scopes)
        much = (
            "limited only by its access scopes"
            if bound
            else "which can edit everything in the project"
        )
        yield Violation(
            (*path, "serviceAccount"),
            f"the nodes use the default service account, {much}",
            "create a service account with only roles/container.defaultNodeServiceAccount",
            severity=Severity.WARNING if bound else None,
        )


RULE = Rule(
    id="GPU-GCP-02",
    title="GKE workloads use Workload Identity",
    severity=Severity.ERROR,
    why="A notebook that can fetch the node's token can read everything that the node can.",
    fix="Use Workload Identity, the GKE metadata server, and a dedicated service account for nodes.",
    sources=(
        "GKE documentation, harden your cluster: node service account, metadata",
        "GKE documentation, Workload Identity Federation: always enabled on Autopilot clusters",
        "GKE documentation, access scopes: a legacy way to bound a default service account",
    ),
    references=(AuditReference("CIS GKE 1.9.0", "5.2.1, 5.2.2, 5.4.1"),),
    kinds=(_CLUSTER, NODE_POOL),
    check=_check,
)
