"""GPU-GCP-02: pods have identities of their own, not the node's."""

from collections.abc import Iterator

from gpuyard.findings import Path, Severity
from gpuyard.rules.rule import Parameters, Reference, Resource, Rule, Violation, at, text
from gpuyard.rules.subjects.pools import NODE_POOL, gpu_pool

_CLUSTER = "gcp:container/Cluster"


def _check(resource: Resource, _: Parameters) -> Iterator[Violation]:
    if resource.group_kind == _CLUSTER:
        if not text(at(resource.properties, "workloadIdentityConfig", "workloadPool")):
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
        yield Violation(
            (*path, "serviceAccount"),
            "the nodes act as the project's default account, an editor of everything in it",
            "make an account with container.defaultNodeServiceAccount only",
        )


RULE = Rule(
    id="GPU-GCP-02",
    title="GKE workloads have identities of their own",
    severity=Severity.REFUSE,
    why="A notebook that can ask for the node's token reads whatever the node may read.",
    fix="Use Workload Identity, the GKE metadata server, and an account of the nodes' own.",
    sources=("GKE documentation, harden your cluster: node service account, metadata",),
    references=(Reference("CIS GKE 1.9.0", "5.2.1, 5.2.2, 5.4.1"),),
    kinds=(_CLUSTER, NODE_POOL),
    check=_check,
)
