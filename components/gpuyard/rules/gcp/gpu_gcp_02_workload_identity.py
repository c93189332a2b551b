"""GPU-GCP-02: pods have identities of their own, not the node's."""

from collections.abc import Iterator

from gpuyard.findings import Path, Severity
from gpuyard.rules.rule import (
    Parameters,
    Reference,
    Resource,
    Rule,
    Violation,
    at,
    is_true,
    items,
    text,
)
from gpuyard.rules.subjects.pools import NODE_POOL, gpu_pool

_CLUSTER = "gcp:container/Cluster"
_EVERYTHING = ("/cloud-platform", "/compute")
"""Ends of the scopes with which an account may use what it is allowed of a project."""


def _check(resource: Resource, _: Parameters) -> Iterator[Violation]:
    if resource.group_kind == _CLUSTER:
        pool = text(at(resource.properties, "workloadIdentityConfig", "workloadPool"))
        if not pool and not is_true(resource.properties.get("enableAutopilot")):
            yield Violation(
                ("workloadIdentityConfig",),
                "without Workload Identity every pod acts as the node it is on",
                "set workloadPool: PROJECT.svc.id.goog",
            )
    elif gpu_pool(resource) is not None:
        yield from _node(resource, ("nodeConfig",))


def _node(resource: Resource, path: Path) -> Iterator[Violation]:
    mode = text(at(resource.properties, *path, "workloadMetadataConfig", "mode"))
    if mode != "GKE_METADATA":
        yield Violation(
            (*path, "workloadMetadataConfig"),
            "pods can ask the node's metadata server for the node's token",
            "set workloadMetadataConfig: {mode: GKE_METADATA}",
        )
    if text(at(resource.properties, *path, "serviceAccount")) in {"", "default"}:
        # GKE gives narrow ones where none are asked for: of logs and metrics
        scopes = [text(each) for each in items(at(resource.properties, *path, "oauthScopes"))]
        bound = not any(each.endswith(_EVERYTHING) for each in scopes)
        much = (
            "of which its scopes alone keep most away" if bound else "an editor of everything in it"
        )
        yield Violation(
            (*path, "serviceAccount"),
            f"the nodes act as the project's default account, {much}",
            "make an account with container.defaultNodeServiceAccount only",
            severity=Severity.WARNING if bound else None,
        )


RULE = Rule(
    id="GPU-GCP-02",
    title="GKE workloads use Workload Identity",
    severity=Severity.ERROR,
    why="A notebook that can ask for the node's token reads whatever the node may read.",
    fix="Use Workload Identity, the GKE metadata server, and an account of the nodes' own.",
    sources=(
        "GKE documentation, harden your cluster: node service account, metadata",
        "GKE documentation, Workload Identity Federation: always enabled on Autopilot clusters",
        "GKE documentation, access scopes: a legacy way to bound a default service account",
    ),
    references=(Reference("CIS GKE 1.9.0", "5.2.1, 5.2.2, 5.4.1"),),
    kinds=(_CLUSTER, NODE_POOL),
    check=_check,
)
